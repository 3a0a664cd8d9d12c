//! `headgate rules test`.

use std::{collections::BTreeMap, fmt::Write as _};

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    rules::{Rules, SourceText, run_tests},
    upstream::{Severity, lint},
};

use super::CommandRow;

pub(super) const ROW: CommandRow = CommandRow { name: "rules", command, run };

fn command() -> Command {
    let files = Arg::new("files").value_name("FILE").action(ArgAction::Append);
    let test = Command::new("test").about("Runs the [[test]] blocks of rule files on all of their rules");
    let test = test.arg(files.help("Rule files, a path or builtin:NAME; without any, those of the settings"));
    Command::new("rules").about("Tests rule files").subcommand_required(true).subcommand(super::settings_flags(test))
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let Some(("test", matches)) = matches.subcommand() else { return Ok(super::USAGE) };
    let names: Vec<String> = matches.get_many::<String>("files").into_iter().flatten().cloned().collect();
    let rules = if names.is_empty() { super::settings(matches).map(|loaded| loaded.rules) } else { compile(&names) };
    let rules = match rules {
        Ok(rules) => rules,
        Err(code) => return Ok(code),
    };
    let (count, failures) = run_tests(&rules, &|draft| {
        let findings = lint(&draft.envelope, &draft.message());
        findings.iter().filter(|finding| finding.severity == Severity::Refuse).map(ToString::to_string).collect()
    });
    let mut text = String::new();
    for failure in &failures {
        let _ = writeln!(text, "{failure}");
    }
    let failed = failures.len();
    let _ = writeln!(text, "{count} tests, {failed} failures");
    super::print(&text)?;
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
                eprintln!("headgate: {message}");
                return Err(super::NO_INPUT);
            }
        }
    }
    Rules::compile(&sources, &BTreeMap::new()).map_err(|faults| {
        super::tell(&faults);
        super::CONFIG
    })
}
