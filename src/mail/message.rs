//! A message as octets, cut where its header ends.

use bytes::{Bytes, BytesMut};

/// The octets of a message (RFC 5322 section 2.1) in two pieces that follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The header section: each field with its final line end.
    pub head: Bytes,
    /// The empty line, if there is one, and the body.
    pub rest: Bytes,
}

impl Message {
    /// Octets in all.
    pub fn len(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// Whether there is not one octet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole as one piece; copied only when the two do not already lie in one.
    pub fn to_bytes(&self) -> Bytes {
        if self.rest.is_empty() {
            return self.head.clone();
        }
        let mut whole = BytesMut::with_capacity(self.len());
        whole.extend_from_slice(&self.head);
        whole.extend_from_slice(&self.rest);
        whole.freeze()
    }
}
