//! Command lines (RFC 5321 section 4.1.1) read into [`Command`]s; what cannot be read becomes the reply that says why.

use crate::mail::{Address, AddressError, Enhanced, Reply, Secret, Sender};

const SYNTAX: Enhanced = Enhanced(5, 5, 2);
const ARGUMENTS: Enhanced = Enhanced(5, 5, 4);

/// One command of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// EHLO with what the client calls itself.
    Ehlo(String),
    /// HELO with what the client calls itself.
    Helo(String),
    /// LHLO with what the client calls itself (RFC 2033).
    Lhlo(String),
    /// MAIL with the reverse-path and its parameters.
    Mail(Sender, Vec<Parameter>),
    /// RCPT with the forward-path and its parameters.
    Rcpt(ForwardPath, Vec<Parameter>),
    /// AUTH with the mechanism in capitals, and the initial response as it stands there, which holds a password.
    Auth(String, Option<Secret>),
    /// DATA.
    Data,
    /// BDAT with the octets of the chunk, and whether it is the last (RFC 3030).
    Bdat(u64, bool),
    /// STARTTLS.
    StartTls,
    /// XCLIENT with its attributes.
    Xclient(Vec<Parameter>),
    /// XFORWARD with its attributes.
    Xforward(Vec<Parameter>),
    /// RSET.
    Rset,
    /// NOOP, its argument ignored.
    Noop,
    /// VRFY with its argument.
    Vrfy,
    /// HELP, its argument ignored.
    Help,
    /// QUIT.
    Quit,
}

/// Where a RCPT goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForwardPath {
    /// A mailbox.
    Mailbox(Address),
    /// `<Postmaster>` without a domain, which is ours (RFC 5321 section 4.5.1).
    Postmaster,
}

/// An ESMTP parameter of MAIL or RCPT, its keyword in capitals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// `esmtp-keyword`.
    pub keyword: String,
    /// `esmtp-value`, if there is one.
    pub value: Option<String>,
}

impl Command {
    /// Reads a line without its CRLF.
    ///
    /// # Errors
    /// The reply that tells the client what is wrong (RFC 5321 section 4.2.4).
    pub fn parse(line: &[u8]) -> Result<Self, Reply> {
        let text = text(line)?;
        let (verb, argument) = text.split_once(' ').unwrap_or((text, ""));
        let argument = argument.trim_start_matches(' ');
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" => greeting(argument).map(Self::Ehlo),
            "HELO" => greeting(argument).map(Self::Helo),
            "LHLO" => greeting(argument).map(Self::Lhlo),
            "MAIL" => mail(argument),
            "RCPT" => rcpt(argument),
            "AUTH" => auth(argument),
            "DATA" => bare(Self::Data, "DATA", argument),
            "BDAT" => bdat(argument),
            "STARTTLS" => bare(Self::StartTls, "STARTTLS", argument),
            "XCLIENT" => parameters(argument).map(Self::Xclient),
            "XFORWARD" => parameters(argument).map(Self::Xforward),
            "RSET" => bare(Self::Rset, "RSET", argument),
            "QUIT" => bare(Self::Quit, "QUIT", argument),
            "NOOP" => Ok(Self::Noop),
            "HELP" => Ok(Self::Help),
            "VRFY" if argument.is_empty() => Err(Reply::new(501, ARGUMENTS, "VRFY needs a user or mailbox")),
            "VRFY" => Ok(Self::Vrfy),
            "EXPN" | "SEND" | "SOML" | "SAML" | "TURN" => {
                Err(Reply::new(502, Enhanced(5, 5, 1), &format!("{} is not implemented", verb.to_ascii_uppercase())))
            }
            _ => Err(Reply::new(500, SYNTAX, "Unknown command; HELP lists the known ones")),
        }
    }
}

/// The line as text without controls; of a command we know, it is the argument that is wrong.
fn text(line: &[u8]) -> Result<&str, Reply> {
    let text = std::str::from_utf8(line).ok().filter(|text| !text.chars().any(char::is_control));
    text.map(|text| text.trim_end_matches(' ')).ok_or_else(|| {
        let verb = line.get(..5).unwrap_or_default().to_ascii_uppercase();
        let known = [b"EHLO ", b"HELO ", b"MAIL ", b"RCPT ", b"VRFY ", b"NOOP "].iter().any(|one| one[..] == verb[..]);
        let (code, enhanced) = if known { (501, ARGUMENTS) } else { (500, SYNTAX) };
        Reply::new(code, enhanced, "The line holds control characters or is not UTF-8")
    })
}

fn bare(command: Command, verb: &str, argument: &str) -> Result<Command, Reply> {
    if argument.is_empty() {
        Ok(command)
    } else {
        Err(Reply::new(501, ARGUMENTS, &format!("{verb} takes no argument")))
    }
}

fn bdat(argument: &str) -> Result<Command, Reply> {
    let mut words = argument.split(' ').filter(|word| !word.is_empty());
    let size =
        words.next().filter(|word| word.bytes().all(|octet| octet.is_ascii_digit())).and_then(|word| word.parse().ok());
    match (size, words.next(), words.next()) {
        (Some(size), None, None) => Ok(Command::Bdat(size, false)),
        (Some(size), Some(last), None) if last.eq_ignore_ascii_case("LAST") => Ok(Command::Bdat(size, true)),
        _ => Err(Reply::new(501, ARGUMENTS, "Say BDAT with a number of octets, and LAST with the last chunk; goodbye")),
    }
}

fn auth(argument: &str) -> Result<Command, Reply> {
    let mut words = argument.split(' ').filter(|word| !word.is_empty());
    match (words.next(), words.next(), words.next()) {
        (Some(mechanism), initial, None) => Ok(Command::Auth(mechanism.to_ascii_uppercase(), initial.map(Secret::new))),
        _ => Err(Reply::new(501, ARGUMENTS, "Say AUTH PLAIN or AUTH LOGIN")),
    }
}

fn greeting(argument: &str) -> Result<String, Reply> {
    let name = argument.trim_end();
    if !name.is_empty() && name.len() <= 255 && name.bytes().all(|octet| octet.is_ascii_graphic()) {
        Ok(name.to_owned())
    } else {
        Err(Reply::new(501, ARGUMENTS, "Give your host name or address literal, as in EHLO host.example.com"))
    }
}

fn mail(argument: &str) -> Result<Command, Reply> {
    let (path, parameters) = path_and_parameters(argument, "FROM:")?;
    if path.is_empty() {
        return Ok(Command::Mail(Sender(None), parameters));
    }
    let address = Address::parse(path).map_err(|error| refuse(path, &error, Enhanced(5, 1, 7)))?;
    Ok(Command::Mail(Sender(Some(address)), parameters))
}

fn rcpt(argument: &str) -> Result<Command, Reply> {
    let (path, parameters) = path_and_parameters(argument, "TO:")?;
    if path.eq_ignore_ascii_case("postmaster") {
        return Ok(Command::Rcpt(ForwardPath::Postmaster, parameters));
    }
    let address = Address::parse(path).map_err(|error| refuse(path, &error, Enhanced(5, 1, 3)))?;
    Ok(Command::Rcpt(ForwardPath::Mailbox(address), parameters))
}

fn refuse(path: &str, error: &AddressError, enhanced: Enhanced) -> Reply {
    let shown: String = path.chars().take(100).collect();
    match error {
        AddressError::LocalNotAscii => Reply::new(550, Enhanced(5, 6, 7), &format!("<{shown}>: {error}")),
        _ => Reply::new(553, enhanced, &format!("<{shown}>: {error}")),
    }
}

/// Splits `FROM:<path> KEY=VALUE …`. Blanks behind the colon and missing angle brackets are forgiven, a source route is
/// dropped (RFC 5321 appendix C).
fn path_and_parameters<'a>(argument: &'a str, prefix: &str) -> Result<(&'a str, Vec<Parameter>), Reply> {
    let verb = if prefix == "TO:" { "RCPT" } else { "MAIL" };
    let wrong = || Reply::new(501, ARGUMENTS, &format!("Say {verb} {prefix}<user@example.com>"));
    let head = argument.get(..prefix.len()).filter(|head| head.eq_ignore_ascii_case(prefix)).ok_or_else(wrong)?;
    let rest = argument.get(head.len()..).unwrap_or_default().trim_start_matches(' ');
    let (path, tail) = match rest.strip_prefix('<') {
        Some(inside) => closing(inside).ok_or_else(wrong)?,
        None => rest.split_once(' ').unwrap_or((rest, "")),
    };
    if !rest.starts_with('<') && path.is_empty() || !tail.is_empty() && !tail.starts_with(' ') && rest.starts_with('<')
    {
        return Err(wrong());
    }
    let path = if path.starts_with('@') { path.split_once(':').map_or(path, |(_, mailbox)| mailbox) } else { path };
    Ok((path, parameters(tail)?))
}

fn parameters(text: &str) -> Result<Vec<Parameter>, Reply> {
    text.split(' ').filter(|word| !word.is_empty()).map(parameter).collect()
}

/// The path up to the `>` that is not in a quoted string, and what stands behind it.
fn closing(inside: &str) -> Option<(&str, &str)> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, one) in inside.char_indices() {
        match one {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '>' if !quoted => return Some((inside.get(..at)?, inside.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

fn parameter(word: &str) -> Result<Parameter, Reply> {
    let (keyword, value) = word.split_once('=').map_or((word, None), |(keyword, value)| (keyword, Some(value)));
    let legal_keyword = keyword.starts_with(|one: char| one.is_ascii_alphanumeric())
        && keyword.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
    if !legal_keyword || value.is_some_and(str::is_empty) {
        return Err(Reply::new(
            501,
            ARGUMENTS,
            &format!("{word:.80} is no parameter; they read KEYWORD or KEYWORD=value"),
        ));
    }
    Ok(Parameter { keyword: keyword.to_ascii_uppercase(), value: value.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> u16 {
        Command::parse(line.as_bytes()).unwrap_err().code()
    }

    fn sender(line: &str) -> String {
        match Command::parse(line.as_bytes()) {
            Ok(Command::Mail(sender, _)) => sender.to_string(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn paths_as_clients_write_them() {
        assert_eq!(sender("MAIL FROM:<a@example.com>"), "a@example.com");
        assert_eq!(sender("mail from: <a@example.com> SIZE=10"), "a@example.com");
        assert_eq!(sender("MAIL FROM:a@example.com SIZE=10"), "a@example.com");
        assert_eq!(sender("MAIL FROM:<>"), "");
        assert_eq!(sender("MAIL FROM:<@x.example,@y.example:a@example.com>"), "a@example.com");
        assert_eq!(sender("MAIL FROM:<\"a>b c\"@example.com>"), "\"a>b c\"@example.com");
        let parsed = Command::parse(b"RCPT TO:<PostMaster>");
        assert_eq!(parsed, Ok(Command::Rcpt(ForwardPath::Postmaster, vec![])));
    }

    #[test]
    fn wrong_lines_get_their_codes() {
        for (line, expected) in [
            ("CHICKEN", 500),
            ("", 500),
            ("EHLO", 501),
            ("EHLO x\tuser=root", 501),
            ("CHICKEN\t", 500),
            ("MAIL", 501),
            ("MAIL FROM:", 501),
            ("MAIL FROM:<a@example.com", 501),
            ("MAIL FROM:<a@example.com>SIZE=3", 501),
            ("MAIL FROM:<a@example.com> =x", 501),
            ("MAIL FROM:<a>", 553),
            ("RCPT TO:<>", 553),
            ("RCPT TO:<用户@example.net>", 550),
            ("DATA x", 501),
            ("STARTTLS now", 501),
            ("BDAT", 501),
            ("BDAT -1", 501),
            ("BDAT 99999999999999999999", 501),
            ("BDAT 1 FIRST", 501),
            ("BDAT 1 LAST LAST", 501),
            ("EXPN list", 502),
            ("VRFY", 501),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
        assert_eq!(Command::parse(b"NOOP \xff").unwrap_err().code(), 501);
    }

    #[test]
    fn agrees_with_smtp_proto_on_what_both_read() {
        for line in [
            "EHLO a.example",
            "MAIL FROM:<a@example.com> SIZE=100 BODY=8BITMIME",
            "RCPT TO:<b@example.net>",
            "DATA",
            "RSET",
            "NOOP",
            "QUIT",
        ] {
            let wire = format!("{line}\r\n");
            let theirs = smtp_proto::Request::parse(&mut wire.as_bytes().iter());
            assert!(theirs.is_ok() && Command::parse(line.as_bytes()).is_ok(), "{line}");
        }
    }
}
