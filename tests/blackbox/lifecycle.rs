//! Start and end: what a gateway says when it cannot start, and what becomes of sessions, mail and log lines when it is
//! told to stop, to reopen its log, or when the disk is full.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    fake_ses::{Answer, Call, FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, disk::Disk, wait_until},
    smtp::{Reply, Smtp, stuffed},
};

const MAIL: &[u8] = b"From: a@example.com\r\nSubject: hello\r\n\r\nhi\r\n";
/// EX_UNAVAILABLE of sysexits.h.
const UNAVAILABLE: i32 = 69;
const SHORT_DRAIN: &str = "[delivery]\ndrain = \"1s\"\n";

fn submit(client: &mut Smtp) -> Reply {
    client.submit("a@example.com", &["b@example.net"], MAIL)
}

/// A session that waits for the reply to its data, which SES keeps back.
fn in_flight(fake: &FakeSes, port: u16) -> thread::JoinHandle<(Reply, Reply)> {
    fake.script([Answer::Hang]);
    let mut client = Smtp::ready(port);
    let session = thread::spawn(move || (submit(&mut client), client.reply()));
    assert!(fake.wait_for_calls(1, PATIENCE));
    session
}

#[test]
fn at_sigterm_an_idle_session_is_told_so_and_the_gateway_ends_well() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::with_ses(&fake.endpoint());
    let (mut greeted, mut silent) = (Smtp::ready(gateway.port()), Smtp::connect(gateway.port()));
    gateway.signal("TERM");
    for client in [&mut greeted, &mut silent] {
        let reply = client.reply();
        assert_eq!((reply.code, reply.text.starts_with("4.3.2 ")), (421, true), "{reply:?}");
        assert!(client.closed());
    }
    assert_eq!(gateway.wait_for_end().code(), Some(0));
    assert_eq!(gateway.log(), "");
}

#[test]
fn at_sigterm_a_mail_under_way_is_finished_and_its_client_hears_250() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::with_ses(&fake.endpoint());
    let session = in_flight(&fake, gateway.port());
    gateway.signal("TERM");
    assert!(wait_until(PATIENCE, || gateway.page("/readyz").0 == 503), "a load balancer is told");
    assert!(wait_until(PATIENCE, || TcpStream::connect((Ipv4Addr::LOCALHOST, gateway.port())).is_err()));
    assert!(gateway.runs());
    fake.release();
    let (reply, farewell) = session.join().unwrap();
    assert_eq!(reply.code, 250, "{reply:?}");
    assert_eq!((farewell.code, farewell.text.starts_with("4.3.2 ")), (421, true), "{farewell:?}");
    assert_eq!(gateway.wait_for_end().code(), Some(0));
    let records = gateway.records("message", 1);
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(record["outcome"], "delivered");
    assert_eq!(record["ses_id"].as_str(), fake.accepted()[0].message_id());
}

#[test]
fn at_sigterm_a_transaction_that_has_begun_may_be_finished() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::with_ses(&fake.endpoint());
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250);
    gateway.signal("TERM");
    assert!(wait_until(PATIENCE, || gateway.page("/readyz").0 == 503));
    assert_eq!(client.command("RCPT TO:<b@example.net>").code, 250);
    assert_eq!(client.command("DATA").code, 354);
    client.send(&stuffed(MAIL));
    assert_eq!(client.reply().code, 250);
    assert_eq!(client.reply().code, 421);
    assert_eq!(gateway.wait_for_end().code(), Some(0));
    assert_eq!(gateway.records("message", 1)[0]["outcome"], "delivered");
}

#[test]
fn after_drain_a_client_in_mid_transaction_is_told_and_its_line_says_aborted() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::start(&format!("{BASE}{}{SHORT_DRAIN}", ses(&fake.endpoint())));
    let (mut in_data, mut in_rcpt) = (Smtp::ready(gateway.port()), Smtp::ready(gateway.port()));
    for client in [&mut in_data, &mut in_rcpt] {
        assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250);
        assert_eq!(client.command("RCPT TO:<b@example.net>").code, 250);
    }
    assert_eq!(in_data.command("DATA").code, 354);
    in_data.send(b"From: a@example.com\r\n\r\nthe first half");
    gateway.signal("TERM");
    for client in [&mut in_data, &mut in_rcpt] {
        let reply = client.reply();
        assert_eq!((reply.code, reply.text.starts_with("4.3.2 ")), (421, true), "{reply:?}");
        assert!(client.closed());
    }
    assert_eq!(gateway.wait_for_end().code(), Some(0));
    let outcomes: Vec<Value> = gateway.records("message", 2).iter().map(|record| record["outcome"].clone()).collect();
    assert_eq!(outcomes, ["aborted", "aborted"]);
    assert_eq!(fake.counts().received, 0);
}

#[test]
fn after_drain_a_mail_without_an_answer_is_doubtful_and_its_client_keeps_it() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::start(&format!("{BASE}{}{SHORT_DRAIN}", ses(&fake.endpoint())));
    let session = in_flight(&fake, gateway.port());
    gateway.signal("TERM");
    let (reply, _) = session.join().unwrap();
    assert_eq!((reply.code, reply.text.starts_with("4.4.2 ")), (451, true), "{reply:?}");
    assert_eq!(gateway.wait_for_end().code(), Some(0));
    let records = gateway.records("message", 1);
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(record["outcome"], "deferred");
    assert!(record["reason"].as_str().unwrap().contains("ambiguous"), "{record}");
}

#[test]
fn after_drain_a_client_that_reads_no_replies_has_its_aborted_line_too() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::start(&format!("{BASE}{}{SHORT_DRAIN}", ses(&fake.endpoint())));
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250);
    let mut writer = client.writer();
    writer.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    while writer.write_all(&b"NOOP\r\n".repeat(1000)).is_ok() {}
    gateway.signal("TERM");
    assert_eq!(gateway.wait_for_end().code(), Some(0));
    let records = gateway.records("message", 1);
    assert_eq!(records.iter().map(|record| &record["outcome"]).collect::<Vec<_>>(), ["aborted"]);
}

#[test]
fn after_drain_a_client_that_never_pauses_has_its_aborted_line_too() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::start(&format!("{BASE}{}{SHORT_DRAIN}", ses(&fake.endpoint())));
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250);
    let mut writer = client.writer();
    let flood = thread::spawn(move || while writer.write_all(&b"NOOP\r\n".repeat(1000)).is_ok() {});
    let heard = thread::spawn(move || client.rest());
    gateway.signal("TERM");
    assert_eq!(gateway.wait_for_end().code(), Some(0));
    flood.join().unwrap();
    // Whether it still hears 421 is up to TCP: a socket closed over unread data drops what is not sent yet.
    heard.join().unwrap();
    let records = gateway.records("message", 1);
    assert_eq!(records.iter().map(|record| &record["outcome"]).collect::<Vec<_>>(), ["aborted"]);
}

#[test]
fn sighup_opens_a_renamed_log_anew_and_loses_no_line() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::with_ses(&fake.endpoint());
    let (log, rotated) = (gateway.path("access.log"), gateway.path("access.log.1"));
    let port = gateway.port();
    let sender = thread::spawn(move || {
        let mut client = Smtp::ready(port);
        (0..200).for_each(|_| assert_eq!(submit(&mut client).code, 250));
    });
    assert!(fake.wait_for_accepted(20, PATIENCE));
    fs::rename(&log, &rotated).unwrap();
    gateway.signal("HUP");
    assert!(wait_until(PATIENCE, || log.exists()), "{}", gateway.stderr());
    sender.join().unwrap();
    let old = fs::read_to_string(&rotated).unwrap();
    assert_eq!(submit(&mut Smtp::ready(port)).code, 250);
    assert_eq!(gateway.stop().code(), Some(0));

    let new = fs::read_to_string(&log).unwrap();
    assert_eq!(fs::read_to_string(&rotated).unwrap(), old, "the old file is let go");
    let lines: Vec<&str> = old.lines().chain(new.lines()).collect();
    let logged: BTreeSet<String> = lines.iter().map(|line| id(line)).collect();
    assert_eq!(lines.len(), 201);
    assert_eq!(logged, fake.accepted().iter().filter_map(log_id).collect());
    let last = fake.accepted().last().and_then(log_id).unwrap();
    assert!(new.contains(&last) && !old.is_empty());
}

#[test]
fn a_log_that_cannot_be_opened_anew_stays_open_and_no_line_counts_as_lost() {
    let fake = FakeSes::start(Profile::Today);
    let disk = tempfile::tempdir().unwrap();
    let (here, away) = (disk.path().join("logs"), disk.path().join("away"));
    fs::create_dir(&here).unwrap();
    let settings = BASE.replace("access.log", &here.join("access.log").display().to_string());
    let mut gateway = Gateway::start(&format!("{settings}{}", ses(&fake.endpoint())));
    fs::rename(&here, &away).unwrap();
    gateway.signal("HUP");
    assert!(wait_until(PATIENCE, || gateway.stderr().contains("cannot be opened anew")), "{}", gateway.stderr());
    assert_eq!(submit(&mut Smtp::ready(gateway.port())).code, 250);
    assert_eq!(gateway.metric("headgate_log_lines_lost_total"), 0);
    assert_eq!(gateway.stop().code(), Some(0));
    assert_eq!(fs::read_to_string(away.join("access.log")).unwrap().lines().count(), 1);
}

#[test]
fn a_log_that_cannot_be_written_alarms_and_counts_and_stops_no_mail() {
    let fake = FakeSes::start(Profile::Today);
    let settings = BASE.replace("\"access.log\"", "\"/dev/full\"");
    let gateway = Gateway::start(&format!("{settings}{}", ses(&fake.endpoint())));
    let mut client = Smtp::ready(gateway.port());
    for _ in 0..3 {
        assert_eq!(submit(&mut client).code, 250);
    }
    assert_eq!(fake.counts().accepted, 3);
    assert!(wait_until(PATIENCE, || gateway.metric("headgate_log_lines_lost_total") == 3), "{}", gateway.stderr());
    let alarms = gateway.stderr();
    let alarms: Vec<&str> = alarms.lines().filter(|line| line.contains("the access log cannot be written")).collect();
    assert!(alarms.len() == 3 && alarms.iter().all(|line| line.contains("No space left")), "{alarms:?}");
    for call in fake.accepted() {
        assert!(alarms.iter().any(|line| line.contains(&log_id(&call).unwrap())), "the lost line is in the alarm");
    }
}

#[test]
fn after_a_full_disk_every_line_of_the_log_is_whole() {
    let fake = FakeSes::start(Profile::Today);
    let disk = Disk::mount("8k");
    let (log, ballast) = (disk.path().join("access.log"), disk.path().join("ballast"));
    fs::write(&ballast, [0; 4096]).unwrap();
    let settings = BASE.replace("access.log", &log.display().to_string());
    let mut gateway = Gateway::start(&format!("{settings}{}", ses(&fake.endpoint())));
    let mut client = Smtp::ready(gateway.port());
    let lost = |gateway: &Gateway| gateway.metric("headgate_log_lines_lost_total");
    let full = (0..50).any(|_| {
        assert_eq!(submit(&mut client).code, 250);
        lost(&gateway) > 0
    });
    assert!(full, "{}", gateway.log());
    fs::remove_file(&ballast).unwrap();
    assert_eq!(submit(&mut client).code, 250);
    drop(client);
    let written = || fs::read_to_string(&log).unwrap();
    let last = fake.accepted().last().and_then(log_id).unwrap();
    assert!(wait_until(PATIENCE, || written().contains(&last)), "{}", gateway.stderr());
    let expected = fake.counts().accepted - lost(&gateway);
    assert_eq!(gateway.stop().code(), Some(0));

    let whole = written().lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    assert_eq!(whole as u64, expected, "{}", written());
}

#[test]
fn behind_a_line_that_a_crash_cut_the_next_one_is_whole() {
    let fake = FakeSes::start(Profile::Today);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    fs::write(&log, "{\"event\":\"message\",\"ti").unwrap();
    let settings = BASE.replace("access.log", &log.display().to_string());
    let mut gateway = Gateway::start(&format!("{settings}{}", ses(&fake.endpoint())));
    assert_eq!(submit(&mut Smtp::ready(gateway.port())).code, 250);
    assert_eq!(gateway.stop().code(), Some(0));
    let written = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert!(lines.len() == 2 && id(lines[1]) == log_id(&fake.accepted()[0]).unwrap(), "{written}");
}

#[test]
fn a_port_that_is_taken_is_named_and_nothing_is_opened() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let second = format!("[[listener]]\nname = \"second\"\naddress = \"{address}\"\n");
    let http = BASE.replace("127.0.0.1:{http}", &address.to_string());
    for (settings, message) in [
        (format!("{BASE}{second}"), format!("listener second: cannot listen on {address}: Address already in use")),
        (http, format!("http: cannot listen on {address}: Address already in use")),
    ] {
        let outbox = "[[upstream]]\nname = \"out\"\nkind = \"outbox\"\npath = \"outbox\"\n";
        assert_fails(&format!("{settings}{outbox}"), &message);
    }
    taken.set_nonblocking(true).unwrap();
    assert!(taken.accept().is_err(), "nobody knocked at the port of another");
}

#[test]
fn a_log_that_cannot_be_opened_is_named() {
    let outbox = "[[upstream]]\nname = \"out\"\nkind = \"outbox\"\npath = \"outbox\"\n";
    let below_a_file = BASE.replace("access.log", "headgate.toml/access.log");
    let message = "access_log.output: cannot append to {folder}/headgate.toml/access.log: Not a directory";
    assert_fails(&format!("{below_a_file}{outbox}"), message);
}

#[test]
fn an_outbox_that_cannot_be_made_is_named() {
    let outbox = "[[upstream]]\nname = \"out\"\nkind = \"outbox\"\npath = \"headgate.toml/mail\"\n";
    let message = "upstream out: cannot make the Maildir {folder}/headgate.toml/mail: Not a directory";
    assert_fails(&format!("{BASE}{outbox}"), message);
}

/// The gateway ends with [`UNAVAILABLE`] and this message, and has not begun to listen.
fn assert_fails(settings: &str, message: &str) {
    let mut gateway = Gateway::launch(settings);
    assert_eq!(gateway.wait_for_end().code(), Some(UNAVAILABLE), "{}", gateway.stderr());
    let said = gateway.stderr();
    assert!(said.contains(&message.replace("{folder}", &gateway.folder().display().to_string())), "{said}");
    assert!(said.lines().count() == 1 && !said.contains("panicked"), "{said}");
    for port in [gateway.port(), gateway.http_port()] {
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
    }
}

/// The id by which the log names the message of a call.
fn log_id(call: &Call) -> Option<String> {
    call.tag("headgate-id").map(str::to_owned)
}

fn id(line: &str) -> String {
    let record: Value = serde_json::from_str(line).unwrap();
    record["id"].as_str().unwrap().to_owned()
}
