//! `headgate queue list|show|retry|hold|release|delete|export|import`: what an operator does with the queue.
//!
//! A running gateway is asked by its control socket; without one the store is opened here, and the same is done.

mod arguments;
mod files;
mod list;
mod show;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::operator::Answer;

use super::{
    CommandRow, Run,
    desk::{self, Show},
};

pub(super) const ROW: CommandRow = CommandRow { name: "queue", command, run: Run::Read(run) };

fn command() -> Command {
    let verbs = [
        arguments::filtered(verb("list", "Lists messages, the newest first; without --state, those not finished")).arg(
            Arg::new("limit")
                .long("limit")
                .value_name("N")
                .value_parser(clap::value_parser!(usize))
                .help("At most so many"),
        ),
        verb("show", "Shows all that is known of a message")
            .arg(Arg::new("id").value_name("ID").required(true).help("The message")),
        arguments::chosen(verb("retry", "Makes queued messages due now"))
            .arg(flag("rules", "Runs the present rules on them first")),
        arguments::chosen(verb("hold", "Holds messages until they are released")).arg(
            Arg::new("reason")
                .long("reason")
                .value_name("TEXT")
                .default_value("by an operator")
                .help("Why, for who looks at them later"),
        ),
        arguments::chosen(verb("release", "Makes held messages queued, due now")),
        arguments::chosen(verb("delete", "Deletes messages; nobody is told")).arg(flag("yes", "Deletes more than one")),
        files::export_command(Command::new("export").about("Writes a message as it would leave, octet for octet")),
        files::import_command(verb("import", "Takes a message in under a new id, through the rules as other mail")),
    ];
    Command::new("queue")
        .about("Lists, shows and changes what is queued")
        .subcommand_required(true)
        .subcommands(verbs.map(super::settings_flags))
}

fn verb(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).arg(flag("json", "Prints JSON, one object a line"))
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(super::USAGE) };
    let asked = match name {
        "import" => files::import(matches),
        other => arguments::request(other, matches).map(|request| (request, bytes::Bytes::new())),
    };
    let (request, octets) = match asked {
        Ok(asked) => asked,
        Err(complaint) => return Ok(complaint.tell()),
    };
    match name {
        "export" => {
            let folder = files::Export::new(matches);
            desk::run(matches, (request, octets), folder)
        }
        _ => desk::run(matches, (request, octets), Print::default()),
    }
}

/// Tables and texts for people.
#[derive(Default)]
struct Print {
    list: list::List,
}

impl Show for Print {
    fn show(&mut self, answer: &Answer) -> anyhow::Result<String> {
        Ok(match answer {
            Answer::Message(row) => self.list.line(row),
            Answer::Account(account) => show::text(account),
            _ => String::new(),
        })
    }
}
