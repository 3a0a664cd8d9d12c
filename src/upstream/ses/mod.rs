//! `ses`: Amazon SES by its API version 2.

mod client;
mod errors;
mod lint;
mod setup;
mod wishes;

pub use lint::{Finding, Severity, lint};

use lint::RECIPIENTS_MAX;
pub(super) use setup::ROW;
use wishes::Wishes;
