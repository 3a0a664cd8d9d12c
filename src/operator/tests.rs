//! The operator on a store in memory.

use std::{collections::BTreeMap, sync::RwLock};

use crate::{
    delivery::Details,
    intake::Limits,
    mail::{Address, Message, Sender},
    rules::{Change, Rules, SourceText},
    store::{Begin, Entry, Memory, Place, Settled, Settlement, Status, Then},
};

use super::*;

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn door(rules: &str) -> Arc<Intake> {
    let source = SourceText { name: "test".to_owned(), text: rules.to_owned() };
    Arc::new(Intake {
        traced: true,
        rules: RwLock::new(Arc::new(Rules::compile(&[source], &BTreeMap::new()).unwrap())),
        lints: Vec::new(),
        hostname: "relay.example.com".to_owned(),
        limits: Limits { message_size: Size(1 << 20), header_size: Size(1 << 16), received: 10 },
        log_fields: Vec::new(),
    })
}

const ADD: &str = "[[rule]]\nname = \"add\"\ndo = [{ add = { name = \"X-Again\", value = \"yes\" } }]\n";
const REJECT: &str = "[[rule]]\nname = \"no\"\ndo = [{ reject = \"550 5.7.1 no\" }]\n";
const HOLD: &str = "[[rule]]\nname = \"wait\"\ndo = [{ hold = true }]\n";

/// An operator whose mail passes one set of rules and whose reports pass another.
fn operator(mail: &str, reports: &str) -> (Arc<Operator>, Arc<Memory>) {
    let store = Arc::new(Memory::default());
    let doors = Some(Doors { mail: door(mail), reports: door(reports) });
    let operator = Operator {
        store: Arc::clone(&store) as Arc<dyn Store>,
        queue: None,
        router: None,
        doors,
        message_size: Size(1000),
    };
    (Arc::new(operator), store)
}

fn entry(recipients: &[&str]) -> Entry {
    let place = |text: &&str| Place { address: address(text), upstream: None, asked: Default::default() };
    let id = Id::mint();
    let ours = format!("Received: from x ([192.0.2.1]) by relay.example.com with SMTP id\r\n {id}; Mon, 1\r\n");
    let mut details = Details::read("");
    details.user = Some("evan".to_owned());
    details.rules = 1;
    details.changes =
        vec![Change { rule: "first".into(), field: "Subject".to_owned(), before: None, after: Some("x".to_owned()) }];
    Entry {
        id,
        begin: Begin::Queued(Timestamp::MAX),
        sender: Sender(Some(address("sender@example.com"))),
        dsn: Default::default(),
        user: Some("evan".to_owned()),
        recipients: recipients.iter().map(place).collect(),
        route: None,
        message: Message { head: format!("{ours}Subject: x\r\n").into(), rest: "\r\nhi\0\r\n".into() },
        before: Some("Subject: old\r\n".into()),
        details: details.text(),
        received: Timestamp::from_second(1_800_000_000).unwrap(),
        size: 57,
    }
}

async fn answers(operator: &Arc<Operator>, request: Request) -> Vec<Answer> {
    let mut receiver = operator.ask(request, Bytes::new());
    let mut all = Vec::new();
    while let Some(answer) = receiver.recv().await {
        all.push(answer);
    }
    assert_eq!(all.pop(), Some(Answer::End(None)));
    all
}

/// What became of the only message that a request is about.
async fn done(operator: &Arc<Operator>, request: Request) -> (Done, String) {
    match answers(operator, request).await.as_slice() {
        [Answer::Deed(deed)] => (deed.result, deed.text.clone()),
        other => panic!("{other:?}"),
    }
}

fn renew(id: Id) -> Request {
    Request::Retry { which: Which::Ids(vec![id]), rules: true }
}

#[tokio::test]
async fn an_order_about_many_goes_page_by_page_and_reaches_each_once() {
    let (operator, store) = operator("", "");
    for number in 0..PAGE * 2 + 7 {
        let begin = if number % 2 == 0 { Begin::Held("x".to_owned()) } else { Begin::Queued(Timestamp::MAX) };
        store.put(Entry { begin, ..entry(&["a@example.com"]) }).await.unwrap();
    }
    let released = answers(&operator, Request::Release { which: Which::All(Query::default()) }).await;
    assert_eq!(released.len(), PAGE + 4);
    assert!(released.iter().all(|one| matches!(one, Answer::Deed(Deed { result: Done::Done, .. }))));
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.queued, counts.held), (PAGE as u64 * 2 + 7, 0));
    let list = |limit| Request::List { query: Query::default(), limit };
    assert_eq!(answers(&operator, list(None)).await.len(), PAGE * 2 + 7);
    assert_eq!(answers(&operator, list(Some(PAGE + 1))).await.len(), PAGE + 1);
    assert_eq!(answers(&operator, Request::Delete { which: Which::All(Query::default()) }).await.len(), PAGE * 2 + 7);
    assert!(answers(&operator, list(None)).await.is_empty());
}

#[tokio::test]
async fn what_is_active_is_told_to_who_stops_mail_and_left_alone() {
    let (operator, store) = operator("", "");
    let put = Entry { begin: Begin::Leased(Timestamp::MAX), ..entry(&["a@example.com"]) };
    store.put(put.clone()).await.unwrap();
    let all = || Which::All(Query::default());
    for request in [
        Request::Hold { which: all(), reason: "x".to_owned() },
        Request::Delete { which: all() },
        renew(put.id),
        Request::Retry { which: Which::Ids(vec![put.id]), rules: false },
    ] {
        assert_eq!(done(&operator, request).await.0, Done::Active);
    }
    assert!(answers(&operator, Request::Retry { which: all(), rules: false }).await.is_empty());
}

#[tokio::test]
async fn the_present_rules_run_on_the_message_as_it_stands() {
    let (operator, store) = operator(ADD, REJECT);
    let put = entry(&["a@example.com", "b@example.com"]);
    store.put(Entry { begin: Begin::Leased(Timestamp::MAX), ..put.clone() }).await.unwrap();
    settle_first(&store, put.id).await;
    assert_eq!(done(&operator, renew(put.id)).await, (Done::Done, "1 change by the present rules, due now".to_owned()));
    let message = store.message(put.id).await.unwrap().unwrap();
    let head = String::from_utf8(message.head.to_vec()).unwrap();
    assert!(head.starts_with("Received: from unknown ([0.0.0.0]) by relay.example.com"), "{head}");
    assert!(head.contains(" Jan 2027 ") && head.ends_with("\r\nSubject: x\r\nX-Again: yes\r\n"), "{head}");
    assert_eq!((head.matches("Received:").count(), &message.rest), (1, &put.message.rest));
    let account = store.show(put.id).await.unwrap().unwrap();
    let statuses: Vec<bool> = account.recipients.iter().map(|one| one.settled.is_some()).collect();
    assert_eq!(statuses, [true, false]);
    assert_eq!(account.recipients[1].address, address("b@example.com"));
    assert_eq!((account.summary.user, account.summary.received), (put.user, put.received));
    assert_eq!(account.before, put.before);
    let details = Details::read(&account.details);
    let rules: Vec<&str> = details.changes.iter().map(|change| change.rule.as_ref()).collect();
    assert_eq!((details.rules, rules), (2, vec!["first", "add"]));
}

/// Settles the first recipient of a message with lease 1.
async fn settle_first(store: &Memory, id: Id) {
    let settled = Settled {
        status: Status::Delivered,
        reply: String::new(),
        cause: String::new(),
        upstream: "ireland".to_owned(),
        remote_id: None,
        time: Timestamp::UNIX_EPOCH,
    };
    let settlement = Settlement {
        id,
        lease: 1,
        time: Timestamp::UNIX_EPOCH,
        tries: Vec::new(),
        settled: vec![(0, settled)],
        reported: Vec::new(),
        noticed: false,
        reports: Vec::new(),
        identities: Vec::new(),
        then: Then::Wait { due: Timestamp::MAX, reason: "later".to_owned(), counted: true },
    };
    store.settle(settlement).await.unwrap();
}

#[tokio::test]
async fn what_the_present_rules_refuse_or_hold_is_told_and_not_lost() {
    let (refusing, store) = operator(REJECT, "");
    let put = entry(&["a@example.com"]);
    store.put(put.clone()).await.unwrap();
    let (result, text) = done(&refusing, renew(put.id)).await;
    assert_eq!((result, text.as_str()), (Done::Refused, "refused now, and left as it was: a rule: no"));
    assert_eq!(store.message(put.id).await.unwrap().unwrap(), put.message);

    let (holding, store) = operator(HOLD, "");
    store.put(put.clone()).await.unwrap();
    let (result, text) = done(&holding, renew(put.id)).await;
    assert_eq!((result, text.as_str()), (Done::Done, "1 change by the present rules, held: rule \"wait\""));
    assert_eq!(store.counts().await.unwrap().held, 1);
}

#[tokio::test]
async fn what_is_held_stays_held_under_new_rules() {
    let (operator, store) = operator(ADD, "");
    let put = Entry { begin: Begin::Held("by hand".to_owned()), ..entry(&["a@example.com"]) };
    store.put(put.clone()).await.unwrap();
    let (_, text) = done(&operator, renew(put.id)).await;
    assert_eq!(text, "1 change by the present rules, held: by hand");
    let all = Request::Retry { which: Which::All(Query::default()), rules: true };
    assert!(answers(&operator, all).await.is_empty());
}

#[tokio::test]
async fn a_report_passes_the_rules_for_reports_only() {
    let (operator, store) = operator(REJECT, ADD);
    let mut put = entry(&["a@example.com"]);
    put.details = Details { about: Some(Id::mint().to_string()), ..Details::read("") }.text();
    store.put(put.clone()).await.unwrap();
    assert_eq!(done(&operator, renew(put.id)).await.0, Done::Done);
    let details = Details::read(&store.show(put.id).await.unwrap().unwrap().details);
    assert!(details.about.is_some());
}

#[tokio::test]
async fn an_import_is_bounded_and_needs_somebody_to_get_it() {
    let (operator, _) = operator("", "");
    let letter = |recipients: &[&str], octets| {
        let recipients = recipients.iter().map(|text| address(text)).collect();
        Request::Import(Letter {
            sender: None,
            recipients,
            dsn: Default::default(),
            asked: Default::default(),
            user: None,
            rules: false,
            octets,
        })
    };
    for (request, octets, kind) in
        [(letter(&[], 3), 3, FaultKind::Usage), (letter(&["a@example.com"], 1001), 1001, FaultKind::Refused)]
    {
        let mut answers = operator.ask(request, Bytes::from(vec![b'x'; octets]));
        match answers.recv().await {
            Some(Answer::End(Some(fault))) => assert_eq!(fault.kind, kind),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn work_ends_when_nobody_listens() {
    let (operator, store) = operator("", "");
    for _ in 0..PAGE {
        store.put(Entry { begin: Begin::Held("x".to_owned()), ..entry(&["a@example.com"]) }).await.unwrap();
    }
    let mut answers = operator.ask(Request::Release { which: Which::All(Query::default()) }, Bytes::new());
    assert!(answers.recv().await.is_some());
    drop(answers);
    // The task lets go of the operator when it ends.
    while Arc::strong_count(&operator) > 1 {
        tokio::task::yield_now().await;
    }
    let released = store.counts().await.unwrap().queued;
    assert!(released <= (WAITING + 2 * AT_ONCE) as u64, "{released}");
}
