//! Files under `fixtures/`: where they are, the program run on them, and what is expected of it.
//!
//! A runner collects what differs in all its files and fails once, so that one run tells everything. With `BLESS=1` in
//! the environment an expectation that differs is written anew; read the difference before you commit it.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::gateway::headgate;

/// A folder of fixtures.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// The names of the files of a folder with that extension, sorted; none is a fault of the test.
pub fn names(folder: &Path, extension: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(extension))
        .collect();
    assert!(!names.is_empty(), "no {extension} in {}", folder.display());
    names.sort();
    names
}

/// What a run of the program gave.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub code: Option<i32>,
}

/// One run of the program.
#[derive(Default)]
pub struct Run<'a> {
    pub arguments: Vec<&'a str>,
    pub environment: Vec<(&'a str, &'a str)>,
    pub stdin: &'a [u8],
}

impl<'a> Run<'a> {
    /// With these arguments.
    pub fn new(arguments: &[&'a str]) -> Self {
        Self { arguments: arguments.to_vec(), ..Self::default() }
    }

    /// With one more variable in the environment.
    pub fn env(mut self, name: &'a str, value: &'a str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Runs it in a folder, to its end.
    pub fn within(&self, folder: &Path) -> Ran {
        let mut command = headgate();
        command.args(&self.arguments).envs(self.environment.iter().copied()).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that reads no input closes it, which is no fault.
        let _ = child.stdin.take().unwrap().write_all(self.stdin);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Ran { stdout: output.stdout, stderr, code: output.status.code() }
    }
}

/// What differs, file by file.
#[derive(Default)]
pub struct Differences(String);

impl Differences {
    /// Notes something about a file.
    pub fn note(&mut self, name: &str, text: &str) {
        let _ = writeln!(self.0, "== {name}\n{}", text.trim_end());
    }

    /// Compares a text with the file that holds what is expected of it.
    pub fn compare(&mut self, expectation: &Path, actual: &str) {
        let expected = fs::read_to_string(expectation).unwrap_or_default();
        if expected == actual {
            return;
        }
        if std::env::var_os("BLESS").is_some() {
            fs::write(expectation, actual).unwrap();
            return;
        }
        let name = expectation.file_name().unwrap_or_default().to_string_lossy();
        self.note(&name, &difference(&expected, actual));
    }

    /// Fails if anything differs.
    pub fn end(self) {
        assert!(self.0.is_empty(), "{}", self.0);
    }
}

/// The lines that only one of two texts has, `-` expected and `+` actual.
pub fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = expected.iter().zip(&actual).take_while(same).count();
    let tail = expected[head..].iter().rev().zip(actual[head..].iter().rev()).take_while(same).count();
    let mut text = format!("line {}:\n", head + 1);
    for line in &expected[head..expected.len() - tail] {
        let _ = writeln!(text, "- {line}");
    }
    for line in &actual[head..actual.len() - tail] {
        let _ = writeln!(text, "+ {line}");
    }
    text
}

/// Octets as a line that a person can read and [`octets`] reads back: UTF-8 stays, controls and `\` are escaped.
pub fn shown(octets: &[u8]) -> String {
    let mut text = String::new();
    for chunk in octets.utf8_chunks() {
        for one in chunk.valid().chars() {
            match one {
                '\\' => text.push_str("\\\\"),
                '\r' => text.push_str("\\r"),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                _ if one.is_control() || ['\u{2028}', '\u{2029}'].contains(&one) => {
                    let mut buffer = [0; 4];
                    one.encode_utf8(&mut buffer).bytes().for_each(|octet| text.push_str(&format!("\\x{octet:02x}")));
                }
                _ => text.push(one),
            }
        }
        chunk.invalid().iter().for_each(|octet| text.push_str(&format!("\\x{octet:02x}")));
    }
    text
}

/// The octets of a line with the escapes `\r \n \t \\ \xHH`, and `{c*N}` for N times the character `c`.
pub fn octets(line: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(one) = rest.chars().next() {
        if let Some((octet, tail)) = escape(rest) {
            out.push(octet);
            rest = tail;
        } else if let Some((piece, tail)) = repetition(rest) {
            out.extend(piece);
            rest = tail;
        } else {
            out.extend(one.encode_utf8(&mut [0; 4]).bytes());
            rest = &rest[one.len_utf8()..];
        }
    }
    out
}

fn escape(text: &str) -> Option<(u8, &str)> {
    let inside = text.strip_prefix('\\')?;
    let octet = match inside.chars().next() {
        Some('r') => b'\r',
        Some('n') => b'\n',
        Some('t') => b'\t',
        Some('\\') => b'\\',
        Some('x') => return Some((u8::from_str_radix(inside.get(1..3)?, 16).ok()?, &inside[3..])),
        _ => panic!("no escape: {text}"),
    };
    Some((octet, &inside[1..]))
}

fn repetition(text: &str) -> Option<(Vec<u8>, &str)> {
    let (inside, tail) = text.strip_prefix('{')?.split_once('}')?;
    let (piece, count) = inside.rsplit_once('*')?;
    Some((piece.as_bytes().repeat(count.parse().ok()?), tail))
}

#[test]
fn what_is_shown_is_read_back() {
    let all: Vec<u8> = (0..=255).chain("é\u{2028}日".bytes()).collect();
    assert_eq!(octets(&shown(&all)), all);
    assert_eq!(octets("a{x*3}b{é*2}\\r\\x00{}"), "axxxbéé\r\0{}".as_bytes());
}
