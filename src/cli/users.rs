//! `headgate users add|remove|list|check`: the file of those who may log in.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::PathBuf,
    process::{Command as Process, Stdio},
};

use clap::{Arg, ArgMatches, Command};

use crate::server::{Book, BookError};

use super::{CommandRow, Run};

pub(super) const ROW: CommandRow = CommandRow { name: "users", command, run: Run::Read(run) };

fn command() -> Command {
    let file =
        || Arg::new("file").long("file").value_name("FILE").help("The users file; without it that of the settings");
    let name = || Arg::new("name").value_name("NAME").required(true).help("The login");
    let verbs = [
        Command::new("add").about("Adds a user, or sets another password, read from standard input").arg(name()),
        Command::new("remove").about("Removes a user").arg(name()),
        Command::new("list").about("Lists the names"),
        Command::new("check").about("Checks a password, read from standard input").arg(name()),
    ];
    Command::new("users")
        .about("Changes and lists who may log in")
        .subcommand_required(true)
        .subcommands(verbs.map(|verb| super::settings_flags(verb.arg(file()))))
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let Some((verb, matches)) = matches.subcommand() else { return Ok(super::USAGE) };
    let file = match matches.get_one::<String>("file") {
        Some(file) => PathBuf::from(file),
        None => match super::settings(matches) {
            Ok(loaded) => loaded.settings.users.file,
            Err(code) => return Ok(code),
        },
    };
    if file.as_os_str().is_empty() {
        super::complain("no users file: give --file, or set [users] file");
        return Ok(super::USAGE);
    }
    let absent =
        |error: &BookError| matches!(error, BookError::File { cause, .. } if cause.kind() == io::ErrorKind::NotFound);
    let mut book = match Book::read(&file) {
        Ok(book) => book,
        Err(error) if verb == "add" && absent(&error) => Book::default(),
        Err(error) => {
            super::complain(&error.to_string());
            return Ok(super::NO_INPUT);
        }
    };
    let name = matches.try_get_one::<String>("name").ok().flatten().map(String::as_str).unwrap_or_default();
    match verb {
        "list" => {
            super::print(book.names().map(|name| format!("{name}\n")).collect::<String>())?;
            Ok(0)
        }
        "check" if book.fits(name, &password()?) => Ok(0),
        "check" => {
            super::complain("the name or the password is wrong");
            Ok(1)
        }
        "remove" if !book.remove(name) => {
            super::complain(&format!("there is no user {name}"));
            Ok(super::NO_INPUT)
        }
        "remove" => written(&book, &file),
        _ => match book.set(name, &password()?) {
            Ok(()) => written(&book, &file),
            Err(fault) => {
                super::complain(&fault);
                Ok(super::DATA)
            }
        },
    }
}

fn written(book: &Book, file: &std::path::Path) -> anyhow::Result<u8> {
    if let Err(error) = book.write(file) {
        super::complain(&error.to_string());
        return Ok(super::UNAVAILABLE);
    }
    Ok(0)
}

/// The first line of standard input; a terminal does not show what is typed.
fn password() -> io::Result<String> {
    let terminal = io::stdin().is_terminal();
    let echo = |on: &str| {
        let _ = Process::new("stty").arg(on).stdin(Stdio::inherit()).stderr(Stdio::null()).status();
    };
    if terminal {
        let _ = write!(io::stderr(), "Password: ");
        echo("-echo");
    }
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    if terminal {
        echo("echo");
        let _ = writeln!(io::stderr());
    }
    read.map(|_| line.trim_end_matches(['\r', '\n']).to_owned())
}
