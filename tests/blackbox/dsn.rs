//! What a sender asked to hear (RFC 3461) is what it hears.

use serde_json::Value;

use crate::{
    fake_ses::{Answer, Call, FakeSes},
    fixtures::Run,
    gateway::{BASE, Gateway, ses},
    parties::{
        PATIENCE, free_port,
        next_hop::{NextHop, Script},
        wait_until,
    },
    queue::{MAIL, QUEUE, gateway, wide_open},
    smtp::{Smtp, stuffed},
};

/// Submits a message whose MAIL and RCPTs carry these parameters.
fn submit(gateway: &Gateway, mail: &str, recipients: &[&str], message: &[u8]) {
    let mut client = Smtp::ready(gateway.port());
    let lines = std::iter::once(format!("MAIL FROM:<a@example.com> {mail}"))
        .chain(recipients.iter().map(|one| format!("RCPT TO:{one}")));
    for line in lines {
        let reply = client.command(&line);
        assert_eq!(reply.code, 250, "{line}: {reply:?}");
    }
    assert_eq!(client.command("DATA").code, 354);
    client.send(&stuffed(message));
    assert_eq!(client.reply().code, 250);
}

fn is_report(call: &Call) -> bool {
    call.header("Content-Type").iter().any(|value| value.starts_with("multipart/report"))
}

/// The reports among what was accepted.
fn reports(fake: &FakeSes) -> Vec<String> {
    let calls = fake.accepted().into_iter().filter(is_report);
    calls.map(|call| String::from_utf8_lossy(&call.raw).into_owned()).collect()
}

/// Every recipient whose address begins with `bad` is one that SES refuses.
fn refuses_bad(fake: &FakeSes) {
    let bad = |call: &Call| call.recipients().any(|one| one.starts_with("bad"));
    fake.when(bad, Answer::error(400, "BadRequestException", "Domain contains illegal character"));
}

#[test]
fn who_asks_for_success_hears_that_the_mail_was_relayed() {
    let fake = wide_open();
    let gateway = gateway(&fake);
    let to = [
        "<b@example.com> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;b+2Blist@example.org",
        "<c@example.com> NOTIFY=FAILURE",
        "<d@example.com>",
    ];
    submit(&gateway, "RET=FULL ENVID=QQ+20314159", &to, MAIL);
    assert!(fake.wait_for_accepted(2, PATIENCE), "{}", gateway.stderr());
    let reports = reports(&fake);
    let [report] = reports.as_slice() else { panic!("{reports:#?}") };
    for line in [
        "Subject: Delivery Status Notification (Relayed)",
        "Original-Envelope-Id: QQ 314159",
        "Original-Recipient: rfc822; b+list@example.org",
        "Final-Recipient: rfc822; b@example.com",
        "Action: relayed",
        "Status: 2.0.0",
        "Subject: hello",
    ] {
        assert!(report.contains(&format!("\r\n{line}\r\n")), "{line}: {report}");
    }
    assert_eq!(report.matches("Final-Recipient:").count(), 1, "{report}");
    assert!(!report.contains("message/rfc822"), "only a failure brings the whole message back: {report}");
}

#[test]
fn what_a_sender_does_not_want_to_hear_is_not_reported() {
    let fake = wide_open();
    refuses_bad(&fake);
    let gateway = gateway(&fake);
    submit(&gateway, "", &["<bad1@example.com> NOTIFY=NEVER"], MAIL);
    submit(&gateway, "", &["<bad2@example.com> NOTIFY=SUCCESS,DELAY"], MAIL);
    submit(&gateway, "", &["<good@example.com> NOTIFY=NEVER"], MAIL);
    let refused = fake.wait_until(PATIENCE, |counts| counts.refused >= 2);
    assert!(refused && fake.wait_for_accepted(1, PATIENCE), "{:?}", fake.counts());
    submit(
        &gateway,
        "",
        &["<bad3@example.com> NOTIFY=NEVER", "<bad4@example.com> NOTIFY=FAILURE", "<bad5@example.com>"],
        MAIL,
    );
    assert!(fake.wait_for_accepted(2, PATIENCE), "{:?}", fake.counts());
    let kept = Run::new(&["queue", "list", "--state", "finished", "--state", "queued", "--state", "active", "--json"]);
    let kept = String::from_utf8(kept.env("HEADGATE_CONFIG", "headgate.toml").within(gateway.folder()).stdout).unwrap();
    let reported = kept.lines().filter(|line| line.contains("\"sender\":null")).count();
    assert_eq!((kept.lines().count(), reported), (5, 1), "four messages and a report: {kept}");
    let reports = reports(&fake);
    let [report] = reports.as_slice() else { panic!("{reports:#?}") };
    assert_eq!(report.matches("\r\nAction: failed\r\n").count(), 2, "{report}");
    assert!(report.contains("bad4@example.com") && report.contains("bad5@example.com"), "{report}");
    let named = ["bad1", "bad2", "bad3", "good"].iter().filter(|name| report.contains(**name)).count();
    assert_eq!(named, 0, "{report}");
}

#[test]
fn what_was_asked_of_a_recipient_holds_for_the_one_in_its_place() {
    let fake = wide_open();
    refuses_bad(&fake);
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/redirected.toml");
    let rules = format!("[rules]\nfiles = [\"builtin:ses\", \"{rules}\"]\n");
    let gateway = Gateway::start(&format!("{BASE}{QUEUE}{rules}{}", ses(&fake.endpoint())));
    submit(&gateway, "ENVID=never", &["<old1@example.com> NOTIFY=NEVER"], MAIL);
    submit(&gateway, "ENVID=one", &["<old2@example.com> NOTIFY=FAILURE ORCPT=rfc822;x@example.org"], MAIL);
    submit(&gateway, "ENVID=both", &["<old3@example.com> NOTIFY=NEVER", "<old4@example.com>"], MAIL);
    assert!(fake.wait_for_accepted(2, PATIENCE), "{:?}", fake.counts());
    let reports = reports(&fake);
    assert_eq!(reports.len(), 2, "{reports:#?}");
    for id in ["one", "both"] {
        let field = format!("\r\nOriginal-Envelope-Id: {id}\r\n");
        let report = reports.iter().find(|report| report.contains(&field)).unwrap();
        assert_eq!(report.contains("\r\nOriginal-Recipient: rfc822; x@example.org\r\n"), id == "one", "{report}");
    }
}

#[test]
fn who_does_not_ask_for_delays_hears_of_none() {
    let fake = wide_open();
    fake.when(|call| call.feedback.is_some(), Answer::error(500, "InternalFailure", "?"));
    let settings = format!("{BASE}{QUEUE}[bounce]\ndelay_notice = \"500ms\"\n{}", ses(&fake.endpoint()));
    let gateway = Gateway::start(&settings);
    submit(&gateway, "", &["<b@example.com> NOTIFY=FAILURE", "<c@example.com> NOTIFY=NEVER", "<d@example.com>"], MAIL);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    let reports = reports(&fake);
    assert_eq!(reports[0].matches("\r\nAction: delayed\r\n").count(), 1, "{}", reports[0]);
    assert!(reports[0].contains("\r\nFinal-Recipient: rfc822; d@example.com\r\n"), "{}", reports[0]);
}

#[test]
fn a_failure_brings_the_whole_message_back_where_that_was_asked_and_can_be() {
    let fake = wide_open();
    refuses_bad(&fake);
    fake.when(
        |call| call.recipients().any(|one| one.starts_with("spam")),
        Answer::error(400, "MessageRejected", "content"),
    );
    let gateway = gateway(&fake);
    let large = [MAIL, &b"a line of text\r\n".repeat(5000)].concat();
    for (mail, to, message) in [
        ("RET=FULL", "<bad1@example.com>", MAIL),
        ("RET=HDRS", "<bad2@example.com>", MAIL),
        ("", "<bad3@example.com>", MAIL),
        ("RET=FULL", "<bad4@example.com>", &large),
        ("RET=FULL", "<spam@example.com>", MAIL),
    ] {
        submit(&gateway, mail, &[to], message);
    }
    assert!(fake.wait_for_accepted(5, PATIENCE), "{:?} {}", fake.counts(), gateway.stderr());
    for report in reports(&fake) {
        let whole = report.contains("bad1@example.com");
        assert_eq!(report.contains("message/rfc822"), whole, "{report}");
        assert_eq!(report.contains("\r\n\r\nhi\r\n"), whole, "{report}");
        assert!(report.contains("\r\nSubject: hello\r\n"), "{report}");
    }
}

#[test]
fn mail_with_the_null_sender_asks_for_success_in_vain() {
    let fake = wide_open();
    let gateway = gateway(&fake);
    let mut client = Smtp::ready(gateway.port());
    for line in ["MAIL FROM:<>", "RCPT TO:<b@example.com> NOTIFY=SUCCESS"] {
        assert_eq!(client.command(line).code, 250);
    }
    assert_eq!(client.command("DATA").code, 354);
    client.send(&stuffed(MAIL));
    assert_eq!(client.reply().code, 250);
    submit(&gateway, "", &["<c@example.com>"], MAIL);
    assert!(fake.wait_for_accepted(2, PATIENCE));
    assert_eq!(gateway.records("attempt", 2).len(), 2);
    assert!(reports(&fake).is_empty());
}

#[test]
fn a_server_that_offers_dsn_is_told_and_tells_and_another_is_spoken_for() {
    for offers in [true, false] {
        let mut script = Script::default();
        if offers {
            script.extensions.push("DSN");
        }
        let hop = NextHop::start(script);
        let upstream = format!(
            "[[upstream]]\nname = \"next\"\nkind = \"smtp\"\ntls = \"none\"\naddress = \"127.0.0.1:{}\"\n",
            hop.port()
        );
        let gateway = Gateway::start(&format!("{BASE}{QUEUE}{upstream}"));
        let to = ["<b@example.net> NOTIFY=SUCCESS ORCPT=rfc822;b+2Bx@example.net", "<c@example.net>"];
        submit(&gateway, "RET=HDRS ENVID=a+20b", &to, MAIL);
        let messages = if offers { 1 } else { 2 };
        assert!(wait_until(PATIENCE, || hop.heard().data.len() >= messages), "{:?}", hop.heard());
        assert_eq!(gateway.records("attempt", messages).len(), messages);
        let mail = hop.commands("MAIL").remove(0);
        assert_eq!(mail.ends_with(" RET=HDRS ENVID=a+20b"), offers, "{mail}");
        let rcpt = &hop.commands("RCPT")[..2];
        let (b, c) = ("RCPT TO:<b@example.net>", "RCPT TO:<c@example.net>");
        let asked = if offers { " NOTIFY=SUCCESS ORCPT=rfc822;b+2Bx@example.net" } else { "" };
        assert_eq!(rcpt, [format!("{b}{asked}"), c.to_owned()]);
        let relayed =
            hop.heard().data.iter().filter(|data| data.windows(15).any(|text| text == b"Action: relayed")).count();
        assert_eq!(relayed, messages - 1);
    }
}

/// What `headgate` with these arguments prints in the folder of a gateway.
fn printed(gateway: &Gateway, arguments: &[&str]) -> String {
    let ran = Run::new(arguments).env("HEADGATE_CONFIG", "headgate.toml").within(gateway.folder());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn an_exported_and_imported_and_renewed_message_keeps_what_was_asked() {
    let patient = QUEUE.replace("100ms", "1h").replace("300ms", "1h");
    let gateway = Gateway::start(&format!("{BASE}{patient}{}", ses(&format!("http://127.0.0.1:{}", free_port()))));
    let to = ["<b@example.com> NOTIFY=SUCCESS ORCPT=rfc822;b+2Bx@example.com", "<c@example.com>"];
    submit(&gateway, "RET=FULL ENVID=a+20b", &to, MAIL);
    let asked = |shown: &str| {
        let shown: Value = serde_json::from_str(shown).unwrap();
        [&shown["dsn"], &shown["recipients"][0]["asked"], &shown["recipients"][1]["asked"]].map(Value::to_string)
    };
    let wanted = [
        r#"{"ret":"FULL","envelope_id":"a b"}"#,
        r#"{"notify":"SUCCESS","original":"rfc822;b+x@example.com"}"#,
        "null",
    ];
    let list = || -> Vec<String> {
        let list = printed(&gateway, &["queue", "list", "--state", "queued", "--json"]);
        let ids =
            list.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned());
        ids.collect()
    };
    assert!(wait_until(PATIENCE, || list().len() == 1), "{}", gateway.stderr());
    let first = list().remove(0);
    assert_eq!(asked(&printed(&gateway, &["queue", "show", &first, "--json"])), wanted);
    let shown = printed(&gateway, &["queue", "show", &first]);
    assert!(shown.contains("asked     RET=FULL, ENVID a b\n"), "{shown}");
    assert!(shown.contains(", NOTIFY=SUCCESS, for rfc822;b+x@example.com\n"), "{shown}");
    printed(&gateway, &["queue", "hold", &first]);
    printed(&gateway, &["queue", "export", "--all", "out", "--state", "held"]);
    for rules in ["present", "none"] {
        printed(&gateway, &["queue", "import", &format!("out/{first}.eml"), "--rules", rules]);
    }
    assert!(wait_until(PATIENCE, || list().len() == 2), "{}", gateway.stderr());
    for id in list() {
        assert_eq!(asked(&printed(&gateway, &["queue", "show", &id, "--json"])), wanted);
    }
    printed(&gateway, &["queue", "retry", &first, "--rules"]);
    assert_eq!(asked(&printed(&gateway, &["queue", "show", &first, "--json"])), wanted);
}
