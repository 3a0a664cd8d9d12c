//! The rules: no text of a rule file ends the program, and what the shipped rules have mended needs no mending.

#![no_main]

use std::{collections::BTreeMap, sync::LazyLock};

use bytes::Bytes;
use headgate::{
    header::{self, Header},
    mail::{Address, Client, Envelope, Id, Sender},
    rules::{Draft, Facts, Rules, SourceText, Verdict},
};
use libfuzzer_sys::{Corpus, fuzz_target};

/// Each chain of shipped rule files.
static CHAINS: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    let chains: [&[&str]; 3] = [&["rt", "ses"], &["ses-2011"], &["ses-minimal"]];
    let compiled = chains.iter().map(|names| {
        let sources: Vec<SourceText> = names.iter().filter_map(|name| SourceText::builtin(name)).collect();
        Rules::compile(&sources, &BTreeMap::new()).expect("shipped rules compile")
    });
    compiled.collect()
});

/// Fields of a header at most; the door refuses more before any rule runs.
const FIELDS: usize = 2000;

fuzz_target!(|octets: &[u8]| -> Corpus {
    // A rule file begins with a comment or a table, a message hardly ever.
    if matches!(octets.first(), Some(b'#' | b'[')) {
        rule_file(octets);
    } else {
        CHAINS.iter().for_each(|rules| message(rules, &Bytes::copy_from_slice(octets)));
    }
    Corpus::Keep
});

fn rule_file(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let source = SourceText { name: "fuzz.toml".to_owned(), text: text.to_owned() };
    match Rules::compile(std::slice::from_ref(&source), &BTreeMap::new()) {
        Ok(rules) => {
            let raw = Bytes::from_static(b"From: a@example.com\r\nTo: b@example.com\r\nSubject: x y\r\n\r\nhi\r\n");
            let _ = ran(&rules, &raw);
            let _ = rules.check_recipient(&facts(raw.len()), &mut Draft::new(envelope(), &raw));
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            faults.iter().for_each(|fault| assert!(!fault.to_string().is_empty()));
        }
    }
}

fn message(rules: &Rules, raw: &Bytes) {
    let header = Header::parse(&header::split(raw).head);
    if header.positions().count() > FIELDS {
        return;
    }
    let (verdict, once) = ran(rules, raw);
    if verdict != Verdict::Accept {
        return;
    }
    let (again, twice) = ran(rules, &once);
    assert_eq!(again, Verdict::Accept);
    assert_eq!(twice.escape_ascii().to_string(), once.escape_ascii().to_string(), "twice is not once");
    let hops = |raw: &Bytes| Header::parse(&header::split(raw).head).find("Received").count();
    assert!(hops(&once) >= hops(raw), "a Received is lost");
}

/// What the rules decide and make of a message.
fn ran(rules: &Rules, raw: &Bytes) -> (Verdict, Bytes) {
    let mut draft = Draft::new(envelope(), raw);
    let verdict = rules.run(&facts(raw.len()), &mut draft);
    assert_eq!(draft.header.len(), draft.header.finish().len());
    (verdict, draft.message().to_bytes())
}

fn envelope() -> Envelope {
    let address = |text| Address::parse(text).ok();
    let recipients = address("recipient@example.net").into_iter().collect();
    Envelope { sender: Sender(address("sender@example.com")), recipients, smtputf8: false }
}

fn facts(size: usize) -> Facts {
    let client = Client::new([192, 0, 2, 1].into(), "smtp");
    Facts { id: Id::nil(), client, size, hostname: "relay.example.com".to_owned() }
}
