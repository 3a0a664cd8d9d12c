//! What holds of every report to a sender, whatever clients and upstreams wrote.
//!
//! `fixtures/bounce/*.eml` are the reports of the three kinds as they are sent; `BLESS=1` writes them anew.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use headgate::{
    bounce::{Entry, Kind, Original, Report, sender_of},
    header,
    mail::{Address, Enhanced, Envelope, Id, Reply},
    upstream::lint,
};
use jiff::Timestamp;
use mail_parser::{MessageParser, MimeHeaders as _, PartType};
use proptest::{
    collection::vec, option, prelude::*, strategy::ValueTree as _, test_runner::TestCaseError, test_runner::TestRunner,
};

use crate::{
    TODAY,
    broken::{Raw, arbitrary, plausible},
    cases,
    door::Door,
    fake_ses::{Call, Profile, judge},
    octets,
};

/// The top of a report; `?` may be missing.
const HEADER: &str =
    "From To Subject Date Message-ID In-Reply-To? References? Auto-Submitted MIME-Version Content-Type";
const MESSAGE: &str = "Reporting-MTA Original-Envelope-Id? Arrival-Date";
const RECIPIENT: &str = "Original-Recipient? Final-Recipient Action Status Remote-MTA? Diagnostic-Code Last-Attempt-Date? \
                         Final-Log-ID Will-Retry-Until?";
/// What CPython makes of reports: for each its faults, the types of its parts, the fields of each block of the second.
const PYTHON: &str = r#"
import base64, email, email.policy, json, sys
told = []
for octets in json.load(sys.stdin):
    message = email.message_from_bytes(base64.b64decode(octets), policy=email.policy.default)
    parts = message.get_payload()
    faults = [repr(fault) for part in message.walk() for fault in part.defects]
    faults += [repr(fault) for value in message.values() for fault in getattr(value, "defects", [])]
    told.append({
        "faults": faults,
        "types": [message.get_content_type()] + [part.get_content_type() for part in parts],
        "to": str(message["To"]), "subject": str(message["Subject"]),
        "blocks": [[list(field) for field in block.items()] for block in parts[1].get_payload()],
        "text": parts[0].get_content(),
    })
json.dump(told, sys.stdout)
"#;

/// All that a report is made of, with nothing borrowed.
#[derive(Clone, Debug)]
struct Made {
    kind: Kind,
    hostname: String,
    from: Address,
    to: Address,
    envelope_id: Option<String>,
    head: Raw,
    entries: Vec<Entry>,
}

impl Made {
    fn build(&self) -> Bytes {
        let head = Bytes::copy_from_slice(&self.head.0);
        let original = Original {
            id: Id::nil(),
            arrival: time(0),
            envelope_id: self.envelope_id.as_deref(),
            head: &head,
            whole: None,
        };
        Report {
            kind: self.kind,
            id: Id::nil(),
            hostname: &self.hostname,
            from: &self.from,
            to: &self.to,
            time: time(5 * 86_400),
            original,
            entries: &self.entries,
        }
        .build()
    }
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_312_839_034 + seconds).unwrap()
}

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

fn entry(recipient: &str, reply: &str) -> Entry {
    let (code, rest) = reply.split_once(' ').unwrap();
    let (enhanced, text) = rest.split_once(' ').unwrap();
    // 250 is none that a rule may write, so it is not read from text.
    let digits: Vec<u16> = enhanced.split('.').map(|digits| digits.parse().unwrap()).collect();
    let enhanced = Enhanced(u8::try_from(digits[0]).unwrap(), digits[1], digits[2]);
    Entry {
        recipient: address(recipient),
        original: None,
        reply: Reply::new(code.parse().unwrap(), enhanced, text),
        remote_mta: None,
        last_attempt: Some(time(4 * 86_400)),
    }
}

fn plain(kind: Kind, entries: Vec<Entry>) -> Made {
    let head = "Received: from app.example.com ([192.0.2.7]) by relay.example.com with ESMTP id 1;\r\n\
                \tMon, 08 Aug 2011 17:30:34 -0400\r\nFrom: Alice <alice@example.com>\r\nTo: bob@example.net\r\n\
                Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= from Cologne\r\nDate: Mon, 08 Aug 2011 17:30:34 -0400\r\n\
                Message-ID: <1.2@app.example.com>\r\n";
    Made {
        kind,
        hostname: "relay.example.com".to_owned(),
        from: address("postmaster@example.com"),
        to: address("alice@example.com"),
        envelope_id: None,
        head: Raw(head.into()),
        entries,
    }
}

fn failed() -> Made {
    const UNVERIFIED: &str = "554 5.7.1 SES: Email address is not verified. The following identities failed the check in \
                              region EU-WEST-1: alice@example.com";
    let mut carol = entry("carol@example.net", UNVERIFIED);
    carol.original = Some("rfc822;team@example.com".to_owned());
    let dave = entry("\"dave d\"@example.net", "553 5.1.3 SES: Local address contains control or whitespace");
    let erin = entry("erin@example.net", "454 4.3.2 SES: Maximum sending rate exceeded.");
    let entries = vec![entry("bob@example.net", UNVERIFIED), dave, carol, erin];
    Made { envelope_id: Some("QQ314159".to_owned()), ..plain(Kind::Failed, entries) }
}

fn delayed() -> Made {
    let bob = entry("bob@example.net", "454 4.7.0 SES: Daily message quota exceeded.");
    let latin = [plain(Kind::Relayed, vec![]).head.0, b"X-Latin: na\xefve = caf\xe9\r\n".to_vec()].concat();
    Made { head: Raw(latin), ..plain(Kind::Delayed { until: time(6 * 86_400) }, vec![bob]) }
}

fn relayed() -> Made {
    let bob = entry("bob@example.net", "250 2.0.0 Ok 0102018c-1");
    let mut carol = entry("carol@example.net", "250 2.0.0 queued as 4F2");
    carol.remote_mta = Some("mx.example.net".to_owned());
    plain(Kind::Relayed, vec![bob, carol])
}

#[test]
fn reports_of_each_kind_are_as_they_are_kept() {
    let mut differ = Vec::new();
    for (name, made) in [("failed", failed()), ("delayed", delayed()), ("relayed", relayed())] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/bounce/{name}.eml"));
        let report = made.build();
        if fs::read(&path).is_ok_and(|kept| kept == report) {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &report).unwrap();
        } else {
            differ.push(format!("{}:\n{}", path.display(), octets::shown(&report)));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Whether names are those of a pattern such as [`HEADER`], in its order.
fn are<T: AsRef<str>>(names: &[T], pattern: &str) -> bool {
    let mut names = names.iter().map(AsRef::as_ref).peekable();
    let fits = pattern.split(' ').all(|wanted| match wanted.strip_suffix('?') {
        Some(perhaps) => {
            names.next_if_eq(&perhaps);
            true
        }
        None => names.next() == Some(wanted),
    });
    fits && names.next().is_none()
}

fn field_names(head: &[u8]) -> Vec<String> {
    let name =
        |field: Vec<u8>| String::from_utf8_lossy(field.split(|octet| *octet == b':').next().unwrap()).into_owned();
    octets::fields(head).into_iter().map(name).collect()
}

/// All that has to hold of a report.
fn holds(made: &Made) -> Result<(), TestCaseError> {
    let report = made.build();
    prop_assert_eq!(&report, &made.build());
    prop_assert!(report.is_ascii() && octets::with_crlf(&report) == report, "{}", octets::shown(&report));
    prop_assert!(report.split(|octet| *octet == b'\n').all(|line| line.len() <= 999));
    let names = field_names(octets::split(&report).0);
    prop_assert!(are(&names, HEADER), "{:?}", names);
    parts_hold(made, &report)?;
    let message = header::split(&report);
    let findings = lint(&Envelope { recipients: vec![made.to.clone()], ..Envelope::default() }, &message);
    prop_assert!(findings.is_empty(), "{:?}\n{}", findings, octets::shown(&report));
    let call = Call { to: vec![made.to.to_string()], raw: report.clone(), ..Call::default() };
    let objection = judge(Profile::Today, &call);
    prop_assert!(objection.is_none(), "{:?}\n{}", objection, octets::shown(&report));
    let ruled = Door::of(TODAY).ruled(&report).map(|ruled| octets::shown(&ruled));
    prop_assert_eq!(ruled, Some(octets::shown(&report)), "the rules change it");
    Ok(())
}

fn parts_hold(made: &Made, report: &[u8]) -> Result<(), TestCaseError> {
    let message = MessageParser::default().parse(report).unwrap();
    let kind = |part: &mail_parser::MessagePart<'_>| {
        let kind = part.content_type().unwrap();
        format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default())
    };
    let kinds: Vec<String> = message.parts.iter().map(kind).collect();
    prop_assert_eq!(kinds, ["multipart/report", "text/plain", "message/delivery-status", "text/rfc822-headers"]);
    prop_assert_eq!(message.content_type().unwrap().attribute("report-type"), Some("delivery-status"));
    let body = |at: usize| match &message.parts[at].body {
        PartType::Text(text) => text.as_bytes().to_vec(),
        PartType::Binary(octets) | PartType::InlineBinary(octets) => octets.to_vec(),
        other => panic!("{other:?}"),
    };
    let status = String::from_utf8(body(2)).unwrap();
    let blocks: Vec<&str> = status.trim_end().split("\r\n\r\n").collect();
    prop_assert_eq!(blocks.len(), made.entries.len() + 1, "{}", status);
    for (at, block) in blocks.iter().enumerate() {
        let names = field_names(format!("{block}\r\n").as_bytes());
        prop_assert!(are(&names, if at == 0 { MESSAGE } else { RECIPIENT }), "{:?}", names);
    }
    let head = octets::with_crlf(&made.head.0);
    let mut head = octets::split(&head).0.to_vec();
    if !head.is_empty() && !head.ends_with(b"\n") {
        head.extend_from_slice(b"\r\n");
    }
    let start = message.parts[3].raw_body_offset() as usize;
    let shown = &report[start..message.parts[3].raw_end_offset() as usize];
    let encoded = message.parts[3].content_transfer_encoding() == Some("quoted-printable");
    let shown = if encoded {
        mail_parser::decoders::quoted_printable::quoted_printable_decode(shown).unwrap()
    } else {
        shown.to_vec()
    };
    prop_assert_eq!(octets::shown(&shown), octets::shown(&head));
    Ok(())
}

fn addresses() -> impl Strategy<Value = Address> {
    let local = prop_oneof!["[a-z!#$%&'*+/=?^_`{|}~-]{1,20}", "\"([ !#-\\[\\]-~]|\\\\[ -~]){1,25}\"", "[a-z]{64}"];
    let domain = prop_oneof!["[a-z]{1,9}\\.example", "([a-z]{60}\\.){4}com", Just("[192.0.2.1]".to_owned())];
    (local, domain).prop_filter_map("an address", |(local, domain)| Address::from_parts(&local, &domain).ok())
}

/// A text in which line ends, boundaries and fields are frequent.
fn texts() -> impl Strategy<Value = String> {
    let telling = prop::sample::select(vec![
        "\r\n",
        "\n",
        "\r",
        "\r\n\r\n",
        "--report-00000000000000000000000000",
        "--",
        "Action: delivered",
        "=?utf-8?q?=0D=0A?=",
        " ",
        "\u{2028}",
        "\u{202e}",
        "é",
        "日本",
        "\0",
        ";",
        "not verified",
        "quota",
    ]);
    let piece = prop_oneof![3 => telling.prop_map(str::to_owned), 2 => any::<String>(), 1 => "[a-z]{1,200}", 1 => "[!-~]{1,2000}"];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn entries() -> impl Strategy<Value = Entry> {
    let reply = (200_u16..600, (0_u8..10, 0_u16..9, 0_u16..1000), texts(), any::<bool>()).prop_map(
        |(code, enhanced, text, plain)| {
            if plain {
                Reply::plain(code, [text])
            } else {
                Reply::new(code, Enhanced(enhanced.0, enhanced.1, enhanced.2), &text)
            }
        },
    );
    let original = option::of(prop_oneof![texts(), texts().prop_map(|text| format!("rfc822;{text}"))]);
    (addresses(), original, reply, option::of(texts()), option::of(-99_i64..9999)).prop_map(
        |(recipient, original, reply, remote_mta, last)| Entry {
            recipient,
            original,
            reply,
            remote_mta,
            last_attempt: last.map(time),
        },
    )
}

/// A report of anything; the header has fewer octets than are shown at most.
fn reports() -> impl Strategy<Value = Made> {
    let kind = prop::sample::select(vec![Kind::Failed, Kind::Delayed { until: time(9) }, Kind::Relayed]);
    let subject = texts().prop_map(|text| Raw(format!("Subject: {text}\r\nMessage-ID: <{text}@x>\r\n").into_bytes()));
    let head = prop_oneof![arbitrary(), plausible(), subject];
    let host = prop_oneof![Just("relay.example.com".to_owned()), texts()];
    // What the settings name, SES has verified.
    let settings = option::of(Just(address("bounces@example.com")));
    (kind, host, (settings, addresses()), option::of(texts()), head, vec(entries(), 0..4)).prop_map(
        |(kind, hostname, (settings, to), envelope_id, head, entries)| {
            let from = sender_of(settings.as_ref(), &to, &hostname);
            Made { kind, hostname, from, to, envelope_id, head, entries }
        },
    )
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn a_report_is_well_formed_whatever_it_tells(made in reports()) {
        holds(&made)?;
    }
}

#[test]
fn a_report_of_a_thousand_recipients_names_all_and_stays_small() {
    let reply = |number: usize| format!("554 5.6.0 SES: refused for reason {number} {}", "which is long ".repeat(500));
    let entries: Vec<Entry> =
        (0..1000).map(|number| entry(&format!("r{number}@example.net"), &reply(number))).collect();
    let made = plain(Kind::Failed, entries);
    holds(&made).unwrap();
    let report = String::from_utf8(made.build().to_vec()).unwrap();
    assert!(report.len() < 2_000_000, "{}", report.len());
    assert!(report.contains("rfc822; r999@example.net"));
    let (text, _) = report.split_once("message/delivery-status").unwrap();
    assert!(text.contains("<r49@example.net>") && !text.contains("<r50@example.net>"));
    assert!(text.contains("And 950 more recipients"));
}

#[test]
fn a_report_of_one_more_than_are_named_counts_it() {
    let entries = (0..51).map(|number| entry(&format!("r{number}@example.net"), "554 5.6.0 no")).collect();
    let report = String::from_utf8(plain(Kind::Failed, entries).build().to_vec()).unwrap();
    assert!(report.contains("And 1 more recipient; "), "{report}");
}

#[test]
fn cpython_reads_every_report_as_one() {
    let mut runner = TestRunner::deterministic();
    let mut all = vec![failed(), delayed(), relayed()];
    all.extend((0..100).map(|_| reports().new_tree(&mut runner).unwrap().current()));
    let told = python(&all.iter().map(Made::build).collect::<Vec<_>>());
    assert_eq!(told.len(), all.len());
    for (made, told) in all.iter().zip(&told) {
        let report = made.build();
        assert_eq!(told["faults"], serde_json::json!([]), "{}", octets::shown(&report));
        let types = ["multipart/report", "text/plain", "message/delivery-status", "text/rfc822-headers"];
        assert_eq!(told["types"], serde_json::json!(types));
        assert_eq!(told["blocks"].as_array().unwrap().len(), made.entries.len() + 1);
    }
    let blocks = &told[0]["blocks"];
    assert_eq!(blocks[0][0], serde_json::json!(["Reporting-MTA", "dns; relay.example.com"]));
    assert_eq!(blocks[0][1], serde_json::json!(["Original-Envelope-Id", "QQ314159"]));
    assert_eq!(blocks[3][0], serde_json::json!(["Original-Recipient", "rfc822; team@example.com"]));
    assert_eq!(blocks[3][1], serde_json::json!(["Final-Recipient", "rfc822; carol@example.net"]));
    assert_eq!(
        (&told[0]["to"], &told[0]["subject"]),
        (&"alice@example.com".into(), &"Delivery Status Notification (Failure)".into())
    );
    assert!(told[0]["text"].as_str().unwrap().contains("Subject: Grüße from Cologne"));
}

fn python(reports: &[Bytes]) -> Vec<serde_json::Value> {
    let encoded: Vec<String> = reports.iter().map(|report| BASE64_STANDARD.encode(report)).collect();
    let mut command = Command::new("python3");
    let mut child = command.args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&serde_json::to_vec(&encoded).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
