//! Headgate: the SMTP front door for Amazon SES.

pub mod bounce;
pub mod header;
pub mod intake;
pub mod log;
pub mod mail;
pub mod metrics;
pub mod mime;
pub mod rules;
pub mod smtp;
pub mod tree;
pub mod upstream;
