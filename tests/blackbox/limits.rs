//! What one client, and all of them, may make grow: connections, errors, lines, messages, memory, time.

use std::{
    io::Write as _,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::{
    fake_ses::{FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, wait_until},
    smtp::{Reply, Smtp, behind_received, stuffed},
};

const MEGABYTE: u64 = 1_000_000;
const MAIL: &[u8] = b"From: a@example.com\r\nSubject: hello\r\n\r\nhi\r\n";

fn limited(fake: &FakeSes, limits: &str) -> Gateway {
    Gateway::start(&format!("{BASE}{}[limits]\n{limits}\n", ses(&fake.endpoint())))
}

fn starts(reply: &Reply, code: u16, enhanced: &str) -> bool {
    reply.code == code && reply.text.starts_with(enhanced)
}

/// A session that has come to the data of a message.
fn in_data(port: u16) -> Smtp {
    let mut client = Smtp::ready(port);
    for (line, code) in [("MAIL FROM:<a@example.com>", 250), ("RCPT TO:<b@example.net>", 250), ("DATA", 354)] {
        assert_eq!(client.command(line).code, code);
    }
    client
}

fn turned_away(port: u16) {
    let mut client = Smtp::silent(port);
    let reply = client.reply();
    assert!(starts(&reply, 421, "4.7.0 Too many connections"), "{reply:?}");
    assert!(client.closed());
}

#[test]
fn a_client_has_its_number_of_connections_and_gets_a_place_back() {
    let fake = FakeSes::start(Profile::Today);
    for limits in ["connections_per_client = 2", "connections = 2"] {
        let gateway = limited(&fake, limits);
        let mut one = Smtp::connect(gateway.port());
        let mut other = Smtp::connect(gateway.port());
        turned_away(gateway.port());
        turned_away(gateway.port());
        assert_eq!(other.command("QUIT").code, 221);
        assert!(other.closed());
        assert!(wait_until(PATIENCE, || Smtp::silent(gateway.port()).reply().code == 220), "{limits}");
        assert_eq!(one.command("NOOP").code, 250, "who was in stays in");
    }
}

#[test]
fn a_gateway_without_file_descriptors_serves_again_when_it_has_some() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::with_ses(&fake.endpoint());
    let pid = gateway.pid().to_string();
    assert!(Command::new("prlimit").args(["--pid", &pid, "--nofile=40:40"]).status().unwrap().success());
    let crowd: Vec<Smtp> = (0..60).map(|_| Smtp::silent(gateway.port())).collect();
    assert!(wait_until(PATIENCE, || gateway.stderr().contains("could not be accepted")), "{}", gateway.stderr());
    drop(crowd);
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], MAIL);
    assert_eq!(reply.code, 250, "{reply:?}\n{}", gateway.stderr());
    assert!(!gateway.stderr().contains("panicked") && gateway.runs());
}

#[test]
fn a_client_that_makes_nothing_but_errors_is_sent_away() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "errors = 3");
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250);
    for _ in 0..3 {
        assert_eq!(client.command("XYZZY").code, 500);
    }
    let reply = client.command("XYZZY");
    assert!(starts(&reply, 421, "4.7.0 "), "{reply:?}");
    assert!(client.closed());
    let records = gateway.records("message", 1);
    assert_eq!(records.iter().map(|record| &record["outcome"]).collect::<Vec<_>>(), ["aborted"]);
}

#[test]
fn a_command_line_of_a_megabyte_is_one_error_and_the_session_goes_on() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = limited(&fake, "errors = 1");
    let mut client = Smtp::ready(gateway.port());
    client.send(&[b'x'; MEGABYTE as usize]);
    let reply = client.command("");
    assert_eq!(reply.code, 500, "{reply:?}");
    assert_eq!(client.command("NOOP").code, 250);
    assert!(!gateway.stderr().contains("panicked") && gateway.runs());
}

#[test]
fn an_endless_message_is_refused_once_in_bounded_memory() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = limited(&fake, "message_size = \"1MB\"");
    let before = gateway.resident();
    let mut client = in_data(gateway.port());
    let piece = [b"From: a@example.com\r\n\r\n", &b"x".repeat(998)[..], b"\r\n"].concat().repeat(1000);
    let mut sent = 0;
    while sent < 200 * MEGABYTE {
        client.send(&piece);
        sent += piece.len() as u64;
    }
    let reply = client.command(".");
    assert!(starts(&reply, 552, "5.3.4 "), "{reply:?}");
    assert_eq!(client.command("NOOP").code, 250, "one reply for one message");
    let grown = gateway.peak_resident() - before;
    println!("grown by {grown} octets");
    assert!(grown < 32 * MEGABYTE, "{grown} octets for a message of which one may have {MEGABYTE}");
    let records = gateway.records("message", 1);
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((record["outcome"].as_str(), record["status"].as_u64()), (Some("refused"), Some(552)));
    assert_eq!(fake.counts().received, 0);
}

#[test]
fn the_log_tells_how_large_a_message_was_that_was_too_large() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "message_size = \"1MB\"");
    let message = [b"From: a@example.com\r\n\r\n", &[b"x".repeat(98).as_slice(), b"\r\n"].concat().repeat(30_000)[..]];
    let message = message.concat();
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], &message);
    assert!(starts(&reply, 552, "5.3.4 "), "{reply:?}");
    assert_eq!(gateway.records("message", 1)[0]["size"], message.len());
}

/// A message of so many octets that no other number gives.
fn large(number: usize, size: usize) -> Vec<u8> {
    let mut message = format!("From: a@example.com\r\nSubject: {number}\r\n\r\n").into_bytes();
    let mut line = 0_u64;
    while message.len() < size {
        line += 1;
        let text = format!("{number} {line:076}\r\n");
        message.extend_from_slice(&text.as_bytes()[..text.len().min(size - message.len())]);
    }
    let end = size - 2;
    message[end..].copy_from_slice(b"\r\n");
    if message[end - 1] == b'\r' {
        message[end - 1] = b'x';
    }
    message
}

#[test]
fn many_large_messages_at_once_are_delivered_whole_or_put_off_in_bounded_memory() {
    const MESSAGES: usize = 8;
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = limited(&fake, "memory = \"112MB\"");
    let before = gateway.resident();
    let port = gateway.port();
    let replies: Vec<Reply> = thread::scope(|scope| {
        let clients: Vec<_> = (0..MESSAGES)
            .map(|number| {
                scope.spawn(move || {
                    let mut client = Smtp::ready(port);
                    client.submit("a@example.com", &["b@example.net"], &large(number, 20_000_000))
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(replies.iter().all(|reply| reply.code == 250 || starts(reply, 452, "4.3.1 ")), "{replies:?}");
    let taken: Vec<usize> = (0..MESSAGES).filter(|number| replies[*number].code == 250).collect();
    let mut arrived = Vec::new();
    for call in fake.accepted() {
        let number: usize = call.header("Subject")[0].parse().unwrap();
        assert!(behind_received(&call.raw) == large(number, 20_000_000), "message {number} is not what was sent");
        arrived.push(number);
    }
    arrived.sort_unstable();
    assert_eq!(arrived, taken);
    assert!(!taken.is_empty());
    let grown = gateway.peak_resident() - before;
    println!("grown by {grown} octets, {} messages taken", taken.len());
    assert!(grown < 224 * MEGABYTE, "{grown} octets where limits.memory is 112 MB");
    assert_eq!(gateway.records("message", MESSAGES).len(), MESSAGES);
}

#[test]
fn a_message_that_says_its_size_is_put_off_at_mail_while_there_is_no_room_for_it() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "memory = \"112MB\"\nroom_wait = \"0s\"");
    let mail = "MAIL FROM:<a@example.com> SIZE=20000000";
    let mut clients: Vec<Smtp> = (0..4).map(|_| Smtp::ready(gateway.port())).collect();
    let codes: Vec<u16> = clients.iter_mut().map(|client| client.command(mail).code).collect();
    assert_eq!(codes, [250, 250, 452, 452]);
    let [first, second, third, fourth] = clients.as_mut_slice() else { panic!("four clients") };
    assert_eq!(fourth.submit("a@example.com", &["b@example.net"], MAIL).code, 250, "a small one needs no room");
    assert_eq!((first.command("RSET").code, third.command(mail).code), (250, 250), "RSET gives the room back");
    let message = large(1, 20_000_000);
    assert_eq!((third.command("RCPT TO:<b@example.net>").code, third.command("DATA").code), (250, 354));
    assert_eq!(third.data(&message).code, 250);
    assert_eq!(fourth.command(mail).code, 250, "so does the end of the message");
    assert_eq!((second.command("NOOP").code, first.command(mail).code), (250, 452));
    assert_eq!(second.command("QUIT").code, 221);
    assert!(wait_until(PATIENCE, || first.command(mail).code == 250), "and the end of the session");
    assert!(behind_received(&fake.accepted()[1].raw) == message);
    assert_eq!(gateway.records("session", 3)[0]["status"], 452);
}

#[test]
fn a_message_that_says_its_size_waits_for_room() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "memory = \"112MB\"\nroom_wait = \"1h\"");
    let mail = "MAIL FROM:<a@example.com> SIZE=20000000";
    let mut clients: Vec<Smtp> = (0..3).map(|_| Smtp::ready(gateway.port())).collect();
    let [first, second, third] = clients.as_mut_slice() else { panic!("three clients") };
    assert_eq!((first.command(mail).code, second.command(mail).code), (250, 250));
    third.send(format!("{mail}\r\n").as_bytes());
    // It waits; others do not, and when one of them gives its room back it is the turn of the one that waits.
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    assert_eq!(first.command("RSET").code, 250);
    assert_eq!(third.reply().code, 250);
}

#[test]
fn a_message_that_is_put_off_while_it_comes_gives_its_room_back_before_its_end() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "memory = \"80MB\"\nmessage_size = \"20MB\"");
    let (mut first, mut second) = (Smtp::ready(gateway.port()), Smtp::ready(gateway.port()));
    assert_eq!(first.command("MAIL FROM:<a@example.com> SIZE=20000000").code, 250);
    assert_eq!(second.command("MAIL FROM:<a@example.com> SIZE=19000000").code, 250);
    // It takes the little that is left and is put off. So much is not in any socket's buffer when it has been sent.
    let mut third = in_data(gateway.port());
    third.send(&large(1, 19_000_000));
    assert_eq!(second.command("RSET").code, 250);
    assert_eq!(second.command("MAIL FROM:<a@example.com> SIZE=20000000").code, 250);
    let reply = third.command(".");
    assert!(starts(&reply, 452, "4.3.1 "), "{reply:?}");
}

#[test]
fn the_largest_message_arrives_octet_for_octet_and_one_octet_more_is_refused() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let mut client = Smtp::ready(gateway.port());
    let message = large(1, 28_000_000);
    let reply = client.submit("a@example.com", &["b@example.net"], &message);
    assert_eq!(reply.code, 250, "{reply:?}");
    assert!(behind_received(&fake.accepted()[0].raw) == message);
    let reply = client.submit("a@example.com", &["b@example.net"], &large(2, 28_000_001));
    assert!(starts(&reply, 552, "5.3.4 "), "{reply:?}");
    assert_eq!(fake.counts().received, 1);
}

#[test]
fn a_header_of_a_million_lines_is_refused_in_bounded_memory() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = Gateway::with_ses(&fake.endpoint());
    let before = gateway.resident();
    let mut client = Smtp::ready(gateway.port());
    for line in ["X-A: b\r\n", "x\n", "x:\r"] {
        let message = ["From: a@example.com\r\n", &line.repeat(1_000_000)].concat();
        let reply = client.submit("a@example.com", &["b@example.net"], message.as_bytes());
        assert!(starts(&reply, 552, "5.3.4 The header has "), "{line:?}: {reply:?}");
    }
    let grown = gateway.peak_resident() - before;
    println!("grown by {grown} octets");
    assert!(grown < 32 * MEGABYTE, "{grown} octets for messages of at most 8 MB");
    assert_eq!(gateway.records("message", 3).len(), 3);
    assert_eq!(fake.counts().received, 0);
}

#[test]
fn a_client_that_sends_an_octet_at_a_time_is_sent_away() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "command_time = \"1s\"");
    let mut client = Smtp::ready(gateway.port());
    assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250);
    let patience = Instant::now() + PATIENCE;
    let mut writer = client.writer();
    while !client.speaks(Duration::from_millis(100)) {
        assert!(Instant::now() < patience, "it goes on for ever");
        let _ = writer.write_all(b"x");
    }
    let reply = client.reply();
    assert!(starts(&reply, 421, "4.4.2 "), "{reply:?}");
    assert!(client.closed());
    assert_eq!(gateway.records("message", 1)[0]["outcome"], "aborted");
}

#[test]
fn a_client_that_falls_silent_in_its_data_is_sent_away_and_nothing_is_sent() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "data_idle = \"1s\"");
    let mut client = in_data(gateway.port());
    let message = stuffed(b"From: a@example.com\r\n\r\nhi\r\n");
    client.send(&message[..message.len() - 3]);
    let reply = client.reply();
    assert!(starts(&reply, 421, "4.4.2 "), "{reply:?}");
    assert!(client.closed());
    let records = gateway.records("message", 1);
    assert_eq!(records.iter().map(|record| &record["outcome"]).collect::<Vec<_>>(), ["aborted"]);
    assert_eq!(fake.counts().received, 0);
}

#[test]
fn a_client_that_drips_its_data_is_sent_away_when_the_time_for_the_whole_is_over() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = limited(&fake, "data_time = \"1s\"");
    let mut client = in_data(gateway.port());
    let patience = Instant::now() + PATIENCE;
    let mut writer = client.writer();
    while !client.speaks(Duration::from_millis(100)) {
        assert!(Instant::now() < patience, "it goes on for ever");
        let _ = writer.write_all(b"x");
    }
    let reply = client.reply();
    assert!(starts(&reply, 421, "4.4.2 "), "{reply:?}");
    assert_eq!(gateway.records("message", 1)[0]["outcome"], "aborted");
    assert_eq!(fake.counts().received, 0);
}
