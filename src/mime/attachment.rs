//! The files in a message, by the names that their parts give them (RFC 2183 section 2.3, RFC 2231).

use bytes::Bytes;

use crate::header::{self, Header};

use super::{Grammar, Parts, Value};

/// A file in a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// The section number of its part, such as `2.1`; empty for the message itself.
    pub part: String,
    /// Its name, decoded.
    pub name: String,
    /// The line on which its part's header begins, 1 being the empty line before the body; 0 for the message itself.
    pub line: usize,
}

/// The files of a message, nested ones too.
pub fn attachments(header: &Header, rest: &Bytes) -> Vec<Attachment> {
    let parts = Parts::of(header, rest);
    let mut found = Vec::new();
    // Parts are listed as they begin, so that lines are counted on from the last file, not for each from the beginning.
    let (mut at, mut lines) = (0, 0);
    for (index, part) in parts.list.iter().enumerate() {
        let own = (index > 0).then(|| Header::parse(&rest.slice(part.header.clone())));
        let Some(name) = file_name(own.as_ref().unwrap_or(header)) else { continue };
        lines += header::lines(rest.get(at..part.header.start).unwrap_or_default()).count();
        at = part.header.start;
        let line = if index > 0 { lines + 1 } else { 0 };
        found.push(Attachment { part: parts.number(index), name, line });
    }
    found
}

/// The name in Content-Disposition, else the one in Content-Type.
fn file_name(header: &Header) -> Option<String> {
    let read = |name: &str, grammar| header.find(name).find_map(|at| Value::read(grammar, header.raw(at)).file_name());
    let disposition = read("Content-Disposition", Grammar::Disposition);
    disposition.or_else(|| read("Content-Type", Grammar::Type)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_nested_parts_and_decoded() {
        let raw = "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; name=\"x.txt\"\r\n\r\nhi\r\n--b--\r\n--a\r\nContent-Disposition: attachment; filename*=UTF-8''%C3%A9.EXE\r\n\r\nMZ\r\n--a--\r\n";
        let message = header::split(&Bytes::from(raw));
        let found = attachments(&Header::parse(&message.head), &message.rest);
        let shown: Vec<_> = found.iter().map(|one| (one.part.as_str(), one.name.as_str(), one.line)).collect();
        assert_eq!(shown, [("1.1", "x.txt", 6), ("2", "é.EXE", 11)]);
    }

    #[test]
    fn many_files_take_no_square_of_their_number() {
        let part = |number: usize| format!("--a\r\nContent-Type: x/y; name={number}\r\n\r\n{}", "\n".repeat(2_000));
        let parts: String = (1..900).map(part).collect();
        let raw = format!("Content-Type: multipart/mixed; boundary=a; name=0\r\n\r\n{parts}--a--\r\n");
        let message = header::split(&Bytes::from(raw));
        let found = attachments(&Header::parse(&message.head), &message.rest);
        assert_eq!(found.len(), 900);
        assert!(found.iter().enumerate().all(|(at, one)| one.name == at.to_string()));
        let lines: Vec<usize> = found.iter().map(|one| one.line).collect();
        assert_eq!(lines.get(..3), Some(&[0, 3, 2_006][..]));
    }
}
