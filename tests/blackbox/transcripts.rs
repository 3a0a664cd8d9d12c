//! Transcripts: commands as one types them, and what they print. `fixtures/cli/*.txt`, read line by line:
//!
//! ```text
//! # remark
//! $ NAME=VALUE headgate ARGUMENT 'AN ARGUMENT'      run in fixtures/cli, without a shell
//! < TEXT                                            a line of its input
//! > TEXT                                            a line that it prints
//! ! TEXT                                            a line of stderr
//! = 0                                               its exit code
//! ```
//!
//! `{scratch}` stands for a folder that each file of transcripts has for itself, and `{id}` in a command for the id that an
//! earlier one printed. `> …` stands for any lines. A line that no LF ends has a `\` at its end. Escapes are those of
//! [`crate::fixtures::octets`], places for times those of [`crate::pattern`].

use std::{fmt::Write as _, fs};

use tempfile::TempDir;

use crate::{
    fixtures::{Differences, Run, folder, names, octets, shown},
    pattern::Known,
};

/// A command with its input, and what is expected of it.
#[derive(Default)]
struct Command {
    line: String,
    input: Vec<String>,
    stdout: Vec<String>,
    stderr: Vec<String>,
    code: String,
}

enum Item {
    Remark(String),
    Command(Command),
}

fn read(text: &str) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    for line in text.lines() {
        let (sign, rest) = line.split_at_checked(2).unwrap_or((line, ""));
        let rest = rest.to_owned();
        match (sign.trim_end(), items.last_mut()) {
            ("$", _) => items.push(Item::Command(Command { line: rest, ..Command::default() })),
            ("<", Some(Item::Command(command))) => command.input.push(rest),
            (">", Some(Item::Command(command))) => command.stdout.push(rest),
            ("!", Some(Item::Command(command))) => command.stderr.push(rest),
            ("=", Some(Item::Command(command))) => command.code = rest,
            ("" | "#", _) => items.push(Item::Remark(line.to_owned())),
            _ => return Err(format!("not of the format: {line}")),
        }
    }
    Ok(items)
}

/// The words of a line; quotes of both kinds keep blanks.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for one in line.chars() {
        match (one, quote) {
            ('\'' | '"', None) => {
                quote = Some(one);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == one => quote = None,
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(one),
        }
    }
    words.into_iter().chain(word).collect()
}

/// Octets as lines of the format.
fn lines(octets: &[u8]) -> Vec<String> {
    let pieces = octets.split_inclusive(|octet| *octet == b'\n');
    pieces.map(|piece| piece.strip_suffix(b"\n").map_or_else(|| shown(piece) + "\\", shown)).collect()
}

/// What the commands of one file have in common.
struct Scene {
    scratch: TempDir,
    known: Known,
}

impl Scene {
    fn scratch(&self) -> &str {
        self.scratch.path().to_str().unwrap()
    }

    /// A command with its places filled in.
    fn filled(&self, line: &str) -> String {
        self.known.filled(&line.replace("{scratch}", self.scratch()))
    }

    /// A printed line without what differs from run to run.
    fn hidden(&self, line: &str) -> String {
        line.replace(self.scratch(), "{scratch}")
    }
}

impl Command {
    /// Runs it and writes it down with what it did.
    fn play(&self, scene: &mut Scene, out: &mut String) {
        let words = words(&scene.filled(&self.line));
        let mut words = words.iter().map(String::as_str);
        let mut run = Run::default();
        for word in words.by_ref().take_while(|word| *word != "headgate") {
            run.environment.push(word.split_once('=').unwrap_or_else(|| panic!("no variable: {word}")));
        }
        run.arguments = words.collect();
        let input: Vec<u8> = self.input.iter().flat_map(|line| input(line)).collect();
        run.stdin = &input;
        let ran = run.within(&folder("cli"));
        let _ = writeln!(out, "$ {}", self.line);
        self.input.iter().for_each(|line| writeln!(out, "{}", format!("< {line}").trim_end()).unwrap());
        for (sign, expected, actual) in
            [('>', &self.stdout, lines(&ran.stdout)), ('!', &self.stderr, lines(ran.stderr.as_bytes()))]
        {
            let actual: Vec<String> = actual.iter().map(|line| scene.hidden(line)).collect();
            let fits = scene.known.compare(expected, &actual).is_ok();
            for line in if fits { expected } else { &actual } {
                let _ = writeln!(out, "{}", format!("{sign} {line}").trim_end());
            }
        }
        let _ = writeln!(out, "= {}", ran.code.map_or_else(|| "-".to_owned(), |code| code.to_string()));
    }
}

fn input(line: &str) -> Vec<u8> {
    let mut octets = octets(line.strip_suffix('\\').unwrap_or(line));
    octets.extend(line.strip_suffix('\\').is_none().then_some(b'\n'));
    octets
}

#[test]
fn every_command_does_what_its_transcript_says() {
    let folder = folder("cli");
    let mut differences = Differences::default();
    for name in names(&folder, ".txt") {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let mut played = String::new();
        let mut scene = Scene { scratch: tempfile::tempdir().unwrap(), known: Known::default() };
        for item in read(&text).unwrap_or_else(|fault| panic!("{name}: {fault}")) {
            match item {
                Item::Remark(line) => played += &format!("{line}\n"),
                Item::Command(command) => command.play(&mut scene, &mut played),
            }
        }
        differences.compare(&folder.join(&name), &played);
    }
    differences.end();
}

/// The subcommands that a help text lists.
fn listed(arguments: &[&str]) -> Vec<String> {
    let ran = Run::new(arguments).within(&folder("cli"));
    let help = String::from_utf8(ran.stdout).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_subcommand_has_a_transcript() {
    let folder = folder("cli");
    let texts = names(&folder, ".txt").into_iter().map(|name| fs::read_to_string(folder.join(name)).unwrap());
    let texts: String = texts.collect();
    let commands = listed(&["--help"]);
    assert!(commands.len() > 2, "{commands:?}");
    for command in commands {
        let below = listed(&[&command, "--help"]);
        let own = below.is_empty().then(String::new).into_iter();
        for below in below.iter().map(|below| format!(" {below}")).chain(own) {
            let typed = format!("headgate {command}{below}");
            let uses = texts.lines().any(|line| {
                line.starts_with("$ ")
                    && line
                        .split_once(&typed)
                        .is_some_and(|(_, rest)| !rest.starts_with(|one: char| one.is_alphanumeric()))
            });
            assert!(uses, "no transcript in fixtures/cli uses {typed}");
        }
    }
}
