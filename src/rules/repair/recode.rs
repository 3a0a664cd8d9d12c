//! Encoding the body of a part anew, so that it decodes to the same octets (RFC 2045 section 6).

use super::parts::{Body, Edit};
use crate::{
    header::{Header, LINE_MAX},
    mime::{Encoding, base64, quoted_printable},
};

/// A body in another encoding.
pub(super) struct Recoded {
    pub octets: Vec<u8>,
    /// What the header has to say of it.
    pub edits: Vec<Edit>,
    pub encoding: &'static str,
}

/// The body of a leaf without lines over the limit and without NUL; nothing if it has to be left alone.
pub(super) fn recode(body: &Body, index: usize, header: &Header) -> Option<Recoded> {
    let part = body.part(index)?;
    let octets = body.octets(&part.body);
    let unchanged = |octets, encoding| Recoded { octets, edits: Vec::new(), encoding };
    match part.encoding {
        Encoding::QuotedPrintable => Some(unchanged(quoted_printable::rewrap(octets, LINE_MAX), QUOTED_PRINTABLE)),
        Encoding::Base64 => base64::rewrap(octets, LINE_MAX).map(|octets| unchanged(octets, BASE64)),
        Encoding::Other => None,
        // A line that is no field may be the first of the body; then a field behind it would be text.
        Encoding::Identity if header.positions().any(|at| header.name(at).is_none()) => None,
        Encoding::Identity => {
            let as_text = part.media_type.starts_with("text/") && is_mostly_plain(octets);
            let encoding = if as_text { QUOTED_PRINTABLE } else { BASE64 };
            let mut encoded = if as_text { quoted_printable::encode(octets) } else { base64::encode(octets) };
            if !as_text && octets.ends_with(b"\n") {
                encoded.extend_from_slice(b"\r\n");
            }
            let edits = fields(header, encoding, body.parts.is_message(index).then_some(octets));
            Some(Recoded { octets: encoded, edits, encoding })
        }
    }
}

const QUOTED_PRINTABLE: &str = "quoted-printable";
const BASE64: &str = "base64";

/// Whether quoted-printable is shorter than base64: at most one octet in six becomes three.
fn is_mostly_plain(octets: &[u8]) -> bool {
    let plain = |octet: &u8| (octet.is_ascii_graphic() && *octet != b'=') || octet.is_ascii_whitespace();
    octets.iter().filter(|octet| !plain(octet)).count() <= octets.len() / 6
}

/// The fields that tell of the encoding; for a whole message also those that make it MIME (RFC 2045 section 4).
fn fields(header: &Header, encoding: &str, message: Option<&[u8]>) -> Vec<Edit> {
    let mut edits = Vec::new();
    if let Some(octets) = message {
        if header.find("MIME-Version").next().is_none() {
            edits.push(Edit::Append("MIME-Version", "1.0".to_owned()));
        }
        if header.find("Content-Type").next().is_none() {
            edits.push(Edit::Append("Content-Type", format!("text/plain; charset={}", charset(octets))));
        }
    }
    let name = "Content-Transfer-Encoding";
    edits.push(match header.find(name).next() {
        Some(at) => Edit::Put(at, format!("{}: {encoding}\r\n", header.name(at).unwrap_or(name)).into_bytes()),
        None => Edit::Append(name, encoding.to_owned()),
    });
    edits
}

/// The charset of a text that names none; RFC 1428 section 3 has the last one.
fn charset(octets: &[u8]) -> &'static str {
    match std::str::from_utf8(octets) {
        Ok(text) if text.is_ascii() => "us-ascii",
        Ok(_) => "utf-8",
        Err(_) => "unknown-8bit",
    }
}
