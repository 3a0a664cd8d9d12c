//! A message as it follows DATA (RFC 5321 section 4.5.2).

use memchr::memchr_iter;

/// The octets that end the data.
pub(super) const END: &[u8] = b".\r\n";

/// A message ready for the wire but for [`END`]: a dot that begins a line is doubled, and there is a final CRLF.
///
/// A line ends with CRLF; a lone CR or LF is an octet like others and stays.
pub(super) fn stuffed(message: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(message.len() + message.len() / 64 + 2);
    let mut done = 0;
    for start in line_starts(message).filter(|start| message.get(*start) == Some(&b'.')) {
        data.extend_from_slice(message.get(done..start).unwrap_or_default());
        data.push(b'.');
        done = start;
    }
    data.extend_from_slice(message.get(done..).unwrap_or_default());
    if !data.is_empty() && !data.ends_with(b"\r\n") {
        data.extend_from_slice(b"\r\n");
    }
    data
}

fn line_starts(message: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let ends = memchr_iter(b'\n', message).filter(|at| *at > 0 && message.get(at - 1) == Some(&b'\r'));
    std::iter::once(0).chain(ends.map(|at| at + 1))
}

/// Whether a server that takes a lone CR or LF for a line end would see the data end within the message, and take what
/// follows for commands (SMTP smuggling): a line of one dot whose line ends are not both CRLF.
pub(super) fn is_smuggling(message: &[u8]) -> bool {
    let is_end = |octet: Option<&u8>| matches!(octet, Some(b'\r' | b'\n'));
    memchr_iter(b'.', message).filter(|at| *at > 0).any(|at| {
        let before = message.get(..at).unwrap_or_default();
        let after = message.get(at + 1..).unwrap_or_default();
        let lonely = is_end(before.last()) && is_end(after.first());
        lonely && !before.ends_with(b"\r\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dot_behind_crlf_is_doubled() {
        for (message, data) in [
            ("a\r\n", "a\r\n"),
            ("a", "a\r\n"),
            ("", ""),
            (".\r\n..a\r\n.", "..\r\n...a\r\n..\r\n"),
            ("a\n.b\r.c\r\n", "a\n.b\r.c\r\n"),
            ("a\r\r\n.b\n", "a\r\r\n..b\n\r\n"),
            ("a.\r\n\r\n", "a.\r\n\r\n"),
        ] {
            assert_eq!(String::from_utf8_lossy(&stuffed(message.as_bytes())), data, "{message:?}");
        }
    }

    #[test]
    fn a_lone_dot_between_lone_line_ends_is_seen() {
        for message in ["a\n.\r\nMAIL", "a\n.\nMAIL", "a\r.\r\nMAIL", "a\r.\rMAIL"] {
            assert!(is_smuggling(message.as_bytes()), "{message:?}");
        }
        for message in ["a\r\n.\r\nMAIL", "a\r\n.\nMAIL", "a\n.b\r\n", "a\n..\r\n", ".\r\n", "a.\r\n"] {
            assert!(!is_smuggling(message.as_bytes()), "{message:?}");
        }
    }
}
