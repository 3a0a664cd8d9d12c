//! Arguments into requests.

use std::str::FromStr;

use clap::{Arg, ArgAction, ArgMatches, Command};
use jiff::Timestamp;

use crate::{
    mail::{Id, Period},
    operator::{Query, Request, Which},
    store::State,
};

use super::{super::desk::Complaint, flag};

/// With the flags that say what messages are like.
pub(super) fn filtered(command: Command) -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    command
        .arg(
            option("state", "STATE", "In that state: queued, active, held or finished; may be given several times")
                .action(ArgAction::Append),
        )
        .arg(option("sender", "ADDRESS", "With that envelope sender; empty is the null sender"))
        .arg(option("recipient", "ADDRESS", "With that envelope recipient"))
        .arg(option("user", "NAME", "Of that user"))
        .arg(option("older-than", "TIME", "Taken longer ago than that, such as 2h"))
        .arg(option("newer-than", "TIME", "Taken within that time"))
}

/// With ids, or `--all` and the flags that say which.
pub(super) fn chosen(command: Command) -> Command {
    let ids = Arg::new("id").value_name("ID").action(ArgAction::Append).help("The messages");
    filtered(command.arg(ids)).arg(flag("all", "All such messages instead"))
}

/// The request of a verb without octets.
pub(super) fn request(verb: &str, matches: &ArgMatches) -> Result<Request, Complaint> {
    Ok(match verb {
        "list" => Request::List { query: query(matches)?, limit: matches.get_one("limit").copied() },
        "show" => Request::Show { id: id(matches.get_one::<String>("id").map(String::as_str).unwrap_or_default())? },
        "retry" => Request::Retry { which: which(matches)?, rules: matches.get_flag("rules") },
        "hold" => {
            let reason = matches.get_one::<String>("reason").cloned().unwrap_or_default();
            Request::Hold { which: which(matches)?, reason }
        }
        "release" => Request::Release { which: which(matches)? },
        "delete" => {
            let which = which(matches)?;
            let many = matches!(&which, Which::All(_)) || matches!(&which, Which::Ids(ids) if ids.len() > 1);
            if many && !matches.get_flag("yes") {
                return Err(Complaint::usage("more than one message is deleted only with --yes"));
            }
            Request::Delete { which }
        }
        _ => Request::Export { which: super::files::which(matches)? },
    })
}

fn which(matches: &ArgMatches) -> Result<Which, Complaint> {
    let given = matches.get_many::<String>("id").into_iter().flatten();
    let ids = given.map(|text| id(text)).collect::<Result<Vec<_>, _>>()?;
    choose(ids, matches)
}

/// Ids, or `--all`, and not both.
pub(super) fn choose(ids: Vec<Id>, matches: &ArgMatches) -> Result<Which, Complaint> {
    let query = query(matches)?;
    match (ids.is_empty(), matches.get_flag("all")) {
        (true, true) => Ok(Which::All(query)),
        (false, false) if query == Query::default() => Ok(Which::Ids(ids)),
        (true, false) => Err(Complaint::usage("say which: ids, or --all, perhaps with --state, --sender and the like")),
        (false, _) => Err(Complaint::usage("ids stand alone: --all and what messages are like choose others")),
    }
}

pub(super) fn id(text: &str) -> Result<Id, Complaint> {
    text.parse().map_err(Complaint::usage)
}

fn query(matches: &ArgMatches) -> Result<Query, Complaint> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let ago = |name: &str| -> Result<Option<Timestamp>, Complaint> {
        let period = text(name).map(|text| parsed::<Period>(name, &text)).transpose()?;
        Ok(period.map(|period| Timestamp::now() - period.0))
    };
    let states = matches.get_many::<String>("state").into_iter().flatten();
    Ok(Query {
        states: states.map(|word| state(word)).collect::<Result<_, _>>()?,
        sender: text("sender"),
        user: text("user"),
        recipient: text("recipient"),
        before: ago("older-than")?,
        since: ago("newer-than")?,
    })
}

fn parsed<T: FromStr<Err = String>>(name: &str, text: &str) -> Result<T, Complaint> {
    text.parse().map_err(|error| Complaint::usage(format!("--{name}: {error}")))
}

fn state(word: &str) -> Result<State, Complaint> {
    let known = State::ALL.into_iter().find(|state| state.word() == word);
    known.ok_or_else(|| {
        let words = State::ALL.map(State::word).join(", ");
        Complaint::usage(format!("--state {word}: there is no such state; there are {words}"))
    })
}
