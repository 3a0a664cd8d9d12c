//! Rules at work in a running gateway: what they ask of SES, how they are read anew, how their hits are counted.

use std::fs;

use crate::{
    fake_ses::{FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, wait_until},
    smtp::Smtp,
};

const MAIL: &[u8] = b"From: a@example.com\r\nChicken: yummy\r\n\r\nhi\r\n";

/// A gateway with a rule file of its own behind the default ones, and the path of that file.
fn gateway(fake: &FakeSes, rules: &str) -> (Gateway, std::path::PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    fs::write(&file, rules).unwrap();
    let set = [format!("rules.files=builtin:rt,builtin:ses,{}", file.display())];
    (Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &set), file, folder)
}

fn rule(actions: &str) -> String {
    format!("[[rule]]\nname = \"site\"\ndo = [{actions}]\n")
}

#[test]
fn what_rules_ask_of_ses_is_in_the_request_and_the_hit_is_counted() {
    let fake = FakeSes::start(Profile::Today);
    let actions = "{ configuration_set = \"news\" }, { tag = { team = \"ops & co\" } }, \
        { from_identity_arn = \"arn:aws:ses:us-east-1:1:identity/example.com\" }, { list_management = \"customers; topic=news\" }";
    let (gateway, _, _folder) = gateway(&fake, &rule(actions));
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    let call = &fake.accepted()[0];
    assert_eq!(call.configuration_set.as_deref(), Some("news"));
    assert_eq!(call.tag("team"), Some("ops___co"));
    assert_eq!(call.request["FromEmailAddressIdentityArn"], "arn:aws:ses:us-east-1:1:identity/example.com");
    assert_eq!(call.request["ListManagementOptions"]["ContactListName"], "customers");
    assert_eq!(call.request["ListManagementOptions"]["TopicName"], "news");
    let page = gateway.page("/metrics").1;
    assert!(page.contains("headgate_rule_hits_total{rule=\"site\"} 1"), "{page}");
    assert!(page.contains("headgate_rule_hits_total{rule=\"x-prefix what SES does not know\"} 1"), "{page}");
}

#[test]
fn a_changed_rule_file_is_taken_over_and_a_broken_one_keeps_the_old_rules() {
    let fake = FakeSes::start(Profile::Today);
    let (mut gateway, file, _folder) = gateway(&fake, &rule("{ set = { name = \"X-Site\", value = \"one\" } }"));
    let site = |gateway: &Gateway| {
        assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], MAIL).code, 250);
        fake.accepted().last().unwrap().header("X-Site").concat()
    };
    assert_eq!(site(&gateway), "one");
    fs::write(&file, rule("{ set = { name = \"X-Site\", value = \"two\" } }")).unwrap();
    assert!(wait_until(PATIENCE, || site(&gateway) == "two"), "{}", gateway.stderr());
    fs::write(&file, rule("{ chicken = \"yummy\" }")).unwrap();
    assert!(
        wait_until(PATIENCE, || gateway.stderr().contains("site.toml:3:9: unknown key chicken")),
        "{}",
        gateway.stderr()
    );
    assert!(gateway.stderr().contains("the old rules stay"));
    assert_eq!(site(&gateway), "two");
    fs::write(&file, rule("{ set = { name = \"X-Site\", value = \"three\" } }")).unwrap();
    gateway.signal("HUP");
    assert!(wait_until(PATIENCE, || site(&gateway) == "three"), "{}", gateway.stderr());
}

#[test]
fn a_blocked_attachment_is_named_and_refused_before_ses_is_asked() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let mail = b"From: a@example.com\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Disposition: attachment; filename=\"run me.exe\"\r\n\r\nMZ\r\n--a--\r\n";
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], mail);
    assert_eq!(reply.code, 554);
    assert!(reply.text.contains("line 7: attachment \"run me.exe\" in part 1: SES blocks .exe"), "{reply:?}");
    assert_eq!(fake.counts().received, 0);
}
