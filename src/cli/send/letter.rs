//! The message on standard input, as a transaction.

use std::{
    io::{self, IsTerminal as _, Read as _},
    net::{IpAddr, Ipv4Addr},
};

use bytes::Bytes;

use crate::{
    cli::recipients,
    mail::{Address, Client, Envelope, Id, Sender},
    smtp::Transaction,
};

use super::{options::Options, simple};

/// An input that is no message.
pub(super) enum Unread {
    TooLarge(String),
    Broken(io::Error),
}

/// All of standard input, up to a size.
pub(super) fn input(largest: u64) -> Result<Vec<u8>, Unread> {
    let mut octets = Vec::new();
    io::stdin().lock().take(largest.saturating_add(1)).read_to_end(&mut octets).map_err(Unread::Broken)?;
    if octets.len() as u64 > largest {
        drain();
        return Err(Unread::TooLarge(format!("The message has more than {largest} octets")));
    }
    Ok(octets)
}

/// Reads the input to its end, so that whoever writes it is not ended by a signal.
pub(super) fn drain() {
    if !io::stdin().is_terminal() {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    }
}

pub(super) fn transaction(options: &Options, input: Vec<u8>) -> Result<Transaction, String> {
    let id = Id::mint();
    let client = Client::new(IpAddr::V4(Ipv4Addr::LOCALHOST), "send");
    if !options.raw {
        let simple::Made { sender, recipients, raw } = simple::make(options, &input, id)?;
        let envelope = Envelope { sender: Sender(Some(sender)), recipients, ..Envelope::default() };
        return Ok(Transaction { id, client, envelope, raw });
    }
    let raw = Bytes::from(if options.unstuff { unstuffed(&input) } else { input });
    let recipients = match options.recipients.as_slice() {
        [] => recipients::named(&raw, recipients::FIELDS, None)?,
        given => given.iter().map(|one| simple::address(one)).collect::<Result<Vec<Address>, _>>()?,
    };
    if recipients.is_empty() {
        return Err("Missing recipient: neither an operand nor To, Cc or Bcc names one".to_owned());
    }
    let sender = sender(options.sender.as_deref())?;
    Ok(Transaction { id, client, envelope: Envelope { sender, recipients, ..Envelope::default() }, raw })
}

/// The reverse-path. Postfix gives the null sender as MAILER-DAEMON.
fn sender(text: Option<&str>) -> Result<Sender, String> {
    let text = text.unwrap_or_default().trim();
    let local = text.split('@').next().unwrap_or_default();
    if ["", "0", "<>"].contains(&text) || local.eq_ignore_ascii_case("MAILER-DAEMON") {
        return Ok(Sender(None));
    }
    simple::mailbox(text).map(|(_, address)| Sender(Some(address)))
}

/// Takes the dot back that Sendmail's mailer flag X put before one at the start of a line (RFC 5321 section 4.5.2).
fn unstuffed(input: &[u8]) -> Vec<u8> {
    let lines = input.split_inclusive(|octet| *octet == b'\n');
    lines
        .flat_map(|line| line.strip_prefix(b".").filter(|rest| rest.starts_with(b".")).unwrap_or(line))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_null_sender_has_many_names() {
        for text in [None, Some(""), Some("0"), Some("<>"), Some("MAILER-DAEMON"), Some("Mailer-Daemon@host.example")] {
            assert_eq!(sender(text), Ok(Sender(None)), "{text:?}");
        }
        for text in ["a@x.example", "A b <a@x.example>", "\"A, b\" <a@x.example>", "<a@x.example>"] {
            assert_eq!(sender(Some(text)).unwrap().to_string(), "a@x.example", "{text}");
        }
        assert_eq!(sender(Some("root")).unwrap_err(), "Missing final '@domain': root");
    }

    #[test]
    fn one_dot_of_two_is_taken_back() {
        assert_eq!(unstuffed(b"..\n...a\n.b\na..\n.."), b".\n..a\n.b\na..\n.");
    }
}
