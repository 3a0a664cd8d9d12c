//! What every store holds to: one suite for all of them.

mod kept;
mod leased;
mod settled;
mod shown;

use bytes::Bytes;
use jiff::Timestamp;

use crate::mail::{Address, Asked, Dsn, Id, Message, Sender, Size};

use super::{Ask, Begin, Entry, Lease, Place, Settled, Settlement, Sqlite, Status, Store, Then, Try};

/// A moment, that many seconds into the test's own time.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(super) fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

/// A message for those recipients, due at 0.
pub(super) fn entry(recipients: &[&str]) -> Entry {
    let place = |text: &&str| Place { address: address(text), upstream: None, asked: Asked::default() };
    Entry {
        id: Id::mint(),
        begin: Begin::Queued(at(0)),
        sender: Sender(Some(address("sender@example.com"))),
        dsn: Dsn::default(),
        user: Some("evan@example.com".to_owned()),
        recipients: recipients.iter().map(place).collect(),
        route: None,
        message: Message {
            head: Bytes::from_static(b"From: sender@example.com\r\nX-Chicken: yummy\r\n"),
            rest: Bytes::from_static(b"\r\nhi\0\xff\r\n"),
        },
        before: Some(Bytes::from_static(b"From: sender@example.com\r\nChicken: yummy\r\n")),
        details: "{\"rules\":1}".to_owned(),
        received: at(0),
        size: 57,
    }
}

pub(super) fn ask(now: i64, count: usize) -> Ask {
    Ask { now: at(now), until: at(now + 300), count, any: true, routes: vec!["ireland".to_owned()], overdue: None }
}

/// The one lease that can be had.
pub(super) async fn lease(store: &dyn Store, now: i64) -> Lease {
    let mut leases = store.lease(ask(now, 10)).await.unwrap();
    assert_eq!(leases.len(), 1);
    leases.remove(0)
}

pub(super) fn settled(status: Status, seconds: i64) -> Settled {
    Settled {
        status,
        reply: "554 5.6.0 SES: no".to_owned(),
        cause: "MessageRejected: no".to_owned(),
        upstream: "ireland".to_owned(),
        remote_id: (status == Status::Delivered).then(|| "0100".to_owned()),
        time: at(seconds),
    }
}

pub(super) fn attempt(recipients: &[u32]) -> Try {
    Try {
        upstream: "ireland".to_owned(),
        began: at(1),
        ended: at(2),
        outcome: "deferred".to_owned(),
        ambiguous: false,
        reply: "454 4.3.2 slower".to_owned(),
        cause: "Throttling: slower".to_owned(),
        remote_id: None,
        recipients: recipients.to_vec(),
    }
}

/// A settlement of that lease that says nothing yet and ends it.
pub(super) fn settlement(lease: &Lease, seconds: i64) -> Settlement {
    Settlement {
        id: lease.id,
        lease: lease.number,
        time: at(seconds),
        tries: Vec::new(),
        settled: Vec::new(),
        reported: Vec::new(),
        noticed: false,
        reports: Vec::new(),
        identities: Vec::new(),
        then: Then::Wait { due: at(seconds + 30), reason: "later".to_owned(), counted: true },
    }
}

/// An embedded store in a folder that goes with it.
pub(super) fn embedded() -> (Sqlite, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("queue.db"), Size(1 << 30), at(0)).unwrap();
    (store, folder)
}

/// Makes a test of each law, for each store.
macro_rules! laws {
    ($($law:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $law() { super::$law(&crate::store::Memory::default()).await; })*
        }
        mod sqlite {
            $(#[tokio::test] async fn $law() { super::$law(&super::super::embedded().0).await; })*
        }
    };
}
pub(super) use laws;
