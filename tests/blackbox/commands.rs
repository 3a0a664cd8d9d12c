//! Commands that a person types first: here the demonstration of `make run`. The checkout stays as it is.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{gateway::HEADGATE, parties::free_port};

#[test]
fn the_demonstration_shows_the_header_before_and_after_the_access_line_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let outbox = folder.path().join("outbox");
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/run-demo"))
        .env("HEADGATE_DEMO_ONCE", "1")
        .env("HEADGATE_DEMO_BINARY", HEADGATE)
        .env("HEADGATE_DEMO_OUTBOX", &outbox)
        .env("HEADGATE_DEMO_PORT", free_port().to_string())
        .env("HEADGATE_DEMO_HTTP_PORT", free_port().to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{said}");

    let part = |heading: &str| -> Vec<&str> {
        let lines = shown.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
        lines.take_while(|line| !line.is_empty()).map(str::trim).collect()
    };
    let (before, after) = (part("A mail went in"), part("and came out"));
    assert!(before.contains(&"Chicken: yummy") && !before.contains(&"X-Chicken: yummy"), "{shown}");
    assert!(after.contains(&"X-Chicken: yummy") && !after.contains(&"Chicken: yummy"), "{shown}");
    let access = part("The access log");
    let [queued, delivered] = access.as_slice() else { panic!("{shown}") };
    for line in [queued, delivered] {
        assert!(line.starts_with("127.0.0.1 - - [") && line.contains("to=<evan@example.com>\" 250 "), "{line}");
    }
    let place = part("The mail lies in");
    let [file] = place.as_slice() else { panic!("{shown}") };
    let mail = std::fs::read_to_string(file).unwrap();
    assert!(Path::new(file).starts_with(&outbox) && mail.contains("\r\nX-Chicken: yummy\r\n"), "{file}: {mail}");
}
