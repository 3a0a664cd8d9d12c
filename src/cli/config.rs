//! `headgate config check|show|reference`.

use clap::{ArgMatches, Command};

use super::{CommandRow, Run};

pub(super) const ROW: CommandRow = CommandRow { name: "config", command, run: Run::Read(run) };

fn command() -> Command {
    Command::new("config")
        .about("Checks, shows and explains the settings")
        .subcommand_required(true)
        .subcommand(super::settings_flags(
            Command::new("check").about("Says what is wrong with the settings and the rules they name"),
        ))
        .subcommand(super::settings_flags(Command::new("show").about("Prints the settings as they are in effect")))
        .subcommand(Command::new("reference").about("Prints every setting with its default and what it does"))
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    match matches.subcommand() {
        Some(("reference", _)) => super::print(crate::config::reference())?,
        Some((name, matches)) => match super::settings(matches) {
            Ok(loaded) if name == "show" => super::print(loaded.settings.show()?)?,
            Ok(loaded) => super::print(format!("ok, {} rules\n", loaded.rules.len()))?,
            Err(code) => return Ok(code),
        },
        None => return Ok(super::USAGE),
    }
    Ok(0)
}
