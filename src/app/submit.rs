//! Mail from this machine: to the gateway that runs, else into its store, else straight to an upstream.

use std::net::SocketAddr;

use bytes::Bytes;
use tokio::net::TcpStream;

use crate::{
    config::{Loaded, Settings},
    delivery::{Once, Pace, Part, Router, UNWATCHED, Way},
    mail::{Enhanced, Fate, Period, Reply},
    operator::{Answer, Done, FaultKind, Letter, Request},
    server,
    smtp::Transaction,
    upstream::{self, Kind, LintMode, Service, SetupError, Site, Tls},
};

use super::{Post, Posted, Wish, desk, post};

/// How long a gateway may take to make a connection, and to answer.
const CONNECT: Period = Period::seconds(5);
const ANSWER: Period = Period::seconds(120);

/// Who took a message, or refused it.
#[derive(Debug)]
pub struct Submitted {
    /// Who was asked, in words.
    pub taker: String,
    /// What it said; for several recipients the worst.
    pub reply: Reply,
}

/// Hands a message in. Without settings there is no gateway to look for and no store.
///
/// # Errors
/// An upstream that cannot work.
pub async fn submit(loaded: Loaded, configured: bool, transaction: Transaction) -> Result<Submitted, SetupError> {
    let mut causes = Vec::new();
    if configured {
        let settings = &loaded.settings;
        for address in gateways(settings) {
            match to_gateway(address, settings, transaction.clone()).await? {
                Ok(submitted) => return Ok(submitted),
                Err(cause) => causes.push(cause),
            }
        }
        if settings.store.is_some() {
            match into_store(loaded.clone(), &transaction).await {
                Ok(submitted) => return Ok(submitted),
                Err(cause) => causes.push(cause),
            }
        }
    }
    let wish = Wish { region: Some("us-east-1".to_owned()), ..Wish::default() };
    let Posted { end, .. } = Post::build(loaded, wish).await?.send(transaction).await;
    let reply = match end {
        Ok(parts) => answer(&parts),
        Err(refusal) => refusal.reply,
    };
    let taker = match causes.as_slice() {
        [] => "straight to the upstream".to_owned(),
        causes => format!("straight to the upstream, since {}", causes.join(", and ")),
    };
    Ok(Submitted { taker, reply })
}

/// A connection to the gateway that runs with these settings, if one does.
pub async fn gateway(settings: &Settings) -> Option<TcpStream> {
    for address in gateways(settings) {
        if let Ok(Ok(stream)) = tokio::time::timeout(CONNECT.0, TcpStream::connect(address)).await {
            return Some(stream);
        }
    }
    None
}

/// Where a gateway of these settings listens and takes clear text, seen from this machine.
fn gateways(settings: &Settings) -> Vec<SocketAddr> {
    let local = |text: &str| {
        let mut address: SocketAddr = text.parse().ok()?;
        if address.ip().is_unspecified() {
            let loopback = if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
            address.set_ip(loopback);
        }
        Some(address).filter(|address| address.port() != 0)
    };
    let plain = |listener: &&server::Settings| {
        listener.tls != server::Tls::Implicit
            && listener.protocol == server::Protocol::Smtp
            && listener.proxy_protocol.is_empty()
    };
    settings.listeners.iter().filter(plain).filter_map(|listener| local(&listener.address)).collect()
}

/// What the gateway there said, or why nobody is there.
async fn to_gateway(
    address: SocketAddr,
    settings: &Settings,
    transaction: Transaction,
) -> Result<Result<Submitted, String>, SetupError> {
    let one = upstream::Settings {
        name: "gateway".to_owned(),
        kind: Kind::Smtp,
        address: address.to_string(),
        service: Service::Other,
        tls: Tls::None,
        lint: LintMode::Off,
        attempt_timeout: ANSWER,
        ..upstream::Settings::default()
    };
    let site = Site { hostname: settings.own_name(), ..Site::default() };
    let way = Way::new(upstream::build(&one, &site).await?, 1, Pace::Unlimited, UNWATCHED);
    let parts = Once::new(Router::new(vec![way])).send(post::untouched(transaction)).await;
    let nobody = |part: &&Part| !part.outcome.ambiguous && part.outcome.reply.enhanced() == Some(Enhanced(4, 4, 1));
    Ok(match parts.iter().find(nobody) {
        Some(part) => Err(format!("no gateway answers at {address} ({})", part.outcome.cause)),
        None => Ok(Submitted { taker: format!("by the gateway at {address}"), reply: answer(&parts) }),
    })
}

/// What the store said, or why it cannot be spoken to.
async fn into_store(loaded: Loaded, transaction: &Transaction) -> Result<Submitted, String> {
    let Transaction { envelope, raw, .. } = transaction;
    let letter = Letter {
        sender: envelope.sender.0.clone(),
        recipients: envelope.recipients.clone(),
        dsn: envelope.dsn.clone(),
        asked: envelope.asked.clone(),
        user: None,
        rules: true,
        octets: raw.len() as u64,
    };
    let taker = || "into the store, which a gateway sends when it runs".to_owned();
    let mut answers = match desk::ask(loaded, Request::Import(letter), Bytes::clone(raw)).await {
        Ok(answers) => answers,
        Err(fault) if fault.kind == FaultKind::Later => {
            return Ok(Submitted { taker: taker(), reply: Reply::new(451, Enhanced(4, 3, 0), &fault.text) });
        }
        Err(fault) => return Err(format!("the store cannot be used ({})", fault.text)),
    };
    while let Some(answer) = answers.recv().await {
        let reply = match answer {
            Answer::Deed(deed) if deed.result == Done::Done => {
                Reply::new(250, Enhanced(2, 0, 0), &format!("{} (id {})", deed.text, deed.id))
            }
            Answer::Deed(deed) => Reply::new(554, Enhanced(5, 6, 0), &deed.text),
            Answer::End(Some(fault)) => {
                let refused = fault.kind == FaultKind::Refused;
                let (code, class) = if refused { (554, 5) } else { (451, 4) };
                Reply::new(code, Enhanced(class, 3, 0), &fault.text)
            }
            _ => continue,
        };
        return Ok(Submitted { taker: taker(), reply });
    }
    Ok(Submitted { taker: taker(), reply: Reply::new(451, Enhanced(4, 3, 0), "The answer broke off") })
}

/// The one answer, with those that have not got the message when others have.
fn answer(parts: &[Part]) -> Reply {
    let reply = post::receipt(parts).reply;
    let failed = parts.iter().filter(|part| part.outcome.fate != Fate::Delivered).flat_map(|part| &part.recipients);
    let failed: Vec<String> = failed.take(10).map(ToString::to_string).collect();
    let some = parts.iter().any(|part| part.outcome.fate == Fate::Delivered);
    if some && !failed.is_empty() { reply.with_suffix(&format!("(not for {})", failed.join(", "))) } else { reply }
}
