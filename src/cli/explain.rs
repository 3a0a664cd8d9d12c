//! `headgate explain FILE`: what the rules make of a message, and what SES would say.

use std::io::{self, Read as _, Write as _};

use bytes::Bytes;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    mail::{Address, Client, Envelope, Id, Sender},
    rules::{Draft, Facts},
};

use super::{CommandRow, Run, explained::Explained};

pub(super) const ROW: CommandRow = CommandRow { name: "explain", command, run: Run::Read(run) };

fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let explain = Command::new("explain")
        .about("Shows which rule changes which field of a message, before and after")
        .arg(Arg::new("file").value_name("FILE").required(true).help("The message; - is standard input"))
        .arg(
            Arg::new("sender")
                .long("sender")
                .value_name("ADDRESS")
                .default_value("sender@example.com")
                .help("MAIL FROM; empty is the null sender"),
        )
        .arg(
            Arg::new("recipient")
                .long("recipient")
                .value_name("ADDRESS")
                .action(ArgAction::Append)
                .help("RCPT TO; may be given several times"),
        )
        .arg(Arg::new("client").long("client").value_name("IP").default_value("127.0.0.1").help("The client's address"))
        .arg(flag("message", "Prints the resulting message instead, octet for octet"))
        .arg(flag("lint", "Exits with 1 when the message would be refused, by a rule or by SES"))
        .arg(flag("json", "Prints the explanation as JSON"));
    super::settings_flags(explain)
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let loaded = match super::settings(matches) {
        Ok(loaded) => loaded,
        Err(code) => return Ok(code),
    };
    let file = matches.get_one::<String>("file").map(String::as_str).unwrap_or("-");
    let raw = match read(file) {
        Ok(raw) => Bytes::from(raw),
        Err(error) => {
            writeln!(io::stderr(), "headgate: cannot read {file}: {error}")?;
            return Ok(super::NO_INPUT);
        }
    };
    let (envelope, client) = match envelope(matches).and_then(|envelope| Ok((envelope, client(matches)?))) {
        Ok(both) => both,
        Err(message) => {
            writeln!(io::stderr(), "headgate: {message}")?;
            return Ok(super::USAGE);
        }
    };
    let facts = Facts { id: Id::nil(), client, size: raw.len(), hostname: loaded.settings.own_name() };
    let explained = Explained::new(&loaded.rules, &facts, Draft::new(envelope, &raw));
    if matches.get_flag("message") {
        super::print(explained.message.to_bytes())?;
        return Ok(0);
    }
    if matches.get_flag("json") {
        super::print(format!("{}\n", explained.json()))?;
    } else {
        super::print(explained.text())?;
    }
    Ok(u8::from(matches.get_flag("lint") && explained.refused()))
}

fn read(file: &str) -> io::Result<Vec<u8>> {
    if file != "-" {
        return std::fs::read(file);
    }
    let mut raw = Vec::new();
    io::stdin().read_to_end(&mut raw)?;
    Ok(raw)
}

fn client(matches: &ArgMatches) -> Result<Client, String> {
    let text = matches.get_one::<String>("client").map(String::as_str).unwrap_or_default();
    let address = text.parse().map_err(|error| format!("--client {text}: {error}"))?;
    Ok(Client::new(address, "explain"))
}

fn envelope(matches: &ArgMatches) -> Result<Envelope, String> {
    let address = |text: &String| Address::parse(text).map_err(|error| format!("<{text}>: {error}"));
    let sender = matches.get_one::<String>("sender").filter(|text| !text.is_empty()).map(address).transpose()?;
    let given = matches.get_many::<String>("recipient").into_iter().flatten();
    let mut recipients = given.map(address).collect::<Result<Vec<_>, _>>()?;
    if recipients.is_empty() {
        recipients.push(address(&"rcpt@example.net".to_owned())?);
    }
    Ok(Envelope { sender: Sender(sender), recipients, ..Envelope::default() })
}
