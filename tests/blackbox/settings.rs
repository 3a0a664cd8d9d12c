//! Settings files, variables and flags: what is taken, and the exact words that a wrong one gets.
//!
//! `fixtures/config/bad/X.toml` is a settings file and `X.expect` what it gets on stderr; in `bad/rules` it is a rule
//! file behind builtin:ses. Both run in their folder, so that the expectations hold no path of a machine.

use std::{fs, path::Path};

use toml::{Table, Value};

use crate::fixtures::{Differences, Ran, Run, folder, names};

/// sysexits: wrong settings.
const CONFIG: Option<i32> = Some(78);

/// The settings in effect, as `config show` prints them.
fn shown(run: &Run<'_>, folder: &Path) -> Table {
    let ran = run.within(folder);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{:?}", run.arguments);
    String::from_utf8(ran.stdout).unwrap().parse().unwrap()
}

/// A value by keys and, in an array of tables, the name of the element.
fn at<'a>(settings: &'a Table, path: &str) -> &'a Value {
    let mut keys = path.split('.');
    let mut value = &settings[keys.next().unwrap()];
    for key in keys {
        value = match value {
            Value::Array(elements) => elements.iter().find(|one| one["name"].as_str() == Some(key)).unwrap(),
            table => &table[key],
        };
    }
    value
}

#[test]
fn every_good_file_is_taken_and_what_is_shown_of_it_says_the_same_again() {
    let folder = folder("config/good");
    let elsewhere = tempfile::tempdir().unwrap();
    for name in names(&folder, ".toml") {
        let path = folder.join(&name).display().to_string();
        let checked = Run::new(&["config", "check", "--config", &name]).within(&folder);
        assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""), "{name}");
        assert!(checked.stdout.starts_with(b"ok, "), "{name}");
        let first = Run::new(&["config", "show", "--config", &path]).within(&folder);
        fs::write(elsewhere.path().join("shown.toml"), &first.stdout).unwrap();
        let again = Run::new(&["config", "show", "--config", "shown.toml"]).within(elsewhere.path());
        assert_eq!(again, first, "{name}");
    }
}

#[test]
fn the_reference_and_an_empty_file_mean_what_no_file_means() {
    let folder = folder("config/good");
    let none = shown(&Run::new(&["config", "show"]), &folder);
    for name in ["empty.toml", "reference.toml"] {
        assert_eq!(shown(&Run::new(&["config", "show", "--config", name]), &folder), none, "{name}");
    }
    let reference = Run::new(&["config", "reference"]).within(&folder).stdout;
    let mut differences = Differences::default();
    differences.compare(&folder.join("reference.toml"), &String::from_utf8(reference).unwrap());
    differences.end();
}

#[test]
fn everything_changed_changes_every_setting() {
    let folder = folder("config/good");
    let default = shown(&Run::new(&["config", "show"]), &folder);
    let other = shown(&Run::new(&["config", "show", "--config", "everything-changed.toml"]), &folder);
    // What is not to be changed in such a file.
    let alone = ["mode"];
    for (section, value) in &default {
        let changed =
            |key: &str, value: &Value| tables(&other[section]).iter().any(|table| table.get(key) != Some(value));
        match tables(value).first() {
            None => assert_ne!(value, &other[section]),
            Some(keys) => {
                let same: Vec<_> =
                    keys.iter().filter(|(key, value)| !changed(key, value)).map(|(key, _)| key).collect();
                assert!(same.iter().all(|key| alone.contains(&key.as_str())), "{section}: {same:?}");
            }
        }
    }
}

/// The tables of an array of tables, or the one table.
fn tables(value: &Value) -> Vec<&Table> {
    match value {
        Value::Array(elements) => elements.iter().filter_map(Value::as_table).collect(),
        one => one.as_table().into_iter().collect(),
    }
}

/// Compares what a wrong file gets with the `.expect` beside it.
fn compare(differences: &mut Differences, expectation: &Path, ran: &Ran) {
    let name = expectation.file_stem().unwrap().to_string_lossy();
    if (ran.code, ran.stdout.as_slice()) != (CONFIG, b"") {
        differences
            .note(&name, &format!("exit code {:?}, stdout {:?}", ran.code, String::from_utf8_lossy(&ran.stdout)));
    }
    differences.compare(expectation, &ran.stderr);
}

#[test]
fn every_bad_settings_file_gets_its_faults() {
    let folder = folder("config/bad");
    let mut differences = Differences::default();
    for name in names(&folder, ".toml") {
        let ran = Run::new(&["config", "check", "--config", &name]).within(&folder);
        compare(&mut differences, &folder.join(&name).with_extension("expect"), &ran);
    }
    differences.end();
}

#[test]
fn every_bad_rule_file_gets_its_faults_with_their_places() {
    let folder = folder("config/bad/rules");
    let mut differences = Differences::default();
    for name in names(&folder, ".toml") {
        let files = format!("rules.files=builtin:ses,{name}");
        let ran = Run::new(&["config", "check", "--set", &files]).within(&folder);
        compare(&mut differences, &folder.join(&name).with_extension("expect"), &ran);
        for line in ran.stderr.lines() {
            let place = line.strip_prefix(&format!("headgate: {name}:")).unwrap_or_else(|| panic!("no place: {line}"));
            let numbers: Vec<_> = place.splitn(3, ':').take(2).map(str::parse::<usize>).collect();
            assert!(matches!(numbers.as_slice(), [Ok(1..), Ok(1..)]), "no line and column: {line}");
        }
    }
    differences.end();
}

#[test]
fn no_expectation_is_without_its_file() {
    for folder in [folder("config/bad"), folder("config/bad/rules")] {
        for name in names(&folder, ".expect") {
            assert!(folder.join(&name).with_extension("toml").is_file(), "{name}");
        }
    }
}

#[test]
fn serve_says_the_same_of_a_bad_file_and_opens_nothing() {
    let bad = folder("config/bad");
    for name in ["open-relay.toml", "unknown-key-in-section.toml"] {
        let place = tempfile::tempdir().unwrap();
        let outbox = "\n[[upstream]]\nname = \"tray\"\nkind = \"outbox\"\npath = \"outbox\"\n[access_log]\noutput = \"access.log\"\n";
        fs::write(place.path().join(name), fs::read_to_string(bad.join(name)).unwrap() + outbox).unwrap();
        let ran = Run::new(&["serve", "--config", name]).within(place.path());
        let expected = fs::read_to_string(bad.join(name).with_extension("expect")).unwrap();
        assert_eq!((ran.code, ran.stderr), (CONFIG, expected));
        assert_eq!(names(place.path(), ""), [name], "it has made a file");
    }
}

/// Runs `config show` behind a settings file and with variables and flags; gives the wanted values as TOML writes them.
fn effect(file: &str, environment: &[(&str, &str)], flags: &[&str], wanted: &str) -> String {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file.toml"), file).unwrap();
    fs::write(place.path().join("other.toml"), "hostname = \"other.example.com\"\n").unwrap();
    let mut arguments = vec!["config", "show"];
    if !file.is_empty() {
        arguments.extend(["--config", "file.toml"]);
    }
    arguments.extend(flags);
    let run = Run { arguments, environment: environment.to_vec(), stdin: b"" };
    at(&shown(&run, place.path()), wanted).to_string()
}

#[test]
fn a_variable_sets_what_its_name_says() {
    for (name, value, wanted, expected) in [
        ("HEADGATE_HOSTNAME", "relay.example.com", "hostname", "\"relay.example.com\""),
        ("HEADGATE_LIMITS__MESSAGE_SIZE", "2MB", "limits.message_size", "\"2MB\""),
        ("HEADGATE_LIMITS__RECIPIENTS", " 7 ", "limits.recipients", "7"),
        ("HEADGATE_LISTENER__SMTP__ALLOW", "10.0.0.0/8, ::1", "listener.smtp.allow", "[\"10.0.0.0/8\", \"::1/128\"]"),
        ("HEADGATE_LISTENER__SMTP__ALLOW", "", "listener.smtp.allow", "[]"),
        ("HEADGATE_LISTENER__DEFAULT__ADDRESS", "127.0.0.1:26", "listener.default.address", "\"127.0.0.1:26\""),
        ("HEADGATE_RULES__FILES", "builtin:ses-minimal", "rules.files", "[\"builtin:ses-minimal\"]"),
        ("HEADGATE_RULES__VARS__SITE", "a,b", "rules.vars.site", "\"a,b\""),
        ("HEADGATE_RULES__VARS", "{ site = \"a\" }", "rules.vars.site", "\"a\""),
        ("HEADGATE_UPSTREAM__EU_WEST__REGION", "eu-west-1", "upstream.eu_west.region", "\"eu-west-1\""),
        ("HEADGATE_ACCESS_LOG__FORMAT", "%h \"%r\"", "access_log.format", "'%h \"%r\"'"),
        ("HEADGATE_LISTEN", "[::1]:26", "listener.default.address", "\"[::1]:26\""),
        ("HEADGATE_UPSTREAM", "ses", "upstream.default.kind", "\"ses\""),
        ("HEADGATE_UPSTREAM", "ses:eu-west-1", "upstream.default.region", "\"eu-west-1\""),
        ("HEADGATE_UPSTREAM", "outbox:/var/mail:1", "upstream.default.path", "\"/var/mail:1\""),
        ("HEADGATE_CONFIG", "other.toml", "hostname", "\"other.example.com\""),
        ("HEADGATE_CONFIG", "", "hostname", "\"\""),
    ] {
        assert_eq!(effect("", &[(name, value)], &[], wanted), expected, "{name}={value}");
    }
}

#[test]
fn a_flag_sets_what_it_says() {
    for (flags, wanted, expected) in [
        (&["--set", "limits.recipients=7"][..], "limits.recipients", "7"),
        (&["--set", "listener.smtp.allow=10.0.0.0/8,::1"], "listener.smtp.allow", "[\"10.0.0.0/8\", \"::1/128\"]"),
        (&["--set", "rules.vars.equation=a=b"], "rules.vars.equation", "\"a=b\""),
        (&["--set", "hostname=a.example", "--set", "hostname=b.example"], "hostname", "\"b.example\""),
        (&["--listen", "127.0.0.1:26"], "listener.default.address", "\"127.0.0.1:26\""),
        (&["--upstream", "outbox:tray"], "upstream.default.path", "\"tray\""),
        (&["--config", "other.toml"], "hostname", "\"other.example.com\""),
    ] {
        assert_eq!(effect("", &[], flags, wanted), expected, "{flags:?}");
    }
}

#[test]
fn a_flag_wins_over_a_variable_and_a_variable_over_the_file() {
    let file = "[limits]\nrecipients = 1\nreceived = 1\n[[listener]]\nname = \"my-lan\"\nallow = [\"192.0.2.1\"]\n";
    let environment = [
        ("HEADGATE_LIMITS__RECIPIENTS", "2"),
        ("HEADGATE_LISTENER__MY_LAN__ALLOW", "192.0.2.2"),
        ("HEADGATE_LISTENER__MY_LAN__ADDRESS", "127.0.0.1:2"),
    ];
    let flags = ["--set", "limits.recipients=3", "--set", "listener.my-lan.allow=192.0.2.3"];
    for (environment, flags, wanted, expected) in [
        (&[][..], &[][..], "limits.recipients", "1"),
        (&environment, &[], "limits.recipients", "2"),
        (&environment, &flags, "limits.recipients", "3"),
        (&environment, &flags, "limits.received", "1"),
        (&environment, &[], "listener.my-lan.allow", "[\"192.0.2.2/32\"]"),
        (&environment, &flags, "listener.my-lan.allow", "[\"192.0.2.3/32\"]"),
        (&environment, &flags, "listener.my-lan.address", "\"127.0.0.1:2\""),
        (&[("HEADGATE_CONFIG", "other.toml")], &[], "limits.recipients", "1"),
        (
            &[("HEADGATE_LISTEN", "127.0.0.1:2")],
            &["--listen", "127.0.0.1:3"],
            "listener.default.address",
            "\"127.0.0.1:3\"",
        ),
        (
            &[("HEADGATE_UPSTREAM", "ses:eu-west-1")],
            &["--upstream", "ses:us-east-1"],
            "upstream.default.region",
            "\"us-east-1\"",
        ),
    ] {
        assert_eq!(effect(file, environment, flags, wanted), expected, "{environment:?} {flags:?} {wanted}");
    }
}

#[test]
fn what_kubernetes_puts_into_the_environment_of_a_service_named_headgate_is_no_setting() {
    let place = tempfile::tempdir().unwrap();
    let plain = Run::new(&["config", "show"]);
    let service = Run::new(&["config", "show"])
        .env("HEADGATE_PORT", "tcp://10.0.0.11:25")
        .env("HEADGATE_SERVICE_HOST", "10.0.0.11")
        .env("HEADGATE_SERVICE_PORT_SMTP", "25")
        .env("HEADGATE_PORT_25_TCP_ADDR", "10.0.0.11");
    assert_eq!(shown(&service, place.path()), shown(&plain, place.path()));
}
