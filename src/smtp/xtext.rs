//! xtext (RFC 3461 section 4): printable ASCII in which `+` and two hexadecimal digits in capitals stand for any octet.

/// The text that is meant; nothing when it is not of the form, or no UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'+' => hexadecimal(rest.next()?)? << 4 | hexadecimal(rest.next()?)?,
            b'=' => return None,
            b'!'..=b'~' => octet,
            _ => return None,
        });
    }
    String::from_utf8(octets).ok()
}

fn hexadecimal(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xtext_is_read() {
        assert_eq!(decode("a+20b+2Bc+3D").as_deref(), Some("a b+c="));
        assert_eq!(decode("").as_deref(), Some(""));
        for wrong in ["+", "+2", "+2b", "+GG", "a=b", "a b", "é", "+FF"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
