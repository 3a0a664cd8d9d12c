//! A connection to a mail server, up to where it takes mail: TCP, TLS, greeting, EHLO, login.

use std::{fs, io, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

use crate::{
    mail::{Outcome, Secret},
    upstream::{Settings, Site, Tls},
};

use super::{
    NextHop, reply,
    response::Offer,
    tls,
    wire::{Stream, Wire},
};

/// How long a TCP connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);
/// The ports on which servers speak TLS from the first octet (RFC 8314 section 7.3; 2465 is SES's own).
const IMPLICIT_PORTS: &[u16] = &[465, 2465];

/// Makes connections.
pub(super) struct Caller {
    hop: NextHop,
    tls: Tls,
    connector: Option<TlsConnector>,
    hostname: String,
    settings: Settings,
}

/// A server that waits for MAIL.
pub(super) struct Peer {
    pub wire: Wire,
    pub offer: Offer,
    /// What the server showed, with TLS.
    pub certificate: Option<CertificateDer<'static>>,
}

/// A stream, and the certificate that its server showed.
type Secured = (Box<dyn Stream>, Option<CertificateDer<'static>>);

impl Caller {
    /// From the settings.
    ///
    /// # Errors
    /// What cannot work: an address, a file.
    pub fn new(settings: &Settings, site: &Site) -> Result<Self, String> {
        let hop = NextHop::parse(&settings.address).map_err(|error| format!("address: {error}"))?;
        let tls = match settings.tls {
            Tls::Auto if IMPLICIT_PORTS.contains(&hop.port) => Tls::Implicit,
            Tls::Auto => Tls::Starttls,
            given => given,
        };
        let connector = (tls != Tls::None).then(|| tls::connector(&settings.ca_file)).transpose()?;
        let caller = Self { hop, tls, connector, hostname: site.hostname.clone(), settings: settings.clone() };
        caller.password().map(|_| caller)
    }

    /// A new connection.
    ///
    /// # Errors
    /// The outcome for all recipients.
    pub async fn connect(&self) -> Result<Peer, Box<Outcome>> {
        let stream: Box<dyn Stream> = Box::new(self.dial().await?);
        let (stream, mut certificate) = match self.tls {
            Tls::Implicit => self.secured(stream).await?,
            _ => (stream, None),
        };
        let mut wire = Wire::new(stream);
        let greeting = wire.response().await.map_err(|error| reply::broken("greeting", &error))?;
        if !greeting.is_positive() {
            return Err(reply::unwilling("greeting", &greeting));
        }
        let mut offer = self.ehlo(&mut wire).await?;
        if self.tls == Tls::Starttls {
            let (stream, shown) = self.start_tls(wire, &offer).await?;
            (wire, certificate) = (Wire::new(stream), shown);
            // What was offered in the clear does not count (RFC 3207 section 4.2).
            offer = self.ehlo(&mut wire).await?;
        }
        if !self.settings.username.is_empty() {
            self.login(&mut wire, &offer).await?;
        }
        Ok(Peer { wire, offer, certificate })
    }

    async fn dial(&self) -> Result<TcpStream, Box<Outcome>> {
        let NextHop { host, port } = &self.hop;
        let place = format!("{host} port {port}");
        let dialled = timeout(CONNECT, TcpStream::connect((host.as_str(), *port))).await;
        let stream = dialled
            .map_err(|_| reply::unreachable(&format!("{place}: no connection within {CONNECT:?}")))?
            .map_err(|error| reply::unreachable(&format!("{place}: {error}")))?;
        // Commands and the final dot are small, and each waits for an answer; without this it is only slower.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    async fn ehlo(&self, wire: &mut Wire) -> Result<Offer, Box<Outcome>> {
        let response = wire.command(&format!("EHLO {}", self.hostname)).await;
        let response = response.map_err(|error| reply::broken("EHLO", &error))?;
        if response.is_positive() { Ok(Offer::of(&response)) } else { Err(reply::unwilling("EHLO", &response)) }
    }

    async fn start_tls(&self, mut wire: Wire, offer: &Offer) -> Result<Secured, Box<Outcome>> {
        if !offer.starttls {
            return Err(reply::no_tls("the server does not offer STARTTLS"));
        }
        let response = wire.command("STARTTLS").await.map_err(|error| reply::broken("STARTTLS", &error))?;
        if !response.is_positive() {
            return Err(reply::no_tls(&format!("STARTTLS: {} {}", response.code, response.text())));
        }
        let stream = wire.into_stream();
        let stream =
            stream.ok_or_else(|| reply::no_tls("something came in the clear behind the answer to STARTTLS"))?;
        self.secured(stream).await
    }

    async fn secured(&self, stream: Box<dyn Stream>) -> Result<Secured, Box<Outcome>> {
        let host = &self.hop.host;
        let fault = |error: &dyn std::fmt::Display| reply::no_tls(&format!("{host}: {error}"));
        let connector = self.connector.as_ref().ok_or_else(|| fault(&"there is no TLS here"))?;
        let name = ServerName::try_from(host.clone()).map_err(|error| fault(&error))?;
        let secured = connector.connect(name, stream).await.map_err(|error| fault(&error))?;
        let (_, session) = secured.get_ref();
        let certificate = session.peer_certificates().and_then(<[_]>::first).cloned().map(CertificateDer::into_owned);
        Ok((Box::new(secured), certificate))
    }

    /// AUTH PLAIN (RFC 4616), else LOGIN.
    async fn login(&self, wire: &mut Wire, offer: &Offer) -> Result<(), Box<Outcome>> {
        let password = self.password().map_err(|error| reply::no_login(&error))?;
        let (username, password) = (&self.settings.username, password.reveal());
        let (lines, secret) = if offer.auth_plain {
            let response = STANDARD.encode(format!("\0{username}\0{password}"));
            (vec![format!("AUTH PLAIN {response}")], response)
        } else if offer.auth_login {
            let response = STANDARD.encode(password);
            (vec!["AUTH LOGIN".to_owned(), STANDARD.encode(username), response.clone()], response)
        } else {
            return Err(reply::no_login("the server offers neither AUTH PLAIN nor LOGIN on this connection"));
        };
        let shown = |text: &str| without(text, [password, &secret]);
        let mut lines = lines.into_iter();
        while let Some(line) = lines.next() {
            let response = wire
                .command(&line)
                .await
                .map_err(|error| reply::broken("AUTH", &io::Error::new(error.kind(), shown(&error.to_string()))))?;
            match response.code {
                235 => return Ok(()),
                334 if lines.len() > 0 => {}
                code => return Err(reply::no_login(&format!("AUTH: {code} {}", shown(&response.text())))),
            }
        }
        Err(reply::no_login("AUTH: the server asks for more than a name and a password"))
    }

    /// The password as it is now.
    fn password(&self) -> Result<Secret, String> {
        let file = &self.settings.password_file;
        if file.as_os_str().is_empty() {
            return Ok(self.settings.password.clone());
        }
        let text = fs::read_to_string(file).map_err(|error| format!("password_file {}: {error}", file.display()))?;
        Ok(Secret::new(text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line))))
    }
}

/// What a server said, unless it is what we logged in with, or begins as that does: some repeat, and cut, a command that
/// they do not know.
fn without(text: &str, secrets: [&str; 2]) -> String {
    const BEGINNING: usize = 8;
    let said = text.to_ascii_lowercase();
    let beginning = |secret: &str| secret.chars().take(BEGINNING).collect::<String>().to_ascii_lowercase();
    if secrets.into_iter().map(beginning).any(|beginning| said.contains(&beginning)) {
        return "(hidden: the server repeats the login)".to_owned();
    }
    text.to_owned()
}

impl Peer {
    /// Whether it is still there and forgets what was said before.
    pub async fn reset(&mut self) -> bool {
        self.wire.command("RSET").await.is_ok_and(|response| response.is_positive())
    }

    /// Whether it answers.
    ///
    /// # Errors
    /// What it said instead, in words for the operator.
    pub async fn noop(&mut self) -> Result<(), String> {
        match self.wire.command("NOOP").await {
            Ok(response) if response.is_positive() => Ok(()),
            Ok(response) => Err(format!("NOOP: {} {}", response.code, response.text())),
            Err(error) => Err(format!("NOOP: {error}")),
        }
    }

    /// Says goodbye; a server that does not answer is left all the same.
    pub async fn quit(mut self) {
        let _ = timeout(GOODBYE, self.wire.command("QUIT")).await;
    }
}
