//! Line ends, line lengths and the size of a message.

use super::super::{FakeSes, Profile};
use super::client::{AUTHORIZATION, Client, SEND, asked, verdict_on};

const HEADER: &str = "From: ann@example.com\r\n";

#[test]
fn cr_and_lf_stand_together() {
    let say = |rest: &str| verdict_on(format!("{HEADER}{rest}").as_bytes());
    let lone_lf = "Illegal content. Line 3 ends with LF alone.";
    assert_eq!(say("\r\nbody\nmore\r\n"), lone_lf);
    assert_eq!(say("Subject: x\r\n\nbody\r\n"), lone_lf);
    let lone_cr = "Illegal content. Line 3 has a CR without LF.";
    assert_eq!(say("\r\nbo\rdy\r\n"), lone_cr);
    assert_eq!(say("\r\nbody\r\r\n"), lone_cr);
    assert_eq!(say("\r\nbody\r"), lone_cr);
    assert_eq!(say("\r\nno line end at the end"), "");
    assert_eq!(verdict_on(b"From: ann@example.com\n\nx\n"), "Illegal content. Line 1 ends with LF alone.");
}

#[test]
fn a_line_has_at_most_998_octets() {
    let body = |line: String| verdict_on(format!("{HEADER}\r\n{line}").as_bytes());
    assert_eq!(body("x".repeat(998)), "");
    assert_eq!(body("x".repeat(998) + "\r\n"), "");
    let long = "Illegal content. Line 3 is longer than 998 octets.";
    assert_eq!(body("x".repeat(999)), long);
    assert_eq!(body("x".repeat(999) + "\r\n"), long);
    assert_eq!(body("\u{e4}".repeat(500) + "\r\n"), long);
    let header = format!("{HEADER}Subject: {}\r\n\r\n", "x".repeat(990));
    assert_eq!(verdict_on(header.as_bytes()), "Illegal content. Line 2 is longer than 998 octets.");
}

#[test]
fn a_message_has_at_most_40_mib() {
    let fake = FakeSes::start(Profile::Today);
    let mut client = Client::of(&fake);
    // Written out as base64, and without a line end, because encoding so much takes its time in a debug build.
    let mut say = |data: String| {
        let body = asked(b"DATA").to_string().replace("REFUQQ==", &data);
        client.request(&format!("POST {SEND}"), &[("Authorization", AUTHORIZATION)], body.as_bytes());
        client.read().unwrap().error().2.to_owned()
    };
    let just = say("QUFB".repeat(13_981_013) + "QQ==");
    assert_eq!(just, "Illegal content. Line 1 is longer than 998 octets.");
    let over = say("QUFB".repeat(13_981_014));
    assert_eq!(over, "Message length is more than 41943040 bytes long: '41943042'.");
    assert_eq!(fake.calls().iter().map(|call| call.raw.len()).collect::<Vec<_>>(), [41_943_040, 41_943_042]);
}

#[test]
fn any_octet_but_cr_and_lf_may_stand_in_a_body() {
    let octets: Vec<u8> = (0..=255).filter(|octet| !b"\r\n".contains(octet)).collect();
    let message = [format!("{HEADER}\r\n").as_bytes(), &octets, b"\r\n"].concat();
    assert_eq!(verdict_on(&message), "");
}
