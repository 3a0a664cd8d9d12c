//! An envelope cut into what one call takes, and a call's recipients parted by what became of them.

use std::collections::VecDeque;

use crate::{
    mail::{Outcome, Outcomes},
    store::Pending,
};

/// Recipients of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// The upstream that has to take them, if a rule said so.
    pub(super) route: Option<String>,
    pub(super) recipients: Vec<Pending>,
}

/// Cuts recipients into batches of one route each, in the order of the envelope.
pub(super) fn batches(pending: Vec<Pending>, size: impl Fn(Option<&str>) -> usize) -> VecDeque<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for one in pending {
        let room =
            |batch: &&mut Batch| batch.route == one.upstream && batch.recipients.len() < size(batch.route.as_deref());
        match batches.iter_mut().rev().find(room) {
            Some(batch) => batch.recipients.push(one),
            None => batches.push(Batch { route: one.upstream.clone(), recipients: vec![one] }),
        }
    }
    batches.into()
}

/// Recipients with the same outcome, told of together.
pub(super) fn groups(outcomes: &Outcomes, recipients: Vec<Pending>) -> Vec<(Outcome, Vec<Pending>)> {
    let mut groups: Vec<(Outcome, Vec<Pending>)> = Vec::new();
    for (index, one) in recipients.into_iter().enumerate() {
        let same = |outcome: &Outcome, other: &Outcome| {
            outcome.fate == other.fate && outcome.reply == other.reply && outcome.remote_id == other.remote_id
        };
        match (groups.last_mut(), outcomes) {
            (Some((_, group)), Outcomes::All(_)) => group.push(one),
            _ => {
                let outcome = outcomes.of(index);
                match groups.iter_mut().find(|(known, _)| same(known, &outcome)) {
                    Some((_, group)) => group.push(one),
                    None => groups.push((outcome, vec![one])),
                }
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use crate::mail::{Address, Asked};

    use super::*;

    #[test]
    fn an_envelope_is_cut_by_route_and_size() {
        let routes = ["", "", "b", "", "b", "", "", ""];
        let pending = (0..).zip(routes).map(|(ordinal, route)| Pending {
            ordinal,
            address: Address::parse("a@example.com").unwrap(),
            upstream: Some(route.to_owned()).filter(|route| !route.is_empty()),
            asked: Asked::default(),
        });
        let cut: Vec<(String, Vec<u32>)> = batches(pending.collect(), |_| 4)
            .into_iter()
            .map(|batch| (batch.route.unwrap_or_default(), batch.recipients.iter().map(|one| one.ordinal).collect()))
            .collect();
        let none = String::new();
        assert_eq!(cut, [(none.clone(), vec![0, 1, 3, 5]), ("b".to_owned(), vec![2, 4]), (none, vec![6, 7])]);
    }
}
