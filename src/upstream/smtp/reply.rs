//! What a mail server says, and what breaks on the way to it, as outcomes (RFC 5321 section 4.2, RFC 3463).

use std::io;

use crate::mail::{Enhanced, Outcome, Reply};

use super::{response::Response, ses};

/// Characters of a cause at most.
const CAUSE: usize = 500;

/// A recipient or a message that the server did not take, in its own words. `what` is the command it answered.
///
/// Replies that say nothing of the message are the operator's (RFC 4954 section 6, RFC 3207 section 4; 503 says that we
/// spoke out of turn), and 421 is about the server's own connection, so none of these reaches a client as it is.
pub(super) fn refused(what: &str, response: &Response, for_ses: bool) -> Outcome {
    let text = response.text();
    let cause = cause(what, response);
    let outcome = match response.code {
        503 | 530 | 534 | 535 | 538 => Outcome::refused(reply(451, Enhanced(4, 7, 0), &text), cause).with_alarm(),
        421 => Outcome::refused(reply(451, response.enhanced.unwrap_or(Enhanced(4, 3, 2)), &text), cause),
        // RFC 5321 section 4.5.3.1.10: an old way to say 452, which later attempts mend.
        552 if what == "RCPT" && text.to_ascii_lowercase().contains("too many") => {
            Outcome::refused(reply(452, Enhanced(4, 5, 3), &text), cause)
        }
        code @ 400..600 => {
            let class = if code < 500 { 4 } else { 5 };
            Outcome::refused(reply(code, enhanced(response, class), &text), cause)
        }
        _ => Outcome::refused(reply(451, Enhanced(4, 5, 0), "The next server said something unexpected"), cause),
    };
    // Of SES these words are known; others have taken the ones about pressure over.
    let divisible = for_ses && !outcome.reply.is_transient() && ses::divisible(&text);
    let unverified = if for_ses { ses::unverified(&text) } else { Vec::new() };
    let pressure = if outcome.reply.is_transient() { ses::pressure(&text) } else { None };
    Outcome { divisible, unverified, pressure, ..outcome }
}

/// The server took the message.
pub(super) fn delivered(response: &Response) -> Outcome {
    let text = response.text();
    let reply = reply(250, enhanced(response, 2), &text);
    Outcome { remote_id: remote_id(&text), ..Outcome::delivered(String::new(), reply) }
}

/// The id in a server's last words: `Ok ID` (SES), `Ok: queued as ID` (Postfix), `OK id=ID` (Exim), `ID Message accepted
/// for delivery` (Sendmail).
fn remote_id(text: &str) -> Option<String> {
    let behind = |words: &str| text.split_once(words).and_then(|(_, rest)| rest.split_whitespace().next());
    let before = |words: &str| text.split_once(words).and_then(|(rest, _)| rest.split_whitespace().last());
    let alone = || text.strip_prefix("Ok ").filter(|rest| !rest.trim().contains(' '));
    let id = behind("queued as ").or_else(|| behind("id=")).or_else(|| before(" Message accepted")).or_else(alone)?;
    Some(id.trim().trim_end_matches([',', ';', '.', ')']).to_owned()).filter(|id| !id.is_empty() && id.is_ascii())
}

/// The server cannot be spoken to at all.
pub(super) fn unreachable(cause: &str) -> Box<Outcome> {
    fault(Enhanced(4, 4, 1), "The next server cannot be reached", cause)
}

/// There is no private connection to be had (RFC 3463 X.7.5).
pub(super) fn no_tls(cause: &str) -> Box<Outcome> {
    fault(Enhanced(4, 7, 5), "There is no TLS with the next server", cause)
}

/// The server does not take our login (RFC 4954 section 6, as something that is mended here).
pub(super) fn no_login(cause: &str) -> Box<Outcome> {
    fault(Enhanced(4, 7, 8), "The next server does not take our login", cause)
}

fn fault(enhanced: Enhanced, text: &str, cause: &str) -> Box<Outcome> {
    Box::new(Outcome::refused(reply(451, enhanced, text), short(cause)).with_alarm())
}

/// The server does not want to speak now: its greeting or its answer to EHLO.
pub(super) fn unwilling(what: &str, response: &Response) -> Box<Outcome> {
    let reply = reply(451, Enhanced(4, 3, 2), &response.text());
    let outcome = Outcome::refused(reply, cause(what, response));
    let alarm = response.code >= 500;
    Box::new(Outcome { pressure: ses::pressure(&response.text()), alarm, ..outcome })
}

/// The connection broke, or what came is no SMTP.
pub(super) fn broken(what: &str, error: &io::Error) -> Box<Outcome> {
    let reply = reply(451, Enhanced(4, 4, 2), "The connection to the next server broke");
    Box::new(Outcome::refused(reply, short(&format!("{what}: {error}"))))
}

/// The attempt took too long.
pub(super) fn late() -> Outcome {
    let reply = reply(451, Enhanced(4, 4, 2), "The next server did not answer in time");
    Outcome::refused(reply, "no answer within attempt_timeout")
}

/// The same, once the server may have read the whole message.
pub(super) fn doubtful(outcome: Outcome) -> Outcome {
    Outcome { cause: format!("ambiguous: {}", outcome.cause), ..outcome }.with_doubt()
}

fn reply(code: u16, enhanced: Enhanced, text: &str) -> Reply {
    Reply::new(code, enhanced, text)
}

fn enhanced(response: &Response, class: u8) -> Enhanced {
    response.enhanced.filter(|code| code.0 == class).unwrap_or(Enhanced(class, 0, 0))
}

fn cause(what: &str, response: &Response) -> String {
    let enhanced = response.enhanced.map(|code| format!("{code} ")).unwrap_or_default();
    short(&format!("{what}: {} {enhanced}{}", response.code, response.text()))
}

fn short(cause: &str) -> String {
    cause.chars().take(CAUSE).collect()
}

#[cfg(test)]
mod tests {
    use crate::mail::Pressure;

    use super::{super::response::parsed as response, *};

    fn said(what: &str, text: &str) -> String {
        let outcome = refused(what, &response(text), true);
        let alarm = if outcome.alarm { " !" } else { "" };
        format!("{}{alarm}", outcome.reply)
    }

    #[test]
    fn refusals_keep_the_words_of_the_server() {
        for (what, text, expected) in [
            ("RCPT", "550 5.1.1 no such user", "550 5.1.1 no such user"),
            ("RCPT", "550-5.1.1 no such|550 5.1.1 user", "550 5.1.1 no such user"),
            ("RCPT", "450 4.2.1 come back", "450 4.2.1 come back"),
            ("RCPT", "550 no such user", "550 5.0.0 no such user"),
            ("RCPT", "550 4.1.1 mixed", "550 5.0.0 4.1.1 mixed"),
            ("RCPT", "552 too many recipients", "452 4.5.3 too many recipients"),
            ("RCPT", "552 5.2.2 over quota", "552 5.2.2 over quota"),
            (
                "MAIL",
                "530 5.7.0 Must issue a STARTTLS command first",
                "451 4.7.0 Must issue a STARTTLS command first !",
            ),
            ("DATA", "421 4.3.0 shutting down", "451 4.3.0 shutting down"),
            ("DATA", "451", "451 4.0.0 "),
            ("end of data", "354 what", "451 4.5.0 The next server said something unexpected"),
        ] {
            assert_eq!(said(what, text), expected, "{text}");
        }
        assert_eq!(refused("RCPT", &response("550-5.1.1 a|550 5.1.1 b"), false).cause, "RCPT: 550 5.1.1 a b");
    }

    #[test]
    fn the_words_of_ses_mean_what_they_mean_by_its_api() {
        let rate = refused("end of data", &response("454 Throttling failure: Maximum sending rate exceeded."), true);
        assert_eq!((rate.pressure, rate.reply.code()), (Some(Pressure::Rate), 454));
        let quota = refused("end of data", &response("454 Throttling failure: Daily message quota exceeded."), true);
        assert_eq!(quota.pressure, Some(Pressure::Quota));
        assert_eq!(unwilling("greeting", &response("421 Throttling failure")).pressure, Some(Pressure::Rate));
        let text = "554 Message rejected: Email address is not verified. The following identities failed the check in region EU-WEST-1: a@b.example, c@d.example";
        let rejected = refused("end of data", &response(text), true);
        assert!(rejected.divisible);
        assert_eq!(rejected.unverified, ["a@b.example", "c@d.example"]);
        let other = refused("end of data", &response(text), false);
        assert!(!other.divisible && other.unverified.is_empty());
    }

    #[test]
    fn the_id_of_the_next_server_is_found() {
        for (text, id) in [
            ("250 Ok 0102018f-a1-000000", Some("0102018f-a1-000000")),
            ("250 2.0.0 Ok: queued as 4ABC12", Some("4ABC12")),
            ("250 OK id=1abc23-000-XY", Some("1abc23-000-XY")),
            ("250 2.0.0 0A1B2C Message accepted for delivery", Some("0A1B2C")),
            ("250 Ok thank you", None),
            ("250 2.0.0", None),
        ] {
            let outcome = delivered(&response(text));
            assert_eq!(outcome.remote_id.as_deref(), id, "{text}");
            assert_eq!(outcome.fate, crate::mail::Fate::Delivered);
        }
    }
}
