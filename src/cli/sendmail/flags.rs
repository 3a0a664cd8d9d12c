//! The flags of sendmail(8), as its callers give them.
//!
//! A flag is one letter; one without a value may be followed by others (`-ti`), the value of another stands behind it or in
//! the next argument. What only steers a mail server's own queue is taken and does nothing.

use std::{ffi::OsString, path::PathBuf};

use crate::header;

/// One flag.
pub(super) struct FlagRow {
    /// Its letter.
    pub(super) letter: &'static str,
    value: Value,
    /// What it does; nothing when it is taken for the sake of callers.
    pub(super) help: Option<&'static str>,
}

/// Whether a flag has a value, and where.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    No,
    /// Behind the letter or in the next argument.
    Yes,
    /// Behind the letter only, and it may be missing.
    Glued,
}

/// All flags.
pub(super) const FLAGS: &[FlagRow] = &[
    row("t", Value::No, Some("Takes recipients from To, Cc and Bcc, or from Resent-To and its kin, and removes Bcc")),
    row("i", Value::No, Some("A line of a single dot does not end the message (also -oi)")),
    row("f", Value::Yes, Some("The envelope's sender; <> or empty for none")),
    row("r", Value::Yes, Some("The same as -f")),
    row("F", Value::Yes, Some("The sender's full name, for a message without From")),
    row("v", Value::No, Some("Tells who took the message")),
    row(
        "b",
        Value::Glued,
        Some("-bm sends (default), -bs speaks SMTP on standard input and output, -bp lists the queue"),
    ),
    row("A", Value::Yes, None),
    row("B", Value::Yes, None),
    row("C", Value::Yes, None),
    row("G", Value::No, None),
    row("L", Value::Yes, None),
    row("N", Value::Yes, None),
    row("O", Value::Yes, None),
    row("R", Value::Yes, None),
    row("U", Value::No, None),
    row("V", Value::Yes, None),
    row("X", Value::Yes, None),
    row("d", Value::Glued, None),
    row("e", Value::Glued, None),
    row("h", Value::Yes, None),
    row("m", Value::No, None),
    row("n", Value::No, None),
    row("o", Value::Yes, None),
    row("p", Value::Yes, None),
    row("q", Value::Glued, None),
];

const fn row(letter: &'static str, value: Value, help: Option<&'static str>) -> FlagRow {
    FlagRow { letter, value, help }
}

/// What to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Send the message on standard input.
    #[default]
    Deliver,
    /// Speak SMTP on standard input and output.
    Session,
    /// List the queue.
    List,
    /// Nothing is left to be done: there are no aliases, and a gateway runs its queue by itself.
    Nothing,
}

/// What is asked for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) mode: Mode,
    pub(super) from_header: bool,
    pub(super) ignore_dots: bool,
    pub(super) verbose: bool,
    pub(super) sender: Option<String>,
    pub(super) name: Option<String>,
    pub(super) recipients: Vec<String>,
    /// `--config`, which is ours.
    pub(super) config: Option<PathBuf>,
    /// `--dry-run`, which is ours.
    pub(super) dry_run: bool,
    /// `--help`.
    pub(super) help: bool,
}

impl Asked {
    /// Reads the arguments behind the command's name.
    ///
    /// # Errors
    /// What is wrong with one, in words.
    pub(super) fn read(arguments: Vec<OsString>) -> Result<Self, String> {
        let mut asked = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = header::text(argument.as_encoded_bytes()).into_owned();
            match text.as_str() {
                "--" => {
                    let rest = arguments.by_ref();
                    asked.recipients.extend(rest.map(|one| header::text(one.as_encoded_bytes()).into_owned()));
                }
                "--help" => asked.help = true,
                "--dry-run" => asked.dry_run = true,
                "--config" => {
                    asked.config = Some(PathBuf::from(arguments.next().ok_or("--config needs a file")?));
                }
                other => match other.strip_prefix('-') {
                    Some(letters) if !letters.is_empty() => asked.letters(letters, &mut arguments)?,
                    _ => asked.recipients.push(text),
                },
            }
        }
        Ok(asked)
    }

    fn letters(&mut self, letters: &str, rest: &mut impl Iterator<Item = OsString>) -> Result<(), String> {
        let mut left = letters;
        while let Some(letter) = left.chars().next() {
            left = left.get(letter.len_utf8()..).unwrap_or_default();
            let row = FLAGS.iter().find(|row| row.letter.starts_with(letter));
            let row = row.ok_or_else(|| format!("-{letters}: there is no flag -{letter}"))?;
            let value = match row.value {
                Value::No => {
                    self.note(letter, "")?;
                    continue;
                }
                Value::Yes if left.is_empty() => {
                    let next = rest.next().ok_or_else(|| format!("-{letter} needs a value"))?;
                    header::text(next.as_encoded_bytes()).into_owned()
                }
                Value::Yes | Value::Glued => left.to_owned(),
            };
            return self.note(letter, &value);
        }
        Ok(())
    }

    fn note(&mut self, letter: char, value: &str) -> Result<(), String> {
        match (letter, value) {
            ('t', _) => self.from_header = true,
            ('i', _) | ('o', "i") => self.ignore_dots = true,
            ('v', _) => self.verbose = true,
            ('f' | 'r', sender) => self.sender = Some(sender.to_owned()),
            ('F', name) => self.name = Some(name.to_owned()),
            ('b', "m" | "") => {}
            ('b', "s") => self.mode = Mode::Session,
            ('b', "p") => self.mode = Mode::List,
            ('b', "i") => self.mode = Mode::Nothing,
            ('q', _) if self.mode == Mode::Deliver => self.mode = Mode::Nothing,
            ('b', "d" | "D") => return Err("-bd: the server is `headgate serve`".to_owned()),
            ('b', other) => return Err(format!("-b{other}: there are -bm, -bs, -bp and -bi")),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Asked, String> {
        Asked::read(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn callers_are_understood() {
        for (line, from_header, ignore_dots, sender, recipients) in [
            ("-t -i", true, true, None, ""),
            ("-t -i -fa@x.example", true, true, Some("a@x.example"), ""),
            ("-FCronDaemon -odi -oem -oi -t", true, true, None, ""),
            ("-FCronDaemon -i -odi -oem -oi -t -f root", true, true, Some("root"), ""),
            ("-i -FCronDaemon -B8BITMIME -oem root", false, true, None, "root"),
            ("-i -B 8BITMIME root", false, true, None, "root"),
            ("-ti", true, true, None, ""),
            ("-t -froot", true, false, Some("root"), ""),
            ("-f a@x.example -i b@x.example c@x.example", false, true, Some("a@x.example"), "b@x.example c@x.example"),
            ("-oem -oi -f a@x.example -- b@x.example", false, true, Some("a@x.example"), "b@x.example"),
            ("-i -- -odd@x.example", false, true, None, "-odd@x.example"),
            (
                "-r a@x.example -O DeliveryMode=b -N never -R hdrs -V id -h 3 -X log b@x.example",
                false,
                false,
                Some("a@x.example"),
                "b@x.example",
            ),
            ("-G -U -n -m -p ESMTP:host -L tag -v b@x.example", false, false, None, "b@x.example"),
        ] {
            let asked = read(line).unwrap();
            assert_eq!(asked.mode, Mode::Deliver, "{line}");
            assert_eq!((asked.from_header, asked.ignore_dots), (from_header, ignore_dots), "{line}");
            assert_eq!((asked.sender.as_deref(), asked.recipients.join(" ").as_str()), (sender, recipients), "{line}");
        }
    }

    #[test]
    fn the_full_name_and_the_modes() {
        assert_eq!(read("-FCronDaemon root").unwrap().name.as_deref(), Some("CronDaemon"));
        for (line, mode) in [
            ("-bs", Mode::Session),
            ("-bp", Mode::List),
            ("-bi", Mode::Nothing),
            ("-q30m", Mode::Nothing),
            ("-bm -i a", Mode::Deliver),
        ] {
            assert_eq!(read(line).unwrap().mode, mode, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(read("-Zx").unwrap_err(), "-Zx: there is no flag -Z");
        assert_eq!(read("-f").unwrap_err(), "-f needs a value");
        assert_eq!(read("-bd").unwrap_err(), "-bd: the server is `headgate serve`");
    }
}
