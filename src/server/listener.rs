//! Listening sockets, and what all their connections share.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    intake::{Intake, Sink},
    log::AccessLog,
    mail::{Client, Enhanced, Reply},
    metrics::Metrics,
    smtp::Offer,
};

use super::{
    Certificates, Limits, Settings, Tls, Users,
    admission::{Admission, Budget, Full},
    connection::Connection,
    wire::Wire,
};

/// What every connection needs of the rest of the house.
#[derive(Clone)]
pub struct Shared {
    /// The one door.
    pub intake: Arc<Intake>,
    /// Where accepted mail goes.
    pub sink: Arc<dyn Sink>,
    /// Who sent what.
    pub log: Arc<AccessLog>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// What listeners with TLS show; the settings are checked to name it for these.
    pub certificates: Option<Arc<Certificates>>,
    /// Cancelled when no new mail is to come in.
    pub stopping: CancellationToken,
    /// Cancelled when nothing is waited for any longer.
    pub leaving: CancellationToken,
    /// Who may log in.
    pub users: Option<Arc<Users>>,
    /// Keeps the sessions, so that a shut-down waits for them.
    pub sessions: TaskTracker,
}

/// What the connections of one listener share.
pub(super) struct House {
    pub(super) settings: Settings,
    pub(super) limits: Limits,
    pub(super) offer: Arc<Offer>,
    pub(super) shared: Shared,
    pub(super) budget: Arc<Budget>,
}

/// A listener that is bound; clients wait in its backlog until it runs.
pub struct Listener {
    socket: TcpListener,
    settings: Settings,
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("listener {name}: cannot listen on {address}: {cause}")]
pub struct BindError {
    name: String,
    address: String,
    cause: std::io::Error,
}

/// Binds a listener.
///
/// # Errors
/// The address is in use, not ours or not permitted.
pub async fn bind(settings: &Settings) -> Result<Listener, BindError> {
    let fault = |cause| BindError { name: settings.name.clone(), address: settings.address.clone(), cause };
    let socket = TcpListener::bind(&settings.address).await.map_err(fault)?;
    Ok(Listener { socket, settings: settings.clone() })
}

/// The limits of all listeners together.
pub struct Gate {
    admission: Arc<Admission>,
    budget: Arc<Budget>,
    limits: Limits,
}

impl Gate {
    /// For all listeners of one gateway.
    pub fn new(limits: &Limits) -> Self {
        Self {
            admission: Admission::new(limits.connections, limits.connections_per_client),
            budget: Budget::new(limits.memory.octets() / 2),
            limits: limits.clone(),
        }
    }
}

impl Listener {
    /// Its name in the settings.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The address it listens on, with its port.
    pub fn address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// Takes connections until the house stops.
    pub async fn run(self, gate: &Gate, mut offer: Offer, shared: Shared) {
        offer.starttls = self.settings.tls == Tls::Starttls;
        offer.logins = self.settings.auth.logins();
        let house = Arc::new(House {
            settings: self.settings,
            limits: gate.limits.clone(),
            offer: Arc::new(offer),
            budget: Arc::clone(&gate.budget),
            shared,
        });
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = house.shared.stopping.cancelled() => return,
            };
            match accepted {
                Ok((stream, peer)) => welcome(stream, peer, gate, &house),
                Err(error) => {
                    // Out of file descriptors, or a client that left before it was accepted: it passes.
                    tracing::warn!(listener = house.settings.name, %error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

/// Talks with a client on this machine that came otherwise than to a listener.
pub async fn converse(stream: Wire, client: Client, gate: &Gate, (offer, shared): (Offer, Shared)) {
    let house = House {
        settings: Settings { name: client.listener.clone(), ..Settings::default() },
        limits: gate.limits.clone(),
        offer: Arc::new(offer),
        budget: Arc::clone(&gate.budget),
        shared,
    };
    Connection::new(stream, client, Arc::new(house)).run().await;
}

fn welcome(stream: TcpStream, peer: SocketAddr, gate: &Gate, house: &Arc<House>) {
    let address = peer.ip().to_canonical();
    let shared = &house.shared;
    match gate.admission.admit(address) {
        Ok(place) => {
            let _ = stream.set_nodelay(true);
            let connection =
                Connection::new(Box::new(stream), Client::new(address, &house.settings.name), Arc::clone(house));
            let metrics = Arc::clone(&shared.metrics);
            metrics.session_begins();
            shared.sessions.spawn(async move {
                connection.run().await;
                metrics.session_ends();
                drop(place);
            });
        }
        Err(full) => {
            let text = match full {
                Full::House => "Too many connections; try again later",
                Full::Client => "Too many connections from your address; try again later",
            };
            tracing::warn!(listener = house.settings.name, client = %address, "{text}");
            // Before a handshake a client of implicit TLS would not understand it.
            if house.settings.tls != Tls::Implicit {
                shared.sessions.spawn(turn_away(stream, text));
            }
        }
    }
}

async fn turn_away(mut stream: TcpStream, text: &'static str) {
    let mut octets = Vec::new();
    Reply::new(421, Enhanced(4, 7, 0), text).write(&mut octets);
    let _ = timeout(Duration::from_secs(1), stream.write_all(&octets)).await;
}
