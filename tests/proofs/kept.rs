//! Whether all that a trace names no change of is as it was, and nothing is there that no change made.

use std::collections::HashSet;

use headgate::{
    mail::Message,
    rules::{Change, Trace},
};

use crate::{leaves::octets_of_leaves, octets};

/// Repairs that note each body they encode anew, and what they change of the text around parts; the note of
/// `line-endings` is undone by [`octets::with_crlf`].
const RECODE: &[&str] = &["(repair nul)", "(repair long-lines)"];
/// The repair after which a part of the header is the body.
const CUT: &str = "(repair blank-line)";
const ENCODING: &str = "Content-Transfer-Encoding";
/// Octets of a field that are compared with a trace, which holds no more than a thousand.
const TEXT: usize = 600;

/// What of the message was lost, or came from nowhere.
pub fn check(raw: &[u8], message: &Message, trace: &Trace) -> Result<(), String> {
    if trace.changes.len() < trace.count {
        return Ok(());
    }
    let raw = octets::with_crlf(raw);
    let (head, rest) = octets::split(unmarked(&raw, trace));
    let ours = octets::fields(&message.head);
    let ours = ours.get(1..).unwrap_or_default();
    let is_cut = trace.changes.iter().any(|change| change.field == CUT);
    let is_recoded = trace.changes.iter().any(|change| RECODE.contains(&change.field.as_str()));
    match (is_cut, is_recoded) {
        // What was cut off the header stands before the body of old.
        (true, false) => {
            let rest = octets::fields(rest);
            let body = octets::fields(message.rest.strip_prefix(b"\r\n").unwrap_or(&message.rest));
            check_fields(&[octets::fields(head), rest].concat(), &[ours, &body].concat(), trace)
        }
        (true, true) => Ok(()),
        (false, false) if is_mended(trace) => {
            check_fields(&octets::fields(rest), &octets::fields(&message.rest), trace)?;
            check_fields(&octets::fields(head), ours, trace)
        }
        (false, false) if rest != &message.rest[..] => Err("the body is another, and no change says so".to_owned()),
        (false, false) => check_fields(&octets::fields(head), ours, trace),
        (false, true) => {
            check_fields(&octets::fields(head), ours, trace)?;
            if is_mended(trace) { Ok(()) } else { check_leaves(rest, message, trace) }
        }
    }
}

/// Whether the header of a part was changed, by more than is needed to tell of another encoding.
fn is_mended(trace: &Trace) -> bool {
    let of_part = |change: &&Change| change.field.contains(" (part ") || change.field.ends_with(" (the body)");
    trace.changes.iter().filter(of_part).any(|change| !tells_encoding(change))
}

fn tells_encoding(change: &Change) -> bool {
    let name = change.field.split(' ').next().unwrap_or_default();
    let adds = change.before.is_none() && ["MIME-Version", "Content-Type"].contains(&name);
    adds || name.eq_ignore_ascii_case(ENCODING) && change.after.as_deref().is_some_and(is_encoded)
}

fn is_encoded(field: &str) -> bool {
    field.split_once(": ").is_some_and(|(_, value)| ["quoted-printable", "base64"].contains(&value))
}

/// Whether each part says what it said before. It is read under the header of now, which is checked already; only the
/// encoding of the body of old is that of old, which was none if there is a new one.
fn check_leaves(rest: &[u8], message: &Message, trace: &Trace) -> Result<(), String> {
    let of_top = |change: &Change| change.field.eq_ignore_ascii_case(ENCODING) && tells_encoding(change);
    let recoded = trace.changes.iter().any(of_top);
    let old = |field: &Vec<u8>| !(recoded && octets::is_named(field, ENCODING));
    let head: Vec<Vec<u8>> = octets::fields(&message.head).into_iter().filter(old).collect();
    let (before, now) = (octets_of_leaves(&[&head.concat(), rest].concat()), octets_of_leaves(&message.to_bytes()));
    if before == now {
        return Ok(());
    }
    let shown = |leaves: &[Vec<u8>]| leaves.iter().map(|leaf| octets::shown(leaf)).collect::<Vec<_>>();
    Err(format!("the parts said {:#?} and now {:#?}", shown(&before), shown(&now)))
}

/// Without the byte order mark that the trace says went, and the line that held nothing else.
fn unmarked<'a>(raw: &'a [u8], trace: &Trace) -> &'a [u8] {
    let marked = trace.changes.iter().any(|change| change.field == "(repair bom)");
    let bare = |mark: &[u8]| raw.strip_prefix(mark).filter(|_| marked);
    bare(b"\xef\xbb\xbf\r\n").or_else(|| bare(b"\xef\xbb\xbf")).unwrap_or(raw)
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
        let of_part = |field: &str| field.strip_prefix(&name).is_some_and(|part| part.starts_with(" ("));
        trace.changes.iter().any(|change| change.before.is_none() && (change.field == name || of_part(&change.field)))
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
