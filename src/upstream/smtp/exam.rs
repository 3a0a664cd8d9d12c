//! What a mail server is found to be: its name, a connection, TLS, the login.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    mail::{Enhanced, Outcome},
    upstream::{Settings, Site, SmtpExam, SmtpFault, Stage, Validity, sight},
};

use super::{NextHop, connection::Caller};

/// How long a connection may take up to its login.
const PATIENCE: Duration = Duration::from_secs(15);

/// Connects to the server and leaves again.
pub(in crate::upstream) async fn examine(settings: &Settings, site: &Site) -> SmtpExam {
    let setup = |cause| SmtpFault { stage: Stage::Setup, cause };
    let NextHop { host, port } = match NextHop::parse(&settings.address) {
        Ok(hop) => hop,
        Err(cause) => {
            return SmtpExam { host: settings.address.clone(), port: 0, lookup: None, session: Err(setup(cause)) };
        }
    };
    let lookup = sight::lookup(&host, port).await;
    let session = match Caller::new(settings, site) {
        Ok(caller) => connect(&caller).await,
        Err(cause) => Err(setup(cause)),
    };
    SmtpExam { host, port, lookup, session }
}

async fn connect(caller: &Caller) -> Result<Option<Result<Validity, String>>, SmtpFault> {
    let late = |_| SmtpFault { stage: Stage::Connection, cause: format!("no answer within {PATIENCE:?}") };
    let peer = timeout(PATIENCE, caller.connect()).await.map_err(late)?.map_err(|outcome| fault(&outcome))?;
    let certificate = peer.certificate.as_ref().map(|shown| sight::validity(Some(shown)));
    peer.quit().await;
    Ok(certificate)
}

/// How far it came, by the code that [`super::reply`] gives each step.
fn fault(outcome: &Outcome) -> SmtpFault {
    let stage = match outcome.reply.enhanced() {
        Some(Enhanced(_, 4, _)) => Stage::Connection,
        Some(Enhanced(_, 7, 5)) => Stage::Tls,
        Some(Enhanced(_, 7, 8)) => Stage::Login,
        _ => Stage::Welcome,
    };
    SmtpFault { stage, cause: outcome.cause.clone() }
}
