//! The house holds: imports go downward only, files and functions stay small.

#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rooms from the bottom up; a room may import from the layers before its own, and from itself.
const LAYERS: &[&[&str]] = &[
    &["tree"],
    &["mail"],
    &["header"],
    &["mime"],
    &["smtp"],
    &["rules", "upstream", "bounce", "log", "metrics", "store"],
    &["intake"],
    &["server", "delivery", "console"],
    &["operator"],
    &["config"],
    &["app"],
    &["cli"],
];
/// Lines of a file.
const LONGEST: usize = 400;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let nested = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    nested.filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// The rooms that a text names behind `crate::`, in `use` lines of any form and in paths.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let group = match rest.strip_prefix('{') {
            Some(inside) => top_level(inside),
            None => vec![rest],
        };
        let word = |part: &str| part.trim().chars().take_while(|one| one.is_alphanumeric() || *one == '_').collect();
        found.extend(group.into_iter().map(word));
    }
    found
}

/// The parts of a group `a::{b, c}, d}` up to its end.
fn top_level(inside: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, one) in inside.char_indices() {
        match one {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&inside[start..at]);
                return parts;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

#[test]
fn imports_go_downward_only() {
    let source = root().join("src");
    let mut wrong = Vec::new();
    for path in files(&source) {
        let relative = path.strip_prefix(&source).unwrap();
        let room = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if ["lib", "main"].contains(&room.as_str()) {
            continue;
        }
        let own = layer(&room).unwrap_or_else(|| panic!("{room} has no layer"));
        for import in imports(&fs::read_to_string(&path).unwrap()).into_iter().filter(|import| !import.is_empty()) {
            let allowed = import == room || layer(&import).unwrap_or_else(|| panic!("{import} has no layer")) < own;
            if !allowed {
                wrong.push(format!("{} imports {import}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_upward_import_would_be_seen() {
    assert_eq!(imports("use crate::{\n mail::{A, B},\n cli::C,\n};"), ["mail", "cli", ""]);
    assert_eq!(imports("crate::app::run()"), ["app"]);
}

#[test]
fn files_stay_small() {
    let long: Vec<String> = ["src", "tests", "benches"]
        .iter()
        .flat_map(|folder| files(&root().join(folder)))
        .map(|path| (fs::read_to_string(&path).unwrap().lines().count(), path))
        .filter(|(lines, _)| *lines > LONGEST)
        .map(|(lines, path)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn no_page_says_where_it_was_written() {
    let folders = ["src", "tests", "benches", "rules", "scripts"].map(|folder| root().join(folder));
    for path in folders.iter().flat_map(|folder| files(folder)) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(concat!("/wo", "rk/")), "{}", path.display());
    }
}
