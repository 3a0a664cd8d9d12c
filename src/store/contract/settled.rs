//! Settlements: all or nothing.

use super::*;
use crate::store::{Order, Ordered, State, StoreError};

async fn a_finished_message_loses_its_body_and_keeps_its_history(store: &dyn Store) {
    let put = entry(&["a@example.com", "b@example.com"]);
    store.put(put.clone()).await.unwrap();
    let first = lease(store, 0).await;
    let mut half = settlement(&first, 1);
    half.settled = vec![(0, settled(Status::Delivered, 1))];
    half.tries = vec![attempt(&[0, 1])];
    store.settle(half).await.unwrap();
    assert!(store.message(put.id).await.unwrap().is_some());
    let second = lease(store, 31).await;
    assert_eq!(second.pending[0].ordinal, 1);
    let done = Settlement { settled: vec![(1, settled(Status::Delivered, 32))], ..settlement(&second, 32) };
    store.settle(done).await.unwrap();
    assert!(store.message(put.id).await.unwrap().is_none());
    let account = store.show(put.id).await.unwrap().unwrap();
    assert_eq!((account.summary.state, account.summary.when), (State::Finished, Some(at(32))));
    assert_eq!(account.tries, [(1, attempt(&[0, 1]))]);
    assert_eq!(account.recipients[1].settled, Some(settled(Status::Delivered, 32)));
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.sweep(at(32)).await.unwrap(), 0);
    assert_eq!(store.sweep(at(33)).await.unwrap(), 1);
    assert!(store.show(put.id).await.unwrap().is_none());
}

async fn a_failure_is_handed_out_until_it_is_reported(store: &dyn Store) {
    store.put(entry(&["a@example.com", "b@example.com"])).await.unwrap();
    let first = lease(store, 0).await;
    let mut failed = settlement(&first, 1);
    failed.settled = vec![(1, settled(Status::Failed, 1))];
    store.settle(failed).await.unwrap();
    let second = lease(store, 31).await;
    assert_eq!(second.unreported.len(), 1);
    assert_eq!(second.unreported[0].address, address("b@example.com"));
    assert_eq!(second.unreported[0].settled, settled(Status::Failed, 1));
    let report = Entry { sender: Sender(None), ..entry(&["sender@example.com"]) };
    let mut told = settlement(&second, 32);
    told.reported = vec![1];
    told.reports = vec![report.clone()];
    told.noticed = true;
    store.settle(told).await.unwrap();
    assert!(store.message(report.id).await.unwrap().is_some());
    let leases = store.lease(ask(62, 10)).await.unwrap();
    let third = leases.iter().find(|lease| lease.id == first.id).unwrap();
    assert!(third.unreported.is_empty() && third.noticed);
}

async fn a_success_is_handed_out_until_it_is_reported_where_that_was_asked(store: &dyn Store) {
    let mut put = entry(&["a@example.com", "b@example.com", "c@example.com"]);
    put.recipients[0].asked.notify = "SUCCESS".parse().ok();
    store.put(put).await.unwrap();
    let first = lease(store, 0).await;
    let mut half = settlement(&first, 1);
    half.settled = vec![(0, settled(Status::Delivered, 1)), (1, settled(Status::Delivered, 1))];
    store.settle(half).await.unwrap();
    let second = lease(store, 31).await;
    let news: Vec<String> = second.unreported.iter().map(|one| one.address.to_string()).collect();
    assert_eq!(news, ["a@example.com"]);
    assert!(second.unreported[0].asked.success());
    store.settle(Settlement { reported: vec![0], ..settlement(&second, 32) }).await.unwrap();
    let leases = store.lease(ask(100, 10)).await.unwrap();
    assert!(leases[0].unreported.is_empty());
}

async fn a_settlement_is_all_or_nothing(store: &dyn Store) {
    let put = entry(&["a@example.com"]);
    store.put(put.clone()).await.unwrap();
    let lease = lease(store, 0).await;
    let mut broken = settlement(&lease, 1);
    broken.settled = vec![(0, settled(Status::Failed, 1))];
    broken.tries = vec![attempt(&[0])];
    broken.reports = vec![Entry { id: put.id, ..entry(&["sender@example.com"]) }];
    assert_eq!(store.settle(broken).await, Err(StoreError::Duplicate));
    let account = store.show(put.id).await.unwrap().unwrap();
    assert_eq!((account.summary.state, account.tries.len()), (State::Leased, 0));
    assert_eq!(account.recipients[0].settled, None);
    store.settle(settlement(&lease, 1)).await.unwrap();
}

async fn identities_are_remembered(store: &dyn Store) {
    store.put(entry(&["a@example.com"])).await.unwrap();
    let lease = lease(store, 0).await;
    let identities = vec!["sender@example.com".to_owned(), "example.com".to_owned()];
    store.settle(Settlement { identities, ..settlement(&lease, 7) }).await.unwrap();
    assert_eq!(store.identity("example.com").await.unwrap(), Some(at(7)));
    assert_eq!(store.identity("example.net").await.unwrap(), None);
}

async fn operators_hold_release_and_delete(store: &dyn Store) {
    let put = entry(&["a@example.com", "b@example.com"]);
    store.put(put.clone()).await.unwrap();
    let hold = || Order::Hold("by hand".to_owned());
    assert_eq!(store.order(put.id, hold()).await.unwrap(), Ordered::Done);
    assert!(store.lease(ask(0, 10)).await.unwrap().is_empty());
    assert_eq!(store.order(put.id, Order::Retry(at(5))).await.unwrap(), Ordered::Held);
    assert_eq!(store.order(put.id, Order::Release(at(5))).await.unwrap(), Ordered::Done);
    assert_eq!(store.order(put.id, Order::Release(at(5))).await.unwrap(), Ordered::Queued);
    assert_eq!(store.show(put.id).await.unwrap().unwrap().summary.reason, "");
    let leased = lease(store, 5).await;
    assert_eq!(store.order(put.id, hold()).await.unwrap(), Ordered::Leased);
    store.settle(settlement(&leased, 6)).await.unwrap();
    assert_eq!(store.order(put.id, Order::Retry(at(7))).await.unwrap(), Ordered::Done);
    let waiting = store.show(put.id).await.unwrap().unwrap().summary;
    assert_eq!((waiting.when, waiting.reason.as_str(), waiting.rounds), (Some(at(7)), "later", 1));
    assert_eq!(store.order(put.id, Order::Delete(at(7))).await.unwrap(), Ordered::Done);
    let account = store.show(put.id).await.unwrap().unwrap();
    assert_eq!(account.summary.state, State::Finished);
    assert!(account.recipients.iter().all(|one| one.settled.as_ref().unwrap().status == Status::Removed));
    assert_eq!(store.order(put.id, hold()).await.unwrap(), Ordered::Finished);
    assert_eq!(store.order(Id::mint(), hold()).await.unwrap(), Ordered::Unknown);
}

async fn a_replaced_message_keeps_what_is_settled(store: &dyn Store) {
    let mut put = entry(&["a@example.com", "b@example.com"]);
    put.message.rest = vec![b'x'; 300_000].into();
    store.put(put.clone()).await.unwrap();
    let first = lease(store, 0).await;
    let half = Settlement { settled: vec![(0, settled(Status::Delivered, 1))], ..settlement(&first, 1) };
    store.settle(half).await.unwrap();
    let mut other = Entry { id: put.id, received: at(9), size: 9, ..entry(&["c@example.com"]) };
    other.message.rest = vec![b'y'; 300_000].into();
    let replace = |lease| Order::Replace { entry: Box::new(other.clone()), lease };
    assert_eq!(store.order(put.id, replace(first.number - 1)).await.unwrap(), Ordered::Changed);
    let seen = store.show(put.id).await.unwrap().unwrap().summary.lease;
    assert_eq!(store.order(put.id, replace(seen)).await.unwrap(), Ordered::Done);
    let summary = store.show(put.id).await.unwrap().unwrap().summary;
    assert_eq!((summary.received, summary.size), (put.received, put.size));
    assert_eq!(store.message(put.id).await.unwrap().unwrap(), other.message);
    let second = lease(store, 1).await;
    assert_eq!((second.pending.len(), second.pending[0].ordinal), (1, 1));
    assert_eq!(second.pending[0].address, address("c@example.com"));
    assert!(second.number > first.number);
}

laws!(
    a_finished_message_loses_its_body_and_keeps_its_history,
    a_failure_is_handed_out_until_it_is_reported,
    a_success_is_handed_out_until_it_is_reported_where_that_was_asked,
    a_settlement_is_all_or_nothing,
    identities_are_remembered,
    operators_hold_release_and_delete,
    a_replaced_message_keeps_what_is_settled,
);
