//! A request to the operator's desk, and its answers on the terminal.

use std::io::{self, Write as _};

use bytes::Bytes;
use clap::ArgMatches;

use crate::{
    app,
    operator::{Answer, Deed, Done, Fault, FaultKind, Request},
};

use super::terminal;

/// How answers are shown to people; what became of an order is shown by [`run`].
pub(super) trait Show {
    /// What stdout shows of one answer.
    fn show(&mut self, answer: &Answer) -> anyhow::Result<String>;

    /// Whether `--json` prints the answers themselves.
    fn is_json(&self, matches: &ArgMatches) -> bool {
        matches.get_flag("json")
    }
}

/// Why nothing is asked.
pub(super) struct Complaint {
    /// The exit code.
    pub(super) code: u8,
    /// What is wrong.
    pub(super) text: String,
}

impl Complaint {
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self { code: super::USAGE, text: text.into() }
    }

    /// Says so; the exit code.
    pub(super) fn tell(&self) -> u8 {
        let _ = writeln!(io::stderr(), "headgate: {}", terminal::line(&self.text));
        self.code
    }
}

impl From<&Fault> for Complaint {
    fn from(fault: &Fault) -> Self {
        let code = match fault.kind {
            FaultKind::Usage => super::USAGE,
            FaultKind::Refused => super::DATA,
            FaultKind::Missing => super::NO_INPUT,
            FaultKind::Unavailable => super::UNAVAILABLE,
            FaultKind::Later => super::TRY_AGAIN,
        };
        Self { code, text: fault.text.clone() }
    }
}

/// Asks, and shows the answers as they come; the exit code is that of the worst.
pub(super) fn run(matches: &ArgMatches, asked: (Request, Bytes), mut show: impl Show) -> anyhow::Result<u8> {
    let loaded = match super::settings(matches) {
        Ok(loaded) => loaded,
        Err(code) => return Ok(code),
    };
    let json = show.is_json(matches);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut answers = match app::ask(loaded, asked.0, asked.1).await {
            Ok(answers) => answers,
            Err(fault) => return Ok(Complaint::from(&fault).tell()),
        };
        let mut worst = 0;
        while let Some(answer) = answers.recv().await {
            let text = match &answer {
                Answer::End(None) => return Ok(worst),
                Answer::End(Some(fault)) => return Ok(worst.max(Complaint::from(fault).tell())),
                Answer::Deed(one) => {
                    worst = worst.max(code(one.result));
                    if json { inner(&answer)? } else { deed(one) }
                }
                _ if json => inner(&answer)?,
                _ => show.show(&answer)?,
            };
            if !terminal::write(text)? {
                return Ok(worst);
            }
        }
        Ok(Complaint { code: super::UNAVAILABLE, text: "the answer broke off".to_owned() }.tell())
    })
}

fn code(result: Done) -> u8 {
    match result {
        Done::Done => 0,
        Done::Unfit | Done::Refused => super::DATA,
        Done::Unknown => super::NO_INPUT,
        Done::Active => super::TRY_AGAIN,
    }
}

/// What is done stands on stdout, what is not on stderr.
fn deed(deed: &Deed) -> String {
    let text = terminal::line(&deed.text);
    if deed.result == Done::Done {
        return format!("{} {text}\n", deed.id);
    }
    let _ = writeln!(io::stderr(), "headgate: {}: {text}", deed.id);
    String::new()
}

/// An answer as a line of JSON, without the word for its kind.
fn inner(answer: &Answer) -> anyhow::Result<String> {
    let value = serde_json::to_value(answer)?;
    let inner = value.as_object().and_then(|object| object.values().next());
    Ok(inner.map(|inner| format!("{inner}\n")).unwrap_or_default())
}
