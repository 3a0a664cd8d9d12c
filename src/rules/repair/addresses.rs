//! `addresses`: address lists get the form that every parser understands.
//!
//! RFC 5322 section 4.4 has forms that must be read and must not be made, and programs make others that no RFC knows:
//! names with commas and no quotes, encoded-words over a whole mailbox, semicolons between addresses. SES refuses them
//! with texts such as `Local address contains control or whitespace`. A list without an address goes (section 3.6.3
//! allows none), and a local part alone gets our own name as its domain, as any submission server does it. A list that
//! is right keeps every octet, and so does one of which nothing can be made; the lint says what is wrong with that.

use super::{Mending, RepairRow, value};
use crate::mime::address::{Letters, Mended, folded, mend};

pub(super) const ROW: RepairRow = RepairRow {
    name: "addresses",
    doc: "address lists get the form of RFC 5322 section 3.4, whatever they were written like; an empty one goes",
    apply: |mending| {
        for (at, name) in value::address_fields(mending.header()) {
            apply(mending, at, &name);
        }
        Ok(())
    },
};

fn apply(mending: &mut Mending<'_>, at: usize, name: &str) {
    let list = value::list(mending.header(), at);
    match mend(&list, Letters::Utf8, value::own_domain(&mending.facts.hostname)) {
        // Without From a message is refused; what it could be made of is known to `required-fields`.
        Mended::Empty if name.eq_ignore_ascii_case("From") => {}
        Mended::Empty => mending.remove(at),
        Mended::Written(list) => mending.put(at, folded(name, &list).into_bytes()),
        Mended::Right | Mended::Unreadable => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{repaired, untouched},
        value::tests::mended,
    };

    #[test]
    fn lists_get_the_form_that_every_parser_reads() {
        for (field, right) in [
            ("To: \"Chan, Karen\" <karen @example.net>", "To: \"Chan, Karen\" <karen@example.net>"),
            ("From: Ada Doe, founder <a@example.com>", "From: \"Ada Doe, founder\" <a@example.com>"),
            ("cc: a@example.com; b@example.com;", "cc: a@example.com, b@example.com"),
            ("Resent-From: root (Cron Daemon)", "Resent-From: root@relay.example.com (Cron Daemon)"),
            ("Errors-To:\r\n a@example.com,\r\n ,", "Errors-To: a@example.com"),
        ] {
            let raw = format!("{field}\r\nSubject: x\r\n\r\ny");
            assert_eq!(repaired("addresses", &raw), Ok(format!("{right}\r\nSubject: x\r\n\r\ny")));
        }
    }

    #[test]
    fn an_empty_list_goes_with_its_field() {
        let raw = "From: a@example.com\r\nReply-To: \r\nCc:\r\nBcc: ,\r\nSender: (none)\r\n\r\nx";
        assert_eq!(repaired("addresses", raw).as_deref(), Ok("From: a@example.com\r\n\r\nx"));
        untouched("addresses", "From: ,\r\n\r\nx");
    }

    #[test]
    fn what_is_right_or_nobody_can_read_is_left_alone() {
        untouched(
            "addresses",
            "From: =?utf-8?q?J=C3=BCrgen?=\r\n\t<a@example.com>\r\nTo: undisclosed-recipients:;\r\nCc:a@example.com ,b@example.com\r\nX-To: a b\r\n\r\nx",
        );
        untouched("addresses", "From: Evan\r\nTo: Jürgen <a@bücher.example>\r\nCc: a@b@example.com\r\n\r\nx");
    }

    #[test]
    fn a_name_in_another_charset_is_read_in_it() {
        let raw = b"From: \xbf\xe0 <a @example.com>\r\nContent-Type: text/plain; charset=\"ISO-8859-5\"\r\n\r\nx";
        let mended = mended(&["addresses"], raw).unwrap();
        assert!(mended.starts_with("From: =?UTF-8?B?0J/RgA==?= <a@example.com>\r\n".as_bytes()), "{mended:?}");
    }

    #[test]
    fn a_blank_outside_ascii_at_the_start_is_a_name_and_stays() {
        let once = repaired("addresses", "From: \u{a0}: ; a<A\r\n\r\nx").unwrap();
        assert_eq!(once, "From: \u{a0}: ;, a <A@relay.example.com>\r\n\r\nx");
        untouched("addresses", &once);
    }
}
