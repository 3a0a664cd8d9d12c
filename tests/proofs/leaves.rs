//! What a reader sees of a message, whatever its parts are encoded in.

use mail_parser::{Message, MessageParser, MimeHeaders, PartType};

use crate::octets;

/// The decoded leaf parts of a message by an independent reader, line ends and those at the end of a part aside.
pub fn leaves(message: &[u8]) -> Vec<Vec<u8>> {
    let Some(read) = MessageParser::new().parse(message) else { return Vec::new() };
    let mut leaves = Vec::new();
    collect(&read, &mut leaves);
    leaves
}

fn collect(message: &mail_parser::Message<'_>, leaves: &mut Vec<Vec<u8>>) {
    for part in &message.parts {
        match &part.body {
            PartType::Multipart(_) => {}
            PartType::Message(inner) => collect(inner, leaves),
            _ => leaves.push(octets::with_crlf(part.contents()).trim_ascii_end().to_vec()),
        }
    }
}

/// The octets of the leaf parts of a message, each decoded as far as it can be: where its encoding is broken the rest
/// stands for itself. Line ends at the end of a part are aside.
pub fn octets_of_leaves(message: &[u8]) -> Vec<Vec<u8>> {
    let Some(read) = MessageParser::new().parse(message) else { return Vec::new() };
    let mut leaves = Vec::new();
    decode(&read, &mut leaves);
    leaves
}

fn decode(message: &Message<'_>, leaves: &mut Vec<Vec<u8>>) {
    for part in &message.parts {
        match &part.body {
            PartType::Multipart(_) => {}
            PartType::Message(inner) => decode(inner, leaves),
            _ => {
                let span = part.offset_body as usize..part.offset_end as usize;
                let octets = message.raw_message.get(span).unwrap_or_default();
                let encoding = part.content_transfer_encoding().unwrap_or_default().to_ascii_lowercase();
                let mut decoded = match encoding.split([';', '(']).next().unwrap_or_default().trim() {
                    "quoted-printable" => from_quoted_printable(octets),
                    "base64" => from_base64(octets),
                    _ => octets.to_vec(),
                };
                let end = decoded.iter().rposition(|octet| !matches!(octet, b'\r' | b'\n')).map_or(0, |at| at + 1);
                decoded.truncate(end);
                leaves.push(decoded);
            }
        }
    }
}

/// RFC 2045 section 6.7.
fn from_quoted_printable(octets: &[u8]) -> Vec<u8> {
    let digit = |octet: Option<&u8>| octet.and_then(|octet| char::from(*octet).to_digit(16));
    let mut out = Vec::with_capacity(octets.len());
    let mut at = 0;
    while let Some(octet) = octets.get(at) {
        let behind = octets.get(at + 1..).unwrap_or_default();
        let blanks = behind.iter().take_while(|octet| matches!(octet, b' ' | b'\t')).count();
        at += match (octet, digit(behind.first()), digit(behind.get(1))) {
            (b'=', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap());
                3
            }
            (b'=', ..) if behind[blanks..].starts_with(b"\r\n") => blanks + 3,
            (b'=', ..) if behind.len() == blanks => blanks + 1,
            _ => {
                out.push(*octet);
                1
            }
        };
    }
    out
}

/// RFC 2045 section 6.8: octets outside the alphabet are none, and padding ends a group.
fn from_base64(octets: &[u8]) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for octet in octets {
        let value = match octet {
            b'A'..=b'Z' => octet - b'A',
            b'a'..=b'z' => octet - b'a' + 26,
            b'0'..=b'9' => octet - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                (bits, count) = (0, 0);
                continue;
            }
            _ => continue,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
        bits &= (1 << count) - 1;
    }
    out
}
