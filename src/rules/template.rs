//! Templates (MiniJinja), compiled at load, run with a fuel limit.

use std::{collections::BTreeMap, sync::Arc};

use minijinja::{
    Environment, UndefinedBehavior, Value,
    value::{Enumerator, Object, ObjectRepr},
};

use crate::{header::Header, mail::Address, mime::mailboxes};

use super::{draft::Draft, facts::Facts, trace::Trace};

/// Instructions one rendering may take.
const FUEL: u64 = 50_000;

/// A text that may hold `{{ … }}`.
#[derive(Debug)]
pub(super) enum Template {
    /// Nothing to fill in.
    Literal(String),
    /// The name of a compiled template, and whether it looks into the header.
    Compiled { name: String, header: bool },
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
        environment.add_filter("address", |text: &str| first_address(text));
        environment.add_filter("domain", |text: &str| {
            let address = first_address(text);
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
        self.0.add_template_owned(name.clone(), text.to_owned()).map_err(|error| error.to_string())?;
        let header = self.0.get_template(&name).is_ok_and(|one| one.undeclared_variables(false).contains("header"));
        Ok(Template::Compiled { name, header })
    }

    /// Fills a template in.
    pub(super) fn render(&self, template: &Template, sight: Sight<'_>) -> Result<String, TemplateError> {
        match template {
            Template::Literal(text) => Ok(text.clone()),
            Template::Compiled { name, header } => {
                let mut values = values(sight);
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

fn values(sight: Sight<'_>) -> BTreeMap<&'static str, Value> {
    let Sight { facts, draft, .. } = sight;
    let Trace { user, env, .. } = &draft.trace;
    let recipients: Vec<String> = draft.envelope.recipients.iter().map(ToString::to_string).collect();
    let recipient = sight.recipient.or(draft.envelope.recipients.first());
    let from = draft.header.find("From").next().map(|at| draft.header.decoded(at));
    BTreeMap::from([
        ("id", Value::from(facts.id.to_string())),
        ("client", Value::from(facts.client.address.to_string())),
        ("listener", Value::from(facts.client.listener.as_str())),
        ("helo", Value::from(facts.client.helo.as_str())),
        ("login", Value::from(facts.client.login.clone().unwrap_or_default())),
        ("hostname", Value::from(facts.hostname.as_str())),
        ("size", Value::from(facts.size)),
        ("sender", Value::from(draft.envelope.sender.to_string())),
        ("recipient", Value::from(recipient.map(ToString::to_string).unwrap_or_default())),
        ("recipients", Value::from(recipients)),
        ("from", Value::from(from.unwrap_or_default())),
        ("user", Value::from(user.clone().unwrap_or_default())),
        ("env", map(env)),
    ])
}

fn map(texts: &BTreeMap<String, String>) -> Value {
    Value::from_pairs(texts.iter().map(|(name, text)| (name.clone(), Value::from(text.clone()))))
}

fn first_address(text: &str) -> String {
    mailboxes(text.as_bytes()).into_iter().next().map(|one| one.address).unwrap_or_default()
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
