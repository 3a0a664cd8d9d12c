//! Messages in a table of 80 columns, two lines each: who sent it, and who waits for it, until when and why.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::{
    cli::terminal::{cut, line, size, span},
    operator::Row,
    store::State,
};

const WIDTH: usize = 80;
/// What stands before the sender: id, state, age, size.
const HEAD: usize = 26 + 9 + 5 + 6 + 1;

/// The table; its heading comes with the first row.
pub(super) struct List {
    now: Timestamp,
    begun: bool,
}

impl Default for List {
    fn default() -> Self {
        Self { now: Timestamp::now(), begun: false }
    }
}

impl List {
    pub(super) fn line(&mut self, row: &Row) -> String {
        let mut text = String::new();
        if !self.begun {
            let _ = writeln!(text, "{:26} {:8} {:>4} {:>5} SENDER", "ID", "STATE", "AGE", "SIZE");
            self.begun = true;
        }
        let sender = row.sender.as_ref().map_or_else(|| "<>".to_owned(), ToString::to_string);
        let _ = writeln!(
            text,
            "{} {:8} {:>4} {:>5} {}",
            row.id,
            row.state.word(),
            span(row.received, self.now),
            size(row.size),
            cut(&sender, WIDTH - HEAD)
        );
        let _ = writeln!(text, "  {}", cut(&self.below(row), WIDTH - 2));
        text
    }

    fn below(&self, row: &Row) -> String {
        let mut text = row.first.as_ref().map(ToString::to_string).unwrap_or_default();
        if row.recipients > 1 {
            let _ = write!(text, " +{}", row.recipients - 1);
        }
        match (row.state, row.when) {
            (State::Queued, Some(due)) if due > self.now => {
                let _ = write!(text, ", due in {}", span(self.now, due));
            }
            (State::Queued, _) => text.push_str(", due"),
            (State::Finished, Some(when)) => {
                let _ = write!(text, ", since {}", span(when, self.now));
            }
            _ => {}
        }
        if !row.reason.is_empty() && row.state != State::Finished {
            let _ = write!(text, ": {}", line(&row.reason));
        }
        text
    }
}
