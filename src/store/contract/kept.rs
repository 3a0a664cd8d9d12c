//! What is put stays as it is.

use super::*;
use crate::{
    mail::Ret,
    store::{Order, Ordered, State, StoreError},
};

async fn a_message_is_kept_as_it_is(store: &dyn Store) {
    let put = entry(&["a@example.com", "b@example.com"]);
    store.put(put.clone()).await.unwrap();
    assert_eq!(store.message(put.id).await.unwrap().unwrap(), put.message);
    let lease = lease(store, 0).await;
    let addresses: Vec<String> = lease.pending.iter().map(|one| one.address.to_string()).collect();
    assert_eq!(addresses, ["a@example.com", "b@example.com"]);
    assert_eq!((lease.id, lease.sender, lease.details), (put.id, put.sender, put.details));
    assert_eq!((lease.rounds, lease.noticed, lease.size, lease.received), (0, false, 57, at(0)));
    let account = store.show(put.id).await.unwrap().unwrap();
    assert_eq!((account.before, account.after), (put.before, put.message.head));
}

async fn what_was_asked_is_kept_with_each_recipient(store: &dyn Store) {
    let mut put = entry(&["a@example.com", "b@example.com", "c@example.com"]);
    put.dsn = Dsn { ret: Some(Ret::Full), envelope_id: Some("QQ 314159+=".to_owned()) };
    let asked = |notify: &str, original: Option<&str>| Asked {
        notify: notify.parse().ok(),
        original: original.map(str::to_owned),
    };
    put.recipients[0].asked = asked("NEVER", None);
    put.recipients[1].asked = asked("SUCCESS,DELAY", Some("utf-8;J\u{e9}r\u{f4}me@example.com"));
    store.put(put.clone()).await.unwrap();
    let wanted: Vec<Asked> = put.recipients.iter().map(|one| one.asked.clone()).collect();
    let lease = lease(store, 0).await;
    assert_eq!(lease.dsn, put.dsn);
    assert_eq!(lease.pending.iter().map(|one| one.asked.clone()).collect::<Vec<_>>(), wanted);
    let account = store.show(put.id).await.unwrap().unwrap();
    assert_eq!(account.dsn, put.dsn);
    assert_eq!(account.recipients.iter().map(|one| one.asked.clone()).collect::<Vec<_>>(), wanted);
    store.settle(settlement(&lease, 1)).await.unwrap();
    let mut other = Entry { id: put.id, ..entry(&["d@example.com"]) };
    other.dsn.ret = Some(Ret::Headers);
    other.recipients[0].asked = asked("FAILURE", Some("rfc822;d"));
    let replace = Order::Replace { entry: Box::new(other.clone()), lease: lease.number };
    assert_eq!(store.order(put.id, replace).await.unwrap(), Ordered::Done);
    let account = store.show(put.id).await.unwrap().unwrap();
    assert_eq!((&account.dsn, &account.recipients[0].asked), (&other.dsn, &other.recipients[0].asked));
}

async fn a_large_body_is_kept_as_it_is(store: &dyn Store) {
    let mut put = entry(&["a@example.com"]);
    let octets: Vec<u8> = (0..700_000_u32).map(|number| number.to_le_bytes()[usize::from(number % 3 == 0)]).collect();
    put.message.rest = octets.into();
    store.put(put.clone()).await.unwrap();
    assert_eq!(store.message(put.id).await.unwrap().unwrap(), put.message);
    let lease = lease(store, 0).await;
    let done = Settlement { settled: vec![(0, settled(Status::Delivered, 1))], ..settlement(&lease, 1) };
    store.settle(done).await.unwrap();
    assert!(store.message(put.id).await.unwrap().is_none());
}

async fn an_id_is_there_once(store: &dyn Store) {
    let put = entry(&["a@example.com"]);
    store.put(put.clone()).await.unwrap();
    assert_eq!(store.put(put.clone()).await, Err(StoreError::Duplicate));
    let mut large = put.clone();
    large.message.rest = vec![b'x'; 700_000].into();
    assert_eq!(store.put(large).await, Err(StoreError::Duplicate));
    assert_eq!(store.message(put.id).await.unwrap().unwrap(), put.message);
}

async fn the_null_path_is_kept(store: &dyn Store) {
    let put = Entry { sender: Sender(None), user: None, ..entry(&["a@example.com"]) };
    store.put(put).await.unwrap();
    assert_eq!(lease(store, 0).await.sender, Sender(None));
}

async fn what_is_held_stays_until_released(store: &dyn Store) {
    let put = Entry { begin: Begin::Held("a rule".to_owned()), ..entry(&["a@example.com"]) };
    store.put(put.clone()).await.unwrap();
    assert!(store.lease(ask(1_000_000, 10)).await.unwrap().is_empty());
    let summary = store.show(put.id).await.unwrap().unwrap().summary;
    assert_eq!((summary.state, summary.reason.as_str()), (State::Held, "a rule"));
}

async fn what_begins_leased_has_lease_1(store: &dyn Store) {
    let put = Entry { begin: Begin::Leased(at(300)), ..entry(&["a@example.com"]) };
    store.put(put.clone()).await.unwrap();
    assert!(store.lease(ask(0, 10)).await.unwrap().is_empty());
    let lease = Lease { id: put.id, number: 1, ..lease_of(&put) };
    let done = Settlement { settled: vec![(0, settled(Status::Delivered, 1))], ..settlement(&lease, 1) };
    store.settle(done).await.unwrap();
    assert_eq!(store.show(put.id).await.unwrap().unwrap().summary.state, State::Finished);
}

fn lease_of(entry: &Entry) -> Lease {
    Lease {
        id: entry.id,
        number: 1,
        sender: entry.sender.clone(),
        dsn: entry.dsn.clone(),
        pending: Vec::new(),
        unreported: Vec::new(),
        rounds: 0,
        noticed: false,
        received: entry.received,
        size: entry.size,
        details: String::new(),
    }
}

laws!(
    a_message_is_kept_as_it_is,
    what_was_asked_is_kept_with_each_recipient,
    a_large_body_is_kept_as_it_is,
    an_id_is_there_once,
    the_null_path_is_kept,
    what_is_held_stays_until_released,
    what_begins_leased_has_lease_1,
);
