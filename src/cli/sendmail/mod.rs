//! `headgate sendmail`, in the place of sendmail(8).
//!
//! A message from standard input goes to the gateway that runs with the settings, else into its store, else straight to
//! SES. Exit codes are sysexits.

mod flags;
mod letter;

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, Command};

use crate::{
    app::{self, Submitted},
    config::{Loaded, Request, Settings, load},
    mail::{Address, Reply},
    rules::{Draft, Facts},
    smtp::Transaction,
};

use super::{CommandRow, Run, explained::Explained, terminal};
use flags::{Asked, FLAGS, Mode};

pub(super) const ROW: CommandRow =
    CommandRow { name: "sendmail", command, run: Run::Own(|arguments| run(arguments, Called::Ours)) };

/// The settings that are looked for when nothing names others: a caller such as cron gives no environment.
const SETTINGS: &str = "/etc/headgate.toml";

/// Under which name it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    /// `headgate sendmail`, which tells who took the message.
    Ours,
    /// `sendmail`, which tells only what went wrong.
    Sendmail,
    /// `mailq`.
    Mailq,
    /// `newaliases`.
    Newaliases,
}

impl Called {
    /// By the name of a link.
    pub(super) fn by(name: &str) -> Option<Self> {
        match name {
            "sendmail" => Some(Self::Sendmail),
            "mailq" => Some(Self::Mailq),
            "newaliases" => Some(Self::Newaliases),
            _ => None,
        }
    }
}

fn command() -> Command {
    let about = "Takes a message from standard input, in the place of sendmail(8)";
    let command =
        Command::new("sendmail")
            .about(about)
            .arg(Arg::new("recipients").value_name("ADDRESS").num_args(0..).help("The recipients"))
            .arg(Arg::new("config").long("config").value_name("FILE").help(
                "The settings of the gateway (also HEADGATE_CONFIG); without any /etc/headgate.toml, if it is there",
            ))
            .arg(
                Arg::new("dry-run")
                    .long("dry-run")
                    .action(ArgAction::SetTrue)
                    .help("Sends nothing, and tells what would be sent"),
            );
    FLAGS.iter().filter_map(|row| Some((row.letter, row.help?))).fold(command, |command, (letter, help)| {
        let arg = Arg::new(letter).short(letter.chars().next()).help(help);
        command.arg(match letter {
            "f" | "r" => arg.value_name("ADDRESS"),
            "F" => arg.value_name("NAME"),
            "b" => arg.value_name("MODE"),
            _ => arg.action(ArgAction::SetTrue),
        })
    })
}

/// Runs it with the arguments behind its name.
pub(super) fn run(arguments: Vec<OsString>, called: Called) -> u8 {
    let asked = match Asked::read(arguments) {
        Ok(asked) => asked,
        Err(fault) => return fail(super::USAGE, &fault),
    };
    if asked.help {
        let _ = command().print_help();
        return 0;
    }
    match (called, asked.mode) {
        (Called::Newaliases, _) | (_, Mode::Nothing) => 0,
        (Called::Mailq, _) | (_, Mode::List) => list(&asked),
        (_, Mode::Session) => session(&asked),
        (_, Mode::Deliver) => deliver(&asked, called).unwrap_or_else(|(code, fault)| fail(code, &fault)),
    }
}

fn fail(code: u8, text: &str) -> u8 {
    let _ = writeln!(io::stderr(), "sendmail: {}", terminal::line(text));
    code
}

/// The settings, and whether there are any.
fn settings(asked: &Asked) -> Result<(Loaded, bool), (u8, String)> {
    let environment: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let known = environment.iter().any(|(name, value)| name.starts_with("HEADGATE_") && !value.is_empty());
    let usual = || (!known && Path::new(SETTINGS).exists()).then(|| PathBuf::from(SETTINGS));
    let file = asked.config.clone().or_else(usual);
    let configured = known || file.is_some();
    let loaded = load(&Request { file, environment, ..Request::default() }).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        (super::CONFIG, faults.join("; "))
    })?;
    Ok((loaded, configured))
}

fn deliver(asked: &Asked, called: Called) -> Result<u8, (u8, String)> {
    let (loaded, configured) = settings(asked)?;
    let input = input(loaded.settings.limits.message_size.0)?;
    let transaction =
        letter::transaction(asked, &input, &own_domain(&loaded.settings)).map_err(|fault| (super::DATA, fault))?;
    if asked.dry_run {
        return Ok(rehearse(&loaded, transaction));
    }
    let runtime = runtime()?;
    let submitted = runtime.block_on(app::submit(loaded, configured, transaction));
    let Submitted { taker, reply } = submitted.map_err(|error| (super::CONFIG, error.to_string()))?;
    let told =
        format!("{} {taker}: {}", reply.enhanced().map(|code| code.to_string()).unwrap_or_default(), reply.text());
    if !reply.is_positive() {
        return Err((exit(&reply), told));
    }
    if called == Called::Ours || asked.verbose {
        let _ = terminal::write(format!("{told}\n"));
    }
    Ok(0)
}

/// The sysexit of a refusal.
fn exit(reply: &Reply) -> u8 {
    match reply.enhanced() {
        _ if reply.is_transient() => super::TRY_AGAIN,
        Some(code) if code.1 == 6 => super::DATA,
        _ => super::UNAVAILABLE,
    }
}

fn input(largest: u64) -> Result<Vec<u8>, (u8, String)> {
    let mut octets = Vec::new();
    let read = io::stdin().lock().take(largest.saturating_add(1)).read_to_end(&mut octets);
    read.map_err(|error| (super::NO_INPUT, format!("cannot read the message: {error}")))?;
    if octets.len() as u64 > largest {
        return Err((super::DATA, format!("the message has more than {largest} octets")));
    }
    Ok(octets)
}

/// The domain of names without one: that of the settings, else of the system's mail name, else the machine's name.
fn own_domain(settings: &Settings) -> String {
    let system = fs::read_to_string("/etc/mailname").map(|text| text.trim().to_owned()).unwrap_or_default();
    let usable = settings.hostname.is_empty() && Address::is_domain(&system);
    if usable { system } else { settings.own_name() }
}

fn rehearse(loaded: &Loaded, transaction: Transaction) -> u8 {
    let Transaction { id, client, envelope, raw } = transaction;
    let facts = Facts { id, client, size: raw.len(), hostname: loaded.settings.own_name() };
    let explained = Explained::new(&loaded.rules, &facts, Draft::new(envelope, &raw));
    let to: Vec<String> = explained.envelope.recipients.iter().map(|one| format!("<{one}>")).collect();
    let from = &explained.envelope.sender;
    let _ = terminal::write(format!("from: <{from}>\nto: {}\n{}", to.join(", "), explained.text()));
    if explained.refused() { super::DATA } else { 0 }
}

fn session(asked: &Asked) -> u8 {
    let ran = settings(asked).and_then(|(loaded, configured)| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| (super::UNAVAILABLE, error.to_string()))?;
        let ended = runtime.block_on(app::converse(loaded, configured));
        // A read of standard input that never ends must not keep the program.
        runtime.shutdown_background();
        ended.map_err(|error| (super::UNAVAILABLE, error.to_string()))
    });
    ran.map_or_else(|(code, fault)| fail(code, &fault), |()| 0)
}

fn runtime() -> Result<tokio::runtime::Runtime, (u8, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| (super::UNAVAILABLE, error.to_string()))
}

/// `headgate queue list` with the settings that were found here.
fn list(asked: &Asked) -> u8 {
    let known = env::vars_os().any(|(name, _)| name.as_encoded_bytes().starts_with(b"HEADGATE_"));
    let usual = (!known && Path::new(SETTINGS).exists()).then(|| PathBuf::from(SETTINGS));
    let mut line: Vec<OsString> = ["headgate", "queue", "list"].map(OsString::from).into();
    if let Some(file) = asked.config.clone().or(usual) {
        line.extend([OsString::from("--config"), file.into_os_string()]);
    }
    super::parsed(line)
}
