//! The access log against hostile mail: `fixtures/log/*.log`, read line by line:
//!
//! ```text
//! # remark
//! format: FORMAT         what access_log.format says
//! fields: N              each line has so many fields, as Apache's readers count them
//! keys: A B C            each line is JSON with these keys, in this order
//! rule: LINE             a line of a rule file that runs before builtin:rt
//! mail: FROM -> A, B     a mail that a client hands in
//! | TEXT                 below mail: a line of it, with CRLF unless a `\` ends it
//! line: TEXT             the log line it gets; {size} is the length of the mail
//! ```
//!
//! Escapes and repetitions in a mail are those of [`crate::fixtures::octets`]; a log line is written as it is, with the
//! places of [`crate::pattern`] and its repetitions. As many lines as mails: nothing in a mail makes or breaks one.

use std::fs;

use crate::{
    fake_ses::{FakeSes, Profile},
    fixtures::{Differences, folder, names, octets},
    gateway::{BASE, Gateway, ses},
    pattern::Known,
    smtp::Smtp,
};

#[derive(Default)]
struct Mail {
    from: Vec<u8>,
    to: Vec<Vec<u8>>,
    octets: Vec<u8>,
}

#[derive(Default)]
struct Fixture {
    format: String,
    fields: Option<usize>,
    keys: Vec<String>,
    rules: String,
    mails: Vec<Mail>,
    lines: Vec<String>,
}

impl Fixture {
    fn read(text: &str) -> Result<Self, String> {
        let mut fixture = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "format:" => fixture.format = rest.to_owned(),
                "fields:" => fixture.fields = rest.parse().ok(),
                "keys:" => fixture.keys = rest.split(' ').map(str::to_owned).collect(),
                "rule:" => fixture.rules += &format!("{rest}\n"),
                "mail:" => {
                    let (from, to) = rest.split_once(" -> ").ok_or(line)?;
                    let to = to.split(", ").map(octets).collect();
                    fixture.mails.push(Mail { from: octets(from.trim()), to, octets: Vec::new() });
                }
                "|" => {
                    let mail = fixture.mails.last_mut().ok_or(line)?;
                    let cut = rest.strip_suffix('\\').filter(|rest| !rest.ends_with('\\'));
                    mail.octets.extend(octets(cut.unwrap_or(rest)));
                    mail.octets.extend_from_slice(if cut.is_some() { b"" } else { b"\r\n" });
                }
                "line:" => {
                    let size = fixture.mails.last().ok_or(line)?.octets.len().to_string();
                    fixture.lines.push(repeated(&rest.replace("{size}", &size)));
                }
                _ => return Err(format!("not of the format: {line}")),
            }
        }
        Ok(fixture)
    }

    /// What differs from what it says.
    fn play(&self, name: &str, differences: &mut Differences) {
        let fake = FakeSes::start(Profile::Today);
        let place = tempfile::tempdir().unwrap();
        let rules = place.path().join("rules.toml");
        fs::write(&rules, &self.rules).unwrap();
        let set = [
            format!("access_log.format={}", self.format),
            format!("rules.files={},builtin:rt,builtin:ses-minimal", rules.display()),
        ];
        let mut gateway = Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &set);
        let mut client = Smtp::ready(gateway.port());
        self.mails.iter().for_each(|mail| mail.hand_in(&mut client));
        drop(client);
        assert_eq!(gateway.stop().code(), Some(0), "{name}");
        let log = fs::read(gateway.path("access.log")).unwrap();
        let log = String::from_utf8(log).unwrap_or_else(|_| panic!("{name}: the log is not UTF-8"));
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        if lines.len() != self.mails.len() || lines.len() != self.lines.len() {
            differences.note(name, &format!("{} mails, {} lines expected:\n{log}", self.mails.len(), self.lines.len()));
        }
        let mut known = Known::default();
        for (expected, line) in self.lines.iter().zip(&lines) {
            if !known.matches(expected, line) {
                differences.note(name, &format!("- {expected}\n+ {line}"));
            }
            self.inspect(line).unwrap_or_else(|fault| differences.note(name, &format!("{fault}: {line}")));
        }
    }

    /// Reads a line as those read it who know nothing of its making.
    fn inspect(&self, line: &str) -> Result<(), String> {
        if line.chars().any(|one| one.is_control() || ['\u{2028}', '\u{2029}'].contains(&one)) {
            return Err("a control character".to_owned());
        }
        if let Some(wanted) = self.fields {
            let fields = apache_fields(line);
            return if fields.len() == wanted { Ok(()) } else { Err(format!("{} fields: {fields:?}", fields.len())) };
        }
        let value: serde_json::Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let keys: Vec<&String> = value.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
        if keys.iter().eq(self.keys.iter().collect::<Vec<_>>().iter()) {
            Ok(())
        } else {
            Err(format!("the keys {keys:?}"))
        }
    }
}

impl Mail {
    /// Whatever the gateway says: the transaction is ended, so that it has its line.
    fn hand_in(&self, client: &mut Smtp) {
        let mut commands = vec![[b"MAIL FROM:<", self.from.as_slice(), b">"].concat()];
        commands.extend(self.to.iter().map(|to| [b"RCPT TO:<", to.as_slice(), b">"].concat()));
        commands.push(b"DATA".to_vec());
        for command in commands {
            client.send(&[command.as_slice(), b"\r\n"].concat());
            if client.reply().code == 354 {
                client.send(&crate::smtp::stuffed(&self.octets));
                client.reply();
            }
        }
        assert_eq!(client.command("RSET").code, 250);
    }
}

/// A text with `{c*N}` written out; all else is as it is.
fn repeated(text: &str) -> String {
    String::from_utf8(octets(&text.replace('\\', "\\\\"))).unwrap()
}

/// The fields of a line: parted by blanks, which do not part within quotes or the brackets of a time.
fn apache_fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut within, mut escaped) = (Vec::new(), String::new(), None, false);
    for one in line.chars() {
        match (one, within) {
            _ if escaped => escaped = false,
            ('\\', Some('"')) => escaped = true,
            ('"', Some('"')) | (']', Some('[')) => within = None,
            ('"' | '[', None) if field.is_empty() => within = Some(one),
            (' ', None) => {
                fields.push(std::mem::take(&mut field));
                continue;
            }
            _ => {}
        }
        field.push(one);
    }
    fields.push(field);
    fields
}

#[test]
fn every_line_is_as_it_is_written_whatever_the_mail_holds() {
    let folder = folder("log");
    let mut differences = Differences::default();
    for name in names(&folder, ".log") {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        Fixture::read(&text).unwrap_or_else(|fault| panic!("{name}: {fault}")).play(&name, &mut differences);
    }
    differences.end();
}

#[test]
fn fields_are_counted_as_apache_writes_them() {
    let line = r#"127.0.0.1 - a\x20b [08/Aug/2011:17:30:34 -0400] "SMTP from=<\"a b\"@c> to=" 250 "\\""#;
    assert_eq!(apache_fields(line).len(), 7);
    assert_eq!(apache_fields("a b \"c d\" e").len(), 4);
}
