//! Leases: each message to one worker, in the order in which they are due.

use super::*;
use crate::store::{Overdue, State, StoreError};

async fn the_longest_due_is_leased_first(store: &dyn Store) {
    let mut ids = Vec::new();
    for due in [30, 10, 20, 40] {
        let put = Entry { begin: Begin::Queued(at(due)), ..entry(&["a@example.com"]) };
        ids.push(put.id);
        store.put(put).await.unwrap();
    }
    let leased: Vec<Id> = store.lease(ask(35, 2)).await.unwrap().iter().map(|lease| lease.id).collect();
    assert_eq!(leased, [ids[1], ids[2]]);
    let leased: Vec<Id> = store.lease(ask(35, 2)).await.unwrap().iter().map(|lease| lease.id).collect();
    assert_eq!(leased, [ids[0]]);
    assert_eq!(store.next_due().await.unwrap(), Some(at(40)));
}

async fn a_message_waits_for_its_own_upstream(store: &dyn Store) {
    let elsewhere = Entry { route: Some("ohio".to_owned()), ..entry(&["a@example.com"]) };
    let here = Entry { route: Some("ireland".to_owned()), ..entry(&["a@example.com"]) };
    store.put(elsewhere.clone()).await.unwrap();
    store.put(here.clone()).await.unwrap();
    assert_eq!(lease(store, 0).await.id, here.id);
    assert_eq!(store.next_due().await.unwrap(), Some(at(0)));
    let mut asked = ask(0, 10);
    asked.routes = vec!["ohio".to_owned()];
    store.put(entry(&["a@example.com"])).await.unwrap();
    asked.any = false;
    assert_eq!(store.lease(asked).await.unwrap()[0].id, elsewhere.id);
    assert_eq!(store.lease(ask(0, 10)).await.unwrap().len(), 1);
    assert_eq!(store.next_due().await.unwrap(), None);
}

async fn a_lost_lease_is_in_doubt_and_fenced(store: &dyn Store) {
    let names: Vec<String> = (0..120).map(|number| format!("r{number}@example.com")).collect();
    let put = entry(&names.iter().map(String::as_str).collect::<Vec<_>>());
    store.put(put.clone()).await.unwrap();
    let first = lease(store, 0).await;
    let mut batch = settlement(&first, 5);
    batch.settled = (0..50).map(|ordinal| (ordinal, settled(Status::Delivered, 5))).collect();
    batch.then = Then::Keep(at(305));
    store.settle(batch).await.unwrap();
    assert_eq!(store.recover(at(305), at(400)).await.unwrap(), 0);
    assert_eq!(store.recover(at(306), at(400)).await.unwrap(), 1);
    assert_eq!(store.settle(settlement(&first, 400)).await, Err(StoreError::Stale));
    let account = store.show(put.id).await.unwrap().unwrap();
    assert_eq!((account.summary.state, account.summary.recipients), (State::Queued, (120, 70)));
    let (number, doubt) = &account.tries[0];
    assert!(doubt.ambiguous && *number == 1);
    assert_eq!(doubt.recipients, (50..100).collect::<Vec<u32>>());
    let second = lease(store, 400).await;
    assert!(second.number > first.number);
    assert_eq!(second.pending.len(), 70);
    assert_eq!(store.settle(settlement(&first, 401)).await, Err(StoreError::Stale));
    store.settle(settlement(&second, 401)).await.unwrap();
}

async fn what_is_overdue_is_leased_wherever_it_has_to_go(store: &dyn Store) {
    let mut ids = [Id::mint(), Id::mint(), Id::mint()];
    ids.sort();
    for (id, received) in ids.into_iter().zip([0, 50, 100]) {
        let route = Some("nowhere".to_owned());
        store.put(Entry { id, route, received: at(received), ..entry(&["a@example.com"]) }).await.unwrap();
    }
    let mut asked = ask(200, 10);
    assert!(store.lease(asked.clone()).await.unwrap().is_empty());
    asked.overdue = Some(Overdue { expire: at(0), notice: None });
    assert!(store.lease(asked.clone()).await.unwrap().is_empty());
    asked.overdue = Some(Overdue { expire: at(1), notice: Some(at(51)) });
    let leases = store.lease(asked.clone()).await.unwrap();
    assert_eq!(leases.iter().map(|lease| lease.id).collect::<Vec<_>>(), ids[..2]);
    for lease in &leases {
        store.settle(Settlement { noticed: true, ..settlement(lease, 100) }).await.unwrap();
    }
    let leases = store.lease(asked).await.unwrap();
    assert_eq!(leases.iter().map(|lease| lease.id).collect::<Vec<_>>(), ids[..1], "the other had its notice");
}

async fn a_settled_lease_is_over(store: &dyn Store) {
    store.put(entry(&["a@example.com"])).await.unwrap();
    let lease = lease(store, 0).await;
    store.settle(settlement(&lease, 1)).await.unwrap();
    assert_eq!(store.settle(settlement(&lease, 2)).await, Err(StoreError::Stale));
    assert!(store.lease(ask(30, 10)).await.unwrap().is_empty());
    let second = store.lease(ask(31, 10)).await.unwrap().remove(0);
    assert_eq!(second.rounds, 1);
    let mut uncounted = settlement(&second, 32);
    uncounted.then = Then::Wait { due: at(40), reason: "slower".to_owned(), counted: false };
    store.settle(uncounted).await.unwrap();
    assert_eq!(store.lease(ask(40, 10)).await.unwrap()[0].rounds, 1);
    let unknown = Lease { id: Id::mint(), ..lease };
    assert_eq!(store.settle(settlement(&unknown, 1)).await, Err(StoreError::Stale));
}

laws!(
    the_longest_due_is_leased_first,
    a_message_waits_for_its_own_upstream,
    a_lost_lease_is_in_doubt_and_fenced,
    what_is_overdue_is_leased_wherever_it_has_to_go,
    a_settled_lease_is_over,
);
