//! `--dry-run`: what would be sent, where, and why.

use crate::{
    cli::{explained::Explained, terminal},
    config::Loaded,
    rules::{Draft, Facts, Rules},
    smtp::Transaction,
    upstream,
};

use super::{
    answer::{Answer, REFUSED, SENT},
    options::Options,
};

/// Rehearses it; no network is needed.
pub(super) fn answer(options: &Options, loaded: &Loaded, transaction: Transaction) -> Answer {
    let Transaction { id, client, envelope, raw } = transaction;
    let facts = Facts { id, client, size: raw.len(), hostname: loaded.settings.own_name() };
    let none = Rules::none();
    let rules = if options.untouched() { &none } else { &loaded.rules };
    let explained = Explained::new(rules, &facts, Draft::new(envelope, &raw));
    let refused = explained.refused() && !options.untouched();
    let answer = Answer::new(if refused { REFUSED } else { SENT });
    let upstreams: Vec<String> = loaded.settings.upstreams.iter().map(place).collect();
    let to: Vec<String> = explained.envelope.recipients.iter().map(ToString::to_string).collect();
    let from = explained.envelope.sender.to_string();
    if options.json {
        let mut json = explained.json();
        if let Some(object) = json.as_object_mut() {
            object.insert("sender".to_owned(), from.into());
            object.insert("recipients".to_owned(), to.into());
            object.insert("upstreams".to_owned(), upstreams.into());
            object.insert("message".to_owned(), String::from_utf8_lossy(&explained.message.to_bytes()).into());
        }
        return answer.out(format!("{json}\n"));
    }
    let text = explained.text();
    let message = String::from_utf8_lossy(&explained.message.head).into_owned();
    let shown: String = message.lines().map(|line| format!("  {}\n", terminal::line(line))).collect();
    answer.out(format!(
        "upstream: {}\nfrom: <{from}>\nto: {}\n{text}header:\n{shown}body: {} octets\n",
        upstreams.join("; "),
        to.iter().map(|one| format!("<{one}>")).collect::<Vec<_>>().join(", "),
        explained.message.rest.len()
    ))
}

fn place(upstream: &upstream::Settings) -> String {
    let parts = [upstream.kind.word(), &upstream.region, &upstream.endpoint_url, &upstream.address];
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
}
