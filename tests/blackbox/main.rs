//! Black-box tests: the program as its users run it, real sockets, real mail servers, a strict fake of SES.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod failover;
mod fake_ses;
mod fixtures;
mod full_disk;
mod gateway;
mod link;
mod parties;
mod pattern;
mod pipe;
mod smtp;

mod abuse;
mod behind;
mod callers;
mod clients;
mod commands;
mod delivery;
mod dialogues;
mod doctor;
mod dsn;
mod durable;
mod exim_server;
mod hostile;
mod lifecycle;
mod limits;
mod log_lines;
mod logins;
mod mails;
mod operator;
mod postfix;
mod postfix_pipe;
mod queue;
mod reports;
mod rules;
mod secrets;
mod send;
mod send_pipes;
mod send_settings;
mod sendmail;
mod sendmail_server;
mod settings;
mod smarthost;
mod submission;
mod tls;
mod transcripts;
mod upstream_ses;
mod upstream_smtp;
mod upstream_smtp_whole;
mod violence;
