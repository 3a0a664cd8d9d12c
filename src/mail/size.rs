//! Sizes in settings: `"2KB"`, `"40MB"`, `"512KiB"`, or a plain number of octets.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Size(pub u64);

const UNITS: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

impl Size {
    /// The size as a length in memory.
    pub fn octets(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Size {
    type Err = String;

    /// Reads a number and a unit; the number may have decimals (`"1.5MB"`), the result is whole octets.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is no size; write octets, or a number with KB, MB, GB, KiB, MiB or GiB, such as \"28MB\"")
        };
        let trimmed = text.trim();
        let lower = trimmed.to_ascii_lowercase();
        let unit = UNITS.iter().find(|(name, _)| lower.ends_with(&name.to_ascii_lowercase()));
        let (number, factor) = match unit {
            Some((name, factor)) => (trimmed.get(..trimmed.len() - name.len()).unwrap_or_default(), *factor),
            None => (trimmed, 1),
        };
        let (whole, decimals) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
        let digits = |part: &str| part.bytes().all(|octet| octet.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 9 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let mut total = whole.checked_mul(factor).ok_or_else(wrong)?;
        if !decimals.is_empty() {
            let part: u64 = decimals.parse().map_err(|_| wrong())?;
            let scale = 10u64.pow(u32::try_from(decimals.len()).map_err(|_| wrong())?);
            total = total.checked_add(part * factor / scale).ok_or_else(wrong)?;
        }
        Ok(Self(total))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, factor): &&(&str, u64)| self.0 >= *factor && self.0.is_multiple_of(*factor);
        match UNITS.iter().filter(fits).max_by_key(|(_, factor)| *factor) {
            Some((name, factor)) if *factor > 1 => write!(f, "{}{name}", self.0 / factor),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"28MB\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Size, E> {
                u64::try_from(number).map(Size).map_err(|_| E::custom("a size is not negative"))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Size, E> {
                Ok(Size(number))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "size" })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, octets) in
            [("2KB", 2000), ("512KiB", 524_288), ("28MB", 28_000_000), ("1.5MB", 1_500_000), ("7", 7), ("10 b", 10)]
        {
            assert_eq!(text.parse(), Ok(Size(octets)), "{text}");
        }
        for text in ["", "MB", "-1", "1e3", "12 XB", "99999999999GB", "1.2.3KB", "ß"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        assert_eq!(Size(28_000_000).to_string(), "28MB");
        assert_eq!(Size(524_288).to_string(), "512KiB");
        assert_eq!(Size(2001).to_string(), "2001");
    }
}
