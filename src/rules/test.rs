//! `[[test]]` blocks: a mail, and what the rules must make of it.

use bytes::Bytes;

use crate::{
    mail::{Address, Client, Envelope, Id, Sender},
    tree::{Node, Place, read},
};

use super::{
    draft::Draft,
    facts::Facts,
    file::{Compiler, Rules},
    run::Verdict,
};

/// One test of a rule file.
#[derive(Debug)]
pub(super) struct Test {
    place: Place,
    spec: Spec,
}

/// The keys of a `[[test]]`.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    name: String,
    mail: String,
    #[serde(default = "default_sender")]
    sender: String,
    #[serde(default = "default_recipients")]
    recipients: Vec<String>,
    #[serde(default)]
    client: Option<std::net::IpAddr>,
    #[serde(default)]
    listener: Option<String>,
    #[serde(default)]
    helo: Option<String>,
    expect: Expect,
}

fn default_sender() -> String {
    "sender@example.com".to_owned()
}

fn default_recipients() -> Vec<String> {
    vec!["rcpt@example.net".to_owned()]
}

/// The keys of `expect`.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Expect {
    header: std::collections::BTreeMap<String, String>,
    no_header: Vec<String>,
    verdict: Option<String>,
    reply: Option<String>,
    user: Option<String>,
    env: std::collections::BTreeMap<String, String>,
    body: Option<String>,
    unchanged: Option<bool>,
    lint: Option<String>,
}

/// What an upstream would say of a message: nothing, or why it refuses it. Given by the caller, since the rules know no
/// upstream.
pub type Inspection<'a> = &'a dyn Fn(&Draft) -> Vec<String>;

/// A test that did not pass.
#[derive(Debug, thiserror::Error)]
#[error("{place}: test \"{test}\": {message}")]
pub struct Failure {
    place: Place,
    test: String,
    message: String,
}

pub(super) fn compile(node: &Node, compiler: &mut Compiler) -> Option<Test> {
    match read::<Spec>(node) {
        Ok(spec) => Some(Test { place: node.place.clone(), spec }),
        Err(faults) => {
            compiler.faults.extend(faults);
            None
        }
    }
}

/// Runs the tests of all files on all rules; gives how many there were and what failed.
pub fn run_tests(rules: &Rules, inspection: Inspection<'_>) -> (usize, Vec<Failure>) {
    let tests: Vec<&Test> = rules.files.iter().flat_map(|file| &file.tests).collect();
    let failures = tests.iter().flat_map(|test| {
        let messages = match run(test, rules, inspection) {
            Ok(messages) => messages,
            Err(message) => vec![message],
        };
        messages.into_iter().map(|message| Failure { place: test.place.clone(), test: test.spec.name.clone(), message })
    });
    (tests.len(), failures.collect())
}

fn run(test: &Test, rules: &Rules, inspection: Inspection<'_>) -> Result<Vec<String>, String> {
    let spec = &test.spec;
    let address = |text: &String| Address::parse(text).map_err(|error| format!("<{text}>: {error}"));
    let sender = if spec.sender.is_empty() { None } else { Some(address(&spec.sender)?) };
    let recipients = spec.recipients.iter().map(address).collect::<Result<_, _>>()?;
    let envelope = Envelope { sender: Sender(sender), recipients, ..Envelope::default() };
    let mut client = Client::new(spec.client.unwrap_or(std::net::Ipv4Addr::LOCALHOST.into()), "smtp");
    client.listener = spec.listener.clone().unwrap_or(client.listener);
    client.helo = spec.helo.clone().unwrap_or_default();
    let raw = Bytes::from(spec.mail.clone());
    let mut draft = Draft::new(envelope, &raw);
    let facts = Facts { id: Id::nil(), client, size: raw.len(), hostname: "relay.example.com".to_owned() };
    let verdict = rules.run(&facts, &mut draft);
    let findings = if spec.expect.lint.is_some() { inspection(&draft) } else { Vec::new() };
    let mut failures = header_failures(&spec.expect, &draft);
    failures.extend(verdict_failures(&spec.expect, &verdict));
    failures.extend(other_failures(&spec.expect, &draft, &raw));
    match spec.expect.lint.as_deref() {
        Some("clean") if !findings.is_empty() => {
            failures.push(format!("wanted lint clean, got: {}", findings.join("; ")))
        }
        Some("refused") if findings.is_empty() => failures.push("wanted lint refused, got clean".to_owned()),
        None | Some("clean" | "refused") => {}
        Some(other) => failures.push(format!("lint is clean or refused, not {other}")),
    }
    Ok(failures)
}

fn header_failures(expect: &Expect, draft: &Draft) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, wanted) in &expect.header {
        let values: Vec<String> = draft.header.find(name).map(|at| draft.header.decoded(at)).collect();
        if values.as_slice() != [wanted.clone()] {
            failures.push(format!("wanted {name}: {wanted}, got {values:?}"));
        }
    }
    for name in &expect.no_header {
        if draft.header.find(name).next().is_some() {
            failures.push(format!("wanted no {name}"));
        }
    }
    failures
}

fn verdict_failures(expect: &Expect, verdict: &Verdict) -> Vec<String> {
    let mut failures = Vec::new();
    if let Some(wanted) = expect.verdict.as_deref().filter(|wanted| *wanted != verdict.word()) {
        failures.push(format!("wanted verdict {wanted}, got {}", verdict.word()));
    }
    let reply = match verdict {
        Verdict::Reject(reply) | Verdict::Defer(reply) => reply.to_string(),
        Verdict::Accept | Verdict::Hold | Verdict::Discard => String::new(),
    };
    if let Some(wanted) = expect.reply.as_ref().filter(|wanted| **wanted != reply) {
        failures.push(format!("wanted reply {wanted}, got {reply}"));
    }
    failures
}

fn other_failures(expect: &Expect, draft: &Draft, raw: &Bytes) -> Vec<String> {
    let mut failures = Vec::new();
    let user = draft.trace.user.clone().unwrap_or_default();
    if let Some(wanted) = expect.user.as_ref().filter(|wanted| **wanted != user) {
        failures.push(format!("wanted user {wanted:?}, got {user:?}"));
    }
    for (name, wanted) in &expect.env {
        let value = draft.trace.env.get(name).cloned().unwrap_or_default();
        if value != *wanted {
            failures.push(format!("wanted env {name} {wanted:?}, got {value:?}"));
        }
    }
    let message = draft.message();
    let body = String::from_utf8_lossy(message.rest.strip_prefix(b"\r\n").unwrap_or(&message.rest)).into_owned();
    if let Some(wanted) = expect.body.as_ref().filter(|wanted| **wanted != body) {
        failures.push(format!("wanted body {wanted:?}, got {body:?}"));
    }
    let unchanged = message.to_bytes() == *raw;
    if let Some(wanted) = expect.unchanged.filter(|wanted| *wanted != unchanged) {
        failures.push(format!("wanted unchanged {wanted}, got {unchanged}"));
    }
    failures
}
