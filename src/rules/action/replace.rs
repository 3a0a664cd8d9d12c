//! `replace`: a part of the value becomes another.

use regex::Regex;

use crate::{
    header::FieldName,
    rules::pattern::{compile_regex, slashed},
    tree::Node,
};

use super::{Action, ActionRow, Compiler, Flow, Group, Scene, Selecting, TemplateError, field_name, keys};

pub(super) const ROW: ActionRow = ActionRow {
    key: "replace",
    group: Group::Header,
    doc: "puts `with` ($1 is the first group) in the place of each match in the decoded value",
    example: "header = { name = \"Subject\" }\ndo = [{ replace = { pattern = \"/^\\\\[SPAM\\\\] */i\", with = \"\" } }]",
    compile,
};

#[derive(Debug)]
struct Replace {
    name: Option<FieldName>,
    pattern: Regex,
    with: String,
}

impl Action for Replace {
    fn apply(&self, scene: &mut Scene<'_>) -> Result<Flow, TemplateError> {
        let positions = match &self.name {
            Some(name) => scene.draft.header.find(name.as_str()).collect(),
            None => scene.field.into_iter().collect::<Vec<_>>(),
        };
        for at in positions {
            let before = scene.draft.header.decoded(at);
            let after = self.pattern.replace_all(&before, self.with.as_str());
            if after != before {
                scene.edit(at, |draft| draft.header.set(at, &after));
            }
        }
        Ok(Flow::Next)
    }
}

fn compile(node: &Node, selecting: Selecting, compiler: &mut Compiler) -> Option<Box<dyn Action>> {
    let (name, pattern, with) = if selecting == Selecting::Fields {
        let [pattern, with] = keys(node, ["pattern", "with"], compiler)?;
        (None, pattern, with)
    } else {
        let [name, pattern, with] = keys(node, ["name", "pattern", "with"], compiler)?;
        (Some(field_name(name, compiler)?), pattern, with)
    };
    let text = compiler.text(pattern)?;
    let (source, ignore_case) =
        slashed(text).map_or_else(|| (regex::escape(text), false), |(one, two)| (one.to_owned(), two));
    match compile_regex(&source, ignore_case) {
        Ok(regex) => Some(Box::new(Replace { name, pattern: regex, with: compiler.text(with)?.to_owned() })),
        Err(message) => {
            compiler.fault(pattern, message);
            None
        }
    }
}
