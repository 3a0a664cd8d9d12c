//! Options as Perl's Getopt::Long reads them with its defaults.
//!
//! Names compare without case and may be cut short where that is unique; `-`, `--` and `+` begin one; options and operands
//! mix; `--` ends the options; a value may look like an option, and what is given twice counts as it was given last.

use std::ffi::{OsStr, OsString};

use crate::header;

/// One option.
#[derive(Debug)]
pub(super) struct OptionRow {
    /// Its name in lower case; of one letter, or longer.
    pub(super) name: &'static str,
    /// The name of its value, if it takes one.
    pub(super) value: Option<&'static str>,
    /// What it does.
    pub(super) help: &'static str,
}

/// What stands in a command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The options in their order, with their values.
    pub(super) options: Vec<(&'static str, OsString)>,
    /// All else in its order.
    pub(super) operands: Vec<OsString>,
    /// What cannot be understood, in the words of Getopt::Long.
    pub(super) faults: Vec<String>,
}

impl Parsed {
    /// The value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&OsStr> {
        self.options.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_os_str())
    }

    /// Whether an option is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }
}

/// Reads a command line; options that `ignored` knows are as if they were not there.
pub(super) fn parse(table: &'static [OptionRow], arguments: Vec<OsString>, ignored: fn(&str) -> bool) -> Parsed {
    let mut parsed = Parsed::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = as_text(&argument).into_owned();
        if text == "--" {
            parsed.operands.extend(arguments);
            break;
        }
        if ignored(&text) {
            continue;
        }
        let Some((name, glued)) = named(&text) else {
            parsed.operands.push(argument);
            continue;
        };
        match find(table, &name) {
            Ok(row) if row.value.is_none() && glued.is_some() => {
                parsed.faults.push(format!("Option {} does not take an argument", row.name));
            }
            Ok(row) if row.value.is_none() => parsed.options.push((row.name, OsString::new())),
            Ok(row) => match glued.map(OsString::from).or_else(|| arguments.next()) {
                Some(value) if glued.is_none() || !value.is_empty() => parsed.options.push((row.name, value)),
                _ => parsed.faults.push(format!("Option {} requires an argument", row.name)),
            },
            Err(fault) => parsed.faults.push(fault),
        }
    }
    parsed
}

/// An argument as text; one that is not UTF-8 is read as windows-1252.
pub(super) fn as_text(argument: &OsStr) -> std::borrow::Cow<'_, str> {
    header::text(argument.as_encoded_bytes())
}

/// The name of an option in lower case, and the value behind its `=`.
fn named(text: &str) -> Option<(String, Option<&str>)> {
    let rest = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).or_else(|| text.strip_prefix('+'))?;
    if rest.is_empty() {
        return None;
    }
    match rest.char_indices().find(|(at, one)| *one == '=' && *at > 0) {
        Some((at, _)) => Some((rest.get(..at)?.to_lowercase(), rest.get(at + 1..))),
        None => Some((rest.to_lowercase(), None)),
    }
}

fn find(table: &'static [OptionRow], name: &str) -> Result<&'static OptionRow, String> {
    if let Some(row) = table.iter().find(|row| row.name == name) {
        return Ok(row);
    }
    let found: Vec<&OptionRow> = table.iter().filter(|row| row.name.starts_with(name)).collect();
    match found.as_slice() {
        [row] => Ok(row),
        [] => Err(format!("Unknown option: {name}")),
        several => {
            let mut names: Vec<&str> = several.iter().map(|row| row.name).collect();
            names.sort_unstable();
            Err(format!("Option {name} is ambiguous ({})", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const fn row(name: &'static str, value: Option<&'static str>) -> OptionRow {
        OptionRow { name, value, help: "" }
    }

    const TABLE: &[OptionRow] = &[
        row("r", None),
        row("f", Some("X")),
        row("s", Some("X")),
        row("k", Some("X")),
        row("rules", Some("X")),
        row("rumour", None),
        row("verbose", None),
        row("help", None),
    ];

    const LINES: &[&[&str]] = &[
        &["-r", "-f", "a@x", "b@y", "c@y"],
        &["b@y", "-R", "--f", "a@x", "d@y"],
        &["-r", "-fa@x", "b@y"],
        &["-r", "-f", "a@x", "--", "-odd@y", "-r"],
        &["-F=a@x", "+r", "+f", "-x", "-"],
        &["-f", "", "--f="],
        &["-f"],
        &["-v", "-h", "--verb", "--verbose=1", "--verbose="],
        &["-ru", "--rul=x", "--rule", "y", "-rum"],
        &["--version", "-t", "-Xyz", "-="],
        &["-f", "--", "-s", "-r", "k"],
        &["", "x y", "-f", "a=b", "-s=c=d", "--=x"],
        &["-f", "1", "-f", "2"],
    ];

    /// What Perl makes of a line; each word ends in a NUL.
    fn perl(line: &[&str]) -> (Vec<String>, Vec<String>, Vec<String>) {
        let specs: Vec<String> =
            TABLE.iter().map(|row| format!("{}{}", row.name, if row.value.is_some() { "=s" } else { "" })).collect();
        let script = format!(
            r#"use Getopt::Long; my @got; my $note = sub {{ push @got, "$_[0]=$_[1]" }};
               $SIG{{__WARN__}} = sub {{ my $w = $_[0]; chomp $w; print "fault\0$w\0" }};
               GetOptions(map {{ $_ => $note }} qw({}));
               print map {{ "option\0$_\0" }} @got; print map {{ "operand\0$_\0" }} @ARGV;"#,
            specs.join(" ")
        );
        let ran = Command::new("perl").arg("-e").arg(script).arg("--").args(line).output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        let words: Vec<&str> = text.split_terminator('\0').collect();
        let of = |kind: &str| {
            words.chunks(2).filter(|pair| pair[0] == kind).map(|pair| pair[1].to_owned()).collect::<Vec<_>>()
        };
        (of("option"), of("operand"), of("fault"))
    }

    #[test]
    fn a_command_line_is_read_as_perl_reads_it() {
        for line in LINES {
            let parsed = parse(TABLE, line.iter().map(OsString::from).collect(), |_| false);
            let flag = |name: &str| TABLE.iter().any(|row| row.name == name && row.value.is_none());
            let options: Vec<String> = parsed
                .options
                .iter()
                .map(|(name, value)| format!("{name}={}", if flag(name) { "1".into() } else { as_text(value) }))
                .collect();
            let operands: Vec<String> = parsed.operands.iter().map(|one| as_text(one).into_owned()).collect();
            assert_eq!((options, operands, parsed.faults), perl(line), "{line:?}");
        }
    }

    #[test]
    fn the_last_value_counts_and_what_is_ignored_does_not() {
        let parsed = parse(TABLE, ["-f", "1", "-i", "-f", "-i"].map(OsString::from).into(), |text| text == "-i");
        assert_eq!((parsed.value("f"), parsed.options.len()), (Some(OsStr::new("-i")), 2));
        assert!(!parsed.has("r"));
    }
}
