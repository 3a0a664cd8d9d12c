//! Who speaks to us.

use std::net::IpAddr;

/// The client of a session, as far as the log and the rules may know it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Client {
    /// Its address.
    pub address: IpAddr,
    /// The name of the listener that it came to.
    pub listener: String,
    /// What it said after EHLO or HELO; empty before. Printable ASCII.
    pub helo: String,
    /// Whether it greeted with EHLO, which makes the session ESMTP (RFC 3848).
    pub extended: bool,
    /// The authenticated name; never the SASL authorization identity.
    pub login: Option<String>,
    /// Whether the session is LMTP (RFC 2033).
    #[serde(default)]
    pub lmtp: bool,
    /// The client that the address sends this mail for, by its own word (XFORWARD); the log shows this one.
    #[serde(default)]
    pub origin: Option<IpAddr>,
    /// The version of TLS that the session is under, such as `TLSv1.3`.
    pub tls: Option<String>,
}

impl Client {
    /// A client that has not said anything yet.
    pub fn new(address: IpAddr, listener: &str) -> Self {
        Self {
            address,
            listener: listener.to_owned(),
            helo: String::new(),
            extended: false,
            login: None,
            lmtp: false,
            origin: None,
            tls: None,
        }
    }
}
