//! What the command prints and how it ends.
//!
//! Called as `ses-send-email.pl` it says what the script said. As `headgate send` a line begins with an enhanced code (RFC
//! 3463), which Postfix takes in the place of the exit code. The cause comes first: callers keep only the start.

use std::io::{self, Write as _};

use crate::{
    delivery::Part,
    intake::Refusal,
    mail::{Enhanced, Fate, Outcome, Pressure, Reply},
};

/// The exit codes: sent, refused, wrong usage, try again.
pub(super) const SENT: u8 = 0;
pub(super) const REFUSED: u8 = 1;
pub(super) const USAGE: u8 = 2;
pub(super) const TRY_AGAIN: u8 = 75;

/// How the command speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Voice {
    /// As `ses-send-email.pl`.
    pub(super) legacy: bool,
    /// `--verbose`.
    pub(super) verbose: bool,
    /// `--legacy-exit`.
    pub(super) legacy_exit: bool,
}

/// Where a text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// What is printed, in that order, and the exit code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    code: u8,
    texts: Vec<(Stream, String)>,
}

impl Answer {
    pub(super) fn new(code: u8) -> Self {
        Self { code, texts: Vec::new() }
    }

    #[must_use]
    pub(super) fn out(mut self, text: impl Into<String>) -> Self {
        self.texts.push((Stream::Out, text.into()));
        self
    }

    #[must_use]
    pub(super) fn err(mut self, text: impl Into<String>) -> Self {
        self.texts.push((Stream::Err, text.into()));
        self
    }

    /// Prints it. What a closed or full pipe does not take is dropped: nobody would be helped by another exit code.
    pub(super) fn tell(self) -> u8 {
        for (stream, text) in self.texts {
            let mut target: Box<dyn io::Write> = match stream {
                Stream::Out => Box::new(io::stdout().lock()),
                Stream::Err => Box::new(io::stderr().lock()),
            };
            let _ = target.write_all(text.as_bytes()).and_then(|()| target.flush());
        }
        self.code
    }
}

impl Voice {
    /// A fault of the caller's or the operator's: the enhanced code has Postfix keep the message.
    pub(super) fn fault(self, code: u8, enhanced: Enhanced, text: &str) -> Answer {
        let line = if self.legacy { format!("{text}\n") } else { format!("{enhanced} {text}\n") };
        Answer::new(code).err(line)
    }

    /// A message that neither rules nor lint let through.
    pub(super) fn refusal(self, refusal: &Refusal) -> Answer {
        let Refusal { reply, .. } = refusal;
        if reply.is_positive() {
            return self.success(&[reply.text()], "");
        }
        let code = if reply.is_transient() { TRY_AGAIN } else { REFUSED };
        let answer = Answer::new(code).err(self.line(reply, reply.text().as_str()));
        self.with_error_document(answer, ("InvalidParameterValue", &reply.text()))
    }

    /// The attempts of a message; `host` is where SES was looked for.
    pub(super) fn parts(self, parts: &[Part], host: Option<&str>) -> Answer {
        let of = |fate: Fate| parts.iter().filter(move |part| part.outcome.fate == fate);
        let (delivered, failed) = (of(Fate::Delivered), of(Fate::Failed));
        let ids: Vec<String> = delivered.clone().filter_map(|part| part.outcome.remote_id.clone()).collect();
        let worst = of(Fate::Deferred).next().or_else(|| failed.clone().next());
        let Some(Part { outcome, .. }) = worst else {
            let notes: String = parts.iter().map(note).collect();
            return self.success(&ids, &notes);
        };
        let mut text = match host {
            Some(host) if self.legacy && unreachable(outcome) => format!("Can't connect to {host} ({})", outcome.cause),
            _ => self.text(outcome),
        };
        if parts.len() > 1 {
            text.push_str(&remainder(parts, outcome.fate));
        }
        let answer = Answer::new(self.exit(outcome)).err(self.line(&outcome.reply, &text));
        let kind = outcome.cause.split_once(": ").map_or("InternalFailure", |(kind, _)| kind);
        self.with_error_document(answer, (kind, &self.text(outcome)))
    }

    /// `notes` is what `--verbose` tells besides.
    fn success(self, ids: &[String], notes: &str) -> Answer {
        let answer = Answer::new(SENT);
        match (self.legacy, self.verbose) {
            (true, false) => answer,
            (true, true) => answer.out(ids.iter().map(|id| response_document(id)).collect::<String>()),
            (false, false) => answer.out(format!("2.0.0 Ok {}\n", ids.join(" "))),
            (false, true) => answer.out(format!("2.0.0 Ok {}\n{notes}", ids.join(" "))),
        }
    }

    fn line(self, reply: &Reply, text: &str) -> String {
        match reply.enhanced() {
            Some(enhanced) if !self.legacy => format!("{enhanced} {text}\n"),
            _ => format!("{text}\n"),
        }
    }

    /// What SES said; the script printed its words alone.
    fn text(self, outcome: &Outcome) -> String {
        let text = outcome.reply.text();
        let told = outcome.http.is_none() && !outcome.cause.is_empty() && !text.contains(&outcome.cause);
        match text.strip_prefix("SES: ") {
            None if self.legacy && no_credentials(outcome) => {
                format!("Unspecified AWS credentials file. ({})", outcome.cause)
            }
            Some(words) if self.legacy => words.to_owned(),
            _ if told => format!("{text} ({})", outcome.cause),
            _ => text,
        }
    }

    fn exit(self, outcome: &Outcome) -> u8 {
        match outcome.fate {
            Fate::Delivered => SENT,
            Fate::Failed => REFUSED,
            Fate::Deferred if self.legacy_exit => legacy_exit(outcome),
            Fate::Deferred => TRY_AGAIN,
        }
    }

    fn with_error_document(self, answer: Answer, (kind, text): (&str, &str)) -> Answer {
        if self.legacy && self.verbose { answer.out(error_document(kind, text)) } else { answer }
    }
}

/// The exit codes of the script, by the HTTP status; what never got one was 500 to it.
fn legacy_exit(outcome: &Outcome) -> u8 {
    match (outcome.pressure, outcome.http) {
        (Some(Pressure::Rate | Pressure::Quota), _) => TRY_AGAIN,
        (None, Some(400)) => REFUSED,
        (None, Some(403)) => 31,
        (None, Some(503)) => 30,
        (None, Some(500)) => 32,
        (None, Some(_)) => 255,
        (None, None) if no_credentials(outcome) => 255,
        (None, None) => 32,
    }
}

fn unreachable(outcome: &Outcome) -> bool {
    outcome.http.is_none() && outcome.reply.enhanced() == Some(Enhanced(4, 4, 1))
}

fn no_credentials(outcome: &Outcome) -> bool {
    outcome.http.is_none() && outcome.reply.enhanced() == Some(Enhanced(4, 7, 0))
}

/// Who has the message and who has not, when these are not the same.
fn remainder(parts: &[Part], worst: Fate) -> String {
    let count =
        |fate: Fate| parts.iter().filter(|part| part.outcome.fate == fate).map(|part| part.recipients.len()).sum();
    let (delivered, all): (usize, usize) =
        (count(Fate::Delivered), parts.iter().map(|part| part.recipients.len()).sum());
    let mut text = String::new();
    if delivered > 0 {
        let again = if worst == Fate::Deferred { ", who get it twice when it is sent again" } else { "" };
        text = format!("; {delivered} of {all} recipients have it{again}");
    }
    let failed = parts.iter().filter(|part| part.outcome.fate == Fate::Failed).flat_map(|part| &part.recipients);
    let failed: Vec<String> = failed.take(10).map(ToString::to_string).collect();
    if !failed.is_empty() {
        text.push_str(&format!("; not sent to {}", failed.join(", ")));
    }
    text
}

fn note(part: &Part) -> String {
    let Part { recipients, upstream, outcome } = part;
    let to: Vec<String> = recipients.iter().map(ToString::to_string).collect();
    let upstream = upstream.as_deref().unwrap_or("-");
    format!("{}: {} to {}\n", upstream, outcome.remote_id.as_deref().unwrap_or("-"), to.join(", "))
}

/// The document that SES's first API answered with.
fn response_document(id: &str) -> String {
    format!(
        "<SendRawEmailResponse xmlns=\"http://ses.amazonaws.com/doc/2010-12-01/\">\n  <SendRawEmailResult>\n    \
         <MessageId>{}</MessageId>\n  </SendRawEmailResult>\n</SendRawEmailResponse>\n",
        escaped(id)
    )
}

fn error_document(kind: &str, text: &str) -> String {
    format!(
        "<ErrorResponse xmlns=\"http://ses.amazonaws.com/doc/2010-12-01/\">\n  <Error>\n    <Type>Sender</Type>\n    \
         <Code>{}</Code>\n    <Message>{}</Message>\n  </Error>\n</ErrorResponse>\n",
        escaped(kind),
        escaped(text)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
