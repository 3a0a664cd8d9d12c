//! All that is known of a message, for people.

use std::fmt::Write as _;

use crate::{
    cli::terminal::{self, line, moment, visible},
    operator::{Account, Attempt, Recipient},
    store::{State, Status},
};

pub(super) fn text(account: &Account) -> String {
    let mut text = summary(account);
    text.push_str("\nRecipients:\n");
    account.recipients.iter().for_each(|one| recipient(&mut text, one));
    if !account.attempts.is_empty() {
        text.push_str("\nAttempts:\n");
        account.attempts.iter().for_each(|one| attempt(&mut text, one));
    }
    text.push_str("\nRules:\n");
    terminal::changes(&mut text, &account.changes, account.changes_count);
    if let Some(before) = &account.header_before {
        text.push_str("\nHeader as it came in:\n");
        header(&mut text, before);
    }
    text.push_str("\nHeader as it leaves:\n");
    header(&mut text, &account.header);
    text
}

fn summary(account: &Account) -> String {
    let row = &account.message;
    let mut text = String::new();
    let mut say = |name: &str, value: String| {
        let _ = writeln!(text, "{name:9} {value}");
    };
    let when = row.when.map(moment);
    let state = match (row.state, when) {
        (State::Queued, Some(when)) => format!("queued, due {when}"),
        (State::Leased, Some(when)) => format!("active, leased until {when}"),
        (State::Finished, Some(when)) => format!("finished {when}"),
        (state, _) => state.word().to_owned(),
    };
    say("id", row.id.to_string());
    say("state", state);
    if !row.reason.is_empty() {
        say("reason", line(&row.reason));
    }
    say("received", moment(row.received));
    say("size", format!("{} octets", row.size));
    say("sender", row.sender.as_ref().map_or_else(|| "<>".to_owned(), ToString::to_string));
    if let Some(user) = &row.user {
        say("user", line(user));
    }
    let client = &account.client;
    let helo = if client.helo.is_empty() { String::new() } else { format!(", {}", line(&client.helo)) };
    say("client", format!("{}{helo}, listener {}", client.address, line(&client.listener)));
    let dsn = &account.dsn;
    let asked =
        [dsn.ret.map(|ret| format!("RET={ret}")), dsn.envelope_id.as_ref().map(|id| format!("ENVID {}", line(id)))];
    if !dsn.is_empty() {
        say("asked", asked.into_iter().flatten().collect::<Vec<_>>().join(", "));
    }
    if let Some(about) = &account.about {
        say("reports", format!("about {}", line(about)));
    }
    say("rounds", row.rounds.to_string());
    text
}

fn recipient(text: &mut String, one: &Recipient) {
    let _ = write!(text, "  {} {} {}", one.number, one.address, one.status.word());
    if let Some(time) = one.time {
        let _ = write!(text, " {}", moment(time));
    }
    if let Some(upstream) = &one.upstream {
        let to = if one.status == Status::Pending { "by" } else { "from" };
        let _ = write!(text, ", {to} {}", line(upstream));
    }
    if one.reported {
        text.push_str(", reported");
    }
    if let Some(notify) = one.asked.notify {
        let _ = write!(text, ", NOTIFY={notify}");
    }
    if let Some(original) = &one.asked.original {
        let _ = write!(text, ", for {}", line(original));
    }
    text.push('\n');
    said(text, (&one.reply, &one.cause), one.remote_id.as_deref());
}

fn attempt(text: &mut String, one: &Attempt) {
    let seconds = one.ended.duration_since(one.began).as_secs_f64();
    let upstream = if one.upstream.is_empty() { "-".to_owned() } else { line(&one.upstream) };
    let doubt = if one.ambiguous { ", in doubt" } else { "" };
    let _ = writeln!(
        text,
        "  {} {} {upstream} {}{doubt} after {seconds:.3} s, recipients {}",
        one.number,
        moment(one.began),
        line(&one.outcome),
        numbers(&one.recipients)
    );
    said(text, (&one.reply, &one.cause), one.remote_id.as_deref());
}

/// What an upstream said, on lines of their own; a cause that the reply holds is not told twice.
fn said(text: &mut String, (reply, cause): (&str, &str), remote: Option<&str>) {
    if !reply.is_empty() {
        let _ = writeln!(text, "      {}", line(reply));
    }
    if !cause.is_empty() && !reply.contains(cause) {
        let _ = writeln!(text, "      {}", line(cause));
    }
    if let Some(remote) = remote.filter(|remote| !reply.contains(remote)) {
        let _ = writeln!(text, "      {}", line(remote));
    }
}

/// Numbers, those in a row as `0-49`.
fn numbers(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(shown).collect::<Vec<_>>().join(",")
}

/// A header, each line with two blanks before it, so that it can be told from ours.
fn header(text: &mut String, header: &str) {
    for one in header.lines() {
        let _ = writeln!(text, "  {}", visible(one));
    }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn numbers_in_a_row_are_told_together() {
        assert_eq!(numbers(&[]), "");
        assert_eq!(numbers(&[7]), "7");
        assert_eq!(numbers(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(numbers(&[u32::MAX, 0]), "4294967295,0");
    }
}
