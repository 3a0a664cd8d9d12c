//! base64 (RFC 2045 section 6.8).

use base64::{Engine as _, prelude::BASE64_STANDARD};

/// Characters of a line, and the octets they stand for.
const LINE: usize = 76;
const OCTETS: usize = LINE / 4 * 3;

/// Encodes octets in lines of 76 characters, the last one without its line end.
pub fn encode(octets: &[u8]) -> Vec<u8> {
    let mut text = String::with_capacity(octets.len().div_ceil(OCTETS) * (LINE + 2));
    for chunk in octets.chunks(OCTETS) {
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        BASE64_STANDARD.encode_string(chunk, &mut text);
    }
    text.into_bytes()
}

/// Gives an encoded body lines of legal length, without NUL octets; only the lines that need it are touched.
///
/// Nothing if one of these lines holds something else than base64, so that dropping or breaking it could change what a
/// reader sees.
pub fn rewrap(octets: &[u8], longest: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(octets.len() + octets.len() / 32);
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        let ended = line.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let content = ended.unwrap_or(line);
        if content.len() <= longest && !content.contains(&0) {
            out.extend_from_slice(line);
            continue;
        }
        let void = |octet: &u8| matches!(octet, 0 | b' ' | b'\t' | b'\r');
        let text: Vec<u8> = content.iter().copied().filter(|octet| !void(octet)).collect();
        if !text.iter().all(|octet| octet.is_ascii_alphanumeric() || b"+/=".contains(octet)) {
            return None;
        }
        for (index, chunk) in text.chunks(LINE).enumerate() {
            out.extend_from_slice(if index > 0 { b"\r\n" } else { b"" });
            out.extend_from_slice(chunk);
        }
        out.extend_from_slice(line.get(content.len()..).unwrap_or_default());
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use mail_parser::decoders::base64::base64_decode;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_lines_are_rewrapped_and_others_stay() {
        let mended = rewrap(format!("Zm9v\n{}\r\nYg==", "QUJD".repeat(300)).as_bytes(), 998).unwrap();
        let text = String::from_utf8(mended).unwrap();
        assert!(text.starts_with("Zm9v\nQUJDQUJD") && text.ends_with("\r\nYg=="));
        assert!(text.lines().all(|line| line.len() <= 76) && text.lines().count() == 18);
        assert_eq!(rewrap(b"Zm\09v\r\n", 998).as_deref(), Some(&b"Zm9v\r\n"[..]));
        assert_eq!(rewrap(b"no base64 at all.", 4), None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_the_same_octets(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
            let encoded = encode(&octets);
            prop_assert!(encoded.split(|octet| *octet == b'\n').all(|line| line.len() <= LINE + 1));
            prop_assert_eq!(base64_decode(&encoded).unwrap_or_default(), octets);
            let joined: Vec<u8> = encoded.iter().copied().filter(|octet| !octet.is_ascii_whitespace()).collect();
            prop_assert_eq!(rewrap(&joined, LINE), Some(encoded));
        }
    }
}
