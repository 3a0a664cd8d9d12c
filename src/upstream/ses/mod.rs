//! `ses`: Amazon SES by its API version 2.

mod client;
mod errors;
mod lint;
mod setup;
mod wishes;

pub use lint::{Finding, Severity, lint};

pub(super) use client::RECIPIENTS_MAX;
pub(super) use errors::{divisible, pressure, unverified};
pub(super) use lint::line_findings;
pub(super) use setup::ROW;
pub(super) use wishes::Wishes;
