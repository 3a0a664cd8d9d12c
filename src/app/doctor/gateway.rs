//! Settings, rules, store.

use crate::{
    rules::{Rules, run_tests},
    store::{Probe, StoreError},
    tree::Fault,
    upstream::{Severity, lint},
};

use super::{CheckRow, Found, Gateway, Look};

pub(super) const SETTINGS: CheckRow =
    CheckRow { name: "settings", about: "file, variables and flags have no fault", look: Look::Gateway(settings) };
pub(super) const RULES: CheckRow =
    CheckRow { name: "rules", about: "the rule files can be read, and their tests pass", look: Look::Gateway(rules) };
pub(super) const STORE: CheckRow =
    CheckRow { name: "store", about: "the queue can be written", look: Look::Gateway(store) };

fn settings(gateway: &Gateway) -> Vec<Found> {
    let mut lines = faults(&gateway.draft.faults);
    let upstreams = gateway.draft.settings.as_ref().map_or(0, |settings| settings.upstreams.len());
    if upstreams == 0 || (0..upstreams).any(|at| gateway.draft.is_doubtful(at)) {
        lines.push(Found::skip("an upstream is not looked at before it is known what it is to be"));
    } else if lines.is_empty() {
        let file = gateway.file.as_ref().map(|file| file.display().to_string());
        lines.push(Found::ok(file.map_or_else(
            || "no file is named; defaults, variables and flags have no fault".to_owned(),
            |file| format!("{file} has no fault"),
        )));
    }
    lines
}

/// A fault says itself what would be right.
fn faults(faults: &[Fault]) -> Vec<Found> {
    faults.iter().map(|fault| Found::fail(fault.to_string(), "")).collect()
}

fn rules(gateway: &Gateway) -> Vec<Found> {
    match &gateway.draft.rules {
        Some(Ok(rules)) => vec![tested(rules)],
        Some(Err(wrong)) => faults(wrong),
        None => vec![Found::skip("it is not known which files there are to be")],
    }
}

fn tested(rules: &Rules) -> Found {
    let (tests, failures) = run_tests(rules, &|draft| {
        let findings = lint(&draft.envelope, &draft.message());
        findings.iter().filter(|finding| finding.severity == Severity::Refuse).map(ToString::to_string).collect()
    });
    match failures.as_slice() {
        [] => Found::ok(format!("{} rules, their tests pass", rules.len())),
        [first, ..] => Found::warn(
            format!("{tests} tests, {} failures; the first: {first}", failures.len()),
            "mend the rules or their tests; `headgate rules test` shows all of them",
        ),
    }
}

fn store(gateway: &Gateway) -> Vec<Found> {
    let Some((path, probe)) = &gateway.store else {
        return vec![Found::skip(match &gateway.draft.settings {
            Some(settings) if settings.store.is_none() => {
                "there is none: in direct mode the client keeps the mail until SES has it"
            }
            _ => "it is not known where it is to be",
        })];
    };
    let path = path.display();
    vec![match probe {
        Ok(Probe::Absent) => Found::ok(format!("{path} is not there yet and can be made")),
        Ok(Probe::Free) => Found::ok(format!("{path} can be written; no gateway runs on it")),
        Ok(Probe::InUse) => Found::ok(format!("{path} is in use by a gateway that runs, and can be written")),
        Err(error) => Found::fail(error.to_string(), remedy(error)),
    }]
}

fn remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Full(_) => "make room on that disk; until then mail is put off with 452",
        StoreError::Newer { .. } => "run the version of Headgate that wrote it, or a newer one",
        StoreError::Corrupt(_) => "name another file in store.url, or put the store back from a copy",
        StoreError::Locked(_) => "end the other program",
        StoreError::Unavailable(_) | StoreError::Stale | StoreError::Duplicate => {
            "make the folder, and let the user that runs Headgate write in it"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{
        app::doctor::State,
        config::{Draft, Settings},
        rules::SourceText,
        tree::Place,
    };

    fn gateway(draft: Draft, store: Option<Result<Probe, StoreError>>) -> Gateway {
        Gateway { draft, file: None, store: store.map(|probe| (PathBuf::from("q.db"), probe)) }
    }

    fn compiled(test: &str) -> Draft {
        let text = format!("[[rule]]\nname = \"a\"\ndo = [{{ remove = \"X-A\" }}]\n[[test]]\nname = \"t\"\n{test}");
        let source = SourceText { name: "a.toml".to_owned(), text };
        let rules = Rules::compile(&[source], &std::collections::BTreeMap::new());
        Draft { settings: Some(Settings::default()), rules: Some(rules), ..Draft::default() }
    }

    #[test]
    fn each_fault_is_a_line() {
        let fault = |text: &str| Fault::new(&Place::named("here"), text);
        let draft = Draft { faults: vec![fault("a"), fault("b")], ..Draft::default() };
        let found: Vec<_> = settings(&gateway(draft, None)).into_iter().map(|one| (one.state, one.text)).collect();
        assert_eq!(found[..2], [(State::Fail, "here: a".to_owned()), (State::Fail, "here: b".to_owned())]);
        assert_eq!(found[2].0, State::Skip, "{found:?}");
        let draft = Draft { settings: Some(Settings::default()), ..Draft::default() };
        assert_eq!(settings(&gateway(draft, None))[0].state, State::Ok);
    }

    #[test]
    fn rules_are_tested() {
        let mail = "mail = \"From: a@example.com\\r\\nX-A: b\\r\\n\\r\\nhi\\r\\n\"\n";
        let right = compiled(&format!("{mail}expect = {{ no_header = [\"X-A\"] }}\n"));
        assert_eq!(rules(&gateway(right, None)), [Found::ok("1 rules, their tests pass")]);
        let wrong = compiled(&format!("{mail}expect = {{ header = {{ X-A = \"b\" }} }}\n"));
        let [found] = rules(&gateway(wrong, None)).try_into().unwrap();
        assert_eq!(found.state, State::Warn);
        assert!(found.text.starts_with("1 tests, 1 failures; the first: a.toml"), "{}", found.text);
        let broken = Draft { rules: Some(Err(vec![Fault::new(&Place::named("r"), "x")])), ..Draft::default() };
        assert_eq!(rules(&gateway(broken, None)), [Found::fail("r: x", "")]);
        assert_eq!(rules(&gateway(Draft::default(), None))[0].state, State::Skip);
    }

    #[test]
    fn a_store_that_cannot_be_used_fails() {
        let direct = Settings { store: None, ..Settings::default() };
        let draft = Draft { settings: Some(direct), ..Draft::default() };
        assert!(store(&gateway(draft, None))[0].text.contains("direct mode"));
        for (probe, expected) in [
            (None, State::Skip),
            (Some(Ok(Probe::Absent)), State::Ok),
            (Some(Ok(Probe::Free)), State::Ok),
            (Some(Ok(Probe::InUse)), State::Ok),
            (Some(Err(StoreError::Full("x".to_owned()))), State::Fail),
            (Some(Err(StoreError::Unavailable("x".to_owned()))), State::Fail),
        ] {
            let draft = Draft { settings: Some(Settings::default()), ..Draft::default() };
            let [found] = store(&gateway(draft, probe)).try_into().unwrap();
            assert_eq!((found.state, found.action.is_empty()), (expected, expected != State::Fail));
        }
    }
}
