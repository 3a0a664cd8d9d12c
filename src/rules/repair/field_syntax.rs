//! `field-syntax`: fields get the form of RFC 5322 section 2.2 back.
//!
//! Blanks before the colon and empty folded lines are obsolete syntax (sections 4.2 and 4.5) that must be read and must
//! not be made; a line without a name goes; a line folded without white space finds back to its field, or is kept under
//! a name of its own; a name that is not legal gets the legal one most like it, with an `X-`.

use memchr::{memchr, memchr2};

use super::{
    Mending, RepairRow,
    stray::{Stray, classify},
};
use crate::header;

pub(super) const ROW: RepairRow = RepairRow {
    name: "field-syntax",
    doc: "blanks before a colon, empty folded lines, folds without white space, illegal and empty names (RFC 5322 sections 2.2 and 4)",
    apply: |mending| {
        let positions: Vec<usize> = mending.header().positions().collect();
        for at in positions {
            if !mending.header().is_stray(at) {
                tidy(mending, at);
            } else if let Some(at) = stray(mending, at) {
                // What the line became part of has all its folded lines now.
                tidy(mending, at);
            }
        }
        Ok(())
    },
};

/// A field with a legal name.
fn tidy(mending: &mut Mending<'_>, at: usize) {
    let whole = mending.header().whole(at);
    let colon = memchr(b':', whole).unwrap_or_default();
    let name = whole.get(..colon).unwrap_or_default().trim_ascii_end().len();
    let spaced = name < colon;
    let is_blank =
        |line: &header::Line| whole.get(line.start..line.content_end).unwrap_or_default().trim_ascii().is_empty();
    // Most fields have one line, and no lines to look at.
    let is_folded = memchr2(b'\r', b'\n', mending.header().raw(at)).is_some();
    let blank = is_folded && header::lines(whole).skip(1).any(|line| is_blank(&line));
    if !spaced && !blank {
        return;
    }
    let mut octets = Vec::with_capacity(whole.len());
    for (index, line) in header::lines(whole).enumerate() {
        if index == 0 && spaced {
            octets.extend_from_slice(whole.get(..name).unwrap_or_default());
            octets.extend_from_slice(whole.get(colon..line.end).unwrap_or_default());
        } else if index == 0 || !is_blank(&line) {
            octets.extend_from_slice(whole.get(line.start..line.end).unwrap_or_default());
        }
    }
    mending.put(at, octets);
}

/// A line that is no field; the field that it became, or became part of.
fn stray(mending: &mut Mending<'_>, at: usize) -> Option<usize> {
    let has_body = !mending.draft.rest.is_empty();
    match classify(mending.header(), at, has_body) {
        Stray::Nameless => {
            mending.remove(at);
            None
        }
        Stray::Named(name) => {
            let whole = mending.header().whole(at);
            let colon = whole.iter().position(|octet| *octet == b':').unwrap_or_default();
            let octets = [name.as_str().as_bytes(), whole.get(colon..).unwrap_or_default()].concat();
            mending.put(at, octets);
            Some(at)
        }
        Stray::Fold => {
            let before = mending.header().positions().take_while(|position| *position < at).last()?;
            let octets = [mending.header().whole(before), b" ", mending.header().whole(at)].concat();
            mending.remove(at);
            mending.put(before, octets);
            Some(before)
        }
        Stray::Kept => {
            let octets = [b"X-Stray-Line: ", mending.header().whole(at).trim_ascii_start()].concat();
            mending.put(at, octets);
            Some(at)
        }
        Stray::Body => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repaired, untouched};

    fn mended(raw: &str) -> String {
        repaired("field-syntax", raw).unwrap()
    }

    #[test]
    fn blanks_before_the_colon_and_empty_folds_go() {
        assert_eq!(mended("To : a\r\nMIME-Version\t: 1.0\r\n\r\nx"), "To: a\r\nMIME-Version: 1.0\r\n\r\nx");
        assert_eq!(
            mended("Subject:\r\n \r\n\t\r\n  some value\r\nTo: a\r\n\r\nx"),
            "Subject:\r\n  some value\r\nTo: a\r\n\r\nx"
        );
    }

    #[test]
    fn a_fold_without_white_space_finds_its_field() {
        let raw = "Content-Type: multipart/mixed;\r\nboundary=\"b\"\r\nSubject: long\r\nand longer\r\nFrom: a\r\n\r\nx";
        assert_eq!(
            mended(raw),
            "Content-Type: multipart/mixed;\r\n boundary=\"b\"\r\nSubject: long\r\n and longer\r\nFrom: a\r\n\r\nx"
        );
    }

    #[test]
    fn names_become_legal_or_go() {
        assert_eq!(
            mended("Größe: 3\r\nFoo Bar: x\r\n\ty\r\n: none\r\nFrom: a\r\n\r\nx"),
            "X-Gr--e: 3\r\nX-Foo-Bar: x\r\n\ty\r\nFrom: a\r\n\r\nx"
        );
    }

    #[test]
    fn a_line_that_belongs_nowhere_is_kept_and_damages_no_address() {
        let raw = " first\r\nFrom: a@example.com\r\nno colon here\r\nTo: b@example.com\r\n\r\nx";
        let expected =
            "X-Stray-Line: first\r\nFrom: a@example.com\r\nX-Stray-Line: no colon here\r\nTo: b@example.com\r\n\r\nx";
        assert_eq!(mended(raw), expected);
        assert_eq!(mended("From: a\r\nX Chicken: y\r\n\r\nhi"), "From: a\r\nX-Chicken: y\r\n\r\nhi");
    }

    #[test]
    fn a_legal_header_is_left_alone() {
        untouched("field-syntax", "From: a\r\nSubject: x\r\n y\r\nX-Empty:\r\n\r\n A : b\r\n");
    }

    #[test]
    fn a_stray_line_that_is_kept_loses_its_empty_folded_lines_too() {
        for (raw, right) in [
            ("stray\r\n \r\nFrom: a@example.com\r\n\r\nx", "X-Stray-Line: stray\r\nFrom: a@example.com\r\n\r\nx"),
            ("Foo Bar: b\r\n\t\r\nFrom: a@example.com\r\n\r\nx", "X-Foo-Bar: b\r\nFrom: a@example.com\r\n\r\nx"),
        ] {
            assert_eq!(repaired("field-syntax", raw).as_deref(), Ok(right));
        }
    }
}
