//! The sockets of SMTP clients; the only room that touches them.
//!
//! Connections come in; transactions go to intake and its sink, replies back to the client, one line an ended
//! transaction to the access log. It decides nothing about mail.

mod admission;
mod connection;
mod line;
mod listener;
mod pace;
mod place;
pub mod proxy;
mod socket;
mod submit;
mod tls;
pub mod unix;
mod users;
mod wire;

pub use listener::{Gate, Listener, Shared, bind, converse};
pub use place::{Place, UNIX};
pub use socket::{BindError, Passed};
pub use tls::{Certificates, MinVersion, TlsFault, TlsSettings};

use ipnet::IpNet;

use crate::{
    mail::{Period, Size},
    smtp::{Logins, Offer},
};

pub use users::{Book, BookError, Settings as UserSettings, Users};

/// `[[listener]]`: where clients connect.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Its name in the log and in rules.
    pub name: String,
    /// Address and port to listen on, or "unix:" and the path of a Unix socket, whose clients count as 127.0.0.1, or "systemd:"
    /// and the FileDescriptorName of a socket that systemd passes.
    pub address: String,
    /// Permissions of a Unix socket, in octal.
    #[schemars(with = "String")]
    pub socket_mode: Mode,
    /// The protocol spoken: smtp, or lmtp, which answers for each recipient.
    pub protocol: Protocol,
    /// TLS on this listener, with the certificate of [tls]: none, when the client asks for it, or from the first octet on.
    pub tls: Tls,
    /// Logins by the users of `[users]`: none, optional (who is not in `allow` logs in), required. A password is taken under
    /// TLS, or on loopback.
    pub auth: Auth,
    /// Networks whose clients may relay without a login.
    #[schemars(with = "Vec<String>")]
    pub allow: Vec<Network>,
    /// Peers that must speak the PROXY protocol (version 1 or 2), such as HAProxy or a network load balancer; the client that
    /// they name is the client, for `allow`, for the log and for what counts as loopback.
    #[schemars(with = "Vec<String>")]
    pub proxy_protocol: Vec<Network>,
    /// Peers that may name the client by XCLIENT, as nginx does, or its address for the log by XFORWARD, as Postfix does.
    #[schemars(with = "Vec<String>")]
    pub xclient: Vec<Network>,
    /// What becomes of a message with a lone CR or LF: repair (by the rules) or refuse. In both only CRLF.CRLF ends the data.
    pub bare_line_ends: BareLineEnds,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            address: "127.0.0.1:2525".to_owned(),
            socket_mode: Mode(0o660),
            protocol: Protocol::Smtp,
            tls: Tls::None,
            auth: Auth::None,
            allow: ["127.0.0.0/8", "::1/128"].iter().filter_map(|text| text.parse().ok().map(Network)).collect(),
            proxy_protocol: Vec::new(),
            xclient: Vec::new(),
            bare_line_ends: BareLineEnds::Repair,
        }
    }
}

impl Settings {
    /// Where it is; nothing when `address` cannot be read.
    pub fn place(&self) -> Option<Place> {
        Place::parse(&self.address)
    }

    /// What the gateway offers, as this listener has it.
    fn offer(&self, gateway: Offer) -> Offer {
        let networks = |networks: &[Network]| networks.iter().map(|network| network.0).collect();
        Offer {
            lmtp: self.protocol == Protocol::Lmtp,
            starttls: self.tls == Tls::Starttls,
            logins: self.auth.logins(),
            allow: networks(&self.allow),
            trusted: networks(&self.xclient),
            ..gateway
        }
    }
}

/// Permissions of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mode(pub u32);

impl TryFrom<String> for Mode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| *mode <= 0o777 && text.len() <= 4);
        mode.map(Self).ok_or_else(|| format!("{text:?} is no file mode; write \"0660\" or \"0666\""))
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        format!("{:04o}", mode.0)
    }
}

/// A network in CIDR notation, or one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network(pub IpNet);

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let network = text.parse().ok().or_else(|| text.parse::<std::net::IpAddr>().ok().map(IpNet::from));
        network
            .map(Self)
            .ok_or_else(|| format!("{text:?} is no network; write \"10.0.0.0/8\", \"192.0.2.1\" or \"2001:db8::/32\""))
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.0.to_string()
    }
}

/// The protocols of a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// SMTP (RFC 5321).
    Smtp,
    /// LMTP (RFC 2033): as SMTP, with LHLO and an answer for each recipient.
    Lmtp,
}

/// TLS on a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// None.
    None,
    /// STARTTLS (RFC 3207) is offered.
    Starttls,
    /// The session begins with the handshake (RFC 8314).
    Implicit,
}

/// Logins on a listener; taken under TLS, or on loopback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// Nobody logs in.
    None,
    /// Clients outside `allow` log in to relay.
    Optional,
    /// Everybody logs in.
    Required,
}

impl Auth {
    fn logins(self) -> Logins {
        match self {
            Self::None => Logins::None,
            Self::Optional => Logins::Optional,
            Self::Required => Logins::Required,
        }
    }
}

/// What becomes of a message with a lone CR or LF.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BareLineEnds {
    /// The rules mend it.
    Repair,
    /// The client gets 554.
    Refuse,
}

/// `[limits]`: what one client, and all of them, may make grow.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Octets of a message; SES takes 40 MB after base64.
    pub message_size: Size,
    /// Recipients of a message; in direct mode 50 at most.
    pub recipients: usize,
    /// Connections at once.
    pub connections: usize,
    /// Connections at once from one address, or from one /64 of IPv6.
    pub connections_per_client: usize,
    /// Octets of a message's header.
    pub header_size: Size,
    /// Received fields of a message, against loops.
    pub received: usize,
    /// Memory for messages: half of it for those coming in, half for attempts.
    pub memory: Size,
    /// Wrong commands after which a session is closed.
    pub errors: u32,
    /// From the fourth error of a session on each answer to one comes later, by 1 s, 2 s, 4 s … and this at most; never to
    /// clients on loopback or in `allow`.
    pub tarpit: Period,
    /// How long clients wait for the greeting, but those on loopback or in `allow`; who talks before it gets 554 5.5.1.
    pub greet_delay: Period,
    /// How long a message that says its size waits at MAIL for room in `memory` before it gets 452 4.3.1.
    pub room_wait: Period,
    /// How long a client may take for a command.
    pub command_time: Period,
    /// How long a client may be silent within a message's data.
    pub data_idle: Period,
    /// How long a message's data may take in all.
    pub data_time: Period,
    /// Octets a second that a message's data must come in with, behind its first minute; 0 is any.
    pub data_rate: Size,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_size: Size(28_000_000),
            recipients: 1000,
            connections: 1000,
            connections_per_client: 100,
            header_size: Size(512 << 10),
            received: 100,
            memory: Size(256 << 20),
            errors: 20,
            tarpit: Period::seconds(10),
            greet_delay: Period::seconds(0),
            room_wait: Period::seconds(20),
            command_time: Period::seconds(300),
            data_idle: Period::seconds(180),
            data_time: Period::seconds(1800),
            data_rate: Size(500),
        }
    }
}
