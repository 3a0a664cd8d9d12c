//! Running the rules on a draft.

use std::{fmt, sync::Arc};

use crate::mail::{Enhanced, Reply};

use super::{
    action::Flow,
    draft::Draft,
    facts::Facts,
    file::{Rule, Rules},
    template::{Sight, Template, TemplateError, Templates},
};

/// What the rules decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on its way.
    Accept,
    /// The client gets this 5xx.
    Reject(Reply),
    /// The client gets this 4xx.
    Defer(Reply),
    /// The client is told Ok, and the message is thrown away.
    Discard,
}

impl Verdict {
    /// The word that rule tests use.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject(_) => "reject",
            Self::Defer(_) => "defer",
            Self::Discard => "discard",
        }
    }
}

impl fmt::Display for Verdict {
    /// The word, and the reply if there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reject(reply) | Self::Defer(reply) => write!(f, "{} {reply}", self.word()),
            Self::Accept | Self::Discard => f.write_str(self.word()),
        }
    }
}

impl Rules {
    /// Runs all rules in their order, each on what the one before left.
    ///
    /// A template that fails defers the message: nothing is sent that a rule meant to change and could not.
    pub fn run(&self, facts: &Facts, draft: &mut Draft) -> Verdict {
        for file in &self.files {
            for rule in &file.rules {
                match self.run_rule(rule, facts, draft) {
                    Ok(Flow::Next) => {}
                    Ok(Flow::NextFile) => break,
                    Ok(Flow::End(verdict)) => {
                        let text = verdict.to_string();
                        draft.trace.record(&rule.name, "(verdict)", (None, Some(text.as_bytes())));
                        return verdict;
                    }
                    Err(error) => {
                        draft.trace.record(&rule.name, "(verdict)", (None, Some(error.to_string().as_bytes())));
                        let text = format!("Rule \"{}\" failed: its template gives no text", rule.name);
                        return Verdict::Defer(Reply::new(451, Enhanced(4, 3, 5), &text));
                    }
                }
            }
        }
        Verdict::Accept
    }

    fn run_rule(&self, rule: &Rule, facts: &Facts, draft: &mut Draft) -> Result<Flow, TemplateError> {
        if !rule.when.iter().all(|matcher| matcher.matches(facts, draft)) {
            return Ok(Flow::Next);
        }
        let positions: Vec<Option<usize>> = match &rule.selector {
            Some(selector) => selector.select(&draft.header).into_iter().map(Some).collect(),
            None => vec![None],
        };
        for field in positions {
            let mut scene = Scene { facts, draft, rule: &rule.name, field, templates: &self.templates };
            for action in &rule.actions {
                match action.apply(&mut scene)? {
                    Flow::Next => {}
                    flow => return Ok(flow),
                }
            }
        }
        Ok(Flow::Next)
    }
}

/// What an action works on.
pub(super) struct Scene<'a> {
    pub(super) facts: &'a Facts,
    pub(super) draft: &'a mut Draft,
    pub(super) rule: &'a Arc<str>,
    /// The field that the rule's selector selected.
    pub(super) field: Option<usize>,
    templates: &'a Templates,
}

impl Scene<'_> {
    pub(super) fn render(&self, template: &Template) -> Result<String, TemplateError> {
        if let Template::Literal(text) = template {
            return Ok(text.clone());
        }
        let header = &self.draft.header;
        let selected = self.field.and_then(|at| Some((header.name(at)?, header.decoded(at))));
        let selected = selected.as_ref().map(|(name, value)| (*name, value.as_str()));
        self.templates.render(template, Sight { facts: self.facts, draft: self.draft, selected })
    }

    /// Edits one field and records what it was and is.
    pub(super) fn edit(&mut self, at: usize, edit: impl FnOnce(&mut Draft)) {
        let name = self.draft.header.name(at).unwrap_or_default().to_owned();
        let before = self.draft.header.whole(at).to_vec();
        edit(self.draft);
        let after = self.draft.header.whole(at).to_vec();
        if before != after {
            let after = Some(after.as_slice()).filter(|after| !after.is_empty());
            self.draft.trace.record(self.rule, &name, (Some(&before), after));
        }
    }
}
