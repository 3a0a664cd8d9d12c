//! A reader of messages that shares nothing with the product, so that the two can disagree.

/// The octets as one can read them, cut where they are many.
pub fn shown(octets: &[u8]) -> String {
    let line = |line: &[u8]| line.escape_ascii().to_string();
    octets
        .get(..6000)
        .unwrap_or(octets)
        .split_inclusive(|octet| *octet == b'\n')
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// All line ends as CRLF: a lone CR or LF is one, and so is a run of CR with its LF.
pub fn with_crlf(octets: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(octets.len() + 16);
    let mut at = 0;
    while let Some(octet) = octets.get(at) {
        let returns = octets[at..].iter().take_while(|octet| **octet == b'\r').count();
        let taken = match octets.get(at + returns) {
            Some(b'\n') => returns + 1,
            _ => returns.min(1),
        };
        if taken == 0 {
            out.push(*octet);
        } else {
            out.extend_from_slice(b"\r\n");
        }
        at += taken.max(1);
    }
    out
}

/// The header, and the empty line with what follows; line ends are CRLF already.
pub fn split(message: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in message.split_inclusive(|octet| *octet == b'\n') {
        if line == b"\r\n" {
            break;
        }
        at += line.len();
    }
    message.split_at(at)
}

/// The fields and stray lines of a header, each with its folded lines.
pub fn fields(head: &[u8]) -> Vec<Vec<u8>> {
    let mut fields = Vec::<Vec<u8>>::new();
    for line in head.split_inclusive(|octet| *octet == b'\n') {
        match fields.last_mut() {
            Some(field) if line.starts_with(b" ") || line.starts_with(b"\t") => field.extend_from_slice(line),
            _ => fields.push(line.to_vec()),
        }
    }
    fields
}

/// Whether a field has that name, perhaps with a byte order mark, NUL octets and blanks behind it.
pub fn is_named(field: &[u8], name: &str) -> bool {
    let Some(colon) = field.iter().position(|octet| *octet == b':') else { return false };
    let written: Vec<u8> = field[..colon].iter().copied().filter(|octet| *octet != 0).collect();
    let written = written.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&written);
    let end = written.iter().rposition(|octet| !matches!(octet, b' ' | b'\t')).map_or(0, |at| at + 1);
    written[..end].eq_ignore_ascii_case(name.as_bytes())
}

/// The Received fields of a message as it came in.
pub fn hops(raw: &[u8]) -> usize {
    let raw = with_crlf(raw);
    let (head, _) = split(&raw);
    fields(head).iter().filter(|field| is_named(field, "Received")).count()
}
