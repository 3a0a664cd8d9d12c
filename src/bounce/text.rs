//! The part for people: what happened, to whom, why, and what to do.

use jiff::Timestamp;

use super::{Entry, Kind, Report, advice::advice, date, original::Header};
use crate::mail::Reply;

/// Recipients that are named; the second part names all.
const NAMED: usize = 50;
/// Characters of an answer, and of a field of the original, that are shown.
const ANSWER: usize = 500;
const FIELD: usize = 150;
/// Characters of a line, where words are not longer.
const WIDTH: usize = 72;
/// Before what is quoted, and before what is said about it.
const QUOTED: &str = "    ";

/// The text, each line with CRLF.
pub(super) fn text(report: &Report<'_>, original: &Header) -> String {
    let mut text = Text::default();
    text.paragraph("", &format!("This is the mail system at {}.", report.host()));
    text.paragraph("", &summary(report));
    about(report, original, &mut text);
    let named = report.entries.get(..NAMED).unwrap_or(report.entries);
    for group in groups(named) {
        answered(report, &group, &mut text);
    }
    if let Some(more) = report.entries.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let recipients = if more == 1 { "recipient" } else { "recipients" };
        text.paragraph("", &format!("And {more} more {recipients}; the second part of this report names all of them."));
    }
    text.out
}

fn summary(report: &Report<'_>) -> String {
    let below = if report.entries.len() == 1 { "the recipient below" } else { "the recipients below" };
    let lasted = period(report.original.arrival, report.time);
    match report.kind {
        Kind::Failed => format!("Your message could not be delivered to {below}. No more attempts are made."),
        Kind::Delayed { until } => format!(
            "Your message has been waiting for {lasted} and is not delivered to {below} yet. You need not send it again: \
             attempts go on until {}. If none succeeds, you will get another report.",
            date(until)
        ),
        Kind::Relayed => format!(
            "Your message was handed on for {below}. The next mail system accepted it and does not report when it \
             arrives; should it fail there, you may still be told."
        ),
    }
}

/// Which message it is about.
fn about(report: &Report<'_>, original: &Header, text: &mut Text) {
    let fields = [
        ("Subject", original.text("Subject", FIELD)),
        ("Date", original.text("Date", FIELD)),
        ("Message-ID", original.text("Message-ID", FIELD)),
        ("Queue id", Some(report.original.id.to_string())),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            text.lines(QUOTED, &format!("{name}: {value}"));
        }
    }
    text.end();
}

/// Recipients with the same answer, in the order of the first of each.
fn groups(entries: &[Entry]) -> Vec<Vec<&Entry>> {
    let mut groups: Vec<Vec<&Entry>> = Vec::new();
    for entry in entries {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.reply == entry.reply)) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups
}

fn answered(report: &Report<'_>, group: &[&Entry], text: &mut Text) {
    let Some(Entry { reply, .. }) = group.first() else { return };
    for entry in group {
        text.lines("", &format!("<{}>", entry.recipient));
    }
    text.end();
    text.paragraph(QUOTED, &answer(reply));
    match report.kind {
        Kind::Failed if reply.is_transient() => {
            let lasted = period(report.original.arrival, report.time);
            text.paragraph(
                "",
                &format!("This was the last answer; the message was tried for {lasted}. {}", advice(reply)),
            );
        }
        Kind::Failed => text.paragraph("", advice(reply)),
        Kind::Delayed { .. } | Kind::Relayed => {}
    }
}

fn answer(reply: &Reply) -> String {
    let mut answer = reply.to_string();
    if answer.len() > ANSWER {
        answer.truncate(ANSWER);
        answer.push_str("...");
    }
    answer
}

/// A length of time in its largest unit of which there are two.
fn period(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_second().saturating_sub(from.as_second()).max(0);
    let units = [(86_400, "days"), (3600, "hours"), (60, "minutes")];
    let unit = units.iter().find(|(length, _)| seconds >= 2 * length);
    unit.map_or("a short time".to_owned(), |(length, name)| format!("{} {name}", seconds / length))
}

/// A text while it is written.
#[derive(Default)]
struct Text {
    out: String,
}

impl Text {
    /// Some words, broken into lines, with an empty line behind them.
    fn paragraph(&mut self, indent: &str, words: &str) {
        self.lines(indent, words);
        self.end();
    }

    fn lines(&mut self, indent: &str, words: &str) {
        let mut column = 0;
        for word in words.split(' ').filter(|word| !word.is_empty()) {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > WIDTH {
                self.end();
                column = 0;
            }
            let gap = if column == 0 { indent } else { " " };
            self.out.push_str(gap);
            self.out.push_str(word);
            column += gap.len() + length;
        }
        self.end();
    }

    fn end(&mut self) {
        self.out.push_str("\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_their_largest_unit() {
        let told = |seconds| period(Timestamp::UNIX_EPOCH, Timestamp::from_second(seconds).unwrap());
        assert_eq!(told(5 * 86_400 + 7), "5 days");
        assert_eq!(told(86_400), "24 hours");
        assert_eq!(told(3600), "60 minutes");
        assert_eq!(told(119), "a short time");
        assert_eq!(told(-1), "a short time");
    }
}
