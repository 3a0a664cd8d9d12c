//! Headgate: the SMTP front door for Amazon SES.
//!
//! # The flow
//!
//! Every arrow changes the type, and nothing flows back.
//!
//! ```text
//! socket octets ─codec→ Command ─session→ Step ─┐            smtp, performed by server
//!                                               └→ Transaction { id, client, envelope, raw message }
//! Transaction ─intake.prepare→ Accepted { id, envelope, message } or Refusal        (pure: rules, then the lints)
//! Accepted ─Sink→ Receipt ─→ reply, message line           (delivery: Queue, durable here | Direct, one attempt now)
//! store.lease ─route→ Upstream.send ─→ one Outcome per recipient ─→ store.settle(lease, outcomes, reports?) ─→ attempt lines
//! ```
//!
//! # The rooms
//!
//! A room imports from rooms below it only; `tests/layers.rs` holds that.
//!
//! | layer | rooms |
//! | --- | --- |
//! | the program | [`cli`] |
//! | the wiring | [`app`] |
//! | the settings | [`config`] |
//! | the operator | [`operator`] (what is done to the queue by hand, the control socket) |
//! | the edges | [`server`] (sockets of clients), [`delivery`] (sinks, workers, routing, pace), [`console`] (health, metrics) |
//! | the door | [`intake`] |
//! | the parts | [`rules`], [`store`], [`upstream`], [`bounce`] (reports), [`log`], [`metrics`] |
//! | the protocol | [`smtp`] (no I/O) |
//! | the formats | [`mime`], then [`header`] (byte-preserving editor) |
//! | the vocabulary | [`mail`], [`tree`] (TOML that knows its places) |
//!
//! # How to add
//!
//! | to add | new file | one row in | red until done |
//! | --- | --- | --- | --- |
//! | an SMTP extension | `smtp/ext/x.rs` | [`smtp::EXTENSIONS`] | a `fixtures/smtp/ext-x*.smtp` exists |
//! | a matcher | `rules/matcher/x.rs` | [`rules::MATCHERS`] | its example compiles |
//! | an action | `rules/action/x.rs` | [`rules::ACTIONS`] | its example compiles |
//! | a repair | `rules/repair/x.rs` | [`rules::REPAIRS`] | a `[[test]]` uses it |
//! | an upstream | `upstream/x.rs` | [`upstream::UPSTREAMS`] | a test sends through it |
//! | a log field | – | [`log::FIELDS`] | JSON and `%{name}x` show it |
//! | a subcommand | `cli/x.rs` | `COMMANDS` | a transcript in `fixtures/cli` |
//! | a check of the doctor | `app/doctor/x.rs` | [`app::CHECKS`] | `headgate doctor --help` in its transcript tells it |
//! | a setting | – | the room's `Settings` | `config reference` describes it |

// What a client, a file or a user gives must not be able to end the program.
#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::string_slice))]

pub mod app;
pub mod bounce;
pub mod cli;
pub mod config;
pub mod console;
pub mod delivery;
pub mod header;
pub mod intake;
pub mod log;
pub mod mail;
pub mod metrics;
pub mod mime;
pub mod operator;
pub mod rules;
pub mod server;
pub mod smtp;
pub mod store;
pub mod tree;
pub mod upstream;
