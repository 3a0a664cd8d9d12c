//! A mailbox of the envelope (RFC 5321 section 4.1.2): local part and domain, as SES can take it.

use std::{borrow::Cow, fmt};

/// RFC 5321 section 4.5.3.1.1 and .2; a path is at most 256 octets with its angle brackets (.3).
const LOCAL_MAX: usize = 64;
const DOMAIN_MAX: usize = 255;

/// An address whose local part is ASCII, quoted where it must be, and whose domain is ASCII (A-labels).
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    local: Box<str>,
    domain: Box<str>,
}

/// Why a text is no address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// No `@`, or nothing behind it.
    #[error("an address needs a domain, as in <user@example.com>")]
    NoDomain,
    /// RFC 6531 addresses that SES has no way to take.
    #[error("the local part is not ASCII, which Amazon SES does not take")]
    LocalNotAscii,
    /// Not a dot-string and not a quoted string.
    #[error("the local part is neither a dot-string nor a quoted string")]
    Local,
    /// Not a host name and not an address literal.
    #[error("the domain is not a legal domain name")]
    Domain,
    /// Over the limits of RFC 5321 section 4.5.3.1.
    #[error("the address is too long")]
    Long,
}

impl Address {
    /// Reads `local@domain`, without angle brackets.
    ///
    /// # Errors
    /// Says which half is wrong; a domain that is not ASCII is turned into A-labels (IDNA 2008) first.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (local, domain) = text.rsplit_once('@').ok_or(AddressError::NoDomain)?;
        Self::from_parts(local, domain)
    }

    /// Puts the two halves together.
    ///
    /// # Errors
    /// As [`Address::parse`].
    pub fn from_parts(local: &str, domain: &str) -> Result<Self, AddressError> {
        if domain.is_empty() {
            return Err(AddressError::NoDomain);
        }
        if !local.is_ascii() {
            return Err(AddressError::LocalNotAscii);
        }
        if !is_dot_string(local) && !is_quoted_string(local) {
            return Err(AddressError::Local);
        }
        let domain = ascii_domain(domain).ok_or(AddressError::Domain)?;
        if local.len() > LOCAL_MAX || domain.len() > DOMAIN_MAX {
            return Err(AddressError::Long);
        }
        Ok(Self { local: local.into(), domain: domain.into() })
    }

    /// Whether an address may have that domain.
    pub fn is_domain(domain: &str) -> bool {
        !domain.is_empty() && ascii_domain(domain).is_some_and(|domain| domain.len() <= DOMAIN_MAX)
    }

    /// The part before the `@`, with its quotes if it has any.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// The part behind the `@`.
    pub fn domain(&self) -> &str {
        &self.domain
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|error| format!("<{text}>: {error}"))
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.local, self.domain)
    }
}

/// RFC 5322 section 3.2.3 `atext`.
pub(crate) fn is_atext(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&octet)
}

fn is_dot_string(local: &str) -> bool {
    !local.is_empty() && local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atext))
}

/// RFC 5321 section 4.1.2 `Quoted-string`: printable ASCII, `"` and `\` only behind a `\`.
fn is_quoted_string(local: &str) -> bool {
    let Some(inside) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut octets = inside.bytes();
    while let Some(octet) = octets.next() {
        let legal = match octet {
            b'\\' => octets.next().is_some_and(|next| (32..=126).contains(&next)),
            b'"' => false,
            other => (32..=126).contains(&other),
        };
        if !legal {
            return false;
        }
    }
    !inside.is_empty()
}

/// A domain of LDH labels or an address literal; a final dot is dropped, U-labels become A-labels.
fn ascii_domain(domain: &str) -> Option<Cow<'_, str>> {
    if let Some(inside) = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let six = inside.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case("IPv6:"));
        let legal = if six {
            inside.get(5..).is_some_and(|rest| rest.parse::<std::net::Ipv6Addr>().is_ok())
        } else {
            inside.parse::<std::net::Ipv4Addr>().is_ok()
        };
        return legal.then_some(Cow::Borrowed(domain));
    }
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    let ascii = if domain.is_ascii() { Cow::Borrowed(domain) } else { Cow::Owned(idna::domain_to_ascii(domain).ok()?) };
    ascii.split('.').all(is_ldh_label).then_some(ascii)
}

/// RFC 5321 section 4.1.2 `sub-domain`.
fn is_ldh_label(label: &str) -> bool {
    let edge = |octet: Option<&u8>| octet.is_some_and(u8::is_ascii_alphanumeric);
    let octets = label.as_bytes();
    octets.len() <= 63
        && edge(octets.first())
        && edge(octets.last())
        && octets.iter().all(|octet| octet.is_ascii_alphanumeric() || *octet == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_addresses() {
        for text in [
            "a@b.example",
            "a.b+c@x-y.example",
            "\"a b\"@example.com",
            "\"a\\\"b\"@example.com",
            "a@[192.0.2.1]",
            "a@[IPv6:2001:db8::1]",
            "root@localhost",
        ] {
            assert_eq!(Address::parse(text).map(|one| one.to_string()).as_deref(), Ok(text));
            assert!(Address::is_domain(text.rsplit_once('@').unwrap().1));
        }
        assert_eq!(Address::parse("a@bücher.example").unwrap().domain(), "xn--bcher-kva.example");
        assert_eq!(Address::parse("a@example.com.").unwrap().domain(), "example.com");
    }

    #[test]
    fn illegal_addresses() {
        use AddressError::{Domain, Local, LocalNotAscii, Long, NoDomain};
        let long = format!("{}@example.com", "a".repeat(65));
        for (text, error) in [
            ("postmaster", NoDomain),
            ("a@", NoDomain),
            ("@example.com", Local),
            ("a..b@example.com", Local),
            ("a b@example.com", Local),
            ("\"a\"b\"@example.com", Local),
            ("\"\"@example.com", Local),
            ("a\rb@example.com", Local),
            ("用户@example.net", LocalNotAscii),
            ("bad@.example.net", Domain),
            ("a@exa_mple.com", Domain),
            ("a@-x.example", Domain),
            ("a@[300.1.1.1]", Domain),
            (long.as_str(), Long),
        ] {
            let domain = text.rsplit_once('@').unwrap_or_default().1;
            assert_eq!(Address::is_domain(domain), !matches!(error, Domain | NoDomain), "{text}");
            assert_eq!(Address::parse(text), Err(error), "{text}");
        }
    }
}
