//! `attachment`: the names of the files in the message.

use crate::{
    mime::attachments,
    rules::pattern::{Case, Values},
    tree::Node,
};

use super::{Compiler, Draft, Facts, Matcher, MatcherRow};

pub(super) const ROW: MatcherRow = MatcherRow {
    key: "attachment",
    doc: "the name of a file in the message, in nested parts too",
    example: r#"{ attachment = ["*.exe", "*.js"] }"#,
    at_rcpt: false,
    compile,
};

#[derive(Debug)]
struct Attachment(Values);

impl Matcher for Attachment {
    fn matches(&self, _: &Facts, draft: &Draft) -> bool {
        self.0.match_in(attachments(&draft.header, &draft.rest).into_iter().map(|one| one.name))
    }
}

fn compile(node: &Node, compiler: &mut Compiler) -> Option<Box<dyn Matcher>> {
    Some(Box::new(Attachment(Values::compile(node, Case::Ignored, compiler)?)))
}
