//! The door with shipped rules and the lint of SES, as the program wires it.

use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock},
};

use bytes::Bytes;
use headgate::{
    intake::{Accepted, Intake, Limits, Lint, Refusal, Story},
    mail::{Address, Client, Envelope, Id, Sender, Size},
    rules::{Draft, Facts, Rules, SourceText, Verdict},
    smtp::Transaction,
    upstream::{LintMode, lint},
};

use crate::fake_ses::{Call, Profile, Refusal as Objection, judge};

const HOSTNAME: &str = "relay.example.com";

/// The door, and the SES behind it.
pub struct Door {
    intake: Intake,
    profile: Profile,
}

impl Door {
    /// The door with the built-in rule files of these names, compiled once a thread.
    pub fn of((names, profile): (&'static [&'static str], Profile)) -> Arc<Self> {
        thread_local! {
            static BUILT: std::cell::RefCell<BTreeMap<&'static [&'static str], Arc<Door>>> = const { std::cell::RefCell::new(BTreeMap::new()) };
        }
        BUILT.with_borrow_mut(|built| {
            Arc::clone(built.entry(names).or_insert_with(|| Arc::new(Self::build(names, profile))))
        })
    }

    fn build(names: &[&str], profile: Profile) -> Self {
        let sources: Vec<SourceText> = names.iter().map(|name| SourceText::builtin(name).unwrap()).collect();
        let rules = Rules::compile(&sources, &BTreeMap::new()).unwrap();
        let ses = Lint { upstream: "ses".to_owned(), who: "SES", mode: LintMode::Refuse, inspect: Arc::new(lint) };
        let size = Size(40_000_000);
        let intake = Intake {
            traced: true,
            rules: RwLock::new(Arc::new(rules)),
            lints: vec![ses],
            hostname: HOSTNAME.to_owned(),
            limits: Limits { message_size: size, header_size: size, received: 100 },
            log_fields: Vec::new(),
        };
        Self { intake, profile }
    }

    /// What becomes of a message.
    pub fn prepare(&self, raw: &[u8]) -> (Story, Result<Accepted, Refusal>) {
        self.prepare_bytes(Bytes::copy_from_slice(raw))
    }

    /// The same of a message whose buffer is to be seen again.
    pub fn prepare_bytes(&self, raw: Bytes) -> (Story, Result<Accepted, Refusal>) {
        let transaction = Transaction { id: Id::nil(), client: client(), envelope: envelope(), raw };
        let time = "2011-08-08T17:30:34-04:00[America/New_York]".parse().unwrap();
        self.intake.prepare(transaction, &time)
    }

    /// What the rules alone make of a message; nothing where they do not let it pass.
    pub fn ruled(&self, raw: &[u8]) -> Option<Bytes> {
        let rules = Arc::clone(&self.intake.rules.read().unwrap());
        let mut draft = Draft::new(envelope(), &Bytes::copy_from_slice(raw));
        let facts = Facts { id: Id::nil(), client: client(), size: raw.len(), hostname: HOSTNAME.to_owned() };
        let verdict = rules.run(&facts, &mut draft);
        matches!(verdict, Verdict::Accept).then(|| draft.message().to_bytes())
    }

    /// What the fake of SES has against an accepted message.
    pub fn judge(&self, accepted: &Accepted) -> Option<Objection> {
        let call = Call {
            to: accepted.envelope.recipients.iter().map(ToString::to_string).collect(),
            feedback: accepted.envelope.sender.0.as_ref().map(ToString::to_string),
            raw: accepted.message.to_bytes(),
            ..Call::default()
        };
        judge(self.profile, &call)
    }
}

fn client() -> Client {
    Client::new([127, 0, 0, 1].into(), "smtp")
}

fn envelope() -> Envelope {
    let address = |text| Address::parse(text).unwrap();
    let sender = Sender(Some(address("sender@example.com")));
    Envelope { sender, recipients: vec![address("a@example.net"), address("b@example.net")], ..Envelope::default() }
}
