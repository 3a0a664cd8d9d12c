//! What a sender asked to hear of the delivery (RFC 3461), as the envelope carries it.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::Address;

/// What MAIL asked: of all recipients together.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Dsn {
    /// RET: how much of the message a report of a failure brings back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ret: Option<Ret>,
    /// ENVID with the xtext decoded: printable ASCII, at most 100 octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope_id: Option<String>,
}

impl Dsn {
    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// RET (RFC 3461 section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Ret {
    /// The whole message.
    Full,
    /// Its header.
    Headers,
}

/// NOTIFY (RFC 3461 section 4.1): of what the sender hears; NEVER is of nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Notify {
    /// That it arrived or, where nobody can tell, that it was handed on.
    pub success: bool,
    /// That it failed.
    pub failure: bool,
    /// That it is late.
    pub delay: bool,
}

/// What RCPT asked: of that recipient alone.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Asked {
    /// NOTIFY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    /// ORCPT, `type;address` with the address decoded; at most 500 octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

impl Asked {
    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether its sender wants to hear that it arrived.
    pub fn success(&self) -> bool {
        self.notify.is_some_and(|notify| notify.success)
    }

    /// Whether its sender wants to hear that it failed, as one does who did not say.
    pub fn failure(&self) -> bool {
        self.notify.is_none_or(|notify| notify.failure)
    }

    /// Whether its sender wants to hear that it is late, as one does who did not say.
    pub fn delay(&self) -> bool {
        self.notify.is_none_or(|notify| notify.delay)
    }

    /// What two RCPTs of one recipient ask together: whatever one of them wants to hear is told.
    fn and(self, other: &Self) -> Self {
        let silent = |asked: &Self| asked.notify.is_none();
        let notify = Notify {
            success: self.success() || other.success(),
            failure: self.failure() || other.failure(),
            delay: self.delay() || other.delay(),
        };
        let said = !(silent(&self) && silent(other));
        Self { notify: said.then_some(notify), original: self.original.or_else(|| other.original.clone()) }
    }
}

/// What was asked of each recipient; most ask nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Asks(BTreeMap<String, Asked>);

impl Asks {
    /// Whether nothing was asked of anybody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was asked of one.
    pub fn of(&self, recipient: &Address) -> Asked {
        self.0.get(&recipient.to_string()).cloned().unwrap_or_default()
    }

    /// Asks it of a recipient that is new.
    pub fn add(&mut self, recipient: &Address, asked: Asked) {
        if !asked.is_empty() {
            self.0.insert(recipient.to_string(), asked);
        }
    }

    /// Asks it of a recipient that is there already, too.
    pub fn join(&mut self, recipient: &Address, asked: &Asked) {
        let both = self.of(recipient).and(asked);
        self.add(recipient, both);
    }
}

impl<'a> FromIterator<(&'a Address, Asked)> for Asks {
    fn from_iter<I: IntoIterator<Item = (&'a Address, Asked)>>(pairs: I) -> Self {
        let mut asks = Self::default();
        pairs.into_iter().for_each(|(recipient, asked)| asks.add(recipient, asked));
        asks
    }
}

impl fmt::Display for Ret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "FULL",
            Self::Headers => "HDRS",
        })
    }
}

impl FromStr for Ret {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_uppercase().as_str() {
            "FULL" => Ok(Self::Full),
            "HDRS" => Ok(Self::Headers),
            _ => Err("RET is FULL or HDRS".to_owned()),
        }
    }
}

impl fmt::Display for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(self.success, "SUCCESS"), (self.failure, "FAILURE"), (self.delay, "DELAY")];
        let words: Vec<&str> = words.into_iter().filter_map(|(said, word)| said.then_some(word)).collect();
        f.write_str(&if words.is_empty() { "NEVER".to_owned() } else { words.join(",") })
    }
}

impl FromStr for Notify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut notify = Self::default();
        let text = text.to_ascii_uppercase();
        if text == "NEVER" {
            return Ok(notify);
        }
        for word in text.split(',') {
            let said = match word {
                "SUCCESS" => &mut notify.success,
                "FAILURE" => &mut notify.failure,
                "DELAY" => &mut notify.delay,
                _ => return Err("NOTIFY is NEVER, or some of SUCCESS,FAILURE,DELAY".to_owned()),
            };
            *said = true;
        }
        Ok(notify)
    }
}

/// Words that are read and written as they stand in SMTP.
macro_rules! as_words {
    ($($word:ty),*) => {$(
        impl TryFrom<String> for $word {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$word> for String {
            fn from(word: $word) -> Self {
                word.to_string()
            }
        }
    )*};
}
as_words!(Ret, Notify);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for text in ["NEVER", "SUCCESS", "FAILURE,DELAY", "SUCCESS,FAILURE,DELAY"] {
            assert_eq!(text.parse::<Notify>().unwrap().to_string(), text);
        }
        assert_eq!("delay,Failure".parse::<Notify>().unwrap().to_string(), "FAILURE,DELAY");
        for wrong in ["", "NEVER,SUCCESS", "SUCCESS,", "ALWAYS", "SUCCESS FAILURE"] {
            assert!(wrong.parse::<Notify>().is_err(), "{wrong}");
        }
        for text in ["FULL", "HDRS"] {
            assert_eq!(text.parse::<Ret>().unwrap().to_string(), text);
        }
        assert!("HEADERS".parse::<Ret>().is_err());
    }

    #[test]
    fn of_a_recipient_named_twice_is_told_what_either_wants_to_hear() {
        let asked = |text: &str| Asked { notify: text.parse().ok(), original: None };
        let both = |one: &str, other: &str| asked(one).and(&asked(other)).notify.map(|notify| notify.to_string());
        assert_eq!(both("NEVER", "SUCCESS").as_deref(), Some("SUCCESS"));
        assert_eq!(both("NEVER", "").as_deref(), Some("FAILURE,DELAY"), "who does not say hears of failures");
        assert_eq!(both("", ""), None);
    }
}
