//! The way to an endpoint: its name, a connection, its certificate.
//!
//! Host and port go in, a [`Sight`] comes out. Nothing is said to what stands there.

use std::{io, net::IpAddr, path::Path, time::Duration};

use jiff::Timestamp;
use rustls::pki_types::ServerName;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use super::{Sight, Validity, certificate, smtp};

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks at an endpoint; with TLS also at its certificate, which the system's authorities have to vouch for.
pub(super) async fn look(host: &str, port: u16, tls: bool) -> Sight {
    let lookup = lookup(host, port).await;
    let stream = match &lookup {
        Some(Err(error)) => Err(error.clone()),
        _ => dial(host, port).await,
    };
    let mut sight = Sight { host: host.to_owned(), port, lookup, connection: Ok(()), certificate: None };
    match stream {
        Err(error) => sight.connection = Err(error),
        Ok(stream) if tls => sight.certificate = Some(shown(host, stream).await),
        Ok(_) => {}
    }
    sight
}

/// How many addresses a name has; `None` for what is an address already.
pub(super) async fn lookup(host: &str, port: u16) -> Option<Result<usize, String>> {
    if host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let found = within(lookup_host((host, port))).await.map(Iterator::count);
    Some(found.and_then(|count| if count > 0 { Ok(count) } else { Err("it has no address".to_owned()) }))
}

async fn dial(host: &str, port: u16) -> Result<TcpStream, String> {
    within(TcpStream::connect((host, port))).await
}

async fn shown(host: &str, stream: TcpStream) -> Result<Validity, String> {
    let connector = smtp::connector(Path::new(""))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let secured = within(connector.connect(name, stream)).await?;
    let (_, session) = secured.get_ref();
    let shown = session.peer_certificates().and_then(<[_]>::first);
    validity(shown.map(AsRef::as_ref))
}

/// The time within which a server's certificate is valid.
pub(super) fn validity(certificate: Option<&[u8]>) -> Result<Validity, String> {
    let certificate = certificate.ok_or("the server showed no certificate")?;
    certificate::validity(certificate).ok_or_else(|| "its dates cannot be read".to_owned())
}

async fn within<T>(step: impl Future<Output = io::Result<T>>) -> Result<T, String> {
    match timeout(PATIENCE, step).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
    }
}

impl Validity {
    /// Whether a moment lies within it.
    pub fn holds(&self, moment: Timestamp) -> bool {
        self.from <= moment && moment <= self.until
    }
}
