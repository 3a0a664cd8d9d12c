//! Rule files: TOML into compiled rules, with every fault of every file at once.

use std::{collections::BTreeMap, sync::Arc};

use crate::tree::{self, Entry, Fault, Node, Place, Value};

use super::{
    action::{self, Action},
    builtin::BUILTINS,
    list::Lists,
    matcher::{self, Matcher},
    selector::Selector,
    template::{Template, Templates},
    test::{self, Test},
};

/// The name and text of a rule file.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// A path, or `builtin:NAME`.
    pub name: String,
    /// TOML.
    pub text: String,
}

impl SourceText {
    /// A shipped file by its name.
    pub fn builtin(name: &str) -> Option<Self> {
        let (_, text) = BUILTINS.iter().find(|(known, _)| *known == name)?;
        Some(Self { name: format!("builtin:{name}"), text: (*text).to_owned() })
    }
}

/// All rules, compiled.
#[derive(Debug)]
pub struct Rules {
    pub(super) files: Vec<File>,
    pub(super) templates: Templates,
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) rules: Vec<Rule>,
    pub(super) tests: Vec<Test>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: Arc<str>,
    pub(super) when: Vec<Box<dyn Matcher>>,
    pub(super) selector: Option<Selector>,
    pub(super) actions: Vec<Box<dyn Action>>,
}

impl Rules {
    /// Compiles rule files, in their order.
    ///
    /// # Errors
    /// All faults of all files, each with its place and the right form.
    pub fn compile(sources: &[SourceText], vars: &BTreeMap<String, String>) -> Result<Self, Vec<Fault>> {
        let mut compiler = Compiler { lists: Lists::default(), templates: Templates::new(vars), faults: Vec::new() };
        let mut trees = Vec::new();
        for source in sources {
            match tree::parse(&source.name, &source.text) {
                Ok(root) => trees.push(root),
                Err(faults) => compiler.faults.extend(faults),
            }
        }
        let lists: Vec<&Node> = trees.iter().filter_map(|root| root.child("list")).collect();
        lists.iter().for_each(|list| compiler.lists.define(list, &mut compiler.faults));
        lists.iter().for_each(|list| compiler.lists.extend(list, &mut compiler.faults));
        let files: Vec<File> = trees.iter().map(|root| file(root, &mut compiler)).collect();
        if compiler.faults.is_empty() {
            Ok(Self { files, templates: compiler.templates })
        } else {
            Err(compiler.faults)
        }
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.files.iter().map(|file| file.rules.len()).sum()
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What compiling needs at hand: the lists, the templates so far, and the faults so far.
pub(super) struct Compiler {
    pub(super) lists: Lists,
    pub(super) templates: Templates,
    pub(super) faults: Vec<Fault>,
}

impl Compiler {
    pub(super) fn fault(&mut self, node: &Node, message: impl Into<String>) {
        self.faults.push(node.fault(message));
    }

    pub(super) fn fault_at(&mut self, place: &Place, message: impl Into<String>) {
        self.faults.push(Fault::new(place, message));
    }

    pub(super) fn flag(&mut self, node: &Node) -> Option<bool> {
        match node.value {
            Value::Scalar(toml::Value::Boolean(flag)) => Some(flag),
            _ => {
                self.fault(node, format!("true or false, not {}", node.kind()));
                None
            }
        }
    }

    pub(super) fn text<'a>(&mut self, node: &'a Node) -> Option<&'a str> {
        if node.as_text().is_none() {
            self.fault(node, format!("a string, not {}", node.kind()));
        }
        node.as_text()
    }

    pub(super) fn template(&mut self, node: &Node) -> Option<Template> {
        let text = self.text(node)?;
        match self.templates.compile(text) {
            Ok(template) => Some(template),
            Err(message) => {
                self.fault(node, message);
                None
            }
        }
    }

    pub(super) fn unknown(&mut self, entry: &Entry, known: &str) {
        self.fault_at(&entry.place, format!("unknown key {}; known are {known}", entry.key));
    }
}

fn file(root: &Node, compiler: &mut Compiler) -> File {
    let mut file = File { rules: Vec::new(), tests: Vec::new() };
    for entry in root.as_table().unwrap_or_default() {
        match entry.key.as_str() {
            "list" if entry.node.as_table().is_some() => {}
            "rule" => file.rules = tables(entry, compiler).iter().filter_map(|one| rule(one, compiler)).collect(),
            "test" => {
                file.tests = tables(entry, compiler).iter().filter_map(|one| test::compile(one, compiler)).collect()
            }
            "list" => compiler.fault(&entry.node, "[list] is a table of lists"),
            _ => compiler.unknown(entry, "[list], [[rule]] and [[test]]"),
        }
    }
    file
}

fn tables(entry: &Entry, compiler: &mut Compiler) -> Vec<Node> {
    match entry.node.as_array() {
        Some(elements) => elements.to_vec(),
        None => {
            compiler.fault(&entry.node, format!("write [[{0}]], not [{0}]", entry.key));
            Vec::new()
        }
    }
}

fn rule(node: &Node, compiler: &mut Compiler) -> Option<Rule> {
    let before = compiler.faults.len();
    let (mut name, mut when, mut selector, mut actions) = (None, Vec::new(), None, None);
    let selecting = node.child("header").is_some();
    for entry in node.as_table()? {
        match entry.key.as_str() {
            "name" => name = compiler.text(&entry.node),
            "when" => when = matcher::compile_all(&entry.node, compiler),
            "header" => selector = Selector::compile(&entry.node, compiler),
            "do" => actions = Some(action::compile_all(&entry.node, selecting, compiler)),
            _ => compiler.unknown(entry, "name, when, header and do"),
        }
    }
    if name.is_some_and(str::is_empty) || node.child("name").is_none() {
        compiler.fault(node, "a rule needs a name");
    }
    if actions.as_ref().is_none_or(Vec::is_empty) && compiler.faults.len() == before {
        compiler.fault(node, "a rule needs do = [{ … }]");
    }
    let sound = compiler.faults.len() == before;
    sound.then(|| Rule { name: name.unwrap_or_default().into(), when, selector, actions: actions.unwrap_or_default() })
}
