//! SMTP replies (RFC 5321 section 4.2) with enhanced status codes (RFC 3463).

use std::{fmt, str::FromStr};

/// Characters of text on one reply line: with code, enhanced code and CRLF it stays below the 512 octets of
/// RFC 5321 section 4.5.3.1.5.
const LINE: usize = 400;
/// Lines of one reply; what is longer is cut, so that no text from SES floods a client.
const LINES: usize = 8;

/// An enhanced status code: class, subject, detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Enhanced(pub u8, pub u16, pub u16);

impl fmt::Display for Enhanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl FromStr for Enhanced {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.').map(|part| {
            let digits = (1..=3).contains(&part.len()) && part.bytes().all(|octet| octet.is_ascii_digit());
            if digits { part.parse::<u16>().map_err(|_| ()) } else { Err(()) }
        });
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(class @ (2 | 4 | 5))), Some(Ok(subject)), Some(Ok(detail)), None) => {
                Ok(Self(u8::try_from(class).map_err(|_| ())?, subject, detail))
            }
            _ => Err(()),
        }
    }
}

/// One reply. Its text is safe on the wire whatever it was made of: printable ASCII, no line ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    code: u16,
    enhanced: Option<Enhanced>,
    lines: Vec<String>,
}

impl Reply {
    /// A reply of one text, made safe and broken into lines where it is long.
    pub fn new(code: u16, enhanced: Enhanced, text: &str) -> Self {
        Self { code, enhanced: Some(enhanced), lines: wrapped(text) }
    }

    /// A reply without an enhanced code, as the greeting, EHLO and 354 are (RFC 2034 section 4).
    pub fn plain<T: AsRef<str>>(code: u16, lines: impl IntoIterator<Item = T>) -> Self {
        Self { code, enhanced: None, lines: lines.into_iter().flat_map(|line| wrapped(line.as_ref())).collect() }
    }

    /// The three digits.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The enhanced code, if it has one.
    pub fn enhanced(&self) -> Option<Enhanced> {
        self.enhanced
    }

    /// Whether it answers a command that was wrong, rather than mail that was.
    pub fn is_error(&self) -> bool {
        matches!(self.code, 500..=504 | 535 | 538 | 555)
    }

    /// Whether it is 2xx or 3xx.
    pub fn is_positive(&self) -> bool {
        self.code < 400
    }

    /// Whether it is 4xx.
    pub fn is_transient(&self) -> bool {
        (400..500).contains(&self.code)
    }

    /// The text, its lines joined by blanks.
    pub fn text(&self) -> String {
        self.lines.join(" ")
    }

    /// The same reply with more text at its end.
    #[must_use]
    pub fn with_suffix(self, suffix: &str) -> Self {
        let text = format!("{} {suffix}", self.lines.join(" "));
        Self { lines: wrapped(&text), ..self }
    }

    /// Appends the octets for the wire.
    pub fn write(&self, out: &mut Vec<u8>) {
        let last = self.lines.len().saturating_sub(1);
        for (index, line) in self.lines.iter().enumerate() {
            let dash = if index == last { ' ' } else { '-' };
            let enhanced = self.enhanced.map(|code| format!("{code} ")).unwrap_or_default();
            out.extend_from_slice(format!("{}{dash}{enhanced}{line}\r\n", self.code).as_bytes());
        }
    }
}

impl fmt::Display for Reply {
    /// Code, enhanced code and text on one line, as the log shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(enhanced) = self.enhanced {
            write!(f, " {enhanced}")?;
        }
        write!(f, " {}", self.text())
    }
}

impl FromStr for Reply {
    type Err = String;

    /// Reads `"550 5.7.1 text"`, as rules write it; the enhanced code may be left out.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is no reply; write a code of 4xx or 5xx and a text, such as \"550 5.7.1 not allowed\"")
        };
        let (code, rest) = text.split_once(' ').unwrap_or((text, ""));
        let code: u16 = code.parse().ok().filter(|code| (400..600).contains(code)).ok_or_else(wrong)?;
        let class = if code < 500 { 4 } else { 5 };
        let (first, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        match first.parse::<Enhanced>() {
            Ok(enhanced) if u16::from(enhanced.0) == class => Ok(Self::new(code, enhanced, tail)),
            Ok(enhanced) => {
                Err(format!("{text:?}: the enhanced code {enhanced} does not belong to {code}; it begins with {class}"))
            }
            Err(()) => Ok(Self::new(code, Enhanced(if class == 4 { 4 } else { 5 }, 7, 1), rest)),
        }
    }
}

fn wrapped(text: &str) -> Vec<String> {
    let safe: String = text
        .chars()
        .map(|one| {
            if (' '..='~').contains(&one) {
                one
            } else if one.is_control() {
                ' '
            } else {
                '?'
            }
        })
        .collect();
    let mut lines = Vec::new();
    let mut rest = safe.trim();
    while rest.len() > LINE && lines.len() < LINES {
        let cut = rest.get(..LINE).and_then(|head| head.rfind(' ')).filter(|cut| *cut > LINE / 2).unwrap_or(LINE);
        let (line, tail) = rest.split_at(cut);
        lines.push(line.trim_end().to_owned());
        rest = tail.trim_start();
    }
    if lines.len() < LINES || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(reply: &Reply) -> String {
        let mut out = Vec::new();
        reply.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_text_with_line_ends_cannot_forge_a_reply() {
        let reply = Reply::new(554, Enhanced(5, 6, 0), "Illegal header\r\n250 2.0.0 fake ok.\u{1b}[2J é");
        assert_eq!(wire(&reply), "554 5.6.0 Illegal header  250 2.0.0 fake ok. [2J ?\r\n");
    }

    #[test]
    fn a_long_text_becomes_several_lines_and_an_endless_one_is_cut() {
        let reply = Reply::new(554, Enhanced(5, 6, 0), &"word ".repeat(100_000));
        let text = wire(&reply);
        assert_eq!(text.lines().count(), LINES);
        assert!(text.lines().all(|line| line.len() < 510));
        assert!(text.lines().last().unwrap().starts_with("554 5.6.0 "));
    }

    #[test]
    fn replies_of_rules_are_read() {
        let reply: Reply = "550 5.7.1 finance only".parse().unwrap();
        assert_eq!(reply.to_string(), "550 5.7.1 finance only");
        assert_eq!("450 come back".parse::<Reply>().unwrap().to_string(), "450 4.7.1 come back");
        for wrong in ["", "250 ok", "x", "550 4.7.1 mixed", "99 x"] {
            assert!(wrong.parse::<Reply>().is_err(), "{wrong}");
        }
    }
}
