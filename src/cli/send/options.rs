//! What `headgate send` is asked for.

use std::{ffi::OsString, path::PathBuf};

use super::getopt::{OptionRow, Parsed, as_text, parse};

/// All options: those of `ses-send-email.pl`, then ours.
pub(super) const OPTIONS: &[OptionRow] = &[
    row(
        "r",
        None,
        "The input is a whole message (raw mode); else it is the text of a message for -s, -f and the operands",
    ),
    row("f", Some("ADDRESS"), "The sender; without it, in raw mode, SES reports to the one in From"),
    row("s", Some("SUBJECT"), "The subject; not in raw mode"),
    row("c", Some("ADDRESS[,...]"), "Cc; without effect in raw mode"),
    row("b", Some("ADDRESS[,...]"), "Bcc; without effect in raw mode"),
    row(
        "k",
        Some("FILE"),
        "A file with AWSAccessKeyId=… and AWSSecretKey=…; else that of AWS_CREDENTIAL_FILE or AWS_CREDENTIALS_FILE, else \
         what the AWS environment gives: variables, profile, role",
    ),
    row("e", Some("URL"), "SES's endpoint, such as https://email.eu-west-1.amazonaws.com/"),
    row("verbose", None, "Tells what SES answered"),
    row("help", None, "Tells how it is used"),
    row("rules", Some("NAME[,...]"), "Rule files, as in the settings; none: the message leaves octet for octet"),
    row("config", Some("FILE"), "The settings file (also HEADGATE_CONFIG); none is needed"),
    row("dry-run", None, "Sends nothing, and tells what would be sent, and why"),
    row("json", None, "--dry-run tells it as JSON"),
    row(
        "legacy-exit",
        None,
        "Ends as ses-send-email.pl did: 30, 31, 32 and 255 instead of 75, which mail servers bounce",
    ),
    row("unstuff", None, "Takes one of two dots at the start of a line, as Sendmail's mailer flag X adds one"),
];

const fn row(name: &'static str, value: Option<&'static str>, help: &'static str) -> OptionRow {
    OptionRow { name, value, help }
}

/// What is asked for.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) raw: bool,
    pub(super) sender: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) cc: Vec<String>,
    pub(super) bcc: Vec<String>,
    pub(super) credentials: Option<PathBuf>,
    pub(super) endpoint: Option<String>,
    pub(super) verbose: bool,
    pub(super) help: bool,
    pub(super) rules: Option<String>,
    pub(super) config: Option<PathBuf>,
    pub(super) dry_run: bool,
    pub(super) json: bool,
    pub(super) legacy_exit: bool,
    pub(super) unstuff: bool,
    pub(super) recipients: Vec<String>,
}

/// Why the arguments cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misuse {
    /// They are no options of ours.
    Options(Vec<String>),
    /// Something is missing, or too much.
    Lack(&'static str),
}

impl Options {
    /// Reads the arguments behind the command's name.
    pub(super) fn read(arguments: Vec<OsString>) -> Result<Self, Misuse> {
        let parsed = parse(OPTIONS, arguments, is_sendmail_flag);
        if !parsed.faults.is_empty() {
            return Err(Misuse::Options(parsed.faults));
        }
        let options = Self::of(&parsed);
        if options.help {
            return Ok(options);
        }
        options.lack().map_or(Ok(options), |lack| Err(Misuse::Lack(lack)))
    }

    fn of(parsed: &Parsed) -> Self {
        let text = |name: &str| parsed.value(name).map(|value| as_text(value).into_owned());
        let path = |name: &str| parsed.value(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let list = |name: &str| split(&text(name).unwrap_or_default(), &[',']);
        Self {
            raw: parsed.has("r"),
            sender: text("f"),
            subject: text("s"),
            cc: list("c"),
            bcc: list("b"),
            credentials: path("k"),
            endpoint: text("e"),
            verbose: parsed.has("verbose"),
            help: parsed.has("help"),
            rules: text("rules"),
            config: path("config"),
            dry_run: parsed.has("dry-run"),
            json: parsed.has("json"),
            legacy_exit: parsed.has("legacy-exit"),
            unstuff: parsed.has("unstuff"),
            recipients: parsed.operands.iter().flat_map(|one| split(&as_text(one), &[',', ' '])).collect(),
        }
    }

    /// The first thing that is missing: the subject before the sender before the recipient.
    fn lack(&self) -> Option<&'static str> {
        let no_sender = self.sender.as_deref().is_none_or(str::is_empty);
        if self.raw {
            return self.subject.is_some().then_some("Subject is not allowed in raw mode!");
        }
        match &self.subject {
            None => Some("Missing subject!"),
            Some(subject) if subject.is_empty() => Some("Missing subject!"),
            Some(_) if no_sender => Some("Missing sender!"),
            Some(_) if self.recipients.is_empty() => Some("Missing recipient!"),
            Some(_) => None,
        }
    }

    /// Whether no rule may touch the message.
    pub(super) fn untouched(&self) -> bool {
        self.rules.as_deref() == Some("none")
    }
}

/// Flags that callers of sendmail add without being asked: `-i`, `-t` and `-oX`.
fn is_sendmail_flag(text: &str) -> bool {
    text == "-i" || text == "-t" || text.strip_prefix("-o").is_some_and(|rest| !rest.is_empty())
}

fn split(text: &str, at: &[char]) -> Vec<String> {
    text.split(at).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Options, Misuse> {
        Options::read(arguments.iter().map(OsString::from).collect())
    }

    fn lack(arguments: &[&str]) -> &'static str {
        match read(arguments) {
            Err(Misuse::Lack(lack)) => lack,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn operands_are_joined_and_split() {
        let options = read(&["-r", "", "b@y c@y,,d@y", "-c", "C c <c@z>, d@z", "e@y"]).unwrap();
        assert_eq!(options.recipients, ["b@y", "c@y", "d@y", "e@y"]);
        assert_eq!(options.cc, ["C c <c@z>", "d@z"]);
    }

    #[test]
    fn the_first_lack_is_told() {
        assert_eq!(lack(&[]), "Missing subject!");
        assert_eq!(lack(&["-s", "", "-f", "a@x", "b@y"]), "Missing subject!");
        assert_eq!(lack(&["-s", "x", "b@y"]), "Missing sender!");
        assert_eq!(lack(&["-s", "x", "-f", "a@x", ","]), "Missing recipient!");
        assert_eq!(lack(&["-r", "-s", ""]), "Subject is not allowed in raw mode!");
        assert!(read(&["-r"]).is_ok() && read(&["-s", "0", "-f", "a@x", "b@y"]).is_ok());
    }

    #[test]
    fn what_callers_of_sendmail_add_is_taken() {
        let options = read(&["-r", "-oi", "-i", "-t", "-oem", "-f", "a@x", "b@y"]).unwrap();
        assert_eq!((options.sender.as_deref(), options.recipients.len()), (Some("a@x"), 1));
        assert_eq!(read(&["-o", "x"]).unwrap_err(), Misuse::Options(vec!["Unknown option: o".to_owned()]));
    }
}
