//! Running the rules on a draft.

use std::{fmt, sync::Arc};

use crate::mail::{Address, Enhanced, Reply};

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
    /// It is kept back until somebody releases it.
    Hold,
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
            Self::Hold => "hold",
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
            Self::Accept | Self::Hold | Self::Discard => f.write_str(self.word()),
        }
    }
}

impl Rules {
    /// Runs all rules in their order, each on what the one before left.
    ///
    /// A template that fails defers the message: nothing is sent that a rule meant to change and could not.
    pub fn run(&self, facts: &Facts, draft: &mut Draft) -> Verdict {
        for file in &self.files {
            for rule in file.rules.iter().filter(|rule| !rule.rcpt) {
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
                        return Verdict::Defer(failed(rule));
                    }
                }
            }
        }
        match (draft.envelope.recipients.is_empty(), &draft.held) {
            (true, _) => Verdict::Discard,
            (false, Some(_)) => Verdict::Hold,
            (false, None) => Verdict::Accept,
        }
    }

    /// Runs the rules `at = "rcpt"` for one recipient, who is the only one of the draft's envelope.
    pub fn check_recipient(&self, facts: &Facts, draft: &mut Draft) -> Option<Reply> {
        let mut rules = self.files.iter().flat_map(|file| &file.rules).filter(|rule| rule.rcpt);
        rules.find_map(|rule| match self.run_rule(rule, facts, draft) {
            Ok(Flow::End(Verdict::Reject(reply) | Verdict::Defer(reply))) => Some(reply),
            Ok(_) => None,
            Err(_) => Some(failed(rule)),
        })
    }

    /// Whether any rule runs at RCPT.
    pub fn has_recipient_rules(&self) -> bool {
        self.files.iter().flat_map(|file| &file.rules).any(|rule| rule.rcpt)
    }

    fn run_rule(&self, rule: &Rule, facts: &Facts, draft: &mut Draft) -> Result<Flow, TemplateError> {
        if !rule.when.iter().all(|matcher| matcher.matches(facts, draft)) {
            return Ok(Flow::Next);
        }
        let recorded = draft.trace.count;
        let mut flow = Flow::Next;
        for (field, recipient) in selected(rule, draft) {
            let mut scene = Scene { facts, draft, rule: &rule.name, field, recipient, templates: &self.templates };
            for action in &rule.actions {
                flow = action.apply(&mut scene)?;
                if !matches!(flow, Flow::Next) {
                    break;
                }
            }
            if !matches!(flow, Flow::Next) {
                break;
            }
        }
        if draft.trace.count > recorded || matches!(flow, Flow::End(_)) {
            draft.trace.hits.push(Arc::clone(&rule.name));
        }
        Ok(flow)
    }
}

/// What the rule's actions run for: fields by position, recipients, or once for the message. It is fixed here, before
/// the first action changes anything.
fn selected(rule: &Rule, draft: &Draft) -> Vec<(Option<usize>, Option<Address>)> {
    match (&rule.selector, &rule.recipients) {
        (Some(selector), _) => selector.select(&draft.header).into_iter().map(|at| (Some(at), None)).collect(),
        (None, Some(pattern)) => {
            let recipients = draft.envelope.recipients.iter().filter(|one| pattern.matches(&one.to_string()));
            recipients.map(|one| (None, Some(one.clone()))).collect()
        }
        (None, None) => vec![(None, None)],
    }
}

fn failed(rule: &Rule) -> Reply {
    let text = format!("Rule \"{}\" failed: its template gives no text", rule.name);
    Reply::new(451, Enhanced(4, 3, 5), &text)
}

/// What an action works on.
pub(super) struct Scene<'a> {
    pub(super) facts: &'a Facts,
    pub(super) draft: &'a mut Draft,
    pub(super) rule: &'a Arc<str>,
    /// The field that the rule's selector selected.
    pub(super) field: Option<usize>,
    /// The recipient that the rule's selector selected.
    pub(super) recipient: Option<Address>,
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
        self.templates.render(
            template,
            Sight { facts: self.facts, draft: self.draft, selected, recipient: self.recipient.as_ref() },
        )
    }

    /// Records a change of something that is no field.
    pub(super) fn record(&mut self, what: &str, before: Option<&str>, after: Option<&str>) {
        if before != after {
            self.draft.trace.record(self.rule, what, (before.map(str::as_bytes), after.map(str::as_bytes)));
        }
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
