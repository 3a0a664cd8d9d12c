//! What a mail server says: replies (RFC 5321 section 4.2) with enhanced status codes (RFC 2034), and the extensions it
//! offers (section 4.1.1.1). No I/O.

use crate::mail::Enhanced;

/// Octets of a line of a reply at most; RFC 5321 section 4.5.3.1.5 allows 512, which some overstep.
pub(super) const LINE_MAX: usize = 4096;
/// Lines of a reply at most.
const LINES_MAX: usize = 200;

/// One reply.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Response {
    /// The three digits.
    pub code: u16,
    /// The enhanced code of the first line, when it has one of its class.
    pub enhanced: Option<Enhanced>,
    /// The text of each line, without codes.
    pub lines: Vec<String>,
}

impl Response {
    /// The text, its lines joined by blanks.
    pub fn text(&self) -> String {
        let lines = self.lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" ")
    }

    /// Whether it is 2xx.
    pub fn is_positive(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Takes one line in, without its line end; says whether it was the last.
    ///
    /// # Errors
    /// It is no line of a reply.
    pub fn take(&mut self, line: &[u8]) -> Result<bool, String> {
        let wrong = || format!("this is no SMTP reply: {:?}", String::from_utf8_lossy(line.get(..80).unwrap_or(line)));
        let (digits, rest) = line.split_at_checked(3).ok_or_else(wrong)?;
        let code = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|octet| octet.is_ascii_digit()));
        let code: u16 = code.and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
        let last = match rest.first() {
            None | Some(b' ') => true,
            Some(b'-') => false,
            Some(_) => return Err(wrong()),
        };
        if self.lines.is_empty() {
            self.code = code;
        } else if code != self.code || self.lines.len() >= LINES_MAX {
            return Err(wrong());
        }
        let text = String::from_utf8_lossy(rest.get(1..).unwrap_or_default()).into_owned();
        self.push(text);
        Ok(last)
    }

    fn push(&mut self, text: String) {
        let class = self.code / 100;
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let enhanced: Option<Enhanced> = word.parse().ok().filter(|code: &Enhanced| u16::from(code.0) == class);
        let first = self.lines.is_empty();
        if first {
            self.enhanced = enhanced;
        }
        self.lines.push(if enhanced.is_some() { rest.to_owned() } else { text });
    }
}

/// What the answer to EHLO offers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Offer {
    /// RFC 3207.
    pub starttls: bool,
    /// Commands may follow each other without waiting (RFC 2920).
    pub pipelining: bool,
    /// Octets outside ASCII may be sent (RFC 6152).
    pub eight_bit: bool,
    /// The sender may say what it wants to hear (RFC 3461).
    pub dsn: bool,
    /// MAIL may tell the size, of which that many octets are taken; 0 where it is not said (RFC 1870).
    pub size: Option<usize>,
    /// RFC 4954, mechanism PLAIN (RFC 4616).
    pub auth_plain: bool,
    /// Mechanism LOGIN, which no RFC has and many servers do.
    pub auth_login: bool,
}

impl Offer {
    /// Reads it; what is not known is passed over.
    pub fn of(ehlo: &Response) -> Self {
        let mut offer = Self::default();
        for line in ehlo.lines.iter().skip(1) {
            // Some servers wrote AUTH=LOGIN, before there was an RFC.
            let line = line.to_ascii_uppercase().replace("AUTH=", "AUTH ");
            let mut words = line.split_whitespace();
            match words.next() {
                Some("STARTTLS") => offer.starttls = true,
                Some("PIPELINING") => offer.pipelining = true,
                Some("8BITMIME") => offer.eight_bit = true,
                Some("DSN") => offer.dsn = true,
                Some("SIZE") => offer.size = Some(words.next().and_then(|size| size.parse().ok()).unwrap_or(0)),
                Some("AUTH") => {
                    for mechanism in words {
                        offer.auth_plain |= mechanism == "PLAIN";
                        offer.auth_login |= mechanism == "LOGIN";
                    }
                }
                _ => {}
            }
        }
        offer
    }
}

#[cfg(test)]
pub(super) fn parsed(text: &str) -> Response {
    let mut response = Response::default();
    let lasts: Vec<bool> = text.split('|').map(|line| response.take(line.as_bytes()).unwrap()).collect();
    assert_eq!(lasts.iter().position(|last| *last), Some(lasts.len() - 1), "{text}");
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_with_their_codes() {
        for (text, code, enhanced, words) in [
            ("250 2.0.0 Ok: queued as 4A", 250, Some(Enhanced(2, 0, 0)), "Ok: queued as 4A"),
            ("550-5.7.509 no|550 5.7.509 access", 550, Some(Enhanced(5, 7, 509)), "no access"),
            ("550-no|550 5.1.1 such user", 550, None, "no such user"),
            ("550 4.1.1 mixed", 550, None, "4.1.1 mixed"),
            ("220-one|220 two", 220, None, "one two"),
            ("354", 354, None, ""),
            ("250 ", 250, None, ""),
            ("250 2.1.5", 250, Some(Enhanced(2, 1, 5)), ""),
            ("451 1.2.3.4 is late", 451, None, "1.2.3.4 is late"),
        ] {
            let response = parsed(text);
            assert_eq!((response.code, response.enhanced, response.text().as_str()), (code, enhanced, words), "{text}");
        }
        assert_eq!(parsed("250 caf\u{e9}").text(), "caf\u{e9}");
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for text in ["", "25", "2x0 ok", "250ok", "HTTP/1.1 200 OK", "SSH-2.0-x"] {
            assert!(Response::default().take(text.as_bytes()).is_err(), "{text}");
        }
        let mut response = Response::default();
        assert_eq!(response.take(b"250-a"), Ok(false));
        assert!(response.take(b"550 b").is_err());
        let mut endless = Response::default();
        assert!((0..=LINES_MAX).any(|_| endless.take(b"250-a").is_err()));
        assert_eq!(Response::default().take(b"250 \xff\0"), Ok(true));
    }

    #[test]
    fn offers_are_read() {
        let offer = Offer::of(&parsed(
            "250-mail.example.com|250-PIPELINING|250-SIZE 10240000|250-starttls|250-AUTH LOGIN plain|250-AUTH=X|250-XCLIENT NAME|250-DSN|250 8BITMIME",
        ));
        let all = Offer {
            starttls: true,
            pipelining: true,
            eight_bit: true,
            dsn: true,
            size: Some(10_240_000),
            auth_plain: true,
            auth_login: true,
        };
        assert_eq!(offer, all);
        assert_eq!(Offer::of(&parsed("250 STARTTLS")), Offer::default(), "the first line is a name");
        assert_eq!(Offer::of(&parsed("250-a|250 SIZE")).size, Some(0));
        assert!(Offer::of(&parsed("250-a|250 AUTH=LOGIN")).auth_login);
    }
}
