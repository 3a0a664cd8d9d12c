//! How fast the parts are: `make bench`, or `cargo bench --bench parts`.
//!
//! Each figure is a ratio within one run, since machines and their load differ: the default rules against one request of
//! the AWS SDK, and the editor with nothing to do against a copy and one scan for line ends.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark that cannot run has no figure")]

#[allow(unused_imports, reason = "its own tests are compiled, and not run, here")]
#[path = "../tests/blackbox/fake_ses/mod.rs"]
mod fake_ses;

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fake_ses::{FakeSes, Profile};
use headgate::{
    header::{self, Header},
    mail::{Address, Client, Envelope, Id, Options, Sender},
    rules::{Draft, Facts, Rules, SourceText},
    upstream::{self, Attempt, Upstream},
};

/// A mail of Request Tracker, as Postfix passes it on: 25 fields, about 2 KB.
const MAIL: &str = include_str!("mail.eml");

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn envelope() -> Envelope {
    let sender = Sender(Some(address("rt@example.com")));
    Envelope { sender, recipients: vec![address("evan@example.com")], ..Envelope::default() }
}

fn mail() -> Bytes {
    let mail = Bytes::from(MAIL.replace('\n', "\r\n"));
    let header = Header::parse(&header::split(&mail).head);
    assert_eq!(header.positions().count(), 25);
    mail
}

fn editor(criterion: &mut Criterion) {
    let head = header::split(&mail()).head;
    let mut group = criterion.benchmark_group("editor");
    group.bench_function("a copy and one scan for line ends", |bencher| {
        bencher.iter(|| {
            let copy = black_box(&head).to_vec();
            let mut last = 0;
            memchr::memchr_iter(b'\n', &copy).for_each(|at| last = black_box(at));
            (copy, last)
        });
    });
    group.bench_function("parse and finish without an edit", |bencher| {
        bencher.iter(|| Header::parse(black_box(&head)).finish());
    });
    group.finish();
}

fn rules(criterion: &mut Criterion) {
    let raw = mail();
    let sources = ["rt", "ses"].map(|name| SourceText::builtin(name).unwrap());
    let rules = Rules::compile(&sources, &BTreeMap::new()).unwrap();
    let client = Client::new([127, 0, 0, 1].into(), "smtp");
    let facts = Facts { id: Id::nil(), client, size: raw.len(), hostname: "relay.example.com".to_owned() };
    let mut group = criterion.benchmark_group("one message");
    group.bench_function("default rules", |bencher| {
        bencher.iter(|| {
            let mut draft = Draft::new(envelope(), &raw);
            let verdict = rules.run(&facts, &mut draft);
            (verdict, draft.message())
        });
    });
    let one = Bytes::from(String::from_utf8(raw.to_vec()).unwrap().replacen("Subject: ", "Subject: Prüfung ", 1));
    assert_ne!(one, raw);
    group.bench_function("default rules, one repair needed", |bencher| {
        bencher.iter(|| {
            let mut draft = Draft::new(envelope(), &one);
            let verdict = rules.run(&facts, &mut draft);
            (verdict, draft.message())
        });
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let fake = FakeSes::start(Profile::Today);
    let ses = runtime.block_on(ses(&fake.endpoint()));
    group.bench_function("one SDK request", |bencher| {
        bencher.iter(|| runtime.block_on(ses.send(attempt(&raw))));
    });
    group.finish();
}

/// A text body of 1 MB in lines of 2,000 octets, which is encoded anew.
fn long_lines(criterion: &mut Criterion) {
    let line = format!("{}\r\n", "words ".repeat(333));
    let body = line.repeat(1_000_000 / line.len());
    let raw = Bytes::from(format!("From: a@example.com\r\nSubject: long\r\n\r\n{body}"));
    let rules = Rules::compile(&[SourceText::builtin("ses").unwrap()], &BTreeMap::new()).unwrap();
    let client = Client::new([127, 0, 0, 1].into(), "smtp");
    let facts = Facts { id: Id::nil(), client, size: raw.len(), hostname: "relay.example.com".to_owned() };
    let mut group = criterion.benchmark_group("one megabyte");
    group.throughput(Throughput::Bytes(raw.len() as u64));
    group.bench_function("long-line repair", |bencher| {
        bencher.iter(|| {
            let mut draft = Draft::new(envelope(), &raw);
            let verdict = rules.run(&facts, &mut draft);
            (verdict, draft.message())
        });
    });
    group.finish();
}

async fn ses(endpoint: &str) -> Arc<dyn Upstream> {
    let settings = upstream::Settings {
        region: "us-east-1".to_owned(),
        endpoint_url: endpoint.to_owned(),
        ..upstream::Settings::default()
    };
    upstream::build(&settings, &upstream::Site::default()).await.unwrap()
}

fn attempt(raw: &Bytes) -> Attempt {
    Attempt {
        id: Id::nil(),
        sender: Sender::default(),
        recipients: vec![address("evan@example.com")],
        message: raw.clone(),
        options: Options::default(),
        dsn: Default::default(),
        asked: Default::default(),
    }
}

criterion_group!(benches, editor, rules, long_lines);
criterion_main!(benches);
