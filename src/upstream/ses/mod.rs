//! `ses`: Amazon SES by its API version 2.

mod ask;
mod client;
mod credentials;
mod errors;
mod exam;
mod identities;
mod lint;
mod setup;
mod wishes;
mod witness;

pub use lint::{Finding, Severity, lint};

pub(super) use client::RECIPIENTS_MAX;
pub(super) use errors::{divisible, pressure, unverified};
pub(super) use exam::examine;
pub(super) use lint::line_findings;
pub(super) use setup::ROW;
pub(super) use wishes::Wishes;
