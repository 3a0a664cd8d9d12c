//! Messages into files and out of them: `ID.eml`, and `ID.json` with the envelope beside it.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use bytes::Bytes;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    cli::{NO_INPUT, desk::Complaint, desk::Show},
    mail::Address,
    operator::{Answer, Letter, Request, Sheet, Which, decoded},
};

use super::{
    arguments::{self, choose},
    flag,
};

/// Octets of a file that is read; the settings may allow less.
const LARGEST: u64 = 1 << 30;

pub(super) fn export_command(command: Command) -> Command {
    let id = Arg::new("id").value_name("ID|FOLDER").help("The message; with --all the folder");
    let file = Arg::new("file").value_name("FILE").help("Where the message goes; - or none is stdout");
    arguments::filtered(command.arg(id).arg(file))
        .arg(flag("all", "All such messages, as ID.eml with ID.json beside it, into the folder"))
        .arg(flag("envelope", "Prints sender, open recipients and user as JSON instead"))
}

fn operands(matches: &ArgMatches) -> (Option<&String>, Option<&String>) {
    (matches.get_one("id"), matches.get_one("file"))
}

/// What is to be exported.
pub(super) fn which(matches: &ArgMatches) -> Result<Which, Complaint> {
    let (first, second) = operands(matches);
    if matches.get_flag("all") {
        return match (first, second, matches.get_flag("envelope")) {
            (Some(_), None, _) | (None, None, true) => choose(Vec::new(), matches),
            _ => Err(Complaint::usage("--all writes into one folder: headgate queue export --all FOLDER")),
        };
    }
    match first {
        Some(text) => choose(vec![arguments::id(text)?], matches),
        None => choose(Vec::new(), matches),
    }
}

/// Writes messages that come in pieces.
pub(super) struct Export {
    target: Target,
    open: Option<(Box<dyn Write>, u64)>,
}

enum Target {
    Stdout,
    File(PathBuf),
    Folder(PathBuf),
    Envelope,
}

impl Export {
    pub(super) fn new(matches: &ArgMatches) -> Self {
        let target = match (matches.get_flag("envelope"), matches.get_flag("all"), operands(matches)) {
            (true, _, _) => Target::Envelope,
            (false, true, (Some(folder), _)) => Target::Folder(PathBuf::from(folder)),
            (false, false, (_, Some(file))) if file != "-" => Target::File(PathBuf::from(file)),
            _ => Target::Stdout,
        };
        Self { target, open: None }
    }

    /// A message begins; what is to be told of it.
    fn begin(&mut self, sheet: &Sheet) -> anyhow::Result<String> {
        let (writer, told): (Box<dyn Write>, String) = match &self.target {
            Target::Envelope => return Ok(format!("{}\n", serde_json::to_string(sheet)?)),
            Target::Stdout => (Box::new(io::stdout()), String::new()),
            Target::File(path) => (Box::new(create(path)?), String::new()),
            Target::Folder(folder) => {
                fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
                let path = folder.join(format!("{}.eml", sheet.id));
                let mut beside = create(&path.with_extension("json"))?;
                writeln!(beside, "{}", serde_json::to_string(sheet)?)?;
                (Box::new(create(&path)?), format!("{}\n", path.display()))
            }
        };
        self.open = Some((writer, sheet.octets));
        Ok(told)
    }

    fn write(&mut self, piece: &str) -> anyhow::Result<()> {
        let Some((writer, left)) = &mut self.open else { return Ok(()) };
        let octets = decoded(piece).context("the answer is not of the form that is known here")?;
        *left = left.saturating_sub(octets.len() as u64);
        let written = writer.write_all(&octets).and_then(|()| if *left == 0 { writer.flush() } else { Ok(()) });
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("the message cannot be written"),
        }
    }
}

impl Show for Export {
    fn show(&mut self, answer: &Answer) -> anyhow::Result<String> {
        match answer {
            Answer::Letter(sheet) => self.begin(sheet),
            Answer::Octets(piece) => self.write(piece).map(|()| String::new()),
            _ => Ok(String::new()),
        }
    }

    /// A message is octets.
    fn is_json(&self, _: &ArgMatches) -> bool {
        false
    }
}

/// A new file that others cannot read: it holds somebody's mail.
fn create(path: &Path) -> anyhow::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.with_context(|| format!("cannot write {}", path.display()))
}

pub(super) fn import_command(command: Command) -> Command {
    command
        .arg(Arg::new("file").value_name("FILE").required(true).help("The message; - is standard input"))
        .arg(
            Arg::new("sender")
                .long("sender")
                .value_name("ADDRESS")
                .help("The envelope's sender, empty for none; else that of FILE.json"),
        )
        .arg(
            Arg::new("recipient")
                .long("recipient")
                .value_name("ADDRESS")
                .action(ArgAction::Append)
                .help("A recipient, may be given several times; else those of FILE.json"),
        )
        .arg(Arg::new("user").long("user").value_name("NAME").help("The user whom the log names"))
        .arg(
            Arg::new("rules")
                .long("rules")
                .value_name("WHICH")
                .value_parser(["present", "none"])
                .default_value("present")
                .help("Whether rules and lint look at it; with none it is queued octet for octet"),
        )
}

/// The message of a file, with the envelope of the flags or of the file beside it.
pub(super) fn import(matches: &ArgMatches) -> Result<(Request, Bytes), Complaint> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let file = text("file").unwrap_or_default();
    let address = |text: &String| Address::parse(text).map_err(|error| Complaint::usage(format!("<{text}>: {error}")));
    let sender = text("sender").map(|text| Some(text).filter(|text| !text.is_empty()));
    let sender = sender.map(|text| text.as_ref().map(address).transpose()).transpose()?;
    let given = matches.get_many::<String>("recipient").into_iter().flatten();
    let recipients = given.map(address).collect::<Result<Vec<_>, _>>()?;
    let beside = if sender.is_none() || recipients.is_empty() { Some(sheet(&file)?) } else { None };
    // What was asked of another sender's mail is not this one's wish.
    let asked = beside.as_ref().filter(|_| sender.is_none()).map(|sheet| (sheet.dsn.clone(), sheet.asked.clone()));
    let (known_sender, known_recipients, known_user) =
        beside.map(|sheet| (sheet.sender, sheet.recipients, sheet.user)).unwrap_or_default();
    let octets = read(&file)?;
    let (dsn, asked) = asked.unwrap_or_default();
    let letter = Letter {
        sender: sender.unwrap_or(known_sender),
        recipients: if recipients.is_empty() { known_recipients } else { recipients },
        dsn,
        asked,
        user: text("user").or(known_user),
        rules: text("rules").as_deref() != Some("none"),
        octets: octets.len() as u64,
    };
    Ok((Request::Import(letter), octets))
}

fn read(file: &str) -> Result<Bytes, Complaint> {
    let mut octets = Vec::new();
    let read = if file == "-" {
        io::stdin().take(LARGEST).read_to_end(&mut octets)
    } else {
        File::open(file).and_then(|file| file.take(LARGEST).read_to_end(&mut octets))
    };
    match read {
        Ok(_) => Ok(octets.into()),
        Err(error) => Err(Complaint { code: NO_INPUT, text: format!("cannot read {file}: {error}") }),
    }
}

/// The envelope beside a file.
fn sheet(file: &str) -> Result<Sheet, Complaint> {
    if file == "-" {
        return Err(Complaint::usage("a message from standard input needs --sender and --recipient"));
    }
    let path = Path::new(file).with_extension("json");
    let told = |error: &dyn std::fmt::Display| Complaint {
        code: NO_INPUT,
        text: format!("no --sender and --recipient, and no envelope in {}: {error}", path.display()),
    };
    let text = fs::read_to_string(&path).map_err(|error| told(&error))?;
    serde_json::from_str(&text).map_err(|error| told(&error))
}
