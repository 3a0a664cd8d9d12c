//! TLS handshakes a second of sessions begun by STARTTLS, beside Postfix's smtpd with the same certificate, key and clients.
//!
//! A client connects, says EHLO and STARTTLS, shakes hands, says QUIT within TLS and reads the answer; then the next
//! session begins. The clients take processor time on the same machine, as much for one party as for the other, so the
//! ratio of the rates is less than that of what a handshake costs the parties themselves, which is told too.

use std::{
    io::{self, Write as _},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, Stream,
    client::Resumption,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use crate::{
    Plan,
    gateway::{BASE, Gateway},
    measure::{Rounds, processor},
    parties::{authority::Authority, postfix::Postfix},
};

/// Clients at once.
const CLIENTS: usize = 8;
/// Sessions of a round and a party; whole ones of this kind are more costly than a message.
const SHARE: usize = 5;

/// ECDSA P-256 and RSA-2048, each with whole handshakes only and with resumption.
pub fn handshakes(plan: Plan) {
    let sessions = (plan.messages / SHARE).max(CLIENTS);
    for (key, name) in [("ec -pkeyopt ec_paramgen_curve:prime256v1", "ECDSA P-256"), ("rsa:2048", "RSA-2048")] {
        let authority = Authority::with_key("IP:127.0.0.1", key);
        for resuming in [false, true] {
            let (mut gateways, mut postfixes) = (Rounds::default(), Rounds::default());
            let (mut ours, mut theirs) = (0, 0);
            for _ in 0..plan.rounds {
                let mut gateway = gateway(&authority);
                let client = client(&authority.ca_file(), resuming);
                let before = processor(gateway.pid());
                let (took, resumed) = shake(gateway.port(), &client, sessions);
                gateways.add(sessions, took, processor(gateway.pid()) - before);
                ours += resumed;
                drop(gateway);

                let postfix = postfix(&authority);
                let client = self::client(&authority.ca_file(), resuming);
                let before = processor(postfix.master());
                let (took, resumed) = shake(postfix.port(), &client, sessions);
                postfixes.add(sessions, took, processor(postfix.master()) - before);
                theirs += resumed;
            }
            let all = sessions * plan.rounds;
            let share = |resumed: usize| 100.0 * resumed as f64 / all as f64;
            let asked = if resuming { "wanted" } else { "not wanted" };
            println!("{name}, resumption {asked}: {:.0} % resumed here, {:.0} % there", share(ours), share(theirs));
            gateways.print("headgate", &[("Postfix", postfixes.rate())]);
            postfixes.print("Postfix's smtpd", &[]);
        }
    }
}

fn gateway(authority: &Authority) -> Gateway {
    let (certificate, key) = (authority.certificate(), authority.key());
    let tls = format!("[tls]\ncertificate = \"{}\"\nprivate_key = \"{}\"\n", certificate.display(), key.display());
    let outbox = "[[upstream]]\nname = \"outbox\"\nkind = \"outbox\"\npath = \"outbox\"\n";
    Gateway::start_with(&format!("{BASE}{tls}{outbox}"), &["listener.smtp.tls=starttls".to_owned()])
}

/// As fast as it gets: processes enough and kept, no counting of clients, and a session cache.
fn postfix(authority: &Authority) -> Postfix {
    let (certificate, key) = (authority.certificate().display().to_string(), authority.key().display().to_string());
    let settings = [
        ("default_process_limit", "200"),
        ("max_use", "100000"),
        ("smtpd_client_connection_count_limit", "0"),
        ("smtpd_client_connection_rate_limit", "0"),
        ("smtpd_client_new_tls_session_rate_limit", "0"),
        ("smtpd_client_event_limit_exceptions", "127.0.0.0/8"),
        ("smtpd_tls_security_level", "may"),
        ("smtpd_tls_cert_file", certificate.as_str()),
        ("smtpd_tls_key_file", key.as_str()),
        ("smtpd_tls_session_cache_database", "btree:${data_directory}/smtpd_scache"),
    ];
    Postfix::start_with(crate::parties::free_port(), &settings)
}

/// What all clients of a round have in common, with their tickets.
fn client(ca_file: &Path, resuming: bool) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca_file).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let mut config =
        builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots).with_no_client_auth();
    config.resumption = if resuming { Resumption::in_memory_sessions(1024) } else { Resumption::disabled() };
    Arc::new(config)
}

/// So many sessions by all clients together: how long they took, and how many were resumed.
fn shake(port: u16, client: &Arc<ClientConfig>, sessions: usize) -> (Duration, usize) {
    let (next, resumed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // What a party makes ready at the first session is no part of the others.
    for _ in 0..2 * CLIENTS {
        session(port, client).expect("a session");
    }
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < sessions {
                    if session(port, client).expect("a session") == HandshakeKind::Resumed {
                        resumed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    (begun.elapsed(), resumed.into_inner())
}

fn session(port: u16, client: &Arc<ClientConfig>) -> io::Result<HandshakeKind> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    for command in ["", "EHLO client.example.com\r\n", "STARTTLS\r\n"] {
        stream.write_all(command.as_bytes())?;
        reply(&mut stream)?;
    }
    let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
    let mut connection = ClientConnection::new(Arc::clone(client), name).map_err(io::Error::other)?;
    let mut within = Stream::new(&mut connection, &mut stream);
    within.write_all(b"QUIT\r\n")?;
    reply(&mut within)?;
    connection.handshake_kind().ok_or_else(|| io::Error::other("no handshake"))
}

/// Reads to the end of a reply.
fn reply(stream: &mut impl io::Read) -> io::Result<()> {
    let (mut text, mut octets) = (Vec::new(), [0; 512]);
    loop {
        let count = stream.read(&mut octets)?;
        text.extend_from_slice(&octets[..count]);
        let lines = text.strip_suffix(b"\r\n").map(|text| text.rsplit(|octet| *octet == b'\n').next().unwrap_or(text));
        match (count, lines) {
            (0, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
            (_, Some([b'2', _, _, b' ', ..])) => return Ok(()),
            (_, Some([b'2', _, _, b'-', ..]) | None) => {}
            (_, Some(other)) => return Err(io::Error::other(String::from_utf8_lossy(other).into_owned())),
        }
    }
}
