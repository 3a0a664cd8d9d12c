//! `headgate completions SHELL`: what a shell needs to complete the command line.

use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;

use super::{CommandRow, Run};

pub(super) const ROW: CommandRow = CommandRow { name: "completions", command, run: Run::Read(run) };

fn command() -> Command {
    let shell = Arg::new("shell").value_name("SHELL").required(true).value_parser(clap::value_parser!(Shell));
    Command::new("completions")
        .about("Prints completions for a shell, to be put where it looks for them")
        .arg(shell.help("Which"))
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let Some(shell) = matches.get_one::<Shell>("shell") else { return Ok(super::USAGE) };
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut super::program(), "headgate", &mut script);
    super::print(script)?;
    Ok(0)
}
