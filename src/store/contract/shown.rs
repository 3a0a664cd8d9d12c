//! Lists and counts.

use super::*;
use crate::store::{Filter, Order, State};

async fn ids(store: &dyn Store, filter: Filter) -> Vec<Id> {
    let count = if filter.count == 0 { 100 } else { filter.count };
    store.list(Filter { count, ..filter }).await.unwrap().iter().map(|one| one.id).collect()
}

async fn lists_are_filtered_and_paged(store: &dyn Store) {
    let mut puts = [
        Entry { received: at(0), ..entry(&["a@example.com"]) },
        Entry { received: at(10), user: Some("mary".to_owned()), ..entry(&["b@example.com", "C@example.com"]) },
        Entry { received: at(20), sender: Sender(None), user: None, ..entry(&["c@example.com"]) },
    ];
    let mut sorted: Vec<Id> = puts.iter().map(|one| one.id).collect();
    sorted.sort();
    for (put, id) in puts.iter_mut().zip(&sorted) {
        put.id = *id;
        store.put(put.clone()).await.unwrap();
    }
    let [a, b, c] = sorted[..] else { panic!() };
    store.order(b, Order::Hold("x".to_owned())).await.unwrap();
    let all = Filter::default;
    assert_eq!(ids(store, all()).await, [c, b, a]);
    assert_eq!(ids(store, Filter { count: 2, ..all() }).await, [c, b]);
    assert_eq!(ids(store, Filter { behind: Some(b), ..all() }).await, [a]);
    assert_eq!(ids(store, Filter { states: vec![State::Held], ..all() }).await, [b]);
    assert_eq!(ids(store, Filter { states: vec![State::Held, State::Queued], ..all() }).await, [c, b, a]);
    assert_eq!(ids(store, Filter { sender: Some("Sender@example.com".to_owned()), ..all() }).await, [b, a]);
    assert_eq!(ids(store, Filter { sender: Some(String::new()), ..all() }).await, [c]);
    assert_eq!(ids(store, Filter { user: Some("mary".to_owned()), ..all() }).await, [b]);
    assert_eq!(ids(store, Filter { recipient: Some("c@EXAMPLE.com".to_owned()), ..all() }).await, [c, b]);
    assert_eq!(ids(store, Filter { since: Some(at(10)), before: Some(at(20)), ..all() }).await, [b]);
    let shown = &store.list(Filter { behind: Some(c), count: 1, ..all() }).await.unwrap()[0];
    assert_eq!((shown.recipients, shown.first.clone()), ((2, 2), Some(address("b@example.com"))));
    assert_eq!((shown.state, shown.when, shown.reason.as_str()), (State::Held, None, "x"));
}

async fn messages_are_counted_by_state(store: &dyn Store) {
    assert_eq!(store.counts().await.unwrap().oldest, None);
    for seconds in [9, 8, 7] {
        store.put(Entry { received: at(seconds), ..entry(&["a@example.com"]) }).await.unwrap();
    }
    let held = Entry { begin: Begin::Held("x".to_owned()), received: at(3), ..entry(&["a@example.com"]) };
    store.put(held).await.unwrap();
    let leases = store.lease(ask(0, 2)).await.unwrap();
    let done = Settlement { settled: vec![(0, settled(Status::Delivered, 1))], ..settlement(&leases[0], 1) };
    store.settle(done).await.unwrap();
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.queued, counts.leased, counts.held, counts.oldest), (1, 1, 1, Some(at(3))));
}

laws!(lists_are_filtered_and_paged, messages_are_counted_by_state);
