//! `headgate upstreams`: how each upstream of a running gateway is.

use std::fmt::Write as _;

use bytes::Bytes;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    delivery::Condition,
    operator::{Answer, Request},
};

use super::{
    CommandRow, Run,
    desk::{self, Show},
    terminal::{cut, line},
};

pub(super) const ROW: CommandRow = CommandRow { name: "upstreams", command, run: Run::Read(run) };

fn command() -> Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Prints JSON, one object a line");
    super::settings_flags(Command::new("upstreams").about("Shows how each upstream of a running gateway is").arg(json))
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    desk::run(matches, (Request::Upstreams, Bytes::new()), Table::default())
}

/// A line an upstream; the heading comes with the first.
#[derive(Default)]
struct Table {
    begun: bool,
}

impl Show for Table {
    fn show(&mut self, answer: &Answer) -> anyhow::Result<String> {
        let Answer::Upstream(one) = answer else { return Ok(String::new()) };
        let mut text = String::new();
        if !self.begun {
            let _ = writeln!(text, "{:20} {:>6} {:>8} {:>7} HEALTH", "NAME", "WEIGHT", "RATE/S", "OPENS");
            self.begun = true;
        }
        let _ = writeln!(text, "{}", row(one));
        Ok(text)
    }
}

fn row(one: &Condition) -> String {
    let rate = one.rate.map_or_else(|| "no limit".to_owned(), |rate| format!("{rate:.1}"));
    let opens = one.opens_in.map_or_else(|| "now".to_owned(), |seconds| format!("{:.0}s", seconds.ceil()));
    let health = match (one.well, one.cause.is_empty()) {
        (true, true) => "well".to_owned(),
        (true, false) => format!("well; last fault: {}", line(&one.cause)),
        (false, _) => format!("ill: {}", line(&one.cause)),
    };
    format!("{:20} {:>6} {rate:>8} {opens:>7} {health}", cut(&line(&one.name), 20), one.weight)
}
