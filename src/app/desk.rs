//! Where an operator's request goes: to the gateway that runs on the store, else to the store itself.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;

use crate::{
    config::{Loaded, Settings},
    operator::{self, Answer, Doors, Fault, FaultKind, Operator, Request},
    rules::Rules,
    store::{Sqlite, StoreError},
    upstream,
};

use super::outward;

/// Asks the gateway that runs on the store of these settings; when none runs, opens the store and does the same there.
///
/// # Errors
/// Neither can be spoken to, and why.
pub async fn ask(loaded: Loaded, request: Request, octets: Bytes) -> Result<Receiver<Answer>, Fault> {
    let Loaded { settings, rules } = loaded;
    let fault = |kind, text: &str| Fault { kind, text: text.to_owned() };
    let kept = settings.store.as_ref().and_then(|store| Some((store.path()?.to_owned(), store.size)));
    let Some((path, size)) = kept else {
        let text = "the settings name no store: in direct mode there is a queue only with [store]";
        return Err(fault(FaultKind::Unavailable, text));
    };
    if let Some(answers) = operator::call(&operator::path_of(&path), &request, &octets).await? {
        return Ok(answers);
    }
    if matches!(request, Request::Upstreams) {
        let text = format!("no gateway runs on {}: nobody looks after its upstreams", path.display());
        return Err(fault(FaultKind::Unavailable, &text));
    }
    // Only a message that comes in may make a store: a wrong path should be told, not made.
    if !matches!(request, Request::Import(_)) && !path.exists() {
        return Err(fault(FaultKind::Missing, &format!("there is no store at {}", path.display())));
    }
    let doors = if request.needs_rules() { Some(doors(&settings, rules).await?) } else { None };
    let store = Sqlite::open(&path, size, Timestamp::now()).map_err(|error| match error {
        StoreError::Locked(path) => {
            let text = format!(
                "{path} is in use, and nobody answers at its control socket: a gateway starts or ends just now, or \
                 runs without the socket, which it then says at its start"
            );
            fault(FaultKind::Later, &text)
        }
        other => other.into(),
    })?;
    let message_size = settings.limits.message_size;
    let operator = Operator { store: Arc::new(store), queue: None, router: None, doors, message_size };
    Ok(Arc::new(operator).ask(request, octets))
}

/// The doors of a gateway with these settings.
async fn doors(settings: &Settings, rules: Arc<Rules>) -> Result<Doors, Fault> {
    let site = outward::site(settings);
    let mut upstreams = Vec::new();
    for one in &settings.upstreams {
        let built = upstream::build(one, &site).await;
        upstreams.push(built.map_err(|error| Fault { kind: FaultKind::Unavailable, text: error.to_string() })?);
    }
    let door = |rules| Arc::new(super::intake(settings, rules, &upstreams, Vec::new()));
    Ok(Doors { mail: door(rules), reports: door(outward::shipped_rules()) })
}
