//! `headgate doctor`: whether mail can go out, and what to do where it cannot.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    app::{self, CHECKS, Line, Question, State},
    mail::Address,
};

use super::{CommandRow, Run, terminal};

pub(super) const ROW: CommandRow = CommandRow { name: "doctor", command, run: Run::Read(run) };

/// A check fails.
const ILL: u8 = 1;

fn command() -> Command {
    let flag = |name: &'static str| Arg::new(name).long(name);
    let checks: String = CHECKS.iter().fold("What is looked at:\n".to_owned(), |mut text, row| {
        let _ = writeln!(text, "  {:<11}  {}", row.name, row.about);
        text
    });
    let command = Command::new("doctor")
        .about("Checks all that mail depends on, and says what to do")
        .after_help(checks + "\nExit codes: 0 nothing fails, 1 a check fails, 78 the settings or rules are broken.")
        .arg(
            flag("from")
                .value_name("ADDRESS")
                .action(ArgAction::Append)
                .help("Whom mail comes from, so that its identity is looked at"),
        )
        .arg(flag("live").action(ArgAction::SetTrue).help("Sends a mail to SES's simulator through each SES upstream"))
        .arg(flag("json").action(ArgAction::SetTrue).help("Prints an array in JSON"));
    super::settings_flags(command)
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let mut senders = Vec::new();
    for text in matches.get_many::<String>("from").into_iter().flatten() {
        match Address::parse(text) {
            Ok(address) => senders.push(address),
            Err(error) => {
                let _ = writeln!(io::stderr(), "headgate: --from {text:?}: {error}");
                return Ok(super::USAGE);
            }
        }
    }
    let question = Question { senders, live: matches.get_flag("live") };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let diagnosis = runtime.block_on(app::doctor(&super::request(matches), question));
    // A look-up of a name cannot be broken off, and nobody waits for it.
    runtime.shutdown_background();
    if matches.get_flag("json") {
        super::print(serde_json::to_string_pretty(&diagnosis.lines)? + "\n")?;
    } else {
        super::print(table(&diagnosis.lines))?;
    }
    let fails = diagnosis.lines.iter().any(|line| line.state == State::Fail);
    Ok(if diagnosis.broken { super::CONFIG } else { u8::from(fails) * ILL })
}

fn table(lines: &[Line]) -> String {
    let width = |cell: fn(&Line) -> &str| lines.iter().map(|line| cell(line).chars().count()).max().unwrap_or(0);
    let (check, upstream) = (width(|line| line.check), width(|line| &line.upstream));
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = write!(text, "{:<4}  {:<check$}  ", word(line.state), line.check);
        if upstream > 0 {
            let _ = write!(text, "{:<upstream$}  ", terminal::line(&line.upstream));
        }
        text += &terminal::line(&line.found);
        if !line.action.is_empty() {
            let _ = write!(text, " - {}", terminal::line(&line.action));
        }
        text.push('\n');
        text
    })
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Skip => "skip",
        State::Warn => "warn",
        State::Fail => "FAIL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned_and_give_a_terminal_no_orders() {
        let line = |check, upstream: &str, state, found: &str, action: &str| Line {
            check,
            upstream: upstream.to_owned(),
            state,
            found: found.to_owned(),
            action: action.to_owned(),
        };
        let lines = [
            line("settings", "", State::Ok, "fine", ""),
            line("dns", "ireland", State::Fail, "no\u{1b}[31m\nname", "mend it"),
        ];
        assert_eq!(
            table(&lines),
            "ok    settings           fine\nFAIL  dns       ireland  no\\x1b[31m name - mend it\n"
        );
        let gateway_only = table(&lines[..1]);
        assert_eq!(gateway_only, "ok    settings  fine\n");
    }
}
