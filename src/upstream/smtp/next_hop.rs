//! `address`: host and port of a mail server.

use std::net::{IpAddr, Ipv6Addr};

use crate::mail::{Address, without_login};

/// Where a mail server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextHop {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl NextHop {
    /// Reads `host:port`; an IPv6 address stands in brackets.
    ///
    /// # Errors
    /// Says what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            let text = without_login(text);
            format!(
                "{text:?} is no host with a port, such as \"mail.example.com:587\", \"192.0.2.1:25\" or \"[2001:db8::1]:25\""
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        let six = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = match six {
            Some(inside) => inside.parse::<Ipv6Addr>().map_err(|_| wrong())?.to_string(),
            None if host.starts_with('[') => return Err(wrong()),
            None => Address::from_parts("postmaster", host).map_err(|_| wrong())?.domain().to_owned(),
        };
        Ok(Self { host, port })
    }

    /// Whether it is the SMTP endpoint of SES, by its name (Amazon SES endpoints and quotas; interface endpoints have
    /// names of their own in front).
    pub fn is_ses(&self) -> bool {
        let host = self.host.to_ascii_lowercase();
        let amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
        amazon && host.split('.').any(|label| matches!(label, "email-smtp" | "email-smtp-fips"))
    }

    /// Whether it is on this machine, so that nobody listens on the way.
    pub fn is_loopback(&self) -> bool {
        self.host.parse::<IpAddr>().map_or(self.host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_ports_are_read() {
        for (text, host, port) in [
            ("mail.example.com:587", "mail.example.com", 587),
            ("127.0.0.1:25", "127.0.0.1", 25),
            ("[::1]:25", "::1", 25),
            ("localhost:25", "localhost", 25),
        ] {
            assert_eq!(NextHop::parse(text), Ok(NextHop { host: host.to_owned(), port }));
        }
        for text in
            ["", "mail.example.com", "mail.example.com:", ":25", "a b:25", "::1:25", "[::1:25", "a:0", "a:66000"]
        {
            assert!(NextHop::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_is_known() {
        for (text, expected) in
            [("127.0.0.9:25", true), ("[::1]:25", true), ("localhost:25", true), ("10.0.0.1:25", false)]
        {
            assert_eq!(NextHop::parse(text).map(|hop| hop.is_loopback()), Ok(expected), "{text}");
        }
    }
}
