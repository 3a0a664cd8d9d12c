//! A password in memory: it is used, and never shown.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What is shown in the place of a secret.
const HIDDEN: &str = "(hidden)";

/// A text that no log, error, `Debug` or settings listing shows.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn shown(&self) -> &'static str {
        if self.is_empty() { "" } else { HIDDEN }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown())
    }
}

impl<'de> Deserialize<'de> for Secret {
    /// Reads a string. The error for anything else does not repeat the value, as serde's own would.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Secret;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text in quotes")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Secret, E> {
                Ok(Secret::new(text))
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Secret, E> {
                Err(E::custom(NO_TEXT))
            }
            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Secret, E> {
                Err(E::custom(NO_TEXT))
            }
            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Secret, E> {
                Err(E::custom(NO_TEXT))
            }
            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Secret, E> {
                Err(E::custom(NO_TEXT))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

const NO_TEXT: &str = "a secret is a text; write it in quotes";

impl schemars::JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "password" })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// A URL or an address as a fault or a log may show it: without the login that may stand before its host.
pub fn without_login(text: &str) -> Cow<'_, str> {
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = text.split_at_checked(start).unwrap_or(("", text));
    // A password may hold what ends a host: to hide too much does no harm.
    match rest.rsplit_once('@') {
        Some((_, host)) => Cow::Owned(format!("{scheme}{HIDDEN}@{host}")),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_in_a_url_is_left_out() {
        for (text, shown) in [
            ("https://email.eu-west-1.amazonaws.com", "https://email.eu-west-1.amazonaws.com"),
            ("postgres://u:hush@db/x", "postgres://(hidden)@db/x"),
            ("postgres://u:h/u@sh@db/x", "postgres://(hidden)@db/x"),
            ("u:hush@mail.example.com:587", "(hidden)@mail.example.com:587"),
            ("mail.example.com:587", "mail.example.com:587"),
            ("@", "(hidden)@"),
        ] {
            assert_eq!(without_login(text), shown);
        }
    }

    #[derive(Deserialize, Debug)]
    struct Outer {
        password: Secret,
    }

    #[test]
    fn a_secret_is_read_and_never_shown() {
        let outer: Outer = toml::from_str("password = 'chicken'").unwrap();
        assert_eq!(outer.password.reveal(), "chicken");
        assert_eq!(format!("{outer:?}"), "Outer { password: \"(hidden)\" }");
        assert_eq!(serde_json::to_string(&outer.password).unwrap(), "\"(hidden)\"");
        assert_eq!(format!("{:?}", Secret::default()), "\"\"");
    }

    #[test]
    fn the_fault_of_a_secret_does_not_tell_it() {
        for wrong in ["9876543", "98765.43", "true"] {
            let error = toml::from_str::<Outer>(&format!("password = {wrong}")).unwrap_err();
            let words = error.message();
            assert!(!words.contains("98765") && words.contains("quotes"), "{words}");
        }
    }
}
