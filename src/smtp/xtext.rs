//! xtext (RFC 3461 section 4): printable ASCII in which `+` and two hexadecimal digits in capitals stand for any octet. And
//! addresses in ORCPT, which are xtext, or of the type `utf-8` with `\x{…}` for any character (RFC 6533 section 3).

use std::fmt::Write as _;

/// Octets of the type of an address.
const TYPE_MAX: usize = 40;

/// The text that is meant; nothing when it is not of the form, or no UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    text.bytes().all(|octet| matches!(octet, b'!'..=b'~')).then(|| octets(text)).flatten()
}

/// What the text stands for; what is not ASCII stands for itself.
fn octets(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'+' => hexadecimal(rest.next()?)? << 4 | hexadecimal(rest.next()?)?,
            b'=' => return None,
            b'!'..=b'~' | 0x80.. => octet,
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

/// Text as xtext.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'!'..=b'~' if !b"+=".contains(&octet) => out.push(char::from(octet)),
            other => {
                let _ = write!(out, "+{other:02X}");
            }
        }
    }
    out
}

/// The value of an ORCPT as `type;address` without its encoding; nothing when it is not of the form, or holds controls.
pub(super) fn read_orcpt(value: &str) -> Option<String> {
    let (kind, address) = value.split_once(';')?;
    let is_kind = (1..=TYPE_MAX).contains(&kind.len())
        && kind.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
    let address = if is_utf8(kind) { unescaped(&octets(address)?)? } else { decode(address)? };
    let is_address = !address.is_empty() && !address.chars().any(char::is_control);
    (is_kind && is_address).then(|| format!("{kind};{address}"))
}

/// `type;address` as the value of an ORCPT, in ASCII.
pub fn write_orcpt(original: &str) -> String {
    let (kind, address) = original.split_once(';').unwrap_or(("rfc822", original));
    let address = if is_utf8(kind) { escaped(address) } else { encode(address) };
    format!("{kind};{address}")
}

fn is_utf8(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("utf-8")
}

/// `\x{E9}` is é.
fn unescaped(text: &str) -> Option<String> {
    let mut pieces = text.split('\\');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let (digits, rest) = piece.strip_prefix("x{")?.split_once('}')?;
        out.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
        out.push_str(rest);
    }
    Some(out)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '!'..='~' if !"+=\\".contains(one) => out.push(one),
            other => {
                let _ = write!(out, "\\x{{{:02X}}}", u32::from(other));
            }
        }
    }
    out
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

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["", "a b+c=", "QQ314159", "a\\x{41}", "é\0"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text));
        }
        for original in ["rfc822;a+b=c@example.com", "x400;/c=de/s=x y", "utf-8;Jérôme+a\\@exämple.com"] {
            let written = write_orcpt(original);
            assert!(written.is_ascii() && !written.contains(' '), "{written}");
            assert_eq!(read_orcpt(&written).as_deref(), Some(original));
        }
    }

    #[test]
    fn an_original_recipient_has_a_type_and_an_address() {
        assert_eq!(read_orcpt("rfc822;a+2Bb@example.com").as_deref(), Some("rfc822;a+b@example.com"));
        for jerome in
            ["utf-8;Jérôme@example.com", "utf-8;J\\x{E9}r\\x{F4}me@example.com", "utf-8;J+C3+A9r\\x{F4}me@example.com"]
        {
            assert_eq!(read_orcpt(jerome).as_deref(), Some("utf-8;Jérôme@example.com"), "{jerome}");
        }
        let long = format!("{};a", "x".repeat(TYPE_MAX + 1));
        for wrong in [
            "",
            "a@example.com",
            ";a",
            "rfc822;",
            "rfc_822;a",
            "rfc822;a=b",
            "rfc822;a+0D+0Ab",
            "rfc822;é",
            "utf-8;\\x{0}",
            "utf-8;\\y",
            &long,
        ] {
            assert_eq!(read_orcpt(wrong), None, "{wrong}");
        }
    }
}
