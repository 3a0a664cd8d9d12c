//! `ses`: Amazon SES by its API version 2.

mod client;
mod errors;
mod lint;

pub use lint::{Finding, Severity, lint};

pub(super) use client::ROW;
