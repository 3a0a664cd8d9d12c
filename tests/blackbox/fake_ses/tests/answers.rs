//! Wished answers: their order, their effect on the wire and in the record.

use std::time::{Duration, Instant};

use super::super::{Answer, FakeSes, Fate, Profile};
use super::client::{AUTHORIZATION, Client, MAIL, PATIENCE, SEND, asked, asked_with, only};
use serde_json::{Value, json};

fn good() -> Value {
    asked(MAIL.as_bytes())
}

fn statuses(fake: &FakeSes, count: usize) -> Vec<u16> {
    let mut client = Client::of(fake);
    let status = |_| client.send(&good()).unwrap().status;
    (0..count).map(status).collect()
}

#[test]
fn the_script_comes_in_order_and_then_the_default() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::Throttle, Answer::Accept, Answer::error(503, "ServiceUnavailable", "x")]);
    fake.script([Answer::Throttle]);
    assert_eq!(statuses(&fake, 6), [429, 200, 503, 429, 200, 200]);
    fake.otherwise(Answer::error(500, "InternalFailure", ""));
    assert_eq!(statuses(&fake, 1), [500]);
    assert_eq!((fake.counts().accepted, fake.counts().refused), (3, 4));
}

#[test]
fn every_nth_call_by_its_number() {
    let fake = FakeSes::start(Profile::Today);
    fake.every(3, Answer::Throttle);
    fake.every(4, Answer::error(500, "InternalFailure", ""));
    fake.every(0, Answer::Hang);
    fake.script([Answer::Accept]);
    assert_eq!(statuses(&fake, 8), [200, 200, 429, 500, 200, 429, 200, 500]);
}

#[test]
fn a_condition_sees_the_call() {
    let fake = FakeSes::start(Profile::Today);
    let refused = Answer::error(400, "MessageRejected", "no");
    fake.when(|call| call.recipients().any(|r| r == "bad@example.net"), refused);
    fake.when(|call| call.header("Subject") == ["cut"], Answer::CutBeforeReading);
    let mut client = Client::of(&fake);
    assert_eq!(client.send(&good()).unwrap().status, 200);
    let to = |who: &str| asked_with("Destination", json!({ "ToAddresses": ["bob@example.net", who] }));
    assert_eq!(client.send(&to("bad@example.net")).unwrap().error(), (400, "MessageRejected", "no"));
    assert_eq!(client.send(&to("ok@example.net")).unwrap().status, 200);
    let cut = MAIL.replace("hello", "cut");
    assert!(client.send(&asked(cut.as_bytes())).is_none());
    assert_eq!(fake.calls()[3].fate, Fate::Ambiguous);
    assert_eq!(fake.calls()[1].refusal().unwrap().kind, "MessageRejected");
}

#[test]
fn errors_are_what_was_wished_and_need_no_lawful_message() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::error(403, "AccessDeniedException", "User `x' is not authorized"), Answer::Throttle]);
    let mut client = Client::of(&fake);
    let reply = client.send(&asked(b"no header")).unwrap();
    assert_eq!(reply.error(), (403, "AccessDeniedException", "User `x' is not authorized"));
    let expected = (429, "TooManyRequestsException", "Maximum sending rate exceeded.");
    assert_eq!(client.send(&good()).unwrap().error(), expected);
    assert_eq!(client.send(&asked(b"no header")).unwrap().status, 400);
}

#[test]
fn a_call_without_authorization_takes_nothing_from_the_script() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::Throttle]);
    let mut client = Client::of(&fake);
    client.request(&format!("POST {SEND}"), &[], good().to_string().as_bytes());
    assert_eq!(client.read().unwrap().status, 403);
    assert_eq!(client.send(&good()).unwrap().status, 429);
}

#[test]
fn a_delayed_answer_comes_late() {
    let fake = FakeSes::start(Profile::Today);
    let delay = Duration::from_millis(30);
    fake.script([Answer::after(delay, Answer::after(delay, Answer::Throttle))]);
    let start = Instant::now();
    assert_eq!(statuses(&fake, 1), [429]);
    assert!(start.elapsed() >= delay * 2);
    fake.latency(delay);
    let start = Instant::now();
    assert_eq!(statuses(&fake, 1), [200]);
    assert!(start.elapsed() >= delay);
}

#[test]
fn what_was_delayed_is_accepted_though_the_client_has_gone() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::after(Duration::from_millis(100), Answer::Accept)]);
    let mut client = Client::of(&fake);
    client.post(&good());
    assert!(fake.wait_for_calls(1, PATIENCE));
    assert_eq!(only(&fake).fate, Fate::Pending);
    assert_eq!(fake.counts().pending(), 1);
    drop(client);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    assert_eq!(fake.counts().pending(), 0);
}

#[test]
fn a_hanging_call_is_pending_until_released() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::Hang, Answer::Hang, Answer::Accept]);
    let (mut first, mut second) = (Client::of(&fake), Client::of(&fake));
    first.post(&good());
    second.post(&asked(b"no header"));
    assert!(fake.wait_for_calls(2, PATIENCE));
    assert_eq!(statuses(&fake, 1), [200]);
    assert_eq!(fake.counts().pending(), 2);
    fake.release();
    let id = first.read().unwrap().message_id().to_owned();
    assert_eq!(second.read().unwrap().status, 400);
    assert!(fake.accepted().iter().any(|call| call.message_id() == Some(&id)));
    assert_eq!(fake.counts().pending(), 0);
}

#[test]
fn a_hanging_call_whose_client_left_is_never_accepted() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::Hang, Answer::Hang]);
    let (mut leaver, mut stayer) = (Client::of(&fake), Client::of(&fake));
    leaver.post(&good());
    assert!(fake.wait_for_calls(1, PATIENCE));
    drop(leaver);
    stayer.post(&good());
    assert!(fake.wait_for_calls(2, PATIENCE));
    // The fake has one thread: a request over a new connection is answered after it saw the end of the old one.
    assert_eq!(statuses(&fake, 1), [200]);
    fake.release();
    assert_eq!(stayer.read().unwrap().status, 200);
    assert_eq!((fake.counts().accepted, fake.counts().pending()), (2, 1));
}

#[test]
fn stopping_ends_hanging_calls() {
    let fake = FakeSes::start(Profile::Today);
    fake.otherwise(Answer::Hang);
    let mut client = Client::of(&fake);
    client.post(&good());
    assert!(fake.wait_for_calls(1, PATIENCE));
    drop(fake);
    assert!(client.read().is_none());
}

#[test]
fn a_cut_before_reading_leaves_no_call() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::CutBeforeReading, Answer::after(Duration::from_millis(5), Answer::CutBeforeReading)]);
    for _ in 0..2 {
        let mut client = Client::of(&fake);
        let headers = [("Authorization", AUTHORIZATION), ("Content-Length", "100000")];
        client.request(&format!("POST {SEND}"), &headers, b"");
        assert!(client.read().is_none());
    }
    assert_eq!((fake.counts().unread, fake.counts().received), (2, 0));
    assert_eq!(statuses(&fake, 1), [200]);
    assert_eq!(only(&fake).number, 3);
}

#[test]
fn a_cut_after_reading_is_ambiguous() {
    let fake = FakeSes::start(Profile::Today);
    fake.script([Answer::CutAfterReading]);
    assert!(Client::of(&fake).send(&good()).is_none());
    let call = only(&fake);
    assert_eq!((&call.fate, call.status()), (&Fate::Ambiguous, None));
    assert_eq!(call.raw, MAIL.as_bytes());
    assert!(fake.accepted().is_empty());
}

#[test]
fn an_accepted_call_may_stay_untold() {
    let fake = FakeSes::start(Profile::Today);
    fake.otherwise(Answer::AcceptThenCut);
    assert!(Client::of(&fake).send(&good()).is_none());
    assert_eq!(Client::of(&fake).send(&asked(b"no header")).unwrap().status, 400);
    let accepted = fake.accepted();
    assert_eq!(accepted.len(), 1);
    assert!(matches!(accepted[0].fate, Fate::Accepted { told: false, .. }));
    assert!(accepted[0].message_id().is_some() && accepted[0].status().is_none());
}
