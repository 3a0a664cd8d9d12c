//! Octets of messages in lines of JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

/// Octets of a message in one line.
const PIECE: usize = 192 << 10;

/// A message cut into pieces, each in base64.
pub fn encoded(octets: &Bytes) -> impl Iterator<Item = String> + '_ {
    octets.chunks(PIECE).map(|piece| STANDARD.encode(piece))
}

/// The octets of a piece; nothing when it is no base64.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_whole_again() {
        for length in [0, 1, PIECE, PIECE + 1, 3 * PIECE + 7] {
            let octets = Bytes::from(vec![0xfe; length]);
            let whole: Vec<u8> = encoded(&octets).flat_map(|piece| decoded(&piece).unwrap()).collect();
            assert_eq!(octets, whole);
        }
        assert_eq!(decoded("?"), None);
    }
}
