//! `headgate send`, in the place of `ses-send-email.pl`: one message from standard input, straight to SES.
//!
//! The order is that of the script: arguments, then the whole input, then credentials, then SES. Wrong arguments leave no
//! writer with a broken pipe: the input is read to its end all the same.

mod answer;
mod credentials;
mod endpoint;
mod getopt;
mod letter;
mod options;
mod rehearsal;
mod simple;

use std::{env, ffi::OsString, path::PathBuf};

use clap::{Arg, ArgAction, Command};

use crate::{
    app::{Post, Wish},
    config::{Loaded, load},
    mail::Enhanced,
    upstream::{self, Keys, Kind},
};

use super::{CommandRow, Run};
use answer::{Answer, REFUSED, SENT, TRY_AGAIN, USAGE, Voice};
use endpoint::{Endpoint, REGION};
use options::{Misuse, OPTIONS, Options};

pub(super) const ROW: CommandRow =
    CommandRow { name: "send", command, run: Run::Own(|arguments| run(arguments, false)) };

/// The name under which it speaks as the script did.
pub(super) const LEGACY: &str = "ses-send-email.pl";

const MISCONFIGURED: Enhanced = Enhanced(4, 3, 5);
const NO_CREDENTIALS: Enhanced = Enhanced(4, 7, 0);
const TOO_LARGE: Enhanced = Enhanced(5, 3, 4);
const BAD_ADDRESS: Enhanced = Enhanced(5, 1, 3);

fn command() -> Command {
    let about = "Sends a message from standard input to SES, in the place of ses-send-email.pl";
    let command = Command::new("send").about(about).arg(
        Arg::new("recipients")
            .value_name("ADDRESS[,...]")
            .num_args(0..)
            .help("The recipients; in raw mode without any, those in To, Cc and Bcc"),
    );
    OPTIONS.iter().filter(|row| row.name != "help").fold(command, |command, row| {
        let mut arg = Arg::new(row.name).help(row.help);
        arg = match row.name.chars().next() {
            Some(letter) if row.name.len() == 1 => arg.short(letter),
            _ => arg.long(row.name),
        };
        command.arg(match row.value {
            Some(value) => arg.value_name(value).action(ArgAction::Set),
            None => arg.action(ArgAction::SetTrue),
        })
    })
}

/// Runs it with the arguments behind its name.
pub(super) fn run(arguments: Vec<OsString>, legacy: bool) -> u8 {
    let options = match Options::read(arguments) {
        Ok(options) => options,
        Err(misuse) => {
            letter::drain();
            return told(misuse, legacy).tell();
        }
    };
    if options.help {
        return Answer::new(SENT).out(manual(legacy)).tell();
    }
    let voice = Voice { legacy, verbose: options.verbose, legacy_exit: options.legacy_exit };
    send(&options, voice).unwrap_or_else(|answer| answer).tell()
}

/// A fault is an answer too.
fn send(options: &Options, voice: Voice) -> Result<Answer, Answer> {
    let endpoint = options.endpoint.as_deref().map(Endpoint::parse).transpose().map_err(|fault| {
        letter::drain();
        voice.fault(REFUSED, MISCONFIGURED, &fault)
    })?;
    let loaded = settings(options).map_err(|fault| {
        letter::drain();
        voice.fault(TRY_AGAIN, MISCONFIGURED, &fault)
    })?;
    let input = letter::input(loaded.settings.limits.message_size.0).map_err(|fault| match fault {
        letter::Unread::TooLarge(text) => voice.fault(REFUSED, TOO_LARGE, &text),
        letter::Unread::Broken(error) => {
            voice.fault(TRY_AGAIN, MISCONFIGURED, &format!("cannot read the message: {error}"))
        }
    })?;
    let transaction = letter::transaction(options, input).map_err(|fault| voice.fault(REFUSED, BAD_ADDRESS, &fault))?;
    let (loaded, given) = aimed(loaded, endpoint.as_ref());
    if options.dry_run {
        return Ok(rehearsal::answer(options, &loaded, transaction));
    }
    let keys = keys(options).map_err(|fault| {
        let code = if options.legacy_exit { fault.legacy_exit() } else { TRY_AGAIN };
        voice.fault(code, NO_CREDENTIALS, &fault.to_string())
    })?;
    // The script knew one region when none was named; with keys of its own kind, so do we.
    let (region, keys) = (Some(REGION.to_owned()), keys);
    let loaded = if keys.is_some() && !given { in_region(loaded, REGION) } else { loaded };
    let wish = Wish { keys, region, untouched: options.untouched() };
    let host = endpoint.map(|endpoint| endpoint.host);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| voice.fault(TRY_AGAIN, Enhanced(4, 3, 0), &error.to_string()))?;
    runtime.block_on(async {
        let post = Post::build(loaded, wish).await;
        let post = post.map_err(|error| voice.fault(TRY_AGAIN, MISCONFIGURED, &error.to_string()))?;
        let posted = post.send(transaction).await;
        Ok(match posted.end {
            Ok(parts) => voice.parts(&parts, host.as_deref()),
            Err(refusal) => voice.refusal(&refusal),
        })
    })
}

/// The settings, or what is wrong with them in one line.
fn settings(options: &Options) -> Result<Loaded, String> {
    let environment =
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let rules = options.rules.as_deref().filter(|_| !options.untouched());
    let request = crate::config::Request {
        file: options.config.clone(),
        environment: environment.collect(),
        set: rules.map(|rules| format!("rules.files={rules}")).into_iter().collect(),
        ..crate::config::Request::default()
    };
    load(&request).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        faults.join("; ")
    })
}

/// The settings with the endpoint of the command line; whether anything names a region.
fn aimed(mut loaded: Loaded, endpoint: Option<&Endpoint>) -> (Loaded, bool) {
    let upstreams = &mut loaded.settings.upstreams;
    if let Some(Endpoint { url, region, .. }) = endpoint {
        let known = upstreams.iter().find(|one| one.kind == Kind::Ses).cloned();
        let aimed = upstream::Settings {
            endpoint_url: url.clone(),
            region: region.clone(),
            weight: 1,
            ..known.unwrap_or_default()
        };
        *upstreams = vec![aimed];
        return (loaded, true);
    }
    let given = upstreams.iter().any(|one| one.kind != Kind::Ses || !one.region.is_empty());
    (loaded, given)
}

fn in_region(mut loaded: Loaded, region: &str) -> Loaded {
    loaded.settings.upstreams.iter_mut().for_each(|one| region.clone_into(&mut one.region));
    loaded
}

/// The keys of a file, when the options or the environment name one.
fn keys(options: &Options) -> Result<Option<Keys>, credentials::CredentialsError> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let file = options.credentials.clone();
    let file = file.or_else(|| variable("AWS_CREDENTIAL_FILE")).or_else(|| variable("AWS_CREDENTIALS_FILE"));
    file.map(|file| credentials::read(&file)).transpose()
}

fn told(misuse: Misuse, legacy: bool) -> Answer {
    let answer = Answer::new(USAGE);
    match misuse {
        Misuse::Options(faults) => {
            let code = if legacy { String::new() } else { format!("{MISCONFIGURED} ") };
            answer.err(format!("{code}{}\n{}", faults.join("\n"), usage(legacy)))
        }
        Misuse::Lack(lack) if legacy => answer.out(format!("{lack}\n")).err(usage(legacy)),
        Misuse::Lack(lack) => answer.err(format!("{MISCONFIGURED} {lack}\n{}", usage(legacy))),
    }
}

fn usage(legacy: bool) -> String {
    let name = if legacy { LEGACY } else { "headgate send" };
    format!(
        "Usage:\n    {name} [OPTION...] -s SUBJECT -f ADDRESS [-c ADDRESS,...] [-b ADDRESS,...] ADDRESS,... < TEXT\n    \
         {name} [OPTION...] -r [-f ADDRESS] [ADDRESS,...] < MESSAGE\n    {name} --help\n"
    )
}

fn manual(legacy: bool) -> String {
    let mut text = format!("Sends a message from standard input to Amazon SES.\n\n{}\nOptions:\n", usage(legacy));
    for row in OPTIONS {
        let dashes = if row.name.len() == 1 { "-" } else { "--" };
        let value = row.value.map(|value| format!(" {value}")).unwrap_or_default();
        text.push_str(&format!("    {dashes}{}{value}\n            {}\n", row.name, row.help));
    }
    text.push_str("\nIt ends with 0 when SES has the message, 1 when it is refused, 2 after wrong arguments, 75 when it should be tried again.\n");
    text
}
