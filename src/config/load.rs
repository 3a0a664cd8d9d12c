//! File, environment and flags into settings, with every fault at once.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    delivery::Mode,
    rules::{Rules, SourceText},
    tree::{self, Fault, Node, Place, Step},
};

use super::{Settings, check, env, shape};

/// Where settings come from; later ones win.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `--config`, or HEADGATE_CONFIG when there is no flag.
    pub file: Option<PathBuf>,
    /// The environment; only names that begin with HEADGATE_ are looked at.
    pub environment: Vec<(String, String)>,
    /// `--listen ADDR`.
    pub listen: Option<String>,
    /// `--upstream KIND[:ARG]`.
    pub upstream: Option<String>,
    /// `--set KEY=VALUE`.
    pub set: Vec<String>,
}

/// Settings that may be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings, with absolute paths where the file's folder matters.
    pub settings: Settings,
    /// The rules they name.
    pub rules: Arc<Rules>,
}

/// Settings as far as they can be read, with what is wrong with them.
#[derive(Debug, Default)]
pub struct Draft {
    /// The settings; defaults stand in the place of what cannot be read. `None` when nothing can.
    pub settings: Option<Settings>,
    /// What is wrong with the settings.
    pub faults: Vec<Fault>,
    /// The rules they name, or what is wrong with those. `None` when it is not known which they name.
    pub rules: Option<Result<Rules, Vec<Fault>>>,
}

impl Draft {
    /// Whether an upstream may be another than was meant, since something said about it is wrong.
    pub fn is_doubtful(&self, upstream: usize) -> bool {
        let own = format!("upstream[{upstream}].");
        self.faults.iter().any(|fault| match fault.message.strip_prefix("upstream[") {
            Some(rest) if rest.split_once(']').is_some_and(|(_, key)| key.starts_with('.')) => {
                fault.message.starts_with(&own)
            }
            // A name that is none may have been meant for an upstream; where a section can stand, that is told among others.
            _ => {
                let text = fault.to_string().to_ascii_lowercase();
                text.contains("upstream") || text.contains("there is no setting")
            }
        })
    }
}

/// Reads and checks all settings and the rules they name.
///
/// # Errors
/// All faults, each with file, line and column, or with the flag or variable it comes from.
pub fn load(request: &Request) -> Result<Loaded, Vec<Fault>> {
    let Draft { settings, mut faults, rules, .. } = draft(request);
    match (settings, rules) {
        (Some(settings), Some(Ok(rules))) if faults.is_empty() => Ok(Loaded { settings, rules: Arc::new(rules) }),
        (_, Some(Err(more))) => {
            faults.extend(more);
            Err(faults)
        }
        _ => Err(faults),
    }
}

/// Reads all settings and the rules they name, for one who goes on with what can be read.
pub fn draft(request: &Request) -> Draft {
    let (file, mut root) = match root(request) {
        Ok(read) => read,
        Err(faults) => return Draft { faults, ..Draft::default() },
    };
    let mut faults = env::apply(&mut root, request);
    let (misshapen, mut defaulted): (Vec<_>, Vec<_>) = shape::straighten(&mut root).into_iter().unzip();
    let partial = tree::read_partial::<Settings>(&root);
    faults.extend(misshapen);
    faults.extend(partial.faults);
    defaulted.extend(partial.defaulted);
    let (Some(mut settings), root) = (partial.value, partial.rest) else {
        return Draft { faults, ..Draft::default() };
    };
    let base = file.as_deref().and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default();
    if settings.delivery.mode == Mode::Direct && root.child("store").is_none() {
        settings.store = None;
    }
    settings.resolve(&base);
    faults.extend(check::check(&settings, &root, &defaulted));
    faults.sort_by_key(|fault| fault.place.line_and_column());
    let rules = Some(rules(&settings, &root));
    Draft { settings: Some(settings), faults, rules }
}

/// The settings file that a request names.
pub fn file(request: &Request) -> Option<PathBuf> {
    let variable = request.environment.iter().find(|(name, _)| name == "HEADGATE_CONFIG").map(|(_, value)| value);
    request.file.clone().or_else(|| variable.filter(|path| !path.is_empty()).map(PathBuf::from))
}

/// The settings file, if there is one, and what stands in it.
fn root(request: &Request) -> Result<(Option<PathBuf>, Node), Vec<Fault>> {
    let file = file(request);
    let root = match &file {
        Some(path) => tree::parse(&path.display().to_string(), &read_file(path, &Place::named("settings"))?)?,
        None => Node::table(Place::named("settings")),
    };
    Ok((file, root))
}

fn read_file(path: &Path, place: &Place) -> Result<String, Vec<Fault>> {
    std::fs::read_to_string(path)
        .map_err(|error| vec![Fault::new(place, format!("cannot read {}: {error}", path.display()))])
}

fn rules(settings: &Settings, root: &Node) -> Result<Rules, Vec<Fault>> {
    let (mut sources, mut faults) = (Vec::new(), Vec::new());
    for (index, name) in settings.rules.files.iter().enumerate() {
        let place = root.place_of(&[Step::from("rules"), Step::from("files"), Step::from(index)]);
        let source = match name.strip_prefix("builtin:") {
            Some(shipped) => SourceText::builtin(shipped).ok_or_else(|| vec![Fault::new(&place, unknown(shipped))]),
            None => read_file(Path::new(name), &place).map(|text| SourceText { name: name.clone(), text }),
        };
        match source {
            Ok(source) => sources.push(source),
            Err(more) => faults.extend(more),
        }
    }
    match Rules::compile(&sources, &settings.rules.vars) {
        Ok(rules) => {
            if settings.store.is_none() {
                faults.extend_from_slice(rules.needing_queue());
            }
            if faults.is_empty() { Ok(rules) } else { Err(faults) }
        }
        Err(more) => {
            faults.extend(more);
            Err(faults)
        }
    }
}

fn unknown(shipped: &str) -> String {
    let known: Vec<&str> = crate::rules::BUILTINS.iter().map(|(name, _)| *name).collect();
    format!("rules.files: there is no builtin:{shipped}; shipped are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_doubtful_when_something_said_of_it_is_wrong() {
        let request =
            |set: &[&str]| Request { set: set.iter().map(|pair| (*pair).to_owned()).collect(), ..Request::default() };
        for (set, doubtful) in [
            ("upstream.default.rate=14", false),
            ("limits.recipients=many", false),
            ("upstream.default.rate=fast", true),
            ("upstream.default.regoin=eu-west-1", true),
            ("upstrem.default.kind=outbox", true),
            ("upstream.default.kind=outbox", true),
        ] {
            let draft = draft(&request(&[set]));
            assert_eq!(draft.is_doubtful(0), doubtful, "{set}: {:?}", draft.faults);
        }
        let second = Fault::new(&Place::named("x"), "upstream[1].kind: unknown");
        let draft = Draft { faults: vec![second], ..Draft::default() };
        assert_eq!([draft.is_doubtful(0), draft.is_doubtful(1)], [false, true]);
    }
}
