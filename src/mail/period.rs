//! Times in settings: `"500ms"`, `"30s"`, `"5m"`, `"1h"`, `"5d"`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// A length of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Period(pub Duration);

const UNITS: &[(&str, u64)] = &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Period {
    /// That many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no time; write a number with ms, s, m, h or d, such as \"30s\"");
        let digits = text.trim().find(|one: char| !one.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.trim().split_at(digits);
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number
            .checked_mul(*factor)
            .filter(|total| *total <= 366 * 86_400_000)
            .map(Duration::from_millis)
            .map(Self)
            .ok_or_else(wrong)
    }
}

impl TryFrom<String> for Period {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        let unit = UNITS.iter().rev().find(|(_, factor)| total >= *factor && total.is_multiple_of(*factor));
        let (name, factor) = unit.filter(|_| total > 0).unwrap_or(&("s", 1000));
        write!(f, "{}{name}", total / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for text in ["500ms", "30s", "5m", "1h", "5d"] {
            assert_eq!(text.parse::<Period>().map(|period| period.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("120s".parse::<Period>().unwrap().to_string(), "2m");
        assert_eq!("0d".parse::<Period>().unwrap().to_string(), "0s");
        for text in ["", "5", "s", "-1s", "1w", "99999999999d"] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }
}
