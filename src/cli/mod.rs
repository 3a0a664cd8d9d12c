//! The command line, one file a subcommand.
//!
//! Arguments go in, an exit code comes out (sysexits): 64 wrong usage, 65 wrong data, 66 no input, 69 cannot start, 75 try again, 78
//! wrong settings. Data goes to stdout, everything else to stderr.

mod completions;
mod config;
mod desk;
mod doctor;
mod explain;
mod explained;
mod man;
mod queue;
mod recipients;
mod rules;
mod send;
mod sendmail;
mod serve;
mod terminal;
mod upstreams;
mod users;

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    config::{Loaded, Request, load},
    tree::Fault,
};

/// Wrong usage.
const USAGE: u8 = 64;
/// What is asked for does not fit the message, or the rules refuse it.
const DATA: u8 = 65;
/// No input.
const NO_INPUT: u8 = 66;
/// The service cannot start.
const UNAVAILABLE: u8 = 69;
/// Try again later.
const TRY_AGAIN: u8 = 75;
/// Wrong settings.
const CONFIG: u8 = 78;

/// One subcommand.
struct CommandRow {
    name: &'static str,
    /// What it takes, for its help, its man page and its completions.
    command: fn() -> Command,
    run: Run,
}

/// How a subcommand is run.
enum Run {
    /// With its arguments read.
    Read(fn(&ArgMatches) -> anyhow::Result<u8>),
    /// With its arguments as they are, for a command that has to read them as another program does.
    Own(fn(Vec<OsString>) -> u8),
}

/// All subcommands.
const COMMANDS: &[CommandRow] = &[
    serve::ROW,
    send::ROW,
    sendmail::ROW,
    explain::ROW,
    rules::ROW,
    queue::ROW,
    upstreams::ROW,
    users::ROW,
    doctor::ROW,
    config::ROW,
    completions::ROW,
    man::ROW,
];

/// Runs the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    ExitCode::from(as_another(&arguments).unwrap_or_else(|| parsed(arguments)))
}

/// Runs a subcommand whose arguments are read here.
fn parsed(arguments: Vec<OsString>) -> u8 {
    let matches = match program().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { USAGE } else { 0 };
        }
    };
    let Some((name, matches)) = matches.subcommand() else { return USAGE };
    let Some(row) = COMMANDS.iter().find(|row| row.name == name) else { return USAGE };
    let Run::Read(run) = row.run else { return USAGE };
    run(matches).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "headgate: {error:#}");
        UNAVAILABLE
    })
}

/// Runs as the program under whose name this one was called, or as a subcommand that reads its arguments itself.
fn as_another(arguments: &[OsString]) -> Option<u8> {
    let (name, rest) = arguments.split_first()?;
    let name = Path::new(name).file_name().and_then(OsStr::to_str).unwrap_or_default();
    if name == send::LEGACY {
        return Some(send::run(rest.to_vec(), true));
    }
    if let Some(called) = sendmail::Called::by(name) {
        return Some(sendmail::run(rest.to_vec(), called));
    }
    let (name, rest) = rest.split_first()?;
    let row = COMMANDS.iter().find(|row| name.to_str() == Some(row.name))?;
    if let Run::Own(run) = row.run { Some(run(rest.to_vec())) } else { None }
}

fn program() -> Command {
    let program = Command::new("headgate")
        .about("The SMTP front door for Amazon SES")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true);
    COMMANDS.iter().fold(program, |program, row| program.subcommand((row.command)().name(row.name)))
}

/// The flags that say where settings come from.
fn settings_flags(command: Command) -> Command {
    command
        .arg(Arg::new("config").long("config").value_name("FILE").help("The settings file (also HEADGATE_CONFIG)"))
        .arg(Arg::new("listen").long("listen").value_name("ADDR").help("Listen there (also HEADGATE_LISTEN)"))
        .arg(
            Arg::new("upstream")
                .long("upstream")
                .value_name("KIND[:ARG]")
                .help("ses[:REGION] or outbox:FOLDER (also HEADGATE_UPSTREAM)"),
        )
        .arg(
            Arg::new("set")
                .long("set")
                .value_name("KEY=VALUE")
                .action(ArgAction::Append)
                .help("One setting, such as limits.recipients=100 (also HEADGATE_LIMITS__RECIPIENTS)"),
        )
}

fn request(matches: &ArgMatches) -> Request {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Request {
        file: text("config").map(PathBuf::from),
        environment: environment.collect(),
        listen: text("listen"),
        upstream: text("upstream"),
        set: matches.get_many::<String>("set").into_iter().flatten().cloned().collect(),
    }
}

/// The settings, or 78 with every fault on stderr.
fn settings(matches: &ArgMatches) -> Result<Loaded, u8> {
    load(&request(matches)).map_err(|faults| {
        tell(&faults);
        CONFIG
    })
}

fn tell(faults: &[Fault]) {
    let mut stderr = io::stderr().lock();
    for fault in faults {
        let _ = writeln!(stderr, "headgate: {fault}");
    }
}

/// Says what is wrong.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "headgate: {}", terminal::line(text));
}

/// Writes to stdout; a closed pipe is no error.
fn print(output: impl AsRef<[u8]>) -> io::Result<()> {
    terminal::write(output).map(|_| ())
}
