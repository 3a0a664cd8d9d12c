//! Splits a message into header fields and body (RFC 5322 section 2.1 and 2.2). Enters: octets; leave: views of them.
//! It must not judge: what is wrong with a field is `law`'s to say.

/// One header field with its folded lines, as it stands in the message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a>(&'a [u8]);

impl<'a> Field<'a> {
    /// What stands before the first colon; None without one in the first line.
    pub(super) fn name(&self) -> Option<&'a [u8]> {
        Some(self.halves()?.0)
    }

    /// Names compare without case.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name().is_some_and(|written| written.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// The value unfolded (RFC 5322 section 2.2.3) and without outer blanks.
    pub(super) fn value(&self) -> String {
        let value = self.halves().map_or(&[][..], |(_, value)| value);
        let unfolded: Vec<u8> = value.iter().copied().filter(|octet| !matches!(octet, b'\r' | b'\n')).collect();
        String::from_utf8_lossy(unfolded.trim_ascii()).into_owned()
    }

    /// The first line, for naming a field that has no name.
    pub(super) fn first_line(&self) -> &'a [u8] {
        let mut lines = self.0.split(|octet| *octet == b'\n');
        lines.next().unwrap_or_default().trim_ascii_end()
    }

    fn halves(&self) -> Option<(&'a [u8], &'a [u8])> {
        let end = self.0.iter().position(|octet| matches!(octet, b':' | b'\n'))?;
        let (name, value) = self.0.split_at_checked(end)?;
        Some((name, value.strip_prefix(b":")?))
    }
}

/// The fields, and what follows the first empty line. A line that begins with a blank continues the field before it.
pub(super) fn split(message: &[u8]) -> (Vec<Field<'_>>, &[u8]) {
    let mut fields = Vec::new();
    let mut rest = message;
    let mut length = 0;
    for line in message.split_inclusive(|octet| *octet == b'\n') {
        let folded = length > 0 && matches!(line.first(), Some(b' ' | b'\t'));
        if !folded {
            let (field, after) = rest.split_at_checked(length).unwrap_or_default();
            if !field.is_empty() {
                fields.push(Field(field));
            }
            (rest, length) = (after, 0);
        }
        if matches!(line, b"\r\n" | b"\n") {
            return (fields, rest.get(line.len()..).unwrap_or_default());
        }
        length += line.len();
    }
    if !rest.is_empty() {
        fields.push(Field(rest));
    }
    (fields, &[])
}
