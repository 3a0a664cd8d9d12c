//! The id of a transaction: the same in Received, reply, log, store and SES tag.

use std::{fmt, str::FromStr};

/// Twenty-six characters of `[0-9A-Z]`, sorted by the time it was minted; legal as an SES tag value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Id(ulid::Ulid);

impl Id {
    /// A new id, made of the clock and of random bits.
    pub fn mint() -> Self {
        Self(ulid::Ulid::new())
    }

    /// The id that always reads `00000000000000000000000000`, for what has no transaction.
    pub const fn nil() -> Self {
        Self(ulid::Ulid::nil())
    }

    /// Its sixteen octets, which sort as the ids do.
    pub fn octets(self) -> [u8; 16] {
        self.0.to_bytes()
    }

    /// The id of those octets.
    pub fn from_octets(octets: [u8; 16]) -> Self {
        Self(ulid::Ulid::from_bytes(octets))
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no id; an id has 26 characters, such as 01JDXM3Z5V8Q4C2N7T6R9K0WYB");
        text.parse().map(Self).map_err(|_| wrong())
    }
}

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.to_string()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_legal_tag_value_and_new_each_time() {
        let (one, other) = (Id::mint(), Id::mint());
        assert_ne!(one, other);
        assert!(one.to_string().bytes().all(|octet| octet.is_ascii_alphanumeric()));
        assert_eq!(one.to_string().len(), 26);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!(Id::from_octets(one.octets()), one);
        assert!("x".parse::<Id>().is_err());
    }
}
