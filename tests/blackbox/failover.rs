//! Several upstreams: shared by weight, the ill left out, a definite refusal final, and rules that choose.

use crate::{
    fake_ses::{Answer, FakeSes},
    gateway::{BASE, Gateway},
    parties::PATIENCE,
    queue::{MAIL, QUEUE, deliveries, wide_open},
    smtp::Smtp,
};

/// An SES upstream that is looked at often.
fn upstream(name: &str, endpoint: &str, weight: u32) -> String {
    format!(
        "[[upstream]]\nname = \"{name}\"\nkind = \"ses\"\nregion = \"us-east-1\"\nendpoint_url = \"{endpoint}\"\n\
         weight = {weight}\nhealth = {{ interval = \"500ms\", rise = 1, fall = 1 }}\n"
    )
}

fn submit(gateway: &Gateway, count: usize) {
    let mut client = Smtp::ready(gateway.port());
    for number in 0..count {
        let to = format!("r{number}@example.com");
        assert_eq!(client.submit("a@example.com", &[&to], MAIL).code, 250);
    }
}

fn all_accepted(fakes: [&FakeSes; 2], count: u64) -> bool {
    let [first, second] = fakes;
    let mut left = 600;
    while first.counts().accepted + second.counts().accepted < count && left > 0 {
        first.wait_until(std::time::Duration::from_millis(100), |counts| counts.accepted >= count);
        left -= 1;
    }
    first.counts().accepted + second.counts().accepted == count
}

#[test]
fn mail_is_shared_by_weight() {
    let (ireland, ohio) = (wide_open(), wide_open());
    let ways = upstream("ireland", &ireland.endpoint(), 3) + &upstream("ohio", &ohio.endpoint(), 1);
    let gateway = Gateway::start(&format!("{BASE}{QUEUE}{ways}"));
    submit(&gateway, 40);
    assert!(all_accepted([&ireland, &ohio], 40));
    let share = ireland.counts().accepted;
    assert!((20..40).contains(&share), "{share} of 40");
}

#[test]
fn what_is_down_gets_no_mail_and_the_other_gets_all() {
    let (ireland, ohio) = (wide_open(), wide_open());
    let endpoint = ireland.endpoint();
    let ways = upstream("ireland", &endpoint, 3) + &upstream("ohio", &ohio.endpoint(), 1);
    let gateway = Gateway::start(&format!("{BASE}{QUEUE}{ways}"));
    drop(ireland);
    submit(&gateway, 30);
    assert!(ohio.wait_for_accepted(30, PATIENCE), "{:?} {}", ohio.counts(), gateway.stderr());
    assert_eq!(deliveries(&ohio).len(), 30);
    assert!(gateway.stderr().contains("ill; it gets no mail until it is well"), "{}", gateway.stderr());
    // It comes back on its port, is found well, and gets its share again.
    let port = endpoint.rsplit(':').next().unwrap().parse().unwrap();
    let ireland = FakeSes::start_on(crate::fake_ses::Profile::Today, port);
    assert!(ireland.wait_until(PATIENCE, |counts| counts.account >= 2));
    submit(&gateway, 30);
    assert!(all_accepted([&ireland, &ohio], 60), "{:?} {:?}", ireland.counts(), ohio.counts());
    assert!(ireland.counts().accepted > 0);
}

#[test]
fn a_definite_refusal_is_never_offered_to_a_second_upstream() {
    let (ireland, ohio) = (wide_open(), wide_open());
    for fake in [&ireland, &ohio] {
        fake.when(|call| call.feedback.is_some(), Answer::error(400, "MessageRejected", "content"));
    }
    let ways = upstream("ireland", &ireland.endpoint(), 1) + &upstream("ohio", &ohio.endpoint(), 1);
    let gateway = Gateway::start(&format!("{BASE}{QUEUE}{ways}"));
    submit(&gateway, 6);
    assert!(all_accepted([&ireland, &ohio], 6), "a report for each");
    assert_eq!(ireland.counts().refused + ohio.counts().refused, 6, "one attempt for each");
}

#[test]
fn one_that_throttles_slows_down_alone() {
    let (ireland, ohio) = (wide_open(), wide_open());
    ireland.otherwise(Answer::Throttle);
    let ways = upstream("ireland", &ireland.endpoint(), 1) + &upstream("ohio", &ohio.endpoint(), 1);
    let gateway = Gateway::start(&format!("{BASE}{QUEUE}{ways}"));
    submit(&gateway, 30);
    assert!(ohio.wait_for_accepted(30, PATIENCE), "{:?} {:?}", ireland.counts(), ohio.counts());
    assert!(deliveries(&ohio).values().all(|count| *count == 1));
}

#[test]
fn a_rule_chooses_the_upstream_also_for_some_of_the_recipients() {
    let (ireland, ohio) = (wide_open(), wide_open());
    let ways = upstream("ireland", &ireland.endpoint(), 1) + &upstream("ohio", &ohio.endpoint(), 0);
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/hold-secret.toml");
    let settings = format!("{BASE}{QUEUE}{ways}[rules]\nfiles = [\"builtin:ses\", \"{rules}\"]\n");
    let gateway = Gateway::start(&settings);
    let to = ["a@example.net", "b@partner.example", "c@example.net"];
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &to, MAIL).code, 250);
    assert!(all_accepted([&ireland, &ohio], 2));
    assert_eq!(deliveries(&ireland).keys().collect::<Vec<_>>(), ["a@example.net", "c@example.net"]);
    assert_eq!(deliveries(&ohio).keys().collect::<Vec<_>>(), ["b@partner.example"]);
}
