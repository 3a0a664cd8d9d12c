//! Templates (MiniJinja), compiled at load, run with a fuel limit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use minijinja::{
    Environment, ErrorKind, State, UndefinedBehavior, Value,
    value::{Enumerator, Object, ObjectRepr},
};

use crate::{
    header::{self, Header},
    mail::{Address, Client, Envelope, Id},
    mime::mailboxes,
};

use super::{draft::Draft, facts::Facts};

/// Instructions one rendering may take.
const FUEL: u64 = 50_000;

/// A text that may hold `{{ … }}`.
#[derive(Debug)]
pub(super) enum Template {
    /// Nothing to fill in.
    Literal(String),
    /// The name of a compiled template, the values it asks for, and whether it looks into the header.
    Compiled { name: String, asks: BTreeSet<String>, header: bool },
}

/// All templates of all files.
#[derive(Debug)]
pub(super) struct Templates(Environment<'static>);

/// Why a template gave no text.
#[derive(Debug, thiserror::Error)]
#[error("template: {0}")]
pub(super) struct TemplateError(#[from] minijinja::Error);

/// What a template can see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight<'a> {
    pub facts: &'a Facts,
    pub draft: &'a Draft,
    /// Name and decoded value of the field that a header selector selected.
    pub selected: Option<(&'a str, &'a str)>,
    /// The recipient that a recipient selector selected.
    pub recipient: Option<&'a Address>,
}

impl Templates {
    pub(super) fn new(vars: &BTreeMap<String, String>) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_filter("address", |state: &State<'_, '_>, text: &str| first_address(state, text));
        environment.add_filter("domain", |state: &State<'_, '_>, text: &str| {
            let address = first_address(state, text);
            address.rsplit_once('@').map(|(_, domain)| domain.to_owned()).unwrap_or_default()
        });
        environment.add_global("vars", map(vars));
        Self(environment)
    }

    /// Compiles a text.
    pub(super) fn compile(&mut self, text: &str) -> Result<Template, String> {
        if !text.contains("{{") && !text.contains("{%") && !text.contains("{#") {
            return Ok(Template::Literal(text.to_owned()));
        }
        let name = format!("template {}", self.0.templates().count() + 1);
        self.0.add_template_owned(name.clone(), text.to_owned()).map_err(|error| described(&error))?;
        let asks = self.0.get_template(&name).map(|one| one.undeclared_variables(false).into_iter().collect());
        let asks: BTreeSet<String> = asks.unwrap_or_default();
        let header = asks.contains("header") || text.contains("address") || text.contains("domain");
        let template = Template::Compiled { name, asks, header };
        match self.rehearse(&template) {
            Err(TemplateError(error)) if is_unknown_word(error.kind()) => Err(described(&error)),
            _ => Ok(template),
        }
    }

    /// Fills a template in for no message: MiniJinja looks up the names of filters, tests and functions only then.
    fn rehearse(&self, template: &Template) -> Result<String, TemplateError> {
        let client = Client::new(std::net::Ipv4Addr::UNSPECIFIED.into(), "");
        let facts = Facts { id: Id::nil(), client, size: 0, hostname: String::new() };
        let draft = Draft::new(Envelope::default(), &Bytes::new());
        self.render(template, Sight { facts: &facts, draft: &draft, selected: Some(("", "")), recipient: None })
    }

    /// Fills a template in.
    pub(super) fn render(&self, template: &Template, sight: Sight<'_>) -> Result<String, TemplateError> {
        match template {
            Template::Literal(text) => Ok(text.clone()),
            Template::Compiled { name, asks, header } => {
                let mut values: BTreeMap<&str, Value> = VALUES
                    .iter()
                    .filter(|(name, _)| asks.contains(*name))
                    .map(|(name, look)| (*name, look(sight)))
                    .collect();
                if *header {
                    values.insert("header", Value::from_object(View(sight.draft.header.clone())));
                }
                if let Some((name, value)) = sight.selected {
                    values.insert("name", Value::from(name));
                    values.insert("value", Value::from(value));
                }
                Ok(self.0.get_template(name)?.render(values)?)
            }
        }
    }
}

fn is_unknown_word(kind: ErrorKind) -> bool {
    use ErrorKind::{UnknownFilter, UnknownFunction, UnknownMethod, UnknownTest};
    matches!(kind, UnknownFilter | UnknownFunction | UnknownMethod | UnknownTest)
}

/// The error without the name that a template has only in here.
fn described(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("template: {}: {detail}", error.kind()),
        None => format!("template: {}", error.kind()),
    }
}

type Look = fn(Sight<'_>) -> Value;

/// What a template may ask for, besides `header`, and `name` and `value` of a selected field.
const VALUES: &[(&str, Look)] = &[
    ("id", |sight| Value::from(sight.facts.id.to_string())),
    ("client", |sight| Value::from(sight.facts.client.address.to_string())),
    ("listener", |sight| Value::from(sight.facts.client.listener.as_str())),
    ("helo", |sight| Value::from(sight.facts.client.helo.as_str())),
    ("login", |sight| Value::from(sight.facts.client.login.clone().unwrap_or_default())),
    ("hostname", |sight| Value::from(sight.facts.hostname.as_str())),
    ("size", |sight| Value::from(sight.facts.size)),
    ("sender", |sight| Value::from(sight.draft.envelope.sender.to_string())),
    ("recipient", |sight| {
        let recipient = sight.recipient.or(sight.draft.envelope.recipients.first());
        Value::from(recipient.map(ToString::to_string).unwrap_or_default())
    }),
    ("recipients", |sight| {
        Value::from(sight.draft.envelope.recipients.iter().map(ToString::to_string).collect::<Vec<_>>())
    }),
    ("from", |sight| {
        let header = &sight.draft.header;
        Value::from(header.find("From").next().map(|at| header.decoded(at)).unwrap_or_default())
    }),
    ("user", |sight| Value::from(sight.draft.trace.user.clone().unwrap_or_default())),
    ("env", |sight| map(&sight.draft.trace.env)),
];

fn map(texts: &BTreeMap<String, String>) -> Value {
    Value::from_pairs(texts.iter().map(|(name, text)| (name.clone(), Value::from(text.clone()))))
}

/// The first address of a list.
///
/// A list has to be read before its encoded-words are decoded (RFC 2047 section 6.2), or a display name could hold an
/// address that counts. So the text is looked for among the decoded fields, and the field as it stands is read; fields
/// that decode to the same text and hold different addresses hold none.
fn first_address(state: &State<'_, '_>, text: &str) -> String {
    let first = |value: &[u8]| mailboxes(value).into_iter().next().map(|one| one.address).unwrap_or_default();
    let view = state.lookup("header").and_then(|value| value.downcast_object::<View>());
    let fields = view.iter().flat_map(|view| {
        let header = &view.0;
        header.positions().filter(|at| header.decodes_to(*at, text)).map(|at| first(header.raw(at)))
    });
    let mut found: Vec<String> = fields.collect();
    found.dedup();
    match found.as_slice() {
        // No field as it stands; an encoded-word may have held line ends, which would end the list.
        [] => first(header::printable(text).as_bytes()),
        [one] => one.clone(),
        _ => String::new(),
    }
}

/// `header['Name']`: the decoded value of the first field of that name, or nothing.
#[derive(Debug)]
struct View(Header);

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let first = self.0.find(name).next();
        Some(Value::from(first.map(|at| self.0.decoded(at)).unwrap_or_default()))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}
