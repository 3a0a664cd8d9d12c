//! The folder of an outbox.

use crate::upstream::Exam;

use super::{CheckRow, Found, Look, Subject};

pub(super) const FOLDER: CheckRow = CheckRow {
    name: "folder",
    about: "the Maildir of an outbox can be written",
    look: Look::Upstream(|subject| folder(subject).into_iter().collect()),
};

fn folder(subject: &Subject) -> Option<Found> {
    let Exam::Outbox { present, written } = &subject.exam else { return None };
    let path = subject.settings.path.display();
    Some(match (written, present) {
        (Ok(()), true) => Found::ok(format!("{path} can be written; mail stays there and goes nowhere")),
        (Ok(()), false) => Found::ok(format!("{path} is made at the start; mail stays there and goes nowhere")),
        (Err(error), _) => Found::fail(error.clone(), "let the user that runs Headgate write there"),
    })
}
