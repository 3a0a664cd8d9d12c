//! Whether all that a trace names no change of is as it was, and nothing is there that no change made.

use std::collections::HashSet;

use headgate::{
    mail::Message,
    rules::{Change, Trace},
};

use crate::octets;

/// Repairs whose note may mean a change of the body; that of `line-endings` is undone by [`octets::with_crlf`].
const OF_BODIES: &[&str] = &["(repair nul)", "(repair long-lines)", "(repair parameters)"];
/// The repair after which a part of the header is the body.
const CUT: &str = "(repair blank-line)";
/// Octets of a field that are compared with a trace, which holds no more than a thousand.
const TEXT: usize = 600;

/// Whether a part of the header became body.
pub fn is_cut(trace: &Trace) -> bool {
    trace.changes.iter().any(|change| change.field == CUT)
}

/// What of the message was lost, or came from nowhere.
pub fn check(raw: &[u8], message: &Message, trace: &Trace) -> Result<(), String> {
    if trace.changes.len() < trace.count {
        return Ok(());
    }
    let raw = octets::with_crlf(raw);
    let (head, rest) = octets::split(unmarked(&raw, trace));
    let ours = octets::fields(&message.head);
    let mut now = ours.get(1..).unwrap_or_default().to_vec();
    match (is_cut(trace), touches_body(trace)) {
        (true, true) => return Ok(()),
        (true, false) => {
            // What was cut off the header stands before the body of old.
            let body = message.rest.strip_prefix(b"\r\n").and_then(|body| body.strip_suffix(rest));
            now.extend(octets::fields(body.ok_or("the body does not end as it did")?));
        }
        (false, false) if rest != &message.rest[..] => {
            return Err("the body is another, and no change says so".to_owned());
        }
        (false, _) => {}
    }
    check_fields(&octets::fields(head), &now, trace)
}

/// Without the byte order mark that the trace says went, and the line that held nothing else.
fn unmarked<'a>(raw: &'a [u8], trace: &Trace) -> &'a [u8] {
    let marked = trace.changes.iter().any(|change| change.field == "(repair bom)");
    let bare = |mark: &[u8]| raw.strip_prefix(mark).filter(|_| marked);
    bare(b"\xef\xbb\xbf\r\n").or_else(|| bare(b"\xef\xbb\xbf")).unwrap_or(raw)
}

fn touches_body(trace: &Trace) -> bool {
    let of_part = |field: &str| field.contains(" (part ") || field.ends_with(" (the body)");
    let of_body = |change: &Change| of_part(&change.field) || OF_BODIES.contains(&change.field.as_str());
    trace.changes.iter().any(of_body)
}

fn check_fields(before: &[Vec<u8>], now: &[Vec<u8>], trace: &Trace) -> Result<(), String> {
    let known = |pick: fn(&Change) -> Option<&String>| -> HashSet<String> {
        trace.changes.iter().filter_map(pick).map(|text| key(text.as_bytes())).collect()
    };
    let (changed, made) = (known(|change| change.before.as_ref()), known(|change| change.after.as_ref()));
    let stays = |field: &&Vec<u8>| !changed.contains(&key(field)) && !octets::is_named(field, "Return-Path");
    let mut left = now.iter();
    for field in before.iter().filter(stays) {
        if !left.any(|one| is_same(one, field)) {
            return Err(format!("no change names the field, and it is not there: {}", octets::shown(field)));
        }
    }
    // Fields that are added are recorded as their values, before folding and encoding.
    let appended = |field: &[u8]| {
        let name = field.split(|octet| *octet == b':').next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        trace.changes.iter().any(|change| change.before.is_none() && change.field == name)
    };
    let came = |field: &&Vec<u8>| {
        before.iter().any(|old| is_same(field, old)) || made.contains(&key(field)) || appended(field)
    };
    match now.iter().find(|field| !came(field)) {
        Some(field) => Err(format!("no change made the field: {}", octets::shown(field))),
        None => Ok(()),
    }
}

/// Whether a field is what it was; the last one of a message without body may have got its line end.
fn is_same(now: &[u8], before: &[u8]) -> bool {
    now.strip_prefix(before).is_some_and(|added| added.is_empty() || added == b"\r\n" && !before.ends_with(b"\r\n"))
}

/// A field as a trace shows it, line ends aside.
fn key(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field.get(..TEXT).unwrap_or(field));
    let text = text.trim_start_matches(['\r', '\n', ' ', '\t']).chars();
    let text: String = text.filter(|one| !matches!(one, '\r' | '\n')).take(TEXT / 4).collect();
    text.trim_end_matches([' ', '\t']).to_owned()
}
