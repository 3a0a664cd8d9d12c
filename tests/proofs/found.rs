//! Messages of which the properties once did not hold, each named after its fault.

use crate::{MINIMAL, TODAY, YEAR_2011, door::Door, holds, settles};

fn hold(raw: &[u8]) {
    for chain in [TODAY, YEAR_2011] {
        holds(&Door::of(chain), raw).unwrap_or_else(|why| panic!("{chain:?}: {why}"));
    }
    settles(&Door::of(MINIMAL), raw).unwrap_or_else(|why| panic!("{MINIMAL:?}: {why}"));
}

#[test]
fn a_fold_of_nothing_goes_with_the_first_run() {
    for fold in [" \r", "\t\r\r\n", " \0\r\n", " \u{1}\r\n", " \u{c}\n", " \u{b} \r\n", "\t\u{7f}\r\n \r\n"] {
        for line in ["X-SES-Tenant\0x\n", "Chicke\u{91}\u{df} \t: yu\u{3}\0=mmy@\r\n", "no field\r\n", "Subject: x\r\n"]
        {
            let raw = format!(
                "Fro!!m: Ada Doe, foundro ef\nSender: =?utf-8?b?5YiY5LyfIDxhQGV4YW1wbGUuY29tPg==?=\r\n{line}{fold}\
                 Chicke\u{91}\u{df} \t: yu\u{3}\0\0mmy@\r\nBcc t =: hidden@ex.org:d@b\u{c3}`\u{c3}cher.example>\r\n\
                 Subject: odd aampl\u{a9}\0-SES-Tenant \t:hteddresses\r\n\r\u{97}\u{df}\n\r\n\rhi\r\nhi\n\r\n"
            );
            hold(raw.as_bytes());
        }
    }
}

#[test]
fn a_lone_cr_behind_a_byte_order_mark_is_a_line_end_as_anywhere() {
    hold(b"\xef\xbb\xbfReceived: a@example.com\r\n a@example.com\r\n \rReturn-Path: \r\n\r\n");
}

#[test]
fn a_line_of_nul_alone_with_a_blank_fold_does_not_end_the_header() {
    hold(b";\n\x00\r \r:\r\nFrom:\r;");
}

#[test]
fn no_received_is_lost_behind_a_line_that_is_no_field() {
    for line in ["stray", "<p>", "--b", "<p>\r\n--b", "Dear Bob, note: all is well", "\u{feff}", "Foo Bar: x"] {
        for end in ["", "\r\nhi\r\n", "Hello,\r\n", "<p>\r\nReceived\r\n"] {
            let fields = "Received: from a by b; now\r\nSubject: x\r\nReceived: from c by d; now\r\n";
            hold(format!("{line}\r\n{fields}{end}").as_bytes());
            hold(format!("Subject: y\r\n{line}\r\n{fields}{end}").as_bytes());
            hold(format!("To: a@example.net\r\n{line}\r\n fold\r\n{line}\r\n{fields}{end}").as_bytes());
        }
    }
}

#[test]
fn an_address_behind_two_semicolons_is_looked_at() {
    hold(b"From: a@example.com ;; J\xc3\xbcrgen \r\n\r\n");
}

#[test]
fn a_part_that_shows_late_is_mended_in_the_same_run() {
    hold(b"Content-Type: boundary=b\r\nContent-Type: \r\n\r\n\r\n--b\r\nContent-Type\x00: \r\n\r\n");
}
