//! Headgate: the SMTP front door for Amazon SES.

pub mod header;
pub mod mail;
pub mod mime;
pub mod rules;
pub mod smtp;
pub mod tree;
