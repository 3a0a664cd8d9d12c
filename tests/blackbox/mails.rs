//! Raw messages named by their hazard, `fixtures/mail/*.eml`, against the shipped rules.
//!
//! `X.expect` is what `headgate explain X.eml` says. Of every message and every shipped rule file hold besides: what no
//! rule had a reason to change leaves octet for octet, the rules change nothing in what they made, and SES takes exactly
//! what the lint calls clean.

use std::{fs, path::PathBuf};

use crate::{
    fake_ses::{FakeSes, Profile},
    fixtures::{Differences, Run, folder, names, shown},
    gateway::{BASE, Gateway, ses},
    smtp::Smtp,
};

const RULES: &[&str] = &["builtin:rt,builtin:ses", "builtin:ses-minimal", "builtin:ses-2011"];
/// Those that mend nothing but line ends: all else they change is the name of a field.
const PLAIN_RULES: &[&str] = &["builtin:ses-minimal"];

fn messages() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder("mail");
    names(&folder, ".eml")
        .into_iter()
        .map(|name| folder.join(name))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// What the rules make of a message.
fn made(rules: &str, message: &[u8]) -> Vec<u8> {
    let set = format!("rules.files={rules}");
    let mut run = Run::new(&["explain", "--message", "--set", &set, "-"]);
    run.stdin = message;
    let ran = run.within(&folder("mail"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.stdout
}

/// All line ends as CRLF: a lone CR or LF is one, and so is a run of CR with its LF.
fn with_crlf(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = message;
    while let Some((first, tail)) = rest.split_first() {
        let returns = rest.iter().take_while(|octet| **octet == b'\r').count();
        let ended = rest.get(returns) == Some(&b'\n');
        rest = match first {
            b'\r' | b'\n' => {
                out.extend_from_slice(b"\r\n");
                if ended { &rest[returns + 1..] } else { tail }
            }
            other => {
                out.push(*other);
                tail
            }
        };
    }
    out
}

/// The fields, each with its folded lines, and the empty line with what follows.
fn split(message: &[u8]) -> (Vec<Vec<u8>>, &[u8]) {
    let (mut fields, mut at) = (Vec::<Vec<u8>>::new(), 0);
    for line in message.split_inclusive(|octet| *octet == b'\n') {
        if line == b"\r\n" {
            break;
        }
        match fields.last_mut() {
            Some(field) if line.starts_with(b" ") || line.starts_with(b"\t") => field.extend_from_slice(line),
            _ => fields.push(line.to_vec()),
        }
        at += line.len();
    }
    (fields, &message[at..])
}

/// The name without the blanks behind it, and the value with its line end; `None` for a line that is no field.
fn halves(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = field.iter().position(|octet| *octet == b':')?;
    let name = field[..colon].trim_ascii_end();
    let legal = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    legal.then_some((name, &field[colon + 1..]))
}

/// Whether the shipped rules take a field out.
fn goes(field: &[u8]) -> bool {
    let name = halves(field).map(|(name, _)| name.to_ascii_lowercase()).unwrap_or_default();
    name == b"bcc" || name.starts_with(b"x-ses-")
}

fn renamed(field: &[u8]) -> Option<Vec<u8>> {
    let (name, value) = halves(field)?;
    Some([b"X-", name, b":", value].concat())
}

/// What of a message is neither as it was nor changed as the shipped rules may change it.
fn damage(before: &[u8], after: &[u8]) -> Result<(), String> {
    let before = with_crlf(before);
    let ((fields, body), (left, left_body)) = (split(&before), split(after));
    if body != left_body {
        return Err(format!("the body\n- {}\n+ {}", shown(body), shown(left_body)));
    }
    let mut left = left.iter();
    for field in fields.iter().filter(|field| !goes(field)) {
        let now = left.next().map(Vec::as_slice).unwrap_or_default();
        if now != field.as_slice() && Some(now) != renamed(field).as_deref() {
            return Err(format!("- {}\n+ {}", shown(field), shown(now)));
        }
    }
    left.next().map_or(Ok(()), |more| Err(format!("+ {}", shown(more))))
}

#[test]
fn every_message_is_explained_as_it_is_written() {
    let folder = folder("mail");
    let mut differences = Differences::default();
    for name in names(&folder, ".eml") {
        let ran = Run::new(&["explain", &name]).within(&folder);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{name}");
        differences.compare(&folder.join(&name).with_extension("expect"), &String::from_utf8(ran.stdout).unwrap());
    }
    differences.end();
}

#[test]
fn what_no_rule_touched_leaves_octet_for_octet_and_a_second_run_changes_nothing() {
    let mut differences = Differences::default();
    for (path, message) in messages() {
        let name = path.file_name().unwrap().to_string_lossy();
        for rules in RULES {
            let once = made(rules, &message);
            if PLAIN_RULES.contains(rules)
                && let Err(damage) = damage(&message, &once)
            {
                differences.note(&name, &format!("{rules}\n{damage}"));
            }
            if made(rules, &once) != once {
                differences.note(&name, &format!("{rules} change what they made:\n{}", shown(&once)));
            }
        }
        let untouched = fs::read_to_string(path.with_extension("expect")).unwrap().starts_with("no rule changes");
        if untouched && made(RULES[0], &message) != message {
            differences.note(&name, "no rule changes it, and it is not the same");
        }
    }
    differences.end();
}

#[test]
fn ses_takes_exactly_what_the_lint_calls_clean() {
    for (profile, rules) in [(Profile::Today, RULES[0]), (Profile::Year2011, RULES[2])] {
        let fake = FakeSes::start(profile);
        let set = ["upstream.fake.lint=off".to_owned(), format!("rules.files={rules}")];
        let gateway = Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &set);
        let mut client = Smtp::ready(gateway.port());
        let mut differences = Differences::default();
        for (path, message) in messages() {
            let explained = fs::read_to_string(path.with_extension("expect")).unwrap();
            let reply = client.submit("a@example.com", &["b@example.net"], &message);
            // What SES says of an address is 553, of all else 554.
            let wanted: &[u16] = if explained.ends_with("lint: clean\n") { &[250] } else { &[553, 554] };
            if !wanted.contains(&reply.code) {
                let lint = explained.lines().last().unwrap_or_default();
                differences.note(&path.file_name().unwrap().to_string_lossy(), &format!("{rules}\n{reply:?}\n{lint}"));
            }
        }
        differences.end();
    }
}
