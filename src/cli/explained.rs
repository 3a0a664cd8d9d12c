//! What the rules make of a message and what SES would say, as text and as JSON.

use std::fmt::Write as _;

use crate::{
    mail::{Envelope, Message},
    rules::{Draft, Facts, Rules, Trace, Verdict, stale_signatures},
    upstream::{Finding, Severity, lint},
};

use super::terminal;

/// What there is to say of a message.
pub(super) struct Explained {
    /// As it would leave.
    pub(super) message: Message,
    /// From whom and to whom it would.
    pub(super) envelope: Envelope,
    trace: Trace,
    verdict: Verdict,
    findings: Vec<Finding>,
    stale: Vec<String>,
}

impl Explained {
    /// Runs the rules on a message, and the lint on what they make of it.
    pub(super) fn new(rules: &Rules, facts: &Facts, mut draft: Draft) -> Self {
        let verdict = rules.run(facts, &mut draft);
        let message = draft.message();
        Self {
            findings: lint(&draft.envelope, &message),
            stale: stale_signatures(&draft),
            message,
            verdict,
            trace: draft.trace,
            envelope: draft.envelope,
        }
    }

    /// Whether a rule or SES would refuse it.
    pub(super) fn refused(&self) -> bool {
        let by_rule = matches!(self.verdict, Verdict::Reject(_) | Verdict::Defer(_));
        by_rule || self.findings.iter().any(|finding| finding.severity == Severity::Refuse)
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let Self { trace, verdict, findings, stale, .. } = self;
        let mut text = String::new();
        terminal::changes(&mut text, &trace.changes, trace.count);
        for signature in stale {
            let _ = writeln!(text, "{signature}");
        }
        let _ = writeln!(text, "verdict: {verdict}");
        let lint = if findings.is_empty() {
            "clean".to_owned()
        } else {
            findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        let _ = writeln!(text, "lint: {lint}");
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> serde_json::Value {
        let Self { trace, verdict, findings, stale, .. } = self;
        let finding = |one: &Finding| serde_json::json!({ "severity": one.severity.word(), "line": one.line, "reason": one.reason });
        serde_json::json!({
            "changes": trace.changes,
            "count": trace.count,
            "user": trace.user,
            "env": trace.env,
            "verdict": verdict.word(),
            "refused": self.refused(),
            "stale_signatures": stale,
            "lint": findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }
}
