//! Clients on an open network: those that err without end, talk too early, hold connections, or smuggle mail. A PROXY header
//! makes them come from elsewhere.

use std::{
    io::{ErrorKind, Read as _},
    net::TcpStream,
};

use crate::{
    fake_ses::{FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    parties::{
        PATIENCE,
        next_hop::{NextHop, Script},
        wait_until,
    },
    smtp::Smtp,
};

const MAIL: &[u8] = b"From: a@example.com\r\nTo: b@example.net\r\nSubject: hello\r\n\r\nhi\r\n";
const STRANGER: &str = "PROXY TCP4 203.0.113.7 192.0.2.1 4711 25\r\n";
const NEIGHBOUR: &str = "PROXY TCP4 127.0.0.1 127.0.0.1 4711 25\r\n";

fn gateway(fake: &FakeSes, limits: &[&str]) -> Gateway {
    let mut set = vec!["listener.smtp.proxy_protocol=127.0.0.1".to_owned()];
    set.extend(limits.iter().map(|limit| format!("limits.{limit}")));
    Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &set)
}

fn from(gateway: &Gateway, who: &str) -> Smtp {
    let mut client = Smtp::silent(gateway.port());
    client.send(who.as_bytes());
    client
}

/// What has come to a client by now.
fn by_now(client: &Smtp) -> String {
    let mut stream: TcpStream = client.writer();
    stream.set_nonblocking(true).unwrap();
    let (mut octets, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => octets.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    stream.set_nonblocking(false).unwrap();
    String::from_utf8(octets).unwrap()
}

#[test]
fn answers_to_a_strangers_errors_come_later_and_later_and_drain_does_not_wait_for_them() {
    let fake = FakeSes::start(Profile::Today);
    let mut gateway = gateway(&fake, &["tarpit=1h"]);
    let errors = "CHICKEN\r\n".repeat(15);
    let (mut stranger, mut neighbour) = (from(&gateway, STRANGER), from(&gateway, NEIGHBOUR));
    stranger.send(errors.as_bytes());
    assert_eq!((0..4).map(|_| stranger.reply().code).collect::<Vec<_>>(), [220, 500, 500, 500]);
    neighbour.send(errors.as_bytes());
    assert_eq!(neighbour.reply().code, 220);
    assert!((0..15).all(|_| neighbour.reply().code == 500));
    let rest = by_now(&stranger).matches("500 ").count();
    assert!(rest < 12, "{rest} answers at once");
    assert!(gateway.stop().success());
}

#[test]
fn who_talks_before_the_greeting_is_sent_away_and_neighbours_are_greeted_at_once() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = gateway(&fake, &["greet_delay=1h"]);
    let mut stranger = from(&gateway, STRANGER);
    stranger.send(b"EHLO client.example.org\r\n");
    let reply = stranger.reply();
    assert_eq!((reply.code, reply.text.starts_with("5.5.1 ")), (554, true), "{reply:?}");
    assert!(stranger.closed());
    assert_eq!(from(&gateway, NEIGHBOUR).reply().code, 220);
}

#[test]
fn a_greeting_that_is_waited_for_comes() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = gateway(&fake, &["greet_delay=10ms"]);
    let mut stranger = from(&gateway, STRANGER);
    assert_eq!(stranger.reply().code, 220);
    assert_eq!(stranger.command("EHLO client.example.org").code, 250);
}

#[test]
fn beside_a_thousand_connections_that_say_next_to_nothing_mail_goes_through() {
    const SLOW: usize = 1000;
    let fake = FakeSes::start(Profile::Today);
    let gateway = gateway(&fake, &["connections=2000", "connections_per_client=100"]);
    let slow: Vec<Smtp> = (0..SLOW)
        .map(|number| {
            let who = format!("PROXY TCP4 203.0.113.{} 192.0.2.1 4711 25\r\n", number % 250);
            let mut client = from(&gateway, &who);
            match number % 4 {
                0 => {}
                1 => client.send(b"EHL"),
                2 => client.send(b"EHLO client.example.org\r\nMAIL FROM:<a@example.com> SI"),
                _ => client.send(b"EHLO client.example.org\r\nRSET\r\n"),
            }
            client
        })
        .collect();
    assert!(slow.iter().all(|client| wait_until(PATIENCE, || by_now(client).starts_with("220 "))));
    for _ in 0..20 {
        let mut client = from(&gateway, NEIGHBOUR);
        assert_eq!((client.reply().code, client.command("EHLO client.example.org").code), (220, 250));
        assert_eq!(client.submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    }
    assert_eq!(fake.accepted().len(), 20);
}

/// What stands for the end of a message in some server or other, but for the one that is it.
fn spellings() -> Vec<String> {
    let ends = ["\r\n", "\n", "\r", "\r\r\n", "\n\r", "\r\n\0", "\0\r\n", "\r\0\n"];
    let dots = [".", "..", "\0.", ".\0"];
    let all =
        ends.iter().flat_map(|lead| dots.iter().flat_map(move |dot| ends.map(|tail| format!("{lead}{dot}{tail}"))));
    all.filter(|spelling| !spelling.contains("\r\n.\r\n")).collect()
}

/// A message with that spelling in it, and commands behind.
fn smuggling(spelling: &str) -> String {
    format!(
        "From: a@example.com\r\nSubject: outer\r\n\r\nouter{spelling}MAIL FROM:<evil@example.com>\r\nRCPT TO:<victim@example.net>\r\nDATA\r\nFrom: evil@example.com\r\n\r\ninner\r\n"
    )
}

/// Whether there is a CR without LF or a LF without CR.
fn has_lone(octets: &[u8]) -> bool {
    octets.iter().enumerate().any(|(at, octet)| match octet {
        b'\r' => octets.get(at + 1) != Some(&b'\n'),
        b'\n' => at == 0 || octets[at - 1] != b'\r',
        _ => false,
    })
}

/// The message is one message, whose data ends at CRLF.CRLF or with its last chunk.
fn hand_in(client: &mut Smtp, message: &str, chunks: bool) -> u16 {
    assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250);
    assert_eq!(client.command("RCPT TO:<b@example.net>").code, 250);
    if chunks {
        client.send(format!("BDAT {} LAST\r\n{message}", message.len()).as_bytes());
    } else {
        assert_eq!(client.command("DATA").code, 354);
        // Stuffed as one who smuggles would not.
        client.send(format!("{message}.\r\n").as_bytes());
    }
    let code = client.reply().code;
    assert_eq!(client.command("NOOP").code, 250, "nothing was taken for a command");
    code
}

#[test]
fn no_spelling_of_an_end_smuggles_a_message_to_ses() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    for chunks in [false, true] {
        for spelling in spellings() {
            let before = fake.accepted().len();
            let code = hand_in(&mut Smtp::ready(gateway.port()), &smuggling(&spelling), chunks);
            let calls = fake.accepted().split_off(before);
            assert_eq!((code, calls.len()), (250, 1), "{spelling:?}");
            assert_eq!(calls[0].to, ["b@example.net"]);
            assert!(!has_lone(&calls[0].raw), "{spelling:?}: {}", calls[0].raw.escape_ascii());
        }
    }
}

#[test]
fn where_lone_line_ends_are_refused_no_spelling_comes_through() {
    let fake = FakeSes::start(Profile::Today);
    let set = ["listener.smtp.bare_line_ends=refuse".to_owned()];
    let gateway = Gateway::start_with(&format!("{BASE}{}", ses(&fake.endpoint())), &set);
    for chunks in [false, true] {
        for spelling in spellings().into_iter().filter(|spelling| has_lone(spelling.as_bytes())) {
            assert_eq!(hand_in(&mut Smtp::ready(gateway.port()), &smuggling(&spelling), chunks), 554, "{spelling:?}");
        }
    }
    assert!(fake.accepted().is_empty());
}

#[test]
fn no_spelling_of_an_end_smuggles_a_message_to_the_next_server() {
    let hop = NextHop::start(Script::default());
    let upstream = format!(
        "[[upstream]]\nname = \"hop\"\nkind = \"smtp\"\naddress = \"127.0.0.1:{}\"\ntls = \"none\"\n",
        hop.port()
    );
    let gateway = Gateway::start(&format!("{BASE}{upstream}"));
    let mut count = 0;
    for chunks in [false, true] {
        // The end that is one, too: in a chunk it is content.
        let real = if chunks { Some("\r\n.\r\n".to_owned()) } else { None };
        for spelling in spellings().into_iter().chain(real) {
            assert_eq!(hand_in(&mut Smtp::ready(gateway.port()), &smuggling(&spelling), chunks), 250, "{spelling:?}");
            count += 1;
        }
    }
    let heard = hop.heard();
    assert_eq!(heard.data.len(), count);
    assert!(heard.data.iter().all(|data| !has_lone(data)));
    let senders: Vec<_> = hop.commands("MAIL").into_iter().filter(|command| command.contains("evil")).collect();
    assert!(senders.is_empty(), "{senders:?}");
}
