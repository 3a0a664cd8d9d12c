//! Behind others: a proxy or a relay says who the client is, and systemd or a file is where the listener stands.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    process::{Command, Output, Stdio},
};

use crate::{
    fake_ses::{FakeSes, Profile},
    gateway::{BASE, Gateway, HEADGATE, headgate, ses},
    parties::{
        Guard, PATIENCE, authority::Authority, fed, free_port, http, postfix::Postfix, proxies::Proxy, wait_until,
    },
    smtp::{Smtp, behind_received},
};

const MAIL: &[u8] = b"From: a@example.com\r\nTo: b@example.net\r\nSubject: hello\r\n\r\n.\r\nhi\r\n";
const LISTENER: &str = "address = \"127.0.0.1:{port}\"";

/// A gateway whose listener has these settings in addition.
fn gateway(fake: &FakeSes, listener: &str) -> Gateway {
    let settings = BASE.replace(LISTENER, &format!("{LISTENER}\n{listener}"));
    Gateway::start(&format!("{settings}{}", ses(&fake.endpoint())))
}

/// A gateway whose listener is elsewhere.
fn elsewhere(fake: &FakeSes, listener: &str) -> Gateway {
    Gateway::start(&format!("{}{}", BASE.replace(LISTENER, listener), ses(&fake.endpoint())))
}

/// curl sends the mail from 127.0.0.5 to a port of 127.0.0.1.
fn curl(port: u16, more: &[&str]) -> Output {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--interface", "127.0.0.5", "--crlf", "--upload-file", "-"]);
    command.args(["--mail-from", "a@example.com", "--mail-rcpt", "b@example.net"]).args(more);
    fed(command.arg(format!("smtp://127.0.0.1:{port}/client.example.org")), MAIL)
}

fn arrived(fake: &FakeSes) {
    assert_eq!(behind_received(&fake.accepted().pop().unwrap().raw), MAIL);
}

#[test]
fn behind_haproxy_the_client_is_whom_it_names() {
    let fake = FakeSes::start(Profile::Today);
    for (number, version) in ["send-proxy", "send-proxy-v2"].into_iter().enumerate() {
        let gateway = gateway(&fake, "proxy_protocol = [\"127.0.0.1\"]\nallow = [\"127.0.0.5\"]");
        let proxy = Proxy::haproxy(gateway.port(), "", version);
        let output = curl(proxy.port(), &[]);
        assert!(output.status.success(), "{output:?}");
        arrived(&fake);
        assert_eq!(fake.accepted().len(), number + 1);
        assert_eq!(gateway.records("message", 1)[0]["client"], "127.0.0.5");
        // Its own client is none that may relay.
        assert_eq!(Smtp::ready(proxy.port()).command("MAIL FROM:<a@example.com>").code, 550);
    }
}

#[test]
fn haproxy_may_look_whether_we_are_well() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = gateway(&fake, "proxy_protocol = [\"127.0.0.1\"]");
    let check = "send-proxy-v2 check check-send-proxy inter 100ms rise 1 fall 1";
    let proxy = Proxy::haproxy(gateway.port(), "", check);
    assert_eq!(Smtp::ready(proxy.port()).submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    assert!(!proxy.log().contains("DOWN"), "{}", proxy.log());
    assert!(!gateway.stderr().contains("sent away"), "{}", gateway.stderr());
}

#[test]
fn tls_that_haproxy_ends_is_the_sessions() {
    let (fake, authority) = (FakeSes::start(Profile::Today), Authority::new("IP:127.0.0.1"));
    let gateway = gateway(&fake, "proxy_protocol = [\"127.0.0.1\"]");
    let folder = tempfile::tempdir().unwrap();
    let both = folder.path().join("both.pem");
    fs::write(&both, [fs::read(authority.certificate()).unwrap(), fs::read(authority.key()).unwrap()].concat())
        .unwrap();
    let bind = format!("ssl crt {}", both.display());
    let proxy = Proxy::haproxy(gateway.port(), &bind, "send-proxy-v2-ssl");
    let mut client = Smtp::silent(proxy.port()).within_tls(&authority.ca_file()).unwrap();
    assert_eq!(client.reply().code, 220);
    assert_eq!(client.command("EHLO client.example.org").code, 250);
    assert_eq!(client.submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    assert_eq!(gateway.records("message", 1)[0]["tls"], "TLSv1.3");
    assert!(fake.accepted()[0].header("Received")[0].contains("ESMTPS id"));
}

#[test]
fn nginx_tells_the_client_by_xclient() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = gateway(&fake, "xclient = [\"127.0.0.1\"]\nallow = [\"127.0.0.5\"]");
    let proxy = Proxy::nginx(gateway.port());
    let output = curl(proxy.port(), &[]);
    assert!(output.status.success(), "{output:?} {}", proxy.log());
    arrived(&fake);
    assert_eq!(gateway.records("message", 1)[0]["client"], "127.0.0.5");
    let mut client = Smtp::ready(proxy.port());
    assert_eq!(client.command("MAIL FROM:<a@example.com>").code, 250, "nginx waits for a recipient");
    assert_eq!(client.command("RCPT TO:<b@example.net>").code, 550);
}

#[test]
fn the_log_shows_the_client_behind_postfix_by_xforward() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = gateway(&fake, "xclient = [\"127.0.0.1\"]");
    let postfix = Postfix::start_with(gateway.port(), &[("smtp_send_xforward_command", "yes")]);
    let output = curl(postfix.port(), &[]);
    assert!(output.status.success(), "{output:?}");
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
    let record = &gateway.records("message", 1)[0];
    assert_eq!((&record["client"], &record["status"]), (&"127.0.0.5".into(), &250.into()));
    assert!(fake.accepted()[0].header("Received")[0].contains("app1.example.com ([127.0.0.1])"));
}

#[test]
fn postfix_hands_mail_in_by_lmtp_over_a_unix_socket() {
    let fake = FakeSes::start(Profile::Today);
    let gateway =
        elsewhere(&fake, "address = \"unix:{folder}/lmtp.sock\"\nsocket_mode = \"0666\"\nprotocol = \"lmtp\"");
    let socket = gateway.path("lmtp.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o666);
    fs::set_permissions(gateway.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let transport = format!("lmtp:unix:{}", socket.display());
    let postfix = Postfix::to_transport("lmtp unix - - n - - lmtp", &[("default_transport", &transport)]);
    let mail = String::from_utf8_lossy(MAIL).replace("\r\n", "\n");
    let recipients = ["-i", "-f", "a@example.com", "b@example.net", "c@example.net", "d@example.net"];
    assert!(postfix.inject(&recipients, mail.as_bytes()).status.success());
    assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
    let log = postfix.log();
    assert_eq!(log.matches("status=sent (250 2.0.0 Ok").count(), 3, "{log}");
    let call = fake.accepted().pop().unwrap();
    assert_eq!(call.to, ["b@example.net", "c@example.net", "d@example.net"]);
    assert!(call.header("Received")[0].contains("with LMTP id"), "{:?}", call.header("Received"));
    assert_eq!(gateway.records("message", 1)[0]["client"], "127.0.0.1");
}

#[test]
fn the_file_of_a_unix_socket_is_ours_alone_and_goes_with_us() {
    let fake = FakeSes::start(Profile::Today);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("smtp.sock");
    // One that a process left behind which was killed.
    drop(UnixListener::bind(&path).unwrap());
    let address = format!("address = \"unix:{}\"", path.display());
    let mut gateway = elsewhere(&fake, &address);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    assert!(greeting(&path).starts_with("220 relay.example.com ESMTP"));
    let second = Gateway::launch(&format!("{}{}", BASE.replace(LISTENER, &address), ses(&fake.endpoint())));
    let said = ends(second);
    assert!(said.contains(&format!("listener smtp: another process answers at {}", path.display())), "{said}");
    assert!(greeting(&path).starts_with("220 "), "the first has kept it");
    assert!(gateway.stop().success());
    assert!(!path.exists());
    fs::write(&path, "precious").unwrap();
    let said = ends(Gateway::launch(&format!("{}{}", BASE.replace(LISTENER, &address), ses(&fake.endpoint()))));
    assert!(said.contains("is there and is no socket"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

fn ends(mut gateway: Gateway) -> String {
    assert!(!gateway.wait_for_end().success());
    gateway.stderr()
}

fn greeting(path: &std::path::Path) -> String {
    let mut stream = BufReader::new(UnixStream::connect(path).unwrap());
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    stream.get_mut().write_all(b"QUIT\r\n").unwrap();
    line
}

#[test]
fn systemd_passes_sockets_by_name() {
    let fake = FakeSes::start(Profile::Today);
    let folder = tempfile::tempdir().unwrap();
    let (port, pages, unix) = (free_port(), free_port(), folder.path().join("passed.sock"));
    let settings = BASE.replace(LISTENER, "address = \"systemd:mail\"").replace("{http}", &pages.to_string());
    let file = folder.path().join("headgate.toml");
    fs::write(&file, format!("{settings}{}", ses(&fake.endpoint()))).unwrap();
    let environment = headgate();
    let mut activate = Command::new("systemd-socket-activate");
    activate.env_clear().envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // Two sockets of one name: both are the listener's.
    activate.arg("--listen").arg(port.to_string()).arg("--listen").arg(&unix).arg("--fdname=mail:mail");
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"] {
        activate.arg("--setenv").arg(name);
    }
    activate.arg(HEADGATE).arg("serve").arg("--config").arg(&file).args(["--set", "delivery.mode=direct"]);
    let activated = Guard::spawn(activate.current_dir(&folder).stdin(Stdio::null()).stderr(Stdio::null()));
    let mut client = None;
    assert!(wait_until(PATIENCE, || {
        client = client.take().or_else(|| Smtp::try_ready(port));
        client.is_some()
    }));
    assert_eq!(client.unwrap().submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    arrived(&fake);
    assert!(greeting(&unix).starts_with("220 "));
    assert!(http(pages, "GET /readyz", &[], b"").unwrap().0 == 200);
    drop(activated);
    // What systemd has made stays.
    assert!(fs::metadata(&unix).unwrap().file_type().is_socket());
}

#[test]
fn a_socket_that_systemd_did_not_pass_is_missed() {
    let fake = FakeSes::start(Profile::Today);
    let settings = BASE.replace(LISTENER, "address = \"systemd:mail\"");
    let said = ends(Gateway::launch(&format!("{settings}{}", ses(&fake.endpoint()))));
    assert!(said.contains("listener smtp: systemd passed no socket named \"mail\""), "{said}");
    assert!(said.contains("FileDescriptorName=mail"), "{said}");
}

#[test]
fn many_clients_of_one_proxy_are_counted_each_for_itself() {
    let fake = FakeSes::start(Profile::Today);
    let settings =
        BASE.replace(LISTENER, &format!("{LISTENER}\nproxy_protocol = [\"127.0.0.1\"]\nallow = [\"192.0.2.0/24\"]"));
    let set = ["limits.connections_per_client=1".to_owned()];
    let gateway = Gateway::start_with(&format!("{settings}{}", ses(&fake.endpoint())), &set);
    let named = |address: &str| {
        let mut client = Smtp::silent(gateway.port());
        client.send(format!("PROXY TCP4 {address} 192.0.2.250 4711 25\r\n").as_bytes());
        let code = client.reply().code;
        (client, code)
    };
    let clients: Vec<_> = (1..=5).map(|last| named(&format!("192.0.2.{last}"))).collect();
    assert!(clients.iter().all(|(_, code)| *code == 220));
    assert_eq!(named("192.0.2.1").1, 421);
}
