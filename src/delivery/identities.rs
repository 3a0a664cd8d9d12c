//! Identities that delivered: what SES says of one that is "not verified" is believed only when it did not deliver lately.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use jiff::Timestamp;

use crate::{header::Header, mail::Sender, mime};

/// Identities that delivered, each told to the store once an hour.
#[derive(Debug, Default)]
pub(super) struct Identities(Mutex<HashMap<String, Timestamp>>);

/// Identities that are remembered; the store remembers more.
const IDENTITIES: usize = 10_000;

impl Identities {
    /// The addresses and domains of sender and From that the store has not been told of lately.
    pub(super) fn fresh(&self, sender: &Sender, head: &Bytes, now: Timestamp) -> Vec<String> {
        let header = Header::parse(head);
        let from = header.find("From").next().map(|at| mime::mailboxes(header.raw(at))).unwrap_or_default();
        let addresses = from.into_iter().map(|one| one.address).chain(sender.0.iter().map(ToString::to_string));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > IDENTITIES {
            known.clear();
        }
        let mut fresh = Vec::new();
        for address in addresses {
            let address = address.to_lowercase();
            let domain = address.rsplit_once('@').map(|(_, domain)| domain.to_owned());
            for name in std::iter::once(address).chain(domain) {
                let lately = known.get(&name).is_some_and(|time| now.duration_since(*time).as_hours() < 1);
                if !lately {
                    known.insert(name.clone(), now);
                    fresh.push(name);
                }
            }
        }
        fresh
    }
}
