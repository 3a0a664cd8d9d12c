//! Rule files: TOML into compiled rules, with every fault of every file at once.

use std::{collections::BTreeMap, sync::Arc};

use crate::tree::{self, Entry, Fault, Node, Place, Value};

use super::{
    action::{self, Action, Selecting},
    builtin::BUILTINS,
    list::Lists,
    matcher::{self, Matcher},
    pattern::{Case, Pattern},
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
    needing_queue: Vec<Fault>,
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) rules: Vec<Rule>,
    pub(super) tests: Vec<Test>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: Arc<str>,
    pub(super) when: Vec<Box<dyn Matcher>>,
    pub(super) selector: Option<Selector>,
    pub(super) recipients: Option<Pattern>,
    /// It runs at RCPT, not on the message.
    pub(super) rcpt: bool,
    pub(super) actions: Vec<Box<dyn Action>>,
}

impl Rules {
    /// Compiles rule files, in their order.
    ///
    /// # Errors
    /// All faults of all files, each with its place and the right form.
    pub fn compile(sources: &[SourceText], vars: &BTreeMap<String, String>) -> Result<Self, Vec<Fault>> {
        let mut compiler = Compiler {
            lists: Lists::default(),
            templates: Templates::new(vars),
            faults: Vec::new(),
            needing_queue: Vec::new(),
            rcpt: false,
        };
        let mut trees = Vec::new();
        for source in sources {
            match tree::parse(&source.name, &source.text) {
                Ok(root) => trees.push((source.name.as_str(), root)),
                Err(faults) => compiler.faults.extend(faults),
            }
        }
        let lists: Vec<&Node> = trees.iter().filter_map(|(_, root)| root.child("list")).collect();
        lists.iter().for_each(|list| compiler.lists.define(list, &mut compiler.faults));
        lists.iter().for_each(|list| compiler.lists.extend(list, &mut compiler.faults));
        let files: Vec<File> = trees.iter().map(|(name, root)| file(name, root, &mut compiler)).collect();
        if compiler.faults.is_empty() {
            Ok(Self { files, templates: compiler.templates, needing_queue: compiler.needing_queue })
        } else {
            Err(compiler.faults)
        }
    }

    /// No rules at all: everything passes as it is.
    pub fn none() -> Self {
        Self { files: Vec::new(), templates: Templates::new(&BTreeMap::new()), needing_queue: Vec::new() }
    }

    /// The faults that these rules have where there is no queue.
    pub fn needing_queue(&self) -> &[Fault] {
        &self.needing_queue
    }

    /// File and name of each rule, in the order in which they run.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().flat_map(|file| file.rules.iter().map(|rule| (file.name.as_str(), &*rule.name)))
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
    /// The faults of what cannot be done without a queue.
    pub(super) needing_queue: Vec<Fault>,
    /// The rule at hand runs at RCPT.
    pub(super) rcpt: bool,
}

impl Compiler {
    pub(super) fn fault(&mut self, node: &Node, message: impl Into<String>) {
        self.faults.push(node.fault(message));
    }

    /// What stands there cannot be done without a queue.
    pub(super) fn needs_queue(&mut self, node: &Node, what: &str) {
        let message = format!("{what} needs the queue; write delivery.mode = \"queue\", or a [store]");
        self.needing_queue.push(node.fault(message));
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

fn file(name: &str, root: &Node, compiler: &mut Compiler) -> File {
    let mut file = File { name: name.to_owned(), rules: Vec::new(), tests: Vec::new() };
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
    compiler.rcpt = is_rcpt(node, compiler);
    let selecting = selecting(node, compiler);
    let mut rule = Rule {
        name: "".into(),
        when: Vec::new(),
        selector: None,
        recipients: None,
        rcpt: compiler.rcpt,
        actions: Vec::new(),
    };
    for entry in node.as_table()? {
        match entry.key.as_str() {
            "name" => rule.name = compiler.text(&entry.node).unwrap_or_default().into(),
            "at" => {}
            "when" => rule.when = matcher::compile_all(&entry.node, compiler),
            "header" => rule.selector = Selector::compile(&entry.node, compiler),
            "recipient" => rule.recipients = Pattern::compile(&entry.node, Case::Ignored, compiler),
            "do" => rule.actions = action::compile_all(&entry.node, selecting, compiler),
            _ => compiler.unknown(entry, "name, at, when, header, recipient and do"),
        }
    }
    if node.child("name").is_none_or(|name| name.as_text() == Some("")) {
        compiler.fault(node, "a rule needs a name");
    }
    if rule.actions.is_empty() && compiler.faults.len() == before {
        compiler.fault(node, "a rule needs do = [{ … }]");
    }
    (compiler.faults.len() == before).then_some(rule)
}

fn is_rcpt(node: &Node, compiler: &mut Compiler) -> bool {
    let Some(at) = node.child("at") else { return false };
    match at.as_text() {
        Some("rcpt") => true,
        Some("data") => false,
        _ => {
            compiler.fault(at, "at is \"data\", for the whole message, or \"rcpt\", for one recipient");
            false
        }
    }
}

fn selecting(node: &Node, compiler: &mut Compiler) -> Selecting {
    let selectors = (node.child("header"), node.child("recipient"));
    if let (Some(selector), _) | (_, Some(selector)) = selectors
        && (compiler.rcpt || selectors.0.is_some() && selectors.1.is_some())
    {
        compiler.fault(selector, "a rule selects fields or recipients, not both, and at RCPT nothing");
    }
    match selectors {
        (Some(_), _) => Selecting::Fields,
        (None, Some(_)) => Selecting::Recipients,
        (None, None) => Selecting::Nothing,
    }
}
