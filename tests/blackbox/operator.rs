//! What an operator does with the queue: on a running gateway through its control socket, on a stopped one directly.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::Path,
};

use regex::Regex;
use serde_json::Value;

use crate::{
    fake_ses::{Answer, FakeSes, Profile},
    fixtures::{Ran, Run},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, free_port, wait_until},
    queue::{MAIL, wide_open},
    smtp::Smtp,
};

/// A queue that tries again when nobody waits any more.
const PATIENT: &str = "[delivery]\nmode = \"queue\"\nretry = { first = \"1h\", max = \"1h\", expire = \"5d\" }\n";

fn gateway(endpoint: &str) -> Gateway {
    Gateway::start(&format!("{BASE}{PATIENT}{}", ses(endpoint)))
}

/// One whose SES nobody answers for.
fn stuck() -> Gateway {
    gateway(&format!("http://127.0.0.1:{}", free_port()))
}

/// `headgate` with these arguments, in the folder of a gateway and with its settings.
fn headgate(folder: &Path, arguments: &[&str]) -> Ran {
    headgate_with(folder, arguments, b"")
}

fn headgate_with(folder: &Path, arguments: &[&str], stdin: &[u8]) -> Ran {
    let mut run = Run::new(arguments).env("HEADGATE_CONFIG", "headgate.toml");
    run.stdin = stdin;
    run.within(folder)
}

/// What a command that has to succeed prints.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let ran = headgate(folder, arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// The objects that a command with `--json` prints.
fn objects(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let text = printed(folder, &[arguments, &["--json"]].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Submits a message that is queued; its id.
fn submit(gateway: &Gateway, to: &[&str]) -> String {
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", to, MAIL);
    assert_eq!(reply.code, 250, "{reply:?}");
    let id = reply.text.split("(id ").nth(1).unwrap();
    id.trim_end_matches(')').to_owned()
}

/// Waits until a message is in a state.
fn wait_for(gateway: &Gateway, id: &str, state: &str) -> Value {
    let mut shown = Value::Null;
    let so = wait_until(PATIENCE, || {
        shown = objects(gateway.folder(), &["queue", "show", id]).remove(0);
        shown["message"]["state"] == state
    });
    assert!(so, "{shown}");
    shown
}

/// Waits until a message has been tried and waits again.
fn wait_for_attempt(gateway: &Gateway, id: &str) {
    let tried = || {
        let shown = objects(gateway.folder(), &["queue", "show", id]).remove(0);
        shown["message"]["state"] == "queued" && shown["message"]["reason"] != ""
    };
    assert!(wait_until(PATIENCE, tried));
}

#[test]
fn a_running_gateway_and_its_store_alone_give_the_same_answers() {
    let mut gateway = stuck();
    let folder = gateway.folder().to_owned();
    let ids = [&["b@example.net"][..], &["c@example.net", "d@example.net"], &["e@example.net"]];
    let ids = ids.map(|to| submit(&gateway, to));
    ids.iter().for_each(|id| wait_for_attempt(&gateway, id));
    assert_eq!(printed(&folder, &["queue", "hold", "--reason", "ask first", &ids[0]]), format!("{} held\n", ids[0]));
    assert_eq!(printed(&folder, &["queue", "delete", &ids[2]]), format!("{} deleted\n", ids[2]));
    let unknown = "0".repeat(26);
    let questions: Vec<Vec<&str>> = vec![
        vec!["queue", "list"],
        vec!["queue", "list", "--json"],
        vec!["queue", "list", "--json", "--state", "held", "--state", "finished"],
        vec!["queue", "list", "--json", "--recipient", "D@example.net", "--newer-than", "1h"],
        vec!["queue", "list", "--json", "--sender", "A@EXAMPLE.com", "--limit", "1"],
        vec!["queue", "list", "--user", "nobody"],
        vec!["queue", "show", &ids[1]],
        vec!["queue", "show", "--json", &ids[2]],
        vec!["queue", "show", &unknown],
        vec!["queue", "export", &ids[0]],
        vec!["queue", "export", "--envelope", "--all"],
        vec!["queue", "export", &ids[2]],
        vec!["queue", "retry", &ids[0], &unknown],
        vec!["queue", "retry", "--rules", &ids[2]],
        vec!["queue", "release", &ids[1]],
        vec!["queue", "import", "--sender", "nobody", "--recipient", "b@example.net", "headgate.toml"],
        vec!["queue", "import", "--sender", "", "--recipient", "b@example.net", "bad.eml"],
    ];
    // It loops, and passes no door.
    fs::write(folder.join("bad.eml"), "Received: x\r\n".repeat(101)).unwrap();
    let ages = Regex::new(r"\b *[0-9]+[smhd]\b").unwrap();
    let ask = || -> Vec<(String, Ran)> {
        let ran = |question: &Vec<&str>| {
            let ran = headgate(&folder, question);
            (ages.replace_all(&String::from_utf8(ran.stdout.clone()).unwrap(), " {age}").into_owned(), ran)
        };
        questions.iter().map(ran).collect()
    };
    let running = ask();
    assert_eq!(gateway.stop().code(), Some(0));
    let stopped = ask();
    for ((question, (text, ran)), (other, same)) in questions.iter().zip(&running).zip(&stopped) {
        assert_eq!((text, &ran.stderr, ran.code), (other, &same.stderr, same.code), "{question:?}");
    }
    let codes: Vec<i32> = running.iter().map(|(_, ran)| ran.code.unwrap()).collect();
    assert_eq!(codes, [0, 0, 0, 0, 0, 0, 0, 0, 66, 0, 0, 65, 66, 65, 65, 64, 65]);
    let table = String::from_utf8_lossy(&running[0].1.stdout);
    assert!(table.contains("dispatch failure"), "why it waits: {table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_retry_goes_out_at_once_and_a_deleted_message_never() {
    let fake = wide_open();
    fake.otherwise(Answer::error(500, "InternalFailure", "?"));
    let gateway = gateway(&fake.endpoint());
    let folder = gateway.folder().to_owned();
    let (first, second, third) = (
        submit(&gateway, &["b@example.net"]),
        submit(&gateway, &["c@example.net"]),
        submit(&gateway, &["d@example.net"]),
    );
    [&first, &second, &third].iter().for_each(|id| wait_for_attempt(&gateway, id));
    fake.otherwise(Answer::Accept);
    printed(&folder, &["queue", "hold", &second]);
    printed(&folder, &["queue", "delete", &third]);
    assert_eq!(printed(&folder, &["queue", "retry", "--all"]), format!("{first} due now\n"));
    let shown = wait_for(&gateway, &first, "finished");
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(shown["recipients"][0]["status"], "delivered");
    assert_eq!(fake.accepted().len(), 1, "what is held waits");
    printed(&folder, &["queue", "release", &second]);
    wait_for(&gateway, &second, "finished");
    let all: Vec<String> = fake.accepted().iter().flat_map(|call| call.to.clone()).collect();
    assert_eq!(all, ["b@example.net", "c@example.net"]);
    let deleted = wait_for(&gateway, &third, "finished");
    assert_eq!(deleted["recipients"][0]["status"], "removed");
    let said = gateway.stderr();
    assert!(said.contains("by an operator: deleted") && said.contains(&third), "{said}");
}

#[test]
fn a_retry_under_new_rules_sends_what_they_make_of_it() {
    let fake = wide_open();
    fake.otherwise(Answer::error(500, "InternalFailure", "?"));
    let rules = "[rules]\nfiles = [\"builtin:ses\", \"site.toml\"]\n";
    let settings = format!("{BASE}{PATIENT}{rules}{}", ses(&fake.endpoint()));
    // The file has to be there at the start: a first gateway makes the folder.
    let mut gateway = Gateway::launch(&settings);
    let folder = gateway.folder().to_owned();
    gateway.wait_for_end();
    fs::write(folder.join("site.toml"), "").unwrap();
    gateway.start_again();
    let id = submit(&gateway, &["b@example.net", "c@example.net"]);
    wait_for_attempt(&gateway, &id);
    let new = "[[rule]]\nname = \"again\"\ndo = [{ add = { name = \"X-Again\", value = \"yes\" } }, \
               { remove_recipient = \"c@example.net\" }]\n";
    fs::write(folder.join("site.toml"), new).unwrap();
    assert!(wait_until(PATIENCE, || gateway.stderr().contains("loaded anew")));
    fake.otherwise(Answer::Accept);
    let told = printed(&folder, &["queue", "retry", "--rules", &id]);
    assert_eq!(told, format!("{id} 2 changes by the present rules, due now\n"));
    let shown = wait_for(&gateway, &id, "finished");
    let rules: Vec<&str> =
        shown["changes"].as_array().unwrap().iter().map(|change| change["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["x-prefix what SES does not know", "again", "again"]);
    let calls = fake.accepted();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(call.to, ["b@example.net"]);
    assert_eq!(call.header_names(), ["Received", "From", "Subject", "X-Chicken", "X-Again"]);
    assert!(call.header("Received")[0].contains(&id));
    assert_eq!(call.tag("headgate-id"), Some(id.as_str()));
}

#[test]
fn what_is_being_delivered_is_told_so_and_left_alone() {
    let fake = wide_open();
    fake.script([Answer::Hang]);
    let gateway = gateway(&fake.endpoint());
    let id = submit(&gateway, &["b@example.net"]);
    assert!(fake.wait_for_calls(1, PATIENCE));
    for verb in ["hold", "delete", "retry"] {
        let ran = headgate(gateway.folder(), &["queue", verb, &id]);
        let said = format!("headgate: {id}: it is being delivered just now; try again\n");
        assert_eq!((ran.code, ran.stderr, ran.stdout), (Some(75), said, Vec::new()), "{verb}");
    }
    assert_eq!(objects(gateway.folder(), &["queue", "list", "--state", "active"])[0]["id"], id);
    fake.release();
    wait_for(&gateway, &id, "finished");
    assert_eq!(fake.accepted().len(), 1);
}

#[test]
fn a_message_goes_out_and_in_again_octet_for_octet() {
    let fake = wide_open();
    fake.otherwise(Answer::error(500, "InternalFailure", "?"));
    let mut gateway = gateway(&fake.endpoint());
    let folder = gateway.folder().to_owned();
    let mut mail = b"From: a@example.com\r\nSubject: large\r\n\r\n".to_vec();
    (0..60_000_u32).for_each(|number| mail.extend(format!("{number:050}\r\n").bytes()));
    fs::write(folder.join("large.eml"), &mail).unwrap();
    let import = ["queue", "import", "--rules", "none", "--sender", "a@example.com", "--recipient", "b@example.net"];
    let told = printed(&folder, &[&import[..], &["large.eml"]].concat());
    let id = told.strip_suffix(" queued\n").unwrap();
    wait_for_attempt(&gateway, id);
    let out = headgate(&folder, &["queue", "export", id]);
    assert!(out.stdout == mail, "{} octets", out.stdout.len());
    assert_eq!(printed(&folder, &["queue", "export", "--all", "out"]), format!("out/{id}.eml\n"));
    assert_eq!(gateway.stop().code(), Some(0));

    let told = printed(&folder, &["queue", "import", "--rules", "none", &format!("out/{id}.eml")]);
    let second = told.strip_suffix(" queued\n").unwrap();
    assert!(headgate(&folder, &["queue", "export", second]).stdout == mail);
    printed(&folder, &["queue", "delete", id]);
    fake.otherwise(Answer::Accept);
    gateway.start_again();
    wait_for(&gateway, second, "finished");
    let calls = fake.accepted();
    let [call] = calls.as_slice() else { panic!("{} calls", calls.len()) };
    assert!(call.raw == mail);
    assert_eq!(
        (call.to.as_slice(), call.feedback.as_deref()),
        (&["b@example.net".to_owned()][..], Some("a@example.com"))
    );
}

#[test]
fn what_is_imported_passes_the_door_and_its_size_is_bounded() {
    let fake = wide_open();
    let gateway =
        Gateway::start(&format!("{BASE}{PATIENT}[limits]\nmessage_size = \"1MB\"\n{}", ses(&fake.endpoint())));
    let import = ["queue", "import", "--sender", "a@example.com", "--recipient", "b@example.net", "-"];
    let ran = headgate_with(gateway.folder(), &import, MAIL);
    let id = String::from_utf8(ran.stdout).unwrap().split(' ').next().unwrap().to_owned();
    wait_for(&gateway, &id, "finished");
    assert_eq!(fake.accepted()[0].header_names(), ["Received", "From", "Subject", "X-Chicken"]);
    let large = headgate_with(gateway.folder(), &import, &vec![b'x'; 1_500_000]);
    assert_eq!((large.code, large.stdout), (Some(65), Vec::new()), "{}", large.stderr);
    assert!(large.stderr.contains("at most 1MB are taken"), "{}", large.stderr);
}

#[test]
fn each_upstream_says_how_it_is() {
    let fake = wide_open();
    let closed = format!("http://127.0.0.1:{}", free_port());
    let second = ses(&closed).replace("\"fake\"", "\"away\"") + "weight = 3\n";
    let mut gateway = Gateway::start(&format!("{BASE}{PATIENT}{}{second}", ses(&fake.endpoint())));
    let folder = gateway.folder().to_owned();
    let mut shown = Vec::new();
    let ill = wait_until(PATIENCE, || {
        shown = objects(&folder, &["upstreams"]);
        submit(&gateway, &["b@example.net"]);
        shown[1]["well"] == false
    });
    assert!(ill, "{shown:?}");
    assert_eq!((&shown[0]["name"], &shown[0]["well"], &shown[0]["weight"]), (&"fake".into(), &true.into(), &1.into()));
    assert_eq!((&shown[1]["name"], &shown[1]["weight"]), (&"away".into(), &3.into()));
    assert!(shown[1]["cause"] != "" && shown[0]["rate"].is_number(), "{shown:?}");
    let table = printed(&folder, &["upstreams"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("NAME ") && lines[1].ends_with(" well") && lines[2].contains(" ill: "), "{table}");
    gateway.stop();
    let ran = headgate(&folder, &["upstreams"]);
    assert_eq!((ran.code, ran.stderr.contains("no gateway runs on")), (Some(69), true), "{}", ran.stderr);
}

/// Asks by the socket itself; the lines of the answer.
fn converse(stream: &mut BufReader<UnixStream>, request: &str) -> Vec<Value> {
    stream.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "{lines:?}");
        let value: Value = serde_json::from_str(&line).unwrap();
        lines.push(value);
        if lines.last().unwrap().get("end").is_some() {
            return lines;
        }
    }
}

fn connect(path: &Path) -> BufReader<UnixStream> {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(stream)
}

#[test]
fn the_control_socket_is_its_owners_and_bounded() {
    let mut gateway = stuck();
    let path = gateway.path("headgate.db.sock");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let id = submit(&gateway, &["b@example.net"]);
    let mut talk = connect(&path);
    for nonsense in ["", "{}", "[1]", "{\"verb\":\"explode\"}", "{\"verb\":\"show\",\"id\":\"x\"}", "\u{0}"] {
        assert_eq!(converse(&mut talk, nonsense)[0]["end"]["kind"], "usage", "{nonsense:?}");
    }
    let shown = converse(&mut talk, &format!("{{\"verb\":\"show\",\"id\":\"{id}\"}}"));
    assert_eq!((&shown[0]["account"]["message"]["id"], &shown[1]["end"]), (&id.as_str().into(), &Value::Null));

    let letter = "{\"verb\":\"import\",\"sender\":null,\"recipients\":[\"b@example.net\"],\"rules\":false";
    let huge = converse(&mut connect(&path), &format!("{letter},\"octets\":99999999999}}"));
    assert_eq!(huge[0]["end"]["kind"], "refused");
    let wrong = converse(&mut connect(&path), &format!("{letter},\"octets\":2}}\nYQ==\nYWFh"));
    assert_eq!(wrong[0]["end"]["kind"], "usage");

    let mut long = connect(&path);
    let _ = long.get_mut().write_all(&vec![b' '; 2 << 20]);
    let mut said = String::new();
    let _ = long.read_line(&mut said);
    assert!(said.contains("1 MiB"), "{said}");

    let many: Vec<BufReader<UnixStream>> = (0..16).map(|_| connect(&path)).collect();
    let mut last = String::new();
    assert!(wait_until(PATIENCE, || {
        last.clear();
        let mut one = connect(&path);
        one.get_mut().write_all(b"{\"verb\":\"upstreams\"}\n").unwrap();
        let _ = one.read_to_string(&mut last);
        last.contains("too many connections")
    }));
    drop(many);
    assert!(wait_until(PATIENCE, || headgate(gateway.folder(), &["queue", "list"]).code == Some(0)));
    assert_eq!(gateway.stop().code(), Some(0));
    assert!(!path.exists());
}

#[test]
fn a_socket_left_behind_is_replaced_and_what_is_no_socket_is_not() {
    let mut gateway = stuck();
    let path = gateway.path("headgate.db.sock");
    let id = submit(&gateway, &["b@example.net"]);
    gateway.kill();
    assert!(path.exists());
    assert_eq!(objects(gateway.folder(), &["queue", "list"])[0]["id"], id, "nobody answers, so the store is opened");
    gateway.start_again();
    assert!(converse(&mut connect(&path), "{\"verb\":\"upstreams\"}").len() == 2);
    assert_eq!(gateway.stop().code(), Some(0));

    fs::write(&path, "mine").unwrap();
    gateway.start_again();
    assert!(gateway.stderr().contains("is there and is no socket"), "{}", gateway.stderr());
    let ran = headgate(gateway.folder(), &["queue", "list"]);
    assert_eq!((ran.code, ran.stderr.contains("is in use")), (Some(75), true), "{}", ran.stderr);
    assert_eq!(gateway.stop().code(), Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(&path).unwrap();

    let other = UnixListener::bind(&path).unwrap();
    gateway.start_again();
    assert!(gateway.stderr().contains("another process answers at"), "{}", gateway.stderr());
    assert_eq!(gateway.stop().code(), Some(0));
    assert!(path.exists());
    drop(other);
}

#[test]
fn a_path_too_long_for_a_socket_is_explained_and_stops_no_mail() {
    let fake = FakeSes::start(Profile::Today);
    let store = format!("[store]\nurl = \"sqlite:{}.db\"\n", "long".repeat(30));
    let mut gateway = Gateway::start(&format!("{BASE}{PATIENT}{store}{}", ses(&fake.endpoint())));
    assert!(gateway.stderr().contains("has at most 107; choose a shorter one"), "{}", gateway.stderr());
    submit(&gateway, &["b@example.net"]);
    assert!(fake.wait_for_accepted(1, PATIENCE));
    let ran = headgate(gateway.folder(), &["queue", "list"]);
    assert_eq!((ran.code, ran.stderr.contains("is in use")), (Some(75), true), "{}", ran.stderr);
    assert_eq!(gateway.stop().code(), Some(0));
    assert_eq!(objects(gateway.folder(), &["queue", "list", "--state", "finished"]).len(), 1);
}
