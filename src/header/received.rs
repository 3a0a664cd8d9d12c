//! Our own trace field (RFC 5321 section 4.4), without `for`: that would show one Bcc recipient to all others.

use std::fmt::Write as _;

use crate::mail::{Client, Id};

use super::fold;

/// What a Received field tells of the hop.
pub struct Hop<'a> {
    /// The client, with what it said in EHLO.
    pub client: &'a Client,
    /// Our own host name.
    pub hostname: &'a str,
    /// The id of the transaction.
    pub id: Id,
    /// When the message came in.
    pub time: &'a jiff::ZonedDateTime,
    /// Whether the transaction asked for SMTPUTF8 (RFC 6531 section 4.3).
    pub smtputf8: bool,
}

/// The field with its final CRLF.
pub fn received(hop: &Hop<'_>) -> String {
    let (protocol, extended) = match (hop.smtputf8, hop.client.extended) {
        (true, _) if hop.client.lmtp => ("UTF8LMTP", true),
        (false, _) if hop.client.lmtp => ("LMTP", true),
        (true, _) => ("UTF8SMTP", true),
        (false, true) => ("ESMTP", true),
        (false, false) => ("SMTP", false),
    };
    // There are no such words for SMTP without EHLO (RFC 3848, RFC 6531 section 4.3).
    let word = |is: bool, word: &'static str| if extended && is { word } else { "" };
    let (tls, login) = (word(hop.client.tls.is_some(), "S"), word(hop.client.login.is_some(), "A"));
    let helo = if is_host(&hop.client.helo) { hop.client.helo.as_str() } else { "unknown" };
    let literal = match hop.client.address {
        std::net::IpAddr::V4(address) => format!("[{address}]"),
        std::net::IpAddr::V6(address) => format!("[IPv6:{address}]"),
    };
    let mut value = String::new();
    let _ = write!(value, "from {helo} ({literal}) by {} with {protocol}{tls}{login} id {};", hop.hostname, hop.id);
    let _ = write!(value, " {}", hop.time.strftime("%a, %d %b %Y %H:%M:%S %z"));
    fold("Received", &value)
}

/// Whether what a client calls itself may stand in a trace field as it is.
fn is_host(helo: &str) -> bool {
    let legal = |octet: u8| octet.is_ascii_alphanumeric() || b"-._:[]".contains(&octet);
    !helo.is_empty() && helo.len() <= 255 && helo.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_names_the_hop_and_no_recipient() {
        let time: jiff::ZonedDateTime = "2011-08-08T17:30:34-04:00[America/New_York]".parse().unwrap();
        let mut client = Client::new("10.0.0.10".parse().unwrap(), "smtp");
        client.helo = "evil) by example (".to_owned();
        let hop = Hop { client: &client, hostname: "relay.example.com", id: Id::nil(), time: &time, smtputf8: false };
        assert_eq!(
            received(&hop).replace("\r\n", ""),
            "Received: from unknown ([10.0.0.10]) by relay.example.com with SMTP id 00000000000000000000000000; Mon, 08 Aug 2011 17:30:34 -0400"
        );
    }

    #[test]
    fn the_word_behind_with_tells_of_tls_and_login() {
        let time: jiff::ZonedDateTime = "2011-08-08T17:30:34-04:00[America/New_York]".parse().unwrap();
        let mut client = Client::new("10.0.0.10".parse().unwrap(), "smtp");
        client.tls = Some("TLSv1.3".to_owned());
        for (extended, smtputf8, word) in [(true, false, "ESMTPS"), (true, true, "UTF8SMTPS"), (false, false, "SMTP")] {
            client.extended = extended;
            let hop = Hop { client: &client, hostname: "relay.example.com", id: Id::nil(), time: &time, smtputf8 };
            let field = received(&hop).replace("\r\n", "");
            assert!(field.contains(&format!(" with {word} id ")), "{field}");
        }
        (client.extended, client.login) = (true, Some("alice".to_owned()));
        let hop = Hop { client: &client, hostname: "relay.example.com", id: Id::nil(), time: &time, smtputf8: false };
        assert!(received(&hop).replace("\r\n", "").contains(" with ESMTPSA id "));
        (client.lmtp, client.login) = (true, None);
        let hop = Hop { client: &client, hostname: "relay.example.com", id: Id::nil(), time: &time, smtputf8: false };
        assert!(received(&hop).replace("\r\n", "").contains(" with LMTPS id "));
    }
}
