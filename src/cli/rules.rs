//! `headgate rules list|test|reference`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    sync::Arc,
};

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    rules::{ACTIONS, Group, MATCHERS, REPAIRS, Rules, SourceText, run_tests},
    upstream::{Severity, lint},
};

use super::{CommandRow, Run};

pub(super) const ROW: CommandRow = CommandRow { name: "rules", command, run: Run::Read(run) };

fn command() -> Command {
    let files = Arg::new("files").value_name("FILE").action(ArgAction::Append);
    let files = files.help("Rule files, a path or builtin:NAME; without any, those of the settings");
    let list = Command::new("list").about("Lists the rules in the order in which they run").arg(files.clone());
    let test = Command::new("test").about("Runs the [[test]] blocks of rule files on all of their rules").arg(files);
    Command::new("rules")
        .about("Lists, tests and explains rules")
        .subcommand_required(true)
        .subcommand(super::settings_flags(list))
        .subcommand(super::settings_flags(test))
        .subcommand(Command::new("reference").about("Prints every matcher, action and repair with an example"))
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let (name, matches) = match matches.subcommand() {
        Some(("reference", _)) => {
            super::print(reference())?;
            return Ok(0);
        }
        Some(named) => named,
        None => return Ok(super::USAGE),
    };
    let files: Vec<String> = matches.get_many::<String>("files").into_iter().flatten().cloned().collect();
    let rules = if files.is_empty() {
        super::settings(matches).map(|loaded| loaded.rules)
    } else {
        compile(&files).map(Arc::new)
    };
    match (name, rules) {
        (_, Err(code)) => Ok(code),
        ("list", Ok(rules)) => {
            super::print(list(&rules))?;
            Ok(0)
        }
        (_, Ok(rules)) => test(&rules),
    }
}

fn list(rules: &Rules) -> String {
    let mut text = String::new();
    for (file, rule) in rules.names() {
        let _ = writeln!(text, "{file}\t{rule}");
    }
    text
}

fn test(rules: &Rules) -> anyhow::Result<u8> {
    let (count, failures) = run_tests(rules, &|draft| {
        let findings = lint(&draft.envelope, &draft.message());
        findings.iter().filter(|finding| finding.severity == Severity::Refuse).map(ToString::to_string).collect()
    });
    let mut text = String::new();
    for failure in &failures {
        let _ = writeln!(text, "{failure}");
    }
    let failed = failures.len();
    let _ = writeln!(text, "{count} tests, {failed} failures");
    super::print(text)?;
    Ok(u8::from(failed > 0))
}

fn compile(names: &[String]) -> Result<Rules, u8> {
    let mut sources = Vec::new();
    for name in names {
        let source = match name.strip_prefix("builtin:") {
            Some(shipped) => SourceText::builtin(shipped).ok_or_else(|| format!("there is no {name}")),
            None => std::fs::read_to_string(name)
                .map(|text| SourceText { name: name.clone(), text })
                .map_err(|error| format!("cannot read {name}: {error}")),
        };
        match source {
            Ok(source) => sources.push(source),
            Err(message) => {
                let _ = writeln!(io::stderr(), "headgate: {message}");
                return Err(super::NO_INPUT);
            }
        }
    }
    Rules::compile(&sources, &BTreeMap::new()).map_err(|faults| {
        super::tell(&faults);
        super::CONFIG
    })
}

/// The tables themselves, as a page.
fn reference() -> String {
    let mut text = String::from("# Matchers: the keys of `when`\n");
    for row in MATCHERS {
        let rcpt = if row.at_rcpt { " (also at RCPT)" } else { "" };
        let _ = write!(text, "\n{}: {}{rcpt}\n    when = {}\n", row.key, row.doc, row.example);
    }
    text.push_str("\n# Actions: the keys of the tables in `do`\n");
    for row in ACTIONS {
        let example = row.example.replace('\n', "\n    ");
        let _ = write!(text, "\n{} ({}): {}\n    {example}\n", row.key, group(row.group), row.doc);
    }
    text.push_str("\n# Repairs: what `repair` may name\n\n");
    for row in REPAIRS {
        let _ = writeln!(text, "{}: {}", row.name, row.doc);
    }
    text
}

fn group(group: Group) -> &'static str {
    match group {
        Group::Header => "header",
        Group::Message => "message",
        Group::Envelope => "envelope",
        Group::Ses => "SES",
        Group::Route => "route",
        Group::Log => "log",
        Group::Verdict => "verdict",
    }
}
