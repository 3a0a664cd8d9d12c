//! Where `headgate send` finds SES, its credentials and its settings.

use std::fs;

use crate::{
    link::Link,
    parties::free_port,
    send::{MAIL, Scene, ran},
};

#[test]
fn nobody_at_the_endpoint_is_tried_again_later() {
    let scene = Scene::script();
    let port = free_port();
    let endpoint = format!("http://127.0.0.1:{port}/");
    for (more, code) in [(&["-r"][..], 75), (&["-r", "--legacy-exit"], 32)] {
        let arguments = ["-k", "credentials", "-e", &endpoint, "b@example.net"];
        let ended = scene.link.run(arguments.iter().chain(more), MAIL.as_bytes());
        assert_eq!(ended.code, Some(code));
        assert!(ended.stderr.starts_with(&format!("Can't connect to 127.0.0.1:{port} (")), "{}", ended.stderr);
    }
}

#[test]
fn an_endpoint_that_is_no_url_is_told() {
    let scene = Scene::script();
    for endpoint in ["", "email.us-east-1.amazonaws.com"] {
        let ended = scene.link.run(["-k", "credentials", "-e", endpoint, "-r", "b@example.net"], MAIL.as_bytes());
        let text = format!("-e {endpoint}: not a URL such as https://email.eu-west-1.amazonaws.com/\n");
        assert_eq!(ended, ran(1, "", &text));
    }
}

#[test]
fn credentials_come_from_the_option_then_the_variables_then_the_sdk() {
    let scene = Scene::script();
    let other = |name: &str| {
        let text = format!("AWSAccessKeyId={name}\r\nAWSSecretKey=a=b\r\n# comment\r\n\r\n");
        fs::write(scene.folder.path().join(name), text).unwrap();
    };
    ["AKIDFIRST", "AKIDSECOND"].into_iter().for_each(other);
    let endpoint = scene.fake.endpoint();
    let arguments = ["-e", &endpoint, "-r", "b@example.net"];
    let link = || Link::new(scene.folder.path(), "ses-send-email.pl");
    let chain = link().env("AWS_ACCESS_KEY_ID", "AKIDCHAIN").env("AWS_SECRET_ACCESS_KEY", "x");
    let one = link().env("AWS_CREDENTIALS_FILE", "AKIDSECOND").env("AWS_ACCESS_KEY_ID", "AKIDCHAIN");
    let both = link().env("AWS_CREDENTIALS_FILE", "AKIDSECOND").env("AWS_CREDENTIAL_FILE", "AKIDFIRST");
    for (link, key) in [(&chain, "AKIDCHAIN"), (&one, "AKIDSECOND"), (&both, "AKIDFIRST")] {
        assert_eq!(link.run(arguments, MAIL.as_bytes()), ran(0, "", ""));
        assert_eq!(scene.fake.calls().last().unwrap().access_key, key);
    }
    both.run(["-k", "credentials"].iter().chain(&arguments), MAIL.as_bytes());
    assert_eq!(scene.fake.calls().last().unwrap().access_key, "AKIDEXAMPLE");
}

#[test]
fn missing_and_broken_credentials_are_tried_again_and_never_shown() {
    let scene = Scene::script();
    fs::write(scene.folder.path().join("broken"), "AWSAccessKeyId=A\nhush\n").unwrap();
    let endpoint = scene.fake.endpoint();
    for (file, text, legacy) in [
        ("nowhere", "Cannot open credentials file nowhere: ", 2),
        ("broken", "Cannot parse credentials entry on line 2 in broken", 25),
        ("", "Unspecified AWS credentials file.", 255),
    ] {
        let arguments = ["-k", file, "-e", &endpoint, "-r", "b@example.net"];
        let ended = scene.link.run(arguments, MAIL.as_bytes());
        assert_eq!(ended.code, Some(75), "{ended:?}");
        assert!(ended.stderr.starts_with(text) && !ended.stderr.contains("hush"), "{}", ended.stderr);
        let ended = scene.link.run(arguments.iter().chain(&["--legacy-exit"]), MAIL.as_bytes());
        assert_eq!(ended.code, Some(legacy), "{ended:?}");
    }
    assert!(scene.fake.calls().is_empty());
}

#[test]
fn the_settings_are_honoured_and_the_access_line_goes_to_their_file_only() {
    let scene = Scene::script();
    let settings = "hostname = \"h.example\"\n[[upstream]]\nname = \"one\"\nregion = \"eu-west-1\"\nconfiguration_set = \"cs\"\n\
                    [access_log]\noutput = \"access.log\"\nformat = \"json\"\n";
    fs::write(scene.folder.path().join("headgate.toml"), settings).unwrap();
    let link = Link::new(scene.folder.path(), "ses-send-email.pl").env("HEADGATE_CONFIG", "headgate.toml");
    let endpoint = scene.fake.endpoint();
    let arguments = ["-k", "credentials", "-e", &endpoint, "-r", "-f", "a@example.com", "b@example.net"];
    assert_eq!(link.run(arguments, MAIL.as_bytes()), ran(0, "", ""));
    assert_eq!(scene.call().configuration_set.as_deref(), Some("cs"));
    let log = fs::read_to_string(scene.folder.path().join("access.log")).unwrap();
    let line: serde_json::Value = serde_json::from_str(log.trim_end()).unwrap();
    assert_eq!((&line["outcome"], &line["upstream"]), (&"delivered".into(), &"one".into()));
    assert_eq!(line["request"], "SMTP from=<a@example.com> to=<b@example.net>");

    fs::write(scene.folder.path().join("headgate.toml"), "hostnam = 1\n").unwrap();
    let broken = link.run(arguments, MAIL.as_bytes());
    assert_eq!(broken.code, Some(75), "{broken:?}");
    assert!(broken.stderr.contains("headgate.toml:1:1"), "{}", broken.stderr);
}
