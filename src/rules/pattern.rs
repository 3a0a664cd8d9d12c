//! Text patterns: a glob (`X-RT-*`), a regular expression (`/^re:/i`), a named list (`@ses_once`), or an array of these,
//! any of which may match. All of them run in linear time.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hasher},
};

use regex::Regex;

use crate::tree::Node;

use super::file::Compiler;

/// Lists that name lists, at most this deep.
const DEPTH: usize = 8;

/// Texts that are compared one by one, and octets that are folded in place.
const FEW: usize = 4;
const SHORT: usize = 64;

/// Whether upper and lower case differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Exact,
    Ignored,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    case: Case,
    everything: bool,
    exact: HashSet<Box<[u8]>, BuildHasherDefault<Quick>>,
    prefixes: Vec<String>,
    regexes: Vec<Regex>,
}

impl Pattern {
    /// Compiles a string or an array of strings.
    pub(super) fn compile(node: &Node, case: Case, compiler: &mut Compiler) -> Option<Self> {
        let mut pattern =
            Self { case, everything: false, exact: HashSet::default(), prefixes: Vec::new(), regexes: Vec::new() };
        let elements = node.as_array().unwrap_or(std::slice::from_ref(node)).to_vec();
        let legal: Vec<bool> = elements.iter().map(|element| pattern.take(element, compiler, DEPTH)).collect();
        legal.into_iter().all(|one| one).then_some(pattern)
    }

    /// Whether a text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.matches_octets(text.as_bytes())
    }

    /// Whether the octets of a text match.
    pub(super) fn matches_octets(&self, text: &[u8]) -> bool {
        if self.everything {
            return true;
        }
        match (self.case, self.exact.len()) {
            (Case::Exact, _) => self.matches_folded(text, text),
            (Case::Ignored, 0..=FEW) if self.prefixes.is_empty() => {
                self.exact.iter().any(|one| one.eq_ignore_ascii_case(text)) || self.matches_regex(text)
            }
            (Case::Ignored, _) => {
                // Field names are short; most are folded without asking for memory.
                let mut buffer = [0; SHORT];
                match buffer.get_mut(..text.len()) {
                    Some(folded) => {
                        folded.copy_from_slice(text);
                        folded.make_ascii_lowercase();
                        self.matches_folded(folded, text)
                    }
                    None => self.matches_folded(&text.to_ascii_lowercase(), text),
                }
            }
        }
    }

    fn matches_folded(&self, folded: &[u8], text: &[u8]) -> bool {
        self.prefixes.iter().any(|prefix| folded.starts_with(prefix.as_bytes()))
            || self.exact.contains(folded)
            || self.matches_regex(text)
    }

    fn matches_regex(&self, text: &[u8]) -> bool {
        let matches = |text| self.regexes.iter().any(|regex| regex.is_match(text));
        !self.regexes.is_empty() && std::str::from_utf8(text).is_ok_and(matches)
    }

    fn take(&mut self, node: &Node, compiler: &mut Compiler, depth: usize) -> bool {
        let Some(text) = node.as_text() else {
            compiler.fault(node, format!("a pattern is a string or an array of strings, not {}", node.kind()));
            return false;
        };
        if text.starts_with('@') {
            return self.take_list(node, compiler, depth);
        }
        if slashed(text).is_some() {
            return self.take_regex(node, compiler);
        }
        self.take_glob(text);
        true
    }

    fn take_list(&mut self, node: &Node, compiler: &mut Compiler, depth: usize) -> bool {
        let list = node.as_text().unwrap_or_default().trim_start_matches('@');
        let elements = compiler.lists.get(list).map(<[Node]>::to_vec);
        let fault = match elements {
            Some(_) if depth == 0 => format!("list {list} names itself, or lists are nested more than {DEPTH} deep"),
            Some(elements) => return elements.iter().all(|element| self.take(element, compiler, depth - 1)),
            None => format!("there is no list {list}; [list] defines one"),
        };
        compiler.fault(node, fault);
        false
    }

    fn take_regex(&mut self, node: &Node, compiler: &mut Compiler) -> bool {
        let (source, ignore) = node.as_text().and_then(slashed).unwrap_or_default();
        let compiled = compile_regex(source, ignore || self.case == Case::Ignored);
        match compiled {
            Ok(regex) => self.regexes.push(regex),
            Err(message) => {
                compiler.fault(node, message);
                return false;
            }
        }
        true
    }

    fn take_glob(&mut self, glob: &str) {
        let glob = if self.case == Case::Ignored { glob.to_ascii_lowercase() } else { glob.to_owned() };
        match glob.strip_suffix('*') {
            Some("") => self.everything = true,
            _ if !glob.contains(['*', '?']) => {
                self.exact.insert(glob.into_bytes().into());
            }
            Some(prefix) if !prefix.contains(['*', '?']) => self.prefixes.push(prefix.to_owned()),
            _ => {
                let escaped = regex::escape(&glob).replace("\\*", ".*").replace("\\?", ".");
                self.regexes.extend(compile_regex(&format!("^(?s:{escaped})$"), self.case == Case::Ignored).ok());
            }
        }
    }
}

/// The hash of a text in a set that a rule file gives: who sends mail adds nothing to it, so it need not withstand
/// anybody, and a field name is looked up for each field of each message.
#[derive(Debug, Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, octets: &[u8]) {
        let (words, last) = octets.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        self.write_u64(last.iter().fold(0, |word, octet| word << 8 | u64::from(*octet)));
    }

    fn write_u64(&mut self, word: u64) {
        // An odd number without a pattern: the digits of the golden ratio.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, length: usize) {
        self.write_u64(length as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits of a product hang on the low bits of the word only.
        self.0 ^ self.0 >> 32
    }
}

/// The source of `/…/` or `/…/i`, and whether case is ignored.
pub(super) fn slashed(text: &str) -> Option<(&str, bool)> {
    let inside = text.strip_prefix('/')?;
    let ignoring = inside.strip_suffix("/i").map(|source| (source, true));
    ignoring.or_else(|| inside.strip_suffix('/').map(|source| (source, false)))
}

/// A regular expression of bounded size.
pub(super) fn compile_regex(source: &str, ignore_case: bool) -> Result<Regex, String> {
    let built = regex::RegexBuilder::new(source).case_insensitive(ignore_case).size_limit(1 << 20).build();
    built.map_err(|error| {
        let text = error.to_string();
        format!(
            "/{source}/ is no regular expression: {}",
            text.lines().last().unwrap_or_default().trim_start_matches("error: ")
        )
    })
}

/// A pattern over several values: it holds when any value matches, or all of them with `{ every = … }`.
#[derive(Debug)]
pub(super) struct Values {
    pattern: Pattern,
    every: bool,
}

impl Values {
    /// Compiles a pattern, or a table with the key `every`.
    pub(super) fn compile(node: &Node, case: Case, compiler: &mut Compiler) -> Option<Self> {
        let Some(entries) = node.as_table() else {
            return Pattern::compile(node, case, compiler).map(|pattern| Self { pattern, every: false });
        };
        match entries {
            [only] if only.key == "every" => {
                Pattern::compile(&only.node, case, compiler).map(|pattern| Self { pattern, every: true })
            }
            _ => {
                compiler.fault(node, "a pattern is a string, an array of strings, or { every = … }");
                None
            }
        }
    }

    /// Whether the values match; none never do.
    pub(super) fn match_in<T: AsRef<str>>(&self, values: impl IntoIterator<Item = T>) -> bool {
        let mut values = values.into_iter().map(|value| self.pattern.matches(value.as_ref())).peekable();
        if self.every { values.peek().is_some() && values.all(|one| one) } else { values.any(|one| one) }
    }
}
