//! The lines that part a multipart body (RFC 2046 section 5.1.1).

use memchr::memmem;

/// A line with the boundary of a multipart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Delimiter {
    /// Where what precedes it ends; the line end before it belongs to the delimiter.
    pub before: usize,
    /// Where the line itself begins.
    pub line: usize,
    /// Where what follows it begins.
    pub after: usize,
    /// Whether it is the last one.
    pub closes: bool,
}

/// The delimiter lines in a body, in linear time.
///
/// Nothing but white space may follow the boundary, so that the delimiters of an inner multipart, whose boundary begins
/// as the outer one does, are not taken for outer ones.
pub(super) fn delimiters<'a>(body: &'a [u8], boundary: &[u8]) -> impl Iterator<Item = Delimiter> + 'a {
    let needle = [b"--", boundary].concat();
    let length = needle.len();
    let finder = memmem::Finder::new(&needle).into_owned();
    let mut start = 0;
    std::iter::from_fn(move || {
        loop {
            let at = start + finder.find(body.get(start..)?)?;
            start = at + length;
            if let Some(delimiter) = delimiter(body, at, length) {
                return Some(delimiter);
            }
        }
    })
}

/// The delimiter at a place where the boundary stands, if it has a line for itself.
fn delimiter(body: &[u8], at: usize, length: usize) -> Option<Delimiter> {
    let before = match body.get(..at)? {
        [] => 0,
        [.., b'\r', b'\n'] => at - 2,
        [.., b'\r' | b'\n'] => at - 1,
        _ => return None,
    };
    let tail = body.get(at + length..)?;
    let closes = tail.starts_with(b"--");
    let tail = tail.get(if closes { 2 } else { 0 }..)?;
    let blanks = tail.iter().take_while(|octet| matches!(octet, b' ' | b'\t')).count();
    let ending = match tail.get(blanks..)? {
        [] => 0,
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => return None,
    };
    let after = at + length + if closes { 2 } else { 0 } + blanks + ending;
    Some(Delimiter { before, line: at, after, closes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str, boundary: &str) -> Vec<(usize, usize, usize, bool)> {
        let all = delimiters(body.as_bytes(), boundary.as_bytes());
        all.map(|one| (one.before, one.line, one.after, one.closes)).collect()
    }

    #[test]
    fn delimiters_have_a_line_for_themselves() {
        assert_eq!(
            found("--b\r\nx\r\n--b \t\r\ny\r\n--b--", "b"),
            [(0, 0, 5, false), (6, 8, 15, false), (16, 18, 23, true)]
        );
        assert_eq!(found("x--b\r\n--b1\r\n--bb--\r\n--b--x", "b"), []);
        assert_eq!(found("\n--b\nx\r--b--\r", "b"), [(0, 1, 5, false), (6, 7, 13, true)]);
    }

    #[test]
    fn a_boundary_may_end_in_hyphens() {
        assert_eq!(found("--b--\r\n--b----\r\n", "b--"), [(0, 0, 7, false), (5, 7, 16, true)]);
    }
}
