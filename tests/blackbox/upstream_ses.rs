//! What the ses upstream asks of SES besides the message, and what it learns of the account.

use std::process::Command;

use headgate::upstream::{self, Capacity, Settings, Site, Upstream};

use crate::{
    fake_ses::{Account, Answer, FakeSes, Profile},
    gateway::{BASE, CREDENTIALS, Gateway, ses},
    parties::{PATIENCE, moto::Moto},
    smtp::Smtp,
};

const ARN: &str = "arn:aws:ses:us-east-1:123456789012:identity/example.com";

/// A rule file that keeps X-SES-.
const RULES: &str = r#"
[[rule]]
name = "ruled"
when = { header = "X-Rule" }
do   = [{ configuration_set = "ruled" }, { tag = { site = "ruled" } }]
"#;

/// Runs one test of this program again in an environment with credentials; true in that run.
fn with_environment(test: &str, more: &[(&str, &str)]) -> bool {
    const MARK: &str = "HEADGATE_TEST_AGAIN";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(MARK, "1");
    let output = command.envs(CREDENTIALS.iter().copied()).envs(more.iter().copied()).output().unwrap();
    let ran = String::from_utf8_lossy(&output.stdout).contains("1 passed");
    assert!(output.status.success() && ran, "{}", String::from_utf8_lossy(&output.stderr));
    false
}

#[test]
fn a_rule_wins_over_a_kept_field_and_a_field_over_the_settings() {
    let fake = FakeSes::start(Profile::Today);
    let upstream = ses(&fake.endpoint())
        + &format!(
            "configuration_set = \"default\"\ntags = {{ team = \"ops\", site = \"a\" }}\nfrom_identity_arn = \"{ARN}\"\n\
             feedback_identity_arn = \"{ARN}\"\nfeedback = \"reports@example.com\"\nlist_management = \"list; topic=t\"\n\
             tenant = \"one\"\n"
        );
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.toml");
    std::fs::write(&rules, RULES).unwrap();
    let gateway = Gateway::start(&format!("{BASE}{upstream}[rules]\nfiles = [\"{}\"]\n", rules.display()));
    let mut client = Smtp::ready(gateway.port());
    let plain = b"From: a@example.com\r\nSubject: x\r\n\r\nhi\r\n";
    assert_eq!(client.submit("a@example.com", &["b@example.com"], plain).code, 250);
    let kept = b"From: a@example.com\r\nX-SES-Configuration-Set: own\r\nX-SES-MESSAGE-TAGS: site=b,\r\n kind=c\r\nX-SES-TENANT: two\r\nSubject:\tx\r\n\r\nhi\r\n";
    assert_eq!(client.submit("a@example.com", &["b@example.com"], kept).code, 250);
    let ruled = b"From: a@example.com\r\nX-SES-Configuration-Set: own\r\nX-Rule: yes\r\n\r\nhi\r\n";
    assert_eq!(client.submit("a@example.com", &["b@example.com"], ruled).code, 250);

    let calls = fake.accepted();
    let sets: Vec<_> = calls.iter().map(|call| call.configuration_set.as_deref().unwrap()).collect();
    assert_eq!(sets, ["default", "own", "ruled"]);
    let tags = |at: usize, name: &str| calls[at].tag(name).unwrap_or_default().to_owned();
    assert_eq!([tags(0, "team"), tags(0, "site"), tags(0, "kind")], ["ops", "a", ""]);
    assert_eq!([tags(1, "team"), tags(1, "site"), tags(1, "kind")], ["ops", "b", "c"]);
    assert_eq!([tags(2, "team"), tags(2, "site")], ["ops", "ruled"]);
    assert!(calls.iter().all(|call| call.tag("headgate-id").is_some()));
    for (at, tenant) in [(0, "one"), (1, "two"), (2, "one")] {
        let request = &calls[at].request;
        assert_eq!(request["TenantName"], tenant);
        assert_eq!(request["FromEmailAddressIdentityArn"], ARN);
        assert_eq!(request["FeedbackForwardingEmailAddressIdentityArn"], ARN);
        assert_eq!(request["ListManagementOptions"]["ContactListName"], "list");
        assert_eq!(request["ListManagementOptions"]["TopicName"], "t");
        assert_eq!(calls[at].feedback.as_deref(), Some("reports@example.com"));
    }
    let whole = String::from_utf8(calls[1].raw.to_vec()).unwrap();
    let (_, behind_received) = whole.split_once("From: ").unwrap();
    assert_eq!(behind_received, "a@example.com\r\nSubject:\tx\r\n\r\nhi\r\n");
}

#[test]
fn reports_go_nowhere_when_the_settings_say_none() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::start(&format!("{BASE}{}feedback = \"none\"\n", ses(&fake.endpoint())));
    let mail = b"From: a@example.com\r\n\r\nhi\r\n";
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &["b@example.com"], mail).code, 250);
    assert_eq!(fake.accepted()[0].feedback, None);
}

#[test]
fn an_envelope_for_more_than_one_call_goes_out_in_several() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::start(&format!("{BASE}{}[delivery]\nmode = \"queue\"\n", ses(&fake.endpoint())));
    let recipients: Vec<String> = (1..=51).map(|number| format!("b{number}@example.com")).collect();
    let recipients: Vec<&str> = recipients.iter().map(String::as_str).collect();
    let mail = b"From: a@example.com\r\n\r\nhi\r\n";
    let reply = Smtp::ready(gateway.port()).submit("a@example.com", &recipients, mail);
    assert_eq!(reply.code, 250, "{reply:?}");
    assert!(fake.wait_for_accepted(2, PATIENCE));
    assert_eq!(fake.accepted().iter().map(|call| call.to.len()).collect::<Vec<_>>(), [50, 1]);
}

async fn built(fake: &FakeSes) -> std::sync::Arc<dyn Upstream> {
    let settings = Settings { region: "us-east-1".to_owned(), endpoint_url: fake.endpoint(), ..Settings::default() };
    upstream::build(&settings, &Site::default()).await.unwrap()
}

#[test]
fn the_account_tells_its_capacity() {
    if !with_environment("upstream_ses::the_account_tells_its_capacity", &[]) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let fake = FakeSes::start(Profile::Today);
        let upstream = built(&fake).await;
        let account = |daily| Account { max_send_rate: 14.0, max_24_hour_send: daily, sent_last_24_hours: 7.0 };
        fake.set_account(account(50_000.0));
        let known = Capacity { rate: Some(14.0), daily: Some(50_000.0), sent: Some(7.0) };
        assert_eq!(upstream.check().await, Ok(known));
        fake.set_account(account(-1.0));
        assert_eq!(upstream.check().await, Ok(Capacity { daily: None, ..known }));
        fake.deny_account(true);
        assert_eq!(upstream.check().await, Ok(Capacity::default()), "it may send and not look");
        drop(fake);
        // The first look may still use the connection that is gone.
        assert!(upstream.check().await.is_err());
        let fault = upstream.check().await.unwrap_err();
        assert!(fault.contains("refused"), "{fault}");
    });
}

#[test]
fn without_credentials_the_check_fails() {
    let none = [
        ("AWS_ACCESS_KEY_ID", ""),
        ("AWS_SECRET_ACCESS_KEY", ""),
        ("AWS_CONFIG_FILE", "/nowhere"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/nowhere"),
    ];
    if !with_environment("upstream_ses::without_credentials_the_check_fails", &none) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fault = runtime.block_on(async {
        let fake = FakeSes::start(Profile::Today);
        fake.otherwise(Answer::Accept);
        built(&fake).await.check().await.unwrap_err()
    });
    assert!(fault.contains("credential"), "{fault}");
}

#[test]
fn a_role_is_taken_on_at_moto_and_signs_the_call() {
    let again = std::env::var_os("HEADGATE_TEST_AGAIN").is_some();
    let moto = (!again).then(Moto::start);
    let endpoint = moto.as_ref().map(Moto::endpoint).unwrap_or_default();
    let test = "upstream_ses::a_role_is_taken_on_at_moto_and_signs_the_call";
    if !with_environment(test, &[("AWS_ENDPOINT_URL_STS", &endpoint)]) {
        return;
    }
    let fake = FakeSes::start(Profile::Today);
    let settings = Settings {
        region: "us-east-1".to_owned(),
        endpoint_url: fake.endpoint(),
        role_arn: "arn:aws:iam::123456789012:role/mail".to_owned(),
        external_id: "site".to_owned(),
        ..Settings::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let upstream = upstream::build(&settings, &Site::default()).await.unwrap();
        let attempt = upstream::Attempt {
            id: headgate::mail::Id::nil(),
            sender: headgate::mail::Sender(None),
            recipients: vec![headgate::mail::Address::parse("b@example.com").unwrap()],
            message: bytes::Bytes::from("From: a@example.com\r\n\r\nhi\r\n"),
            options: headgate::mail::Options::default(),
            dsn: Default::default(),
            asked: Default::default(),
        };
        upstream.send(attempt).await.of(0)
    });
    assert_eq!(outcome.fate, headgate::mail::Fate::Delivered, "{}", outcome.cause);
    let key = &fake.accepted()[0].access_key;
    assert!(key.starts_with("ASIA"), "{key} is no key of a role");
}
