//! Dialogues: what a client says, what it hears, what SES gets and what the log tells. `fixtures/smtp/*.smtp`, read line
//! by line:
//!
//! ```text
//! # remark
//! set: KEY=VALUE         a setting, as --set takes it; {fixtures} is their folder
//! rule: LINE             a line of a rule file that runs before builtin:ses
//! first: TEXT            the client sends this and CRLF at once, before it hears anything
//! C: TEXT                the client sends this and CRLF; C: lines behind one another leave in one write
//! C*3: TEXT              the same three times; {n} is 1, 2, 3
//! S: TEXT                the next line that the client hears, code and all
//! S*3: TEXT              the same three times
//! S: (closed)            the server has closed the connection
//! tls:                   the client does the handshake, and goes on within TLS
//! mail: FROM -> A, B     SES accepted a mail for A and B with FROM as its return path (- for none)
//! log: EVENT CODE WORD   a line of the access log: its event, status and outcome
//! | TEXT                 below mail: a line of the mail, with CRLF; below log: FIELD: VALUE, one that the line has
//! | …                    below mail: any number of lines
//! ```
//!
//! A `\` at the end of a line of the client or of a mail means that no CRLF is there. Escapes and repetitions are those
//! of [`crate::fixtures::octets`], places for ids and times those of [`crate::pattern`]. A dialogue that begins with a
//! `C:` begins behind the greeting and `EHLO client.example.org`. All mails and all log lines are told, in their order.

use std::{
    fs, panic,
    sync::{Mutex, atomic::AtomicUsize, atomic::Ordering},
    thread,
};

use serde_json::Value;

use crate::{
    fake_ses::{Call, FakeSes, Profile},
    fixtures::{Differences, folder, names, octets, shown},
    gateway::{BASE, Gateway, ses},
    pattern::Known,
    smtp::Smtp,
};

#[derive(Debug)]
enum Step {
    First(Vec<u8>),
    Send(Vec<u8>),
    Hear(String),
    Tls,
    Closed,
}

/// A mail or a log line: what stands behind the colon, and the lines below.
struct Block {
    head: String,
    lines: Vec<String>,
}

#[derive(Default)]
struct Dialogue {
    set: Vec<String>,
    rules: String,
    steps: Vec<Step>,
    mails: Vec<Block>,
    log: Vec<Block>,
}

impl Dialogue {
    fn read(text: &str) -> Result<Self, String> {
        let mut dialogue = Self::default();
        let mut in_log = false;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (key, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
            let (key, times) = counted(key).ok_or(line)?;
            match key {
                "set" => dialogue.set.push(rest.replace("{fixtures}", &folder("").display().to_string())),
                "first" => {
                    let (text, cut) = unended(rest);
                    dialogue
                        .steps
                        .push(Step::First([octets(text), if cut { vec![] } else { b"\r\n".to_vec() }].concat()));
                }
                "tls" => dialogue.steps.push(Step::Tls),
                "rule" => dialogue.rules += &format!("{rest}\n"),
                "C" => (1..=times).for_each(|n| dialogue.send(&rest.replace("{n}", &n.to_string()))),
                "S" if rest == "(closed)" => dialogue.steps.push(Step::Closed),
                "S" => dialogue.steps.extend((0..times).map(|_| Step::Hear(String::from_utf8(octets(rest)).unwrap()))),
                "mail" | "log" => {
                    in_log = key == "log";
                    let blocks = if in_log { &mut dialogue.log } else { &mut dialogue.mails };
                    blocks.push(Block { head: rest.trim().to_owned(), lines: Vec::new() });
                }
                "|" => {
                    let blocks = if in_log { &mut dialogue.log } else { &mut dialogue.mails };
                    blocks.last_mut().ok_or(line)?.lines.push(rest.to_owned());
                }
                _ => return Err(format!("not of the format: {line}")),
            }
        }
        Ok(dialogue)
    }

    fn send(&mut self, line: &str) {
        let (text, cut) = unended(line);
        let mut piece = octets(text);
        piece.extend_from_slice(if cut { b"" } else { b"\r\n" });
        match self.steps.last_mut() {
            Some(Step::Send(octets)) => octets.extend(piece),
            _ => self.steps.push(Step::Send(piece)),
        }
    }
}

/// `C*3:` is C, three times.
fn counted(key: &str) -> Option<(&str, usize)> {
    if key == "|" {
        return Some((key, 1));
    }
    let key = key.strip_suffix(':')?;
    key.split_once('*').map_or(Some((key, 1)), |(key, times)| Some((key, times.parse().ok()?)))
}

/// A line without the `\` at its end, and whether there is one that is not itself escaped.
fn unended(line: &str) -> (&str, bool) {
    let slashes = line.len() - line.trim_end_matches('\\').len();
    if slashes % 2 == 1 { (&line[..line.len() - 1], true) } else { (line, false) }
}

/// Plays a dialogue; the first thing that is not as it says.
fn play(text: &str) -> Result<(), String> {
    let mut dialogue = Dialogue::read(text)?;
    let fake = FakeSes::start(Profile::Today);
    let place = tempfile::tempdir().unwrap();
    if !dialogue.rules.is_empty() {
        let rules = place.path().join("rules.toml");
        fs::write(&rules, &dialogue.rules).unwrap();
        dialogue.set.push(format!("rules.files=builtin:rt,{},builtin:ses", rules.display()));
    }
    let mut gateway = Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &dialogue.set);
    let mut known = Known::default();
    let result = talk(gateway.port(), &dialogue.steps, &mut known);
    let ended = gateway.stop();
    result?;
    if ended.code() != Some(0) {
        return Err(format!("it ended with {ended}: {}", gateway.stderr()));
    }
    mails(&dialogue.mails, &fake.calls(), &mut known)?;
    log(&dialogue.log, &gateway.log(), &mut known)
}

fn talk(port: u16, steps: &[Step], known: &mut Known) -> Result<(), String> {
    let speaks_last = matches!(steps.first(), Some(Step::Hear(_) | Step::Tls | Step::First(_)));
    let mut client = if speaks_last { Smtp::silent(port) } else { Smtp::ready(port) };
    let mut last = String::new();
    for step in steps {
        match step {
            Step::First(octets) | Step::Send(octets) => {
                client.send(octets);
                last = shown(octets).chars().take(200).collect();
            }
            Step::Hear(expected) => {
                let line = client.line().unwrap_or_else(|| "(closed)".to_owned());
                if !known.matches(expected, &line) {
                    return Err(format!("behind {last}\n- {expected}\n+ {line}"));
                }
            }
            Step::Tls => {
                client = client.within_tls(&folder("tls/ca.pem")).map_err(|error| format!("behind {last}: {error}"))?;
            }
            Step::Closed => match client.line() {
                None => {}
                Some(line) => return Err(format!("behind {last}\n- (closed)\n+ {line}")),
            },
        }
    }
    match client.leave().as_str() {
        "" => Ok(()),
        rest => Err(format!("the client hears more:\n+ {rest}")),
    }
}

/// The lines of a message as the format writes them.
fn message_lines(message: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = message;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == b"\r\n");
        let (line, tail) = rest.split_at(end.unwrap_or(rest.len()));
        lines.push(shown(line) + if end.is_some() { "" } else { "\\" });
        rest = tail.get(2..).unwrap_or_default();
    }
    lines
}

fn mails(expected: &[Block], calls: &[Call], known: &mut Known) -> Result<(), String> {
    for (block, call) in expected.iter().zip(calls) {
        let head = format!("{} -> {}", call.feedback.as_deref().unwrap_or("-"), call.to.join(", "));
        if head != block.head {
            return Err(format!("- mail: {}\n+ mail: {head}", block.head));
        }
        let wanted: Vec<String> = block.lines.iter().map(|line| canonical(line)).collect();
        known.compare(&wanted, &message_lines(&call.raw))?;
        let id = call.tag("headgate-id").unwrap_or_default();
        if !call.is_accepted() || !call.header("Received")[0].contains(id) || call.from_email_address.is_some() {
            return Err(format!("accepted under its own id, and From left alone: {call:?}"));
        }
    }
    let heads: Vec<String> = calls.iter().map(|call| format!("{:?} -> {}", call.fate, call.to.join(", "))).collect();
    if expected.len() == calls.len() {
        Ok(())
    } else {
        Err(format!("{} mails, not {}: {heads:#?}", calls.len(), expected.len()))
    }
}

fn canonical(line: &str) -> String {
    let (text, cut) = unended(line);
    shown(&octets(text)) + if cut { "\\" } else { "" }
}

fn log(expected: &[Block], log: &str, known: &mut Known) -> Result<(), String> {
    let lines: Vec<&str> = log.lines().collect();
    for (block, line) in expected.iter().zip(&lines) {
        let record: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let head = ["event", "status", "outcome"].map(|key| word(&record[key])).join(" ");
        if head != block.head {
            return Err(format!("- log: {}\n+ log: {head}\n{line}", block.head));
        }
        for line in &block.lines {
            let (key, wanted) = line.split_once(':').ok_or(line.as_str())?;
            let value = word(&record[key]);
            if !known.matches(wanted.trim(), &value) {
                return Err(format!("log\n- {key}: {wanted}\n+ {key}: {value}"));
            }
        }
    }
    if expected.len() == lines.len() {
        Ok(())
    } else {
        Err(format!("{} log lines, not {}:\n{log}", lines.len(), expected.len()))
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => shown(text.as_bytes()),
        other => other.to_string(),
    }
}

#[test]
fn every_dialogue_goes_as_it_is_written() {
    let folder = folder("smtp");
    let names = names(&folder, ".smtp");
    let (next, differences) = (AtomicUsize::new(0), Mutex::new(Differences::default()));
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            let played = panic::catch_unwind(|| play(&text)).unwrap_or_else(|_| Err("it panicked".to_owned()));
            if let Err(difference) = played {
                differences.lock().unwrap().note(name, &difference);
            }
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    differences.into_inner().unwrap().end();
}

#[test]
fn every_extension_that_is_offered_has_a_dialogue() {
    let fake = FakeSes::start(Profile::Today);
    let certificate = format!("tls.certificate={}", folder("tls/both.pem").display());
    let set = ["listener.smtp.tls=starttls".to_owned(), certificate, "delivery.mode=queue".to_owned()];
    let gateway = Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &set);
    let reply = Smtp::connect(gateway.port()).command("EHLO client.example.org");
    let keywords: Vec<String> =
        reply.text.lines().skip(1).map(|line| line.split(' ').next().unwrap().to_lowercase()).collect();
    assert!(keywords.len() > 1, "{reply:?}");
    let names = names(&folder("smtp"), ".smtp");
    for keyword in keywords {
        let stem = format!("ext-{keyword}");
        let fits = |name: &String| name.strip_prefix(&stem).is_some_and(|rest| rest.starts_with(['.', '-']));
        assert!(names.iter().any(fits), "no fixtures/smtp/{stem}*.smtp");
    }
}
