//! The words of a MIME field: tokens, quoted strings, comments (RFC 2045 section 5.1, RFC 5322 section 3.2).

/// A place in a value, from which words are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    octets: &'a [u8],
    /// Octets read so far.
    pub at: usize,
}

/// A comment or quoted string that does not end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Open;

impl<'a> Lexer<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self { octets, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.octets.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.octets.get(self.at).copied()
    }

    /// Reads the octet if it stands here.
    pub(super) fn eat(&mut self, octet: u8) -> bool {
        let stands = self.peek() == Some(octet);
        self.at += usize::from(stands);
        stands
    }

    /// Reads white space, and line ends, which are there in a folded value only.
    pub(super) fn blanks(&mut self) {
        self.at += self.rest().iter().take_while(|octet| is_blank(**octet)).count();
    }

    /// Reads white space and comments; stays before a comment that does not end.
    pub(super) fn space(&mut self) -> Result<(), Open> {
        loop {
            self.blanks();
            if self.peek() != Some(b'(') {
                return Ok(());
            }
            self.at += comment(self.rest()).ok_or(Open)?;
        }
    }

    /// Reads the token that stands here, which may be empty.
    pub(super) fn token(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().take_while(|octet| is_token(**octet)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Reads the quoted string that stands here, and gives it with its quotes.
    pub(super) fn quoted(&mut self) -> Result<&'a [u8], Open> {
        let rest = self.rest();
        let mut escaped = true; // the opening quote
        for (index, octet) in rest.iter().enumerate() {
            match octet {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.at += index + 1;
                    return Ok(rest.get(..=index).unwrap_or_default());
                }
                _ => {}
            }
        }
        Err(Open)
    }
}

/// Octets of the comment that `octets` begin with; comments nest.
fn comment(octets: &[u8]) -> Option<usize> {
    let (mut depth, mut escaped) = (0_usize, false);
    for (index, octet) in octets.iter().enumerate() {
        match octet {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(index + 1),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

pub(super) fn is_blank(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether an octet may stand in a token: printable ASCII without the `tspecials` of RFC 2045 section 5.1.
pub(super) fn is_token(octet: u8) -> bool {
    octet.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&octet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_one_by_one() {
        let mut lexer = Lexer::new(b" (a (b) \\) c)\r\n text/ \"a \\\" b\" (open");
        assert_eq!(lexer.space(), Ok(()));
        assert_eq!(lexer.token(), b"text");
        assert!(lexer.eat(b'/') && !lexer.eat(b'/'));
        lexer.blanks();
        assert_eq!(lexer.quoted(), Ok(&b"\"a \\\" b\""[..]));
        assert_eq!(lexer.space(), Err(Open));
        assert_eq!(lexer.rest(), b"(open");
        assert_eq!(Lexer::new(b"\"a").quoted(), Err(Open));
    }
}
