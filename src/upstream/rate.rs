//! `rate`: recipients a second.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Recipients a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    /// As the upstream says of itself.
    Auto,
    /// So many, above 0 and at most a million.
    PerSecond(f64),
}

impl Rate {
    fn per_second(number: f64) -> Result<Self, String> {
        if number > 0.0 && number <= 1e6 { Ok(Self::PerSecond(number)) } else { Err(wrong_rate(&number.to_string())) }
    }
}

fn wrong_rate(text: &str) -> String {
    format!("{text:?} is no rate; write \"auto\", or recipients a second above 0, such as 14 or 0.5")
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            number => Self::per_second(number.parse().map_err(|_| wrong_rate(text))?),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::PerSecond(number) => serializer.serialize_f64(*number),
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Rate;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a number")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rate, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Rate, E> {
                number.to_string().parse().map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Rate, E> {
                number.to_string().parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Rate, E> {
                Rate::per_second(number).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Rate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "rate" })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_auto_or_a_number() {
        #[derive(Deserialize, Serialize)]
        struct Outer {
            rate: Rate,
        }
        for (text, rate) in [
            ("\"auto\"", Rate::Auto),
            ("14", Rate::PerSecond(14.0)),
            ("0.5", Rate::PerSecond(0.5)),
            ("\" 2.5 \"", Rate::PerSecond(2.5)),
        ] {
            let outer: Outer = toml::from_str(&format!("rate = {text}")).unwrap();
            assert_eq!(outer.rate, rate, "{text}");
            let again: Outer = toml::from_str(&toml::to_string(&outer).unwrap()).unwrap();
            assert_eq!(again.rate, rate);
        }
        for wrong in ["0", "-1", "nan", "inf", "\"fast\"", "\"\"", "1e9", "true"] {
            assert!(toml::from_str::<Outer>(&format!("rate = {wrong}")).is_err(), "{wrong}");
        }
    }
}
