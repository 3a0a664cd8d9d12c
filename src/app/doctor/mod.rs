//! `headgate doctor`: whether everything that mail depends on is as it has to be, and what to do where it is not.
//!
//! What settings say goes in, [`Line`]s come out. First all facts are gathered, each way to an upstream at the same time;
//! then each check judges them, and knows nothing but them.

mod access;
mod account;
mod gateway;
mod identity;
mod line;
mod live;
mod network;
mod outbox;

use std::path::PathBuf;

use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::{
    config::{self, Draft, Request},
    mail::Address,
    store::{self, Probe, StoreError},
    upstream::{self, Exam, Feedback, Site},
};

use super::outward;
use line::Found;
pub use line::{Line, State};

/// What an operator wants to know.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Whom mail is to come from.
    pub senders: Vec<Address>,
    /// Whether a message is to be sent.
    pub live: bool,
}

/// What was found.
#[derive(Debug)]
pub struct Diagnosis {
    /// A line or more for each check, those of an upstream together.
    pub lines: Vec<Line>,
    /// Whether the settings are broken.
    pub broken: bool,
}

/// One check.
pub struct CheckRow {
    /// Its name.
    pub name: &'static str,
    /// What it looks at.
    pub about: &'static str,
    look: Look,
}

/// What a check is about.
enum Look {
    /// The gateway itself.
    Gateway(fn(&Gateway) -> Vec<Found>),
    /// Each upstream.
    Upstream(fn(&Subject) -> Vec<Found>),
}

/// All checks, in the order of their lines.
pub const CHECKS: &[CheckRow] = &[
    gateway::SETTINGS,
    gateway::RULES,
    gateway::STORE,
    outbox::FOLDER,
    access::REGION,
    access::CREDENTIALS,
    network::DNS,
    network::REACHABLE,
    network::CERTIFICATE,
    network::CLOCK,
    account::SANDBOX,
    account::QUOTA,
    account::SENDING,
    identity::IDENTITY,
    identity::DKIM,
    identity::MAIL_FROM,
    live::LIVE,
];

/// The facts about the gateway.
struct Gateway {
    draft: Draft,
    /// The settings file.
    file: Option<PathBuf>,
    store: Option<(PathBuf, Result<Probe, StoreError>)>,
}

/// The facts about an upstream.
struct Subject {
    settings: upstream::Settings,
    exam: Exam,
    live: live::Sent,
    now: Timestamp,
}

/// Looks at everything. Only `live` sends something.
pub async fn doctor(request: &Request, question: Question) -> Diagnosis {
    let draft = config::draft(request);
    let broken = !draft.faults.is_empty() || !matches!(draft.rules, Some(Ok(_)));
    // A gateway with these settings would send nothing either.
    let question = Question { live: question.live && !broken, ..question };
    let store = draft.settings.as_ref().and_then(|settings| settings.store.as_ref()?.path().map(PathBuf::from));
    let store = match store {
        Some(path) => {
            let looked_at = path.clone();
            let looked = tokio::task::spawn_blocking(move || store::probe(&looked_at)).await;
            Some((path, looked.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))))
        }
        None => None,
    };
    let subjects = subjects(&draft, question).await;
    let gateway = Gateway { draft, file: config::file(request), store };
    Diagnosis { lines: judge(&gateway, &subjects), broken }
}

/// Finds out about all upstreams at once, in the order of the settings.
async fn subjects(draft: &Draft, question: Question) -> Vec<Subject> {
    let Some(settings) = &draft.settings else { return Vec::new() };
    let site = outward::site(settings);
    let mut looking = JoinSet::new();
    // Nobody asked for what stands in the place of a setting that cannot be read.
    let meant = settings.upstreams.iter().cloned().enumerate().filter(|(at, _)| !draft.is_doubtful(*at));
    for (at, one) in meant {
        let (site, question) = (site.clone(), question.clone());
        looking.spawn(async move { (at, subject(one, &site, question).await) });
    }
    let mut found = looking.join_all().await;
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, subject)| subject).collect()
}

async fn subject(settings: upstream::Settings, site: &Site, question: Question) -> Subject {
    let senders = senders(&settings, site, &question.senders);
    let (exam, live) =
        tokio::join!(upstream::examine(&settings, site, &senders), live::send(&settings, site, &question));
    Subject { settings, exam, live, now: Timestamp::now() }
}

/// Whom mail comes from as far as that is known, each once.
fn senders(settings: &upstream::Settings, site: &Site, given: &[Address]) -> Vec<Address> {
    let reports = match &settings.feedback {
        Feedback::To(address) => Some(address),
        Feedback::Sender | Feedback::None => None,
    };
    let mut senders: Vec<Address> = Vec::new();
    for one in given.iter().chain(&site.bounce).chain(reports) {
        if !senders.contains(one) {
            senders.push(one.clone());
        }
    }
    senders
}

fn judge(gateway: &Gateway, subjects: &[Subject]) -> Vec<Line> {
    let of_gateway = CHECKS.iter().filter_map(|row| match row.look {
        Look::Gateway(look) => Some(look(gateway).into_iter().map(|found| found.line(row.name, ""))),
        Look::Upstream(_) => None,
    });
    let of_upstreams = subjects.iter().flat_map(|subject| {
        CHECKS.iter().filter_map(|row| match row.look {
            Look::Gateway(_) => None,
            Look::Upstream(look) => {
                Some(look(subject).into_iter().map(|found| found.line(row.name, &subject.settings.name)))
            }
        })
    });
    of_gateway.flatten().chain(of_upstreams.flatten()).collect()
}

#[cfg(test)]
mod tests;
