//! A session on standard input and output, for a client that starts this program in the place of a connection.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use tokio::{
    io::{self, AsyncWriteExt as _},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::{Loaded, Settings},
    delivery::Mode,
    log::AccessLog,
    mail::Client,
    metrics::Metrics,
    server::{self, Gate},
};

use super::{
    StartError,
    outward::{self, Outward},
    submit::gateway,
};

/// Speaks SMTP there: the gateway that runs does, else this program, into the store or straight to an upstream.
///
/// # Errors
/// What has to be changed before any of these can be spoken to.
pub async fn converse(loaded: Loaded, configured: bool) -> Result<(), StartError> {
    if configured && let Some(stream) = gateway(&loaded.settings).await {
        relay(stream).await;
        return Ok(());
    }
    let Loaded { mut settings, rules } = loaded;
    settings.access_log.output =
        Some(settings.access_log.output).filter(|output| output != "stdout").unwrap_or("off".into());
    let log = AccessLog::open(&settings.access_log, Arc::new(|_, _| {}));
    let log = Arc::new(log.or_else(|_| {
        settings.access_log.output = "off".to_owned();
        AccessLog::open(&settings.access_log, Arc::new(|_, _| {}))
    })?);
    let (stopping, attempts) = (CancellationToken::new(), TaskTracker::new());
    let behind = outward::Shared {
        log: Arc::clone(&log),
        metrics: Arc::new(Metrics::default()),
        tasks: attempts.clone(),
        stopping: stopping.clone(),
    };
    let outward = match Outward::build(&settings, behind.clone()).await {
        Err(StartError::Store(_)) => Outward::build(&without_store(&mut settings), behind.clone()).await?,
        other => other?,
    };
    let shared = server::Shared {
        intake: Arc::new(super::intake(&settings, rules, &outward.upstreams, log.header_fields())),
        sink: Arc::clone(&outward.sink),
        log,
        metrics: behind.metrics,
        certificates: None,
        stopping,
        leaving: CancellationToken::new(),
        users: None,
        sessions: TaskTracker::new(),
    };
    let offer = super::offer(&settings, outward.queue.is_some());
    let client = Client::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "stdin");
    let stream = Box::new(io::join(io::stdin(), io::stdout()));
    server::converse(stream, client, &Gate::new(&settings.limits), (offer, shared)).await;
    attempts.close();
    let _ = timeout(settings.delivery.drain.0, attempts.wait()).await;
    Ok(())
}

fn without_store(settings: &mut Settings) -> Settings {
    (settings.store, settings.delivery.mode) = (None, Mode::Direct);
    settings.clone()
}

/// Carries octets both ways until the gateway ends the session.
async fn relay(stream: tokio::net::TcpStream) {
    let (mut from, mut to) = stream.into_split();
    let inwards = tokio::spawn(async move {
        let _ = io::copy(&mut io::stdin(), &mut to).await;
        let _ = to.shutdown().await;
    });
    let mut stdout = io::stdout();
    let _ = io::copy(&mut from, &mut stdout).await;
    let _ = stdout.flush().await;
    inwards.abort();
}
