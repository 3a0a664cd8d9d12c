//! Listening sockets, and what all their connections share.

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::{io::AsyncWriteExt, time::timeout};
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
    admission::{Admission, Budget, Full, Place},
    connection::Connection,
    proxy::{self, Proxied},
    socket::{self, BindError, Passed, Socket},
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
    socket: Socket,
    settings: Settings,
}

/// Binds the sockets of a listener, each a listener of its own: systemd may pass several under one name.
///
/// # Errors
/// The address is in use, not ours or not permitted; systemd passed none.
pub async fn bind(settings: &Settings, passed: &mut Passed) -> Result<Vec<Listener>, BindError> {
    let sockets = socket::open(settings, passed).await?;
    Ok(sockets.into_iter().map(|socket| Listener { socket, settings: settings.clone() }).collect())
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

    /// Where it listens, as its setting `address` says it, but with the port that it got.
    pub fn address(&self) -> String {
        self.socket.address()
    }

    /// Takes connections until the house stops.
    pub async fn run(self, gate: &Gate, offer: Offer, shared: Shared) {
        let house = Arc::new(House {
            offer: Arc::new(self.settings.offer(offer)),
            settings: self.settings,
            limits: gate.limits.clone(),
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
    let settings = Settings { name: client.listener.clone(), ..Settings::default() };
    let house = House {
        offer: Arc::new(settings.offer(offer)),
        settings,
        limits: gate.limits.clone(),
        budget: Arc::clone(&gate.budget),
        shared,
    };
    Connection::new(stream, client, Arc::new(house)).run().await;
}

fn welcome(stream: Wire, peer: IpAddr, gate: &Gate, house: &Arc<House>) {
    let sessions = &house.shared.sessions;
    match gate.admission.enter() {
        Ok(place) => sessions.spawn(attend(stream, peer, place, Arc::clone(house))),
        Err(full) => sessions.spawn(turn_away(stream, peer, full, Arc::clone(house))),
    };
}

/// Learns who the client is, and talks with it if there is room for more of its kind.
async fn attend(mut stream: Wire, peer: IpAddr, mut place: Place, house: Arc<House>) {
    let Some(client) = identify(&mut stream, peer, &house).await else { return };
    // A relay that tells for whom it speaks has many clients; it limits each of them itself.
    if !house.offer.trusts(peer)
        && let Err(full) = place.count(client.address)
    {
        return turn_away(stream, client.address, full, house).await;
    }
    let metrics = Arc::clone(&house.shared.metrics);
    metrics.session_begins();
    Connection::new(stream, client, house).run().await;
    metrics.session_ends();
}

/// The client: the peer, or whom it connects for when it is a proxy.
async fn identify(stream: &mut Wire, peer: IpAddr, house: &House) -> Option<Client> {
    let name = &house.settings.name;
    if !house.settings.proxy_protocol.iter().any(|network| network.0.contains(&peer)) {
        return Some(Client::new(peer, name));
    }
    let heard = tokio::select! {
        heard = proxy::read(stream) => heard,
        () = house.shared.stopping.cancelled() => return None,
    };
    match heard {
        Ok(Proxied { address, tls }) => Some(Client { tls, ..Client::new(address.unwrap_or(peer), name) }),
        Err(fault) => {
            tracing::warn!(listener = name, %peer, "a peer in proxy_protocol was sent away: {fault}");
            None
        }
    }
}

async fn turn_away(mut stream: Wire, client: IpAddr, full: Full, house: Arc<House>) {
    let text = match full {
        Full::House => "Too many connections; try again later",
        Full::Client => "Too many connections from your address; try again later",
    };
    tracing::warn!(listener = house.settings.name, %client, "{text}");
    // Before a handshake a client of implicit TLS would not understand it.
    if house.settings.tls != Tls::Implicit {
        let mut octets = Vec::new();
        Reply::new(421, Enhanced(4, 7, 0), text).write(&mut octets);
        let _ = timeout(Duration::from_secs(1), stream.write_all(&octets)).await;
    }
}
