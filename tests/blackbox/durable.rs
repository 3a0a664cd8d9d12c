//! What a 250 promises, seen from outside: the system calls of the gateway, in their order.
//!
//! A kill proves that what was written survives the process. That it survives the machine is shown by the order: what
//! holds the message is synced, and so are the folders that name it, before the reply leaves.

use std::{
    collections::HashMap,
    fs,
    process::{Command, Stdio},
};

use crate::{
    fake_ses::Answer,
    gateway::{BASE, Gateway, ses},
    parties::{Guard, PATIENCE, wait_until},
    queue::{QUEUE, wide_open},
    smtp::Smtp,
};

/// One system call that ended well, in the order in which they ended. A call that takes effect is listed when it ends,
/// one that tells the client when it begins.
#[derive(Debug)]
struct Event {
    name: String,
    text: String,
}

/// Reads `strace -f -y`. A call that another thread interrupts stands in two lines: its beginning and its end.
fn events(trace: &str) -> Vec<Event> {
    let mut begun: HashMap<&str, String> = HashMap::new();
    let mut events = Vec::new();
    for line in trace.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let whole = if let Some(start) = rest.strip_suffix("<unfinished ...>") {
            let name = start.split('(').next().unwrap_or_default();
            if name.starts_with("send") || name == "write" {
                events.push(Event { name: "begins".to_owned(), text: start.to_owned() });
            }
            begun.insert(thread, start.to_owned());
            continue;
        } else if rest.starts_with("<... ") {
            let end = rest.split_once("resumed>").map_or("", |(_, end)| end);
            begun.remove(thread).unwrap_or_default() + end
        } else {
            rest.to_owned()
        };
        let name = whole.split('(').next().unwrap_or_default().to_owned();
        events.push(Event { name, text: whole });
    }
    events
}

/// Where the first event behind a place stands that is of one of these calls and holds all of these words.
fn find(events: &[Event], from: usize, names: &[&str], words: &[&str]) -> usize {
    let is = |event: &Event| names.contains(&event.name.as_str()) && words.iter().all(|word| event.text.contains(word));
    let behind = events.iter().skip(from).position(is);
    from + behind.unwrap_or_else(|| panic!("no {names:?} with {words:?} behind {from}"))
}

const WRITES: &[&str] = &["write", "pwrite64", "writev"];
const SYNCS: &[&str] = &["fdatasync", "fsync"];
const TELLS: &[&str] = &["begins", "sendto", "write", "sendmsg"];

/// Holds the order of one message's calls: its octets in the log, the sync of that, and then the reply.
fn holds(events: &[Event], mark: &str, id: &str) {
    let logged = find(events, 0, WRITES, &["headgate.db-wal>", mark]);
    let synced = find(events, logged, SYNCS, &["headgate.db-wal>", " = 0"]);
    let told = find(events, 0, TELLS, &["250 2.0.0 Ok queued", id]);
    assert!(synced < told, "{mark}: {logged} {synced} {told}");
}

#[test]
fn each_250_follows_the_sync_of_the_log_the_file_and_its_folder() {
    let fake = wide_open();
    fake.otherwise(Answer::Throttle);
    let mut gateway = Gateway::start(&format!("{BASE}{QUEUE}{}", ses(&fake.endpoint())));
    let output = gateway.path("trace");
    let calls = "trace=write,pwrite64,writev,sendto,sendmsg,fsync,fdatasync,rename,renameat,renameat2";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "100000", "-e", calls, "-o"]).arg(&output).args(["-p", &gateway.pid().to_string()]);
    let mut tracer = Guard::spawn(strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut client = Smtp::ready(gateway.port());
    let traced = || fs::read_to_string(&output).unwrap_or_default();
    assert!(wait_until(PATIENCE, || {
        client.command("NOOP");
        traced().contains("250 2.0.0 Ok")
    }));
    let mut taken = Vec::new();
    for number in 0..8 {
        let mark = format!("MARK{number}MARK");
        let large = number % 4 == 3;
        let body = if large { "large body\r\n".repeat(30_000) } else { "hi\r\n".to_owned() };
        let mail = format!("From: a@example.com\r\nSubject: {mark}\r\n\r\n{body}");
        let reply = client.submit("a@example.com", &[&format!("r{number}@example.com")], mail.as_bytes());
        assert_eq!(reply.code, 250, "{reply:?}");
        let id = reply.text.split("(id ").nth(1).unwrap().trim_end_matches(')').to_owned();
        taken.push((mark, id, large));
    }
    assert_eq!(gateway.stop().code(), Some(0));
    assert!(wait_until(PATIENCE, || tracer.ended().is_some()));
    let events = events(&traced());
    for (mark, id, large) in taken {
        holds(&events, &mark, &id);
        if large {
            let body = format!("headgate.db.bodies/{id}.new>");
            let written = find(&events, 0, WRITES, &[&body]);
            let synced = find(&events, written, SYNCS, &[&body, " = 0"]);
            let renamed = find(&events, synced, &["rename", "renameat", "renameat2"], &[&id]);
            let named = find(&events, renamed, SYNCS, &["headgate.db.bodies>", " = 0"]);
            let logged = find(&events, 0, WRITES, &["headgate.db-wal>", &mark]);
            assert!(named < logged, "the row is written before its file is durable: {named} {logged}");
        }
    }
}
