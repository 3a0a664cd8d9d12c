//! Destinations, senders, tags and identities.

use serde_json::{Value, json};

use super::super::{FakeSes, Profile};
use super::client::{Client, MAIL, asked, asked_with, only, verdict};

fn say(name: &str, value: Value) -> String {
    verdict(Profile::Today, &asked_with(name, value))
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("r{n}@example.net")).collect()
}

#[test]
fn at_most_fifty_recipients_in_all() {
    let lists = |to, cc, bcc| json!({ "ToAddresses": many(to), "CcAddresses": many(cc), "BccAddresses": many(bcc) });
    assert_eq!(say("Destination", lists(50, 0, 0)), "");
    assert_eq!(say("Destination", lists(20, 20, 10)), "");
    assert_eq!(say("Destination", lists(20, 20, 11)), "Recipient count exceeds 50.");
    assert_eq!(say("Destination", lists(51, 0, 0)), "Recipient count exceeds 50.");
}

#[test]
fn recipients_must_be_given() {
    let missing = "Missing required header 'To'.";
    assert_eq!(say("Destination", json!({ "ToAddresses": [] })), missing);
    assert_eq!(say("Destination", json!({})), missing);
    assert_eq!(say("Destination", Value::Null), missing);
}

#[test]
fn addresses_are_refused_in_the_words_of_ses() {
    let cases = [
        ("", "Invalid email address ."),
        ("bob", "Missing final '@domain'"),
        ("\"bob@example.net", "Missing final '@domain'"),
        ("@example.net", "Missing local name"),
        ("bob@", "Missing domain"),
        ("b ob@example.net", "Local address contains control or whitespace"),
        ("bob @example.net", "Local address contains control or whitespace"),
        ("b\u{7}ob@example.net", "Local address contains control or whitespace"),
        ("\"b\tb\"@example.net", "Local address contains control or whitespace"),
        ("b\u{f6}b@example.net", "Local address contains illegal character"),
        ("b<b@example.net", "Local address contains illegal character"),
        ("b\"o\"b@example.net", "Local address contains illegal character"),
        (".bob@example.net", "Local address contains illegal character"),
        ("b..b@example.net", "Local address contains illegal character"),
        ("bob.@example.net", "Local address contains illegal character"),
        ("bob@ex ample.net", "Domain contains control or whitespace"),
        ("bob@example.net\r\nX: y", "Domain contains control or whitespace"),
        ("bob@ex\u{e4}mple.net", "Domain contains illegal character"),
        ("bob@exa_mple.net", "Domain contains illegal character"),
        ("bob@example..net", "Domain contains illegal character"),
        ("bob@example.net.", "Domain contains illegal character"),
        ("bob@example@net", "Domain contains illegal character"),
        ("<@relay.example:bob@example.net>", "Missing local name"),
        ("bob@example.net, ann@example.com", "Illegal address"),
        ("B\u{f6}b <bob@example.net>", "Illegal address"),
        ("Bob <bob@example.net> junk", "Local address contains control or whitespace"),
    ];
    for (address, text) in cases {
        for list in ["ToAddresses", "CcAddresses", "BccAddresses"] {
            let lists = json!({ list: ["good@example.net", address] });
            assert_eq!(say("Destination", lists), text, "{address:?}");
        }
        assert_eq!(say("FeedbackForwardingEmailAddress", json!(address)), text, "{address:?}");
        assert_eq!(say("FromEmailAddress", json!(address)), text, "{address:?}");
    }
}

#[test]
fn good_addresses_are_taken() {
    for address in [
        "bob@example.net",
        "Bob <bob@example.net>",
        "\"Bob, the (real) one\" <bob@example.net>",
        "\"odd \\\" local@\"@example.net",
        "first.last+tag=x/y!#$%&'*-?^_`{|}~@xn--exmple-cua.net",
        "postmaster@[192.0.2.1]",
        "postmaster@[IPv6:2001:db8::1]",
        "root@localhost",
    ] {
        let lists = json!({ "BccAddresses": [address] });
        assert_eq!(say("Destination", lists), "", "{address}");
        assert_eq!(say("FeedbackForwardingEmailAddress", json!(address)), "", "{address}");
    }
}

#[test]
fn absent_senders_are_fine() {
    assert_eq!(say("FeedbackForwardingEmailAddress", Value::Null), "");
    let mut asked = asked(b"To: bob@example.net\r\n\r\n");
    asked["FromEmailAddress"] = json!("Ann <ann@example.com>");
    assert_eq!(verdict(Profile::Today, &asked), "");
}

#[test]
fn tags_are_words() {
    let tag = |name: &str, value: &str| {
        say("EmailTags", json!([{ "Name": "good", "Value": "1" }, { "Name": name, "Value": value }]))
    };
    assert_eq!(tag("Az_09-", &"v".repeat(256)), "");
    assert_eq!(tag("ses:feedback-id-a", "campaign"), "");
    assert_eq!(
        tag("bad name", "v"),
        "Invalid tag name <bad name>: only alphanumeric ASCII characters, '_', and '-' are allowed."
    );
    assert_eq!(
        tag("n", "a:b"),
        "Invalid tag value <a:b>: only alphanumeric ASCII characters, '_', and '-' are allowed."
    );
    assert_eq!(tag("", "v"), "The tag name must be specified.");
    assert_eq!(tag("n", ""), "The tag value must be specified.");
    assert_eq!(tag(&"n".repeat(257), "v"), "Tag name cannot exceed 256 characters.");
    assert_eq!(say("EmailTags", json!([{}])), "The tag name must be specified.");
}

#[test]
fn a_configuration_set_has_a_word_for_a_name() {
    assert_eq!(say("ConfigurationSetName", json!("set-1_A")), "");
    assert_eq!(say("ConfigurationSetName", json!("a b")), "Invalid configuration set name <a b>.");
    let long = "x".repeat(65);
    assert_eq!(say("ConfigurationSetName", json!(long)), format!("Invalid configuration set name <{long}>."));
}

#[test]
fn unverified_senders_are_rejected() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    fake.refuse_senders(["Mallory@example.com", "eve@example.com"]);
    let text = |who: &str| {
        format!("Email address is not verified. The following identities failed the check in region US-EAST-1: {who}")
    };
    assert_eq!(client.send(&asked(MAIL.as_bytes())).unwrap().status, 200);
    let mail = "From: M <mallory@EXAMPLE.com>\r\nSender: eve@example.com\r\n\r\n";
    let expected = text("mallory@EXAMPLE.com, eve@example.com");
    let reply = client.send(&asked(mail.as_bytes())).unwrap();
    assert_eq!(reply.error(), (400, "MessageRejected", expected.as_str()));
    for parameter in ["FeedbackForwardingEmailAddress", "FromEmailAddress"] {
        let reply = client.send(&asked_with(parameter, json!("Eve <eve@example.com>"))).unwrap();
        assert_eq!(reply.error(), (400, "MessageRejected", text("eve@example.com").as_str()));
    }
    fake.refuse_senders(Vec::<String>::new());
    assert_eq!(client.send(&asked(mail.as_bytes())).unwrap().status, 200);
}

#[test]
fn a_refused_from_that_is_replaced_does_not_count() {
    let fake = FakeSes::start(Profile::Today);
    fake.refuse_senders(["ann@example.com"]);
    let mut asked = asked_with("FromEmailAddress", json!("other@example.com"));
    asked["FeedbackForwardingEmailAddress"] = Value::Null;
    assert_eq!(Client::of(&fake).send(&asked).unwrap().status, 200);
    assert_eq!(only(&fake).from_email_address.as_deref(), Some("other@example.com"));
}
