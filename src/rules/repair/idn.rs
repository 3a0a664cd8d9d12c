//! `idn`: domains of addresses become A-labels, and a local part outside ASCII is refused.
//!
//! SES has no SMTPUTF8: a domain has to be in the form of RFC 5890 section 2.3.2.1, and there is no such form for a local
//! part (RFC 6531 section 3.5 gives the reply). The envelope was read so already.

use super::{Mending, RepairRow, value};
use crate::{
    mail::{Address, Enhanced, Reply},
    mime::address::{Letters, check, folded},
};

pub(super) const ROW: RepairRow = RepairRow {
    name: "idn",
    doc: "domains in address fields become A-labels (RFC 5890); a local part that is not ASCII is refused with 550 5.6.7",
    apply: |mending| {
        // Nearly all headers are ASCII, and their fields need no look.
        let header = mending.header();
        if header.positions().all(|at| header.raw(at).is_ascii()) {
            return Ok(());
        }
        let fields = value::address_fields(header);
        fields.into_iter().try_for_each(|(at, name)| apply(mending, at, &name))
    },
};

fn apply(mending: &mut Mending<'_>, at: usize, name: &str) -> Result<(), Reply> {
    if mending.header().raw(at).is_ascii() {
        return Ok(());
    }
    let list = value::list(mending.header(), at);
    let Ok(specs) = check(&list, Letters::Utf8) else { return Ok(()) };
    if let Some(spec) = specs.iter().find(|spec| !spec.local.is_ascii()) {
        let address = format!("{}@{}", spec.local, spec.domain);
        let text = format!(
            "{name}: the local part of <{}> is not ASCII, which Amazon SES does not take",
            address.escape_default()
        );
        return Err(Reply::new(550, Enhanced(5, 6, 7), &text));
    }
    let mut ascii = list.clone();
    for spec in specs.iter().rev().filter(|spec| !spec.domain.is_ascii()) {
        if let Ok(address) = Address::from_parts("x", spec.domain) {
            ascii.replace_range(spec.domain_start..spec.domain_start + spec.domain.len(), address.domain());
        }
    }
    if ascii != list {
        mending.put(at, folded(name, &ascii).into_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    #[test]
    fn domains_become_a_labels() {
        assert_eq!(
            repaired("idn", "From: Jürgen <a@bücher.example>, b@例え.jp\r\nTo: G: c@x.example, d@ü.example;\r\n\r\nx")
                .as_deref(),
            Ok(
                "From: Jürgen <a@xn--bcher-kva.example>, b@xn--r8jz45g.jp\r\nTo: G: c@x.example, d@xn--tda.example;\r\n\r\nx"
            )
        );
    }

    #[test]
    fn a_local_part_outside_ascii_is_refused_by_name() {
        assert_eq!(
            repaired("idn", "From: a@example.com\r\nReply-To: 用@example.net\r\n\r\nx").unwrap_err(),
            "550 5.6.7 Reply-To: the local part of <\\u{7528}@example.net> is not ASCII, which Amazon SES does not take"
        );
    }

    #[test]
    fn what_has_no_such_address_is_left_alone() {
        untouched("idn", "From: Jürgen <a@example.com>\r\nTo: b@xn--bcher-kva.example\r\nX-To: 用@ü.example\r\n\r\nx");
        untouched("idn", "From: Jürgen\r\n\r\nx");
    }
}
