//! `headgate explain FILE`: what the rules make of a message, and what SES would say.

use std::{
    fmt::Write as _,
    io::{self, Read as _, Write as _},
};

use bytes::Bytes;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    mail::{Address, Client, Envelope, Id, Sender},
    rules::{Draft, Facts, Trace, Verdict, stale_signatures},
    upstream::{Finding, Severity, lint},
};

use super::{CommandRow, terminal};

pub(super) const ROW: CommandRow = CommandRow { name: "explain", command, run };

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
    let mut draft = Draft::new(envelope, &raw);
    let facts = Facts { id: Id::nil(), client, size: raw.len(), hostname: loaded.settings.own_name() };
    let verdict = loaded.rules.run(&facts, &mut draft);
    let message = draft.message();
    if matches.get_flag("message") {
        super::print(message.to_bytes())?;
        return Ok(0);
    }
    let explained = Explained {
        findings: lint(&draft.envelope, &message),
        stale: stale_signatures(&draft),
        trace: draft.trace,
        verdict,
    };
    if matches.get_flag("json") {
        super::print(format!("{}\n", json(&explained)))?;
    } else {
        super::print(text(&explained))?;
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
    Ok(Envelope { sender: Sender(sender), recipients, smtputf8: false })
}

/// What there is to say of a message.
struct Explained {
    trace: Trace,
    verdict: Verdict,
    findings: Vec<Finding>,
    stale: Vec<String>,
}

impl Explained {
    fn refused(&self) -> bool {
        let by_rule = matches!(self.verdict, Verdict::Reject(_) | Verdict::Defer(_));
        by_rule || self.findings.iter().any(|finding| finding.severity == Severity::Refuse)
    }
}

fn text(explained: &Explained) -> String {
    let Explained { trace, verdict, findings, stale } = explained;
    let mut text = String::new();
    terminal::changes(&mut text, &trace.changes, trace.count);
    for signature in stale {
        let _ = writeln!(text, "{signature}");
    }
    let _ = writeln!(text, "verdict: {verdict}");
    let lint = if findings.is_empty() {
        "clean".to_owned()
    } else {
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let _ = writeln!(text, "lint: {lint}");
    text
}

fn json(explained: &Explained) -> serde_json::Value {
    let Explained { trace, verdict, findings, stale } = explained;
    let finding =
        |one: &Finding| serde_json::json!({ "severity": one.severity.word(), "line": one.line, "reason": one.reason });
    serde_json::json!({
        "changes": trace.changes,
        "count": trace.count,
        "user": trace.user,
        "env": trace.env,
        "verdict": verdict.word(),
        "refused": explained.refused(),
        "stale_signatures": stale,
        "lint": findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
