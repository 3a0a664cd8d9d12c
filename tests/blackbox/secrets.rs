//! No secret shows: whatever the gateway is asked, whatever goes wrong, and at the level where it says most.

use std::{fmt::Write as _, fs};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use headgate::{
    config::{Request, load},
    mail::{Client, Id},
    server::Book,
    smtp::{Codec, Command, Logins, Offer, Session},
};
use tempfile::TempDir;

use crate::{
    fake_ses::{Answer, FakeSes, Profile},
    fixtures::Run,
    gateway::{BASE, CREDENTIALS, Gateway, ses},
    parties::{
        PATIENCE,
        authority::Authority,
        next_hop::{NextHop, Script},
        wait_until,
    },
    smtp::Smtp,
};

const MAIL: &[u8] = b"From: a@example.com\r\nTo: b@example.net\r\n\r\nhi\r\n";
/// Of alice, right and wrong, of the next server in a file and in the settings, and of a role.
const RIGHT: &str = "hush-Right-1";
const WRONG: &str = "hush-Wrong-2";
const IN_A_FILE: &str = "hush-File-3";
const IN_THE_SETTINGS: &str = "hush-Settings-4";
const TOKEN: &str = "hush-Token-5";

/// Everything that has to stay hidden, as it is and as it goes over the wire.
fn secrets(place: &TempDir) -> Vec<String> {
    let read = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
    let mut secrets: Vec<String> = [RIGHT, WRONG, IN_A_FILE, IN_THE_SETTINGS, TOKEN].map(str::to_owned).to_vec();
    secrets.push(CREDENTIALS.iter().find(|(name, _)| *name == "AWS_SECRET_ACCESS_KEY").unwrap().1.to_owned());
    for (name, password) in [("alice", RIGHT), ("alice", WRONG), ("evan", IN_A_FILE), ("evan", IN_THE_SETTINGS)] {
        secrets.push(STANDARD.encode(password).trim_end_matches('=').to_owned());
        secrets.push(STANDARD.encode(format!("\0{name}\0{password}")).trim_end_matches('=').to_owned());
    }
    secrets.extend(read("key.pem").lines().filter(|line| !line.starts_with("---")).map(str::to_owned));
    secrets.push(read("users").trim().rsplit('$').next().unwrap().to_owned());
    secrets
}

#[track_caller]
fn assert_hidden(what: &str, told: &str, secrets: &[String]) {
    for secret in secrets {
        assert!(!told.contains(secret.as_str()), "{what} shows {secret}:\n{told}");
    }
}

/// Files that are secret, and settings that name all of them: three upstreams, of which one takes mail.
fn house(fake: &FakeSes, [good, bad]: [&NextHop; 2]) -> (String, TempDir) {
    let (place, authority) = (tempfile::tempdir().unwrap(), Authority::new("IP:127.0.0.1"));
    let path = |name: &str| place.path().join(name).display().to_string();
    fs::copy(authority.certificate(), path("cert.pem")).unwrap();
    fs::copy(authority.key(), path("key.pem")).unwrap();
    fs::write(path("password"), format!("{IN_A_FILE}\n")).unwrap();
    let users = path("users");
    let run = Run { stdin: RIGHT.as_bytes(), ..Run::new(&["users", "add", "--file", &users, "alice"]) };
    assert_eq!(run.within(place.path()).code, Some(0));
    let listener = "tls = \"starttls\"\nauth = \"optional\"\n[access_log]";
    let smtp = |name: &str, port: u16, password: &str| {
        format!(
            "[[upstream]]\nname = \"{name}\"\nkind = \"smtp\"\naddress = \"127.0.0.1:{port}\"\ntls = \"none\"\n\
             username = \"evan\"\n{password}\n"
        )
    };
    let settings = format!(
        "{}[users]\nfile = \"{}\"\n[tls]\ncertificate = \"{}\"\nprivate_key = \"{}\"\n[log]\nlevel = \"trace\"\n\
         [delivery]\nmode = \"queue\"\nretry = {{ first = \"100ms\", max = \"300ms\", expire = \"5d\" }}\n{}{}{}",
        BASE.replace("[access_log]", listener),
        path("users"),
        path("cert.pem"),
        path("key.pem"),
        ses(&fake.endpoint()),
        smtp("good", good.port(), &format!("password_file = \"{}\"", path("password"))),
        smtp("bad", bad.port(), &format!("password = \"{IN_THE_SETTINGS}\"")),
    );
    (settings, place)
}

/// Logins that are right, wrong, broken, given up, and a password where a command should stand.
fn log_in_in_every_way(port: u16) {
    let (right, wrong) = (STANDARD.encode(RIGHT), STANDARD.encode(WRONG));
    let plain = |password: &str| STANDARD.encode(format!("\0alice\0{password}"));
    for lines in [
        vec![format!("AUTH PLAIN {}", plain(RIGHT))],
        vec!["AUTH LOGIN YWxpY2U=".to_owned(), right.clone()],
        vec![format!("AUTH PLAIN {}", plain(WRONG)), right.clone(), format!("VRFY {right}"), RIGHT.to_owned()],
        vec!["AUTH LOGIN YWxpY2U=".to_owned(), wrong.clone(), wrong.clone()],
        vec![format!("AUTH PLAIN {}!", plain(RIGHT)), format!("AUTH CRAM-MD5 {right}"), format!("AUTH {right} x y")],
        vec!["AUTH PLAIN".to_owned(), plain(WRONG), "AUTH LOGIN".to_owned(), "*".to_owned(), wrong],
    ] {
        let mut client = Smtp::ready(port);
        let told = lines.iter().map(|line| client.command(line).text).collect::<String>();
        for secret in [RIGHT, WRONG, right.as_str(), plain(RIGHT).as_str()] {
            assert!(!told.contains(secret), "the reply to {lines:?} shows it: {told}");
        }
    }
}

#[test]
fn no_log_page_command_or_argument_shows_a_secret() {
    let fake = FakeSes::start(Profile::Today);
    let refusal = format!("The signature does not match.\n\nThe Canonical String was\n'x-amz-security-token:{TOKEN}'");
    fake.otherwise(Answer::error(403, "InvalidSignatureException", &refusal));
    let echo = format!("500 5.5.1 Unrecognized: AUTH PLAIN {}", STANDARD.encode(format!("\0evan\0{IN_THE_SETTINGS}")));
    let good = NextHop::start(Script {
        login: Some(("evan", IN_A_FILE)),
        extensions: vec!["AUTH LOGIN"],
        ..Script::default()
    });
    let answers = Script::answering(move |command| (command == "LOGIN").then(|| echo.clone()));
    let bad = NextHop::start(Script { extensions: vec!["AUTH PLAIN"], ..answers });
    let (settings, place) = house(&fake, [&good, &bad]);
    let secrets = secrets(&place);
    let mut gateway = Gateway::start(&settings);

    log_in_in_every_way(gateway.port());
    for _ in 0..6 {
        assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.net"], MAIL).code, 250);
    }
    let refused_everywhere = || {
        let said = gateway.stderr() + &gateway.log();
        said.contains("InvalidSignature")
            && said.contains("the server repeats the login")
            && good.heard().data.len() > 1
    };
    assert!(wait_until(PATIENCE, refused_everywhere), "{}\n{}", gateway.stderr(), gateway.log());

    let arguments = fs::read(format!("/proc/{}/cmdline", gateway.pid())).unwrap();
    assert_hidden("the list of processes", &String::from_utf8_lossy(&arguments), &secrets);
    for page in ["/metrics", "/healthz", "/readyz", "/"] {
        assert_hidden(page, &gateway.page(page).1, &secrets);
    }
    let id = gateway.records("message", 1)[0]["id"].as_str().unwrap_or_default().to_owned();
    for arguments in [
        vec!["config", "show"],
        vec!["config", "check"],
        vec!["doctor"],
        vec!["doctor", "--json"],
        vec!["upstreams", "--json"],
        vec!["queue", "list", "--json"],
        vec!["queue", "show", &id],
        vec!["users", "list"],
        vec!["rules", "list"],
    ] {
        let run = Run::new(&arguments).env("HEADGATE_CONFIG", "headgate.toml").env("RUST_LOG", "trace");
        let ran = run.env("AWS_SESSION_TOKEN", TOKEN).within(gateway.folder());
        let told = String::from_utf8_lossy(&ran.stdout).into_owned() + &ran.stderr;
        assert!(!told.is_empty(), "{arguments:?} says nothing");
        assert_hidden(&format!("{arguments:?}"), &told, &secrets);
    }
    gateway.signal("HUP");
    fs::write(place.path().join("key.pem"), format!("-----BEGIN PRIVATE KEY-----\n{WRONG}\n")).unwrap();
    fs::write(place.path().join("users"), format!("alice:{WRONG}\n")).unwrap();
    let _ = Smtp::ready(gateway.port()).command("AUTH PLAIN AGEAYQ==");
    assert!(wait_until(PATIENCE, || gateway.stderr().contains("the old certificate stays")), "{}", gateway.stderr());
    gateway.stop();
    assert_hidden("the log", &gateway.stderr(), &secrets);
    assert_hidden("the access log", &gateway.log(), &secrets);
}

#[test]
fn nothing_that_holds_a_secret_shows_it_in_debug() {
    let fake = FakeSes::start(Profile::Today);
    let hop = NextHop::start(Script::default());
    let (settings, place) = house(&fake, [&hop, &hop]);
    let secrets = secrets(&place);
    let file = place.path().join("headgate.toml");
    fs::write(&file, settings.replace("{port}", "2525").replace("{http}", "8025")).unwrap();
    let loaded = load(&Request { file: Some(file), ..Request::default() }).unwrap();

    let mut told = format!("{loaded:?}{:?}", Book::read(&place.path().join("users")).unwrap());
    let (offer, mut client) = (offer(), Client::new([127, 0, 0, 1].into(), "smtp"));
    client.tls = Some("TLSv1.3".to_owned());
    let mut session = Session::new(offer.into(), client, Id::nil);
    let mut codec = Codec::default();
    let password = STANDARD.encode(RIGHT);
    for line in ["EHLO a".to_owned(), "AUTH LOGIN YWxpY2U=".to_owned(), password, RIGHT.to_owned()] {
        codec.buffer().extend_from_slice(format!("{line}\r\n{RIGHT}").as_bytes());
        let _ = write!(told, "{codec:?}");
        let _ = write!(told, "{:?}{:?}", codec.next_item(), Command::parse(format!("AUTH PLAIN {line}").as_bytes()));
        codec.discard();
        let _ = write!(told, "{:?}{session:?}", session.line(line.as_bytes()));
    }
    assert!(told.contains("Login") && told.contains("(hidden)"), "{told}");
    assert_hidden("Debug", &told, &secrets);
}

fn offer() -> Offer {
    Offer {
        hostname: "relay.example.com".to_owned(),
        message_size: 1000,
        recipients: 3,
        errors: 9,
        starttls: true,
        logins: Logins::Required,
        lmtp: false,
        dsn: true,
        allow: Vec::new(),
        trusted: Vec::new(),
    }
}
