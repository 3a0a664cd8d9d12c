//! `headgate serve`: the gateway.

use std::io::IsTerminal as _;

use clap::{ArgMatches, Command};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::{
    app::App,
    log::{Diagnostics, Level, Style},
};

use super::{CommandRow, Run};

pub(super) const ROW: CommandRow = CommandRow { name: "serve", command, run: Run::Read(run) };

fn command() -> Command {
    super::settings_flags(Command::new("serve").about("Takes mail by SMTP and hands it to the upstreams"))
}

fn run(matches: &ArgMatches) -> anyhow::Result<u8> {
    let request = super::request(matches);
    let loaded = match super::settings(matches) {
        Ok(loaded) => loaded,
        Err(code) => return Ok(code),
    };
    speak(&loaded.settings.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match App::build(loaded, request).await {
            Ok(app) => {
                app.run().await;
                Ok(0)
            }
            Err(error) => {
                tracing::error!("{error}");
                Ok(if error.may_pass() { super::TRY_AGAIN } else { super::UNAVAILABLE })
            }
        }
    })
}

/// Sets up what the program says of itself. The SDK is heard from `warn` on only: below, it prints messages whole.
fn speak(settings: &Diagnostics) -> anyhow::Result<()> {
    use tracing::level_filters::LevelFilter;
    let level = match settings.level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let filter = Targets::new().with_target("headgate", level).with_default(level.min(LevelFilter::WARN));
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    match settings.format {
        Style::Text => registry.with(layer.with_ansi(std::io::stderr().is_terminal())).try_init()?,
        Style::Json => registry.with(layer.json()).try_init()?,
    }
    Ok(())
}
