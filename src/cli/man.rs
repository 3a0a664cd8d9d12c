//! `headgate man`: man pages of the program and of each subcommand, made from the same tables as the help.

use std::{fs, path::Path};

use anyhow::Context as _;
use clap::{Arg, ArgMatches, Command};
use clap_mangen::Man;

use super::{CommandRow, Run};

pub(super) const ROW: CommandRow = CommandRow { name: "man", command, run: Run::Read(run) };

fn command() -> Command {
    Command::new("man")
        .about("Prints the man page of a subcommand, or writes all of them")
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(0..)
                .help("Such as: queue list; none is the program itself"),
        )
        .arg(
            Arg::new("folder")
                .long("folder")
                .value_name("FOLDER")
                .help("Writes all pages there, as headgate-COMMAND.1"),
        )
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let pages = pages(super::program(), "headgate");
    if let Some(folder) = matches.get_one::<String>("folder") {
        let folder = Path::new(folder);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for (name, page) in &pages {
            let path = folder.join(format!("{name}.1"));
            fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        }
        super::print(format!("{} pages\n", pages.len()))?;
        return Ok(0);
    }
    let words = matches.get_many::<String>("command").into_iter().flatten();
    let name = words.fold("headgate".to_owned(), |name, word| format!("{name}-{word}"));
    match pages.into_iter().find(|(known, _)| *known == name) {
        Some((_, page)) => {
            super::print(page)?;
            Ok(0)
        }
        None => {
            super::complain(&format!("there is no command {}", name.replace('-', " ")));
            Ok(super::USAGE)
        }
    }
}

/// The pages of a command and of those below it, by name.
fn pages(command: Command, name: &str) -> Vec<(String, Vec<u8>)> {
    let below: Vec<Command> = command.get_subcommands().filter(|one| one.get_name() != "help").cloned().collect();
    let own = command.name(name.to_owned()).disable_help_subcommand(true);
    let mut page = Vec::new();
    let rendered = Man::new(own).render(&mut page);
    let own = rendered.is_ok().then(|| (name.to_owned(), page));
    own.into_iter()
        .chain(below.into_iter().flat_map(|one| {
            let name = format!("{name}-{}", one.get_name());
            pages(one, &name)
        }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_that_shows_its_options() {
        let pages = pages(super::super::program(), "headgate");
        let page = |name: &str| {
            let (_, page) = pages.iter().find(|(known, _)| known == name).unwrap();
            String::from_utf8(page.clone()).unwrap().replace("\\-", "-")
        };
        for row in super::super::COMMANDS {
            assert!(page(&format!("headgate-{}", row.name)).contains(".SH SYNOPSIS"), "{}", row.name);
        }
        assert!(page("headgate-queue-list").contains("--limit"));
        assert!(page("headgate-send").contains("--legacy-exit"));
        assert!(page("headgate").contains("headgate-sendmail(1)"));
    }
}
