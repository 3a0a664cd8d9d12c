//! `headgate doctor` against a strict fake of SES, an emulator, mail servers and nothing at all.

use serde_json::Value;

use crate::{
    fake_ses::{Account, Answer, FakeSes, Identity, Profile, Standing},
    fixtures::{Ran, Run},
    gateway::{BASE, CREDENTIALS, Gateway, ses},
    parties::{
        authority::Authority,
        free_port,
        moto::{DOMAIN, Moto, REGION},
        next_hop::{NextHop, Privacy, Script},
    },
};

/// What it said.
struct Told {
    lines: Vec<Value>,
    code: Option<i32>,
}

impl Told {
    fn of(ran: &Ran) -> Self {
        let lines = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", String::from_utf8_lossy(&ran.stdout), ran.stderr));
        Self { lines, code: ran.code }
    }

    /// State, what was found and what to do, of each line of a check.
    fn all(&self, check: &str) -> Vec<(&str, &str, &str)> {
        self.lines
            .iter()
            .filter(|line| line["check"] == check)
            .map(|line| {
                let part = |name: &str| line[name].as_str().unwrap_or_default();
                (part("state"), part("found"), part("todo"))
            })
            .collect()
    }

    /// The only line of a check.
    fn one(&self, check: &str) -> (&str, &str, &str) {
        let all = self.all(check);
        assert_eq!(all.len(), 1, "{check}: {:#?}", self.lines);
        all[0]
    }

    fn states(&self, checks: &[&str]) -> Vec<&str> {
        checks.iter().map(|check| self.one(check).0).collect()
    }
}

/// Runs it in a folder of its own with an SES upstream at that endpoint.
fn doctor(endpoint: &str, arguments: &[&str]) -> Told {
    with_settings(&ses(endpoint), arguments, &[])
}

fn with_settings(settings: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Told {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("headgate.toml"), settings).unwrap();
    let mut run = Run::new(&["doctor", "--json", "--config", "headgate.toml"]);
    run.arguments.extend(arguments);
    run.environment.extend(environment);
    let told = Told::of(&run.within(folder.path()));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["headgate.toml"], "it leaves nothing behind");
    told
}

fn fake() -> FakeSes {
    let fake = FakeSes::start(Profile::Today);
    fake.set_identities([Identity::good("example.com")], 100);
    fake
}

#[test]
fn where_all_is_well_nothing_is_to_be_done() {
    let fake = fake();
    fake.set_account(Account { max_send_rate: 14.0, max_24_hour_send: 50_000.0, sent_last_24_hours: 12.0 });
    let told = doctor(&fake.endpoint(), &["--from", "a@mail.example.com"]);
    assert_eq!(told.code, Some(0), "{:#?}", told.lines);
    let checks =
        ["settings", "rules", "store", "region", "credentials", "reachable", "clock", "sandbox", "quota", "sending"];
    assert_eq!(told.states(&checks), ["ok"; 10]);
    assert_eq!(told.one("credentials").1, "from environment variables");
    assert_eq!(told.one("quota").1, "recipients: 49988 of 50000 are left in 24 hours, 14 a second");
    assert_eq!(told.one("identity").1, "a@mail.example.com is verified by example.com");
    assert_eq!(told.one("dkim"), ("ok", "example.com signs its mail", ""));
    assert_eq!(told.states(&["dns", "certificate", "live"]), ["skip"; 3]);
    assert_eq!(told.all("mail-from"), []);
    assert!(fake.calls().is_empty(), "nothing is sent unless it is asked for");
    let all = format!("{:?}", told.lines);
    for (name, secret) in &CREDENTIALS[..2] {
        assert!(!all.contains(secret), "{name} is shown: {all}");
    }
}

#[test]
fn what_the_account_may_not_do_is_told() {
    let fake = fake();
    for (standing, states, code) in [
        (Standing { production: false, ..Standing::default() }, ["warn", "ok"], 0),
        (Standing { sending: false, ..Standing::default() }, ["ok", "fail"], 1),
        (Standing { enforcement: "SHUTDOWN", ..Standing::default() }, ["ok", "fail"], 1),
        (Standing { enforcement: "PROBATION", ..Standing::default() }, ["ok", "warn"], 0),
    ] {
        fake.set_standing(standing);
        let told = doctor(&fake.endpoint(), &[]);
        assert_eq!((told.states(&["sandbox", "sending"]), told.code), (states.to_vec(), Some(code)), "{standing:?}");
    }
    fake.set_standing(Standing::default());
    fake.set_account(Account { max_send_rate: 1.0, max_24_hour_send: 200.0, sent_last_24_hours: 200.0 });
    let told = doctor(&fake.endpoint(), &[]);
    assert_eq!((told.one("quota").0, told.code), ("fail", Some(1)));
}

#[test]
fn a_look_that_iam_denies_names_its_action_and_what_works_without() {
    let fake = fake();
    fake.deny(&["ses:GetAccount"]);
    let told = doctor(&fake.endpoint(), &["--from", "a@example.com"]);
    assert_eq!(told.code, Some(0), "mail goes out all the same");
    assert_eq!(
        told.states(&["reachable", "clock", "sandbox", "quota", "sending"]),
        ["ok", "ok", "warn", "warn", "warn"]
    );
    assert!(
        told.one("quota").2.starts_with("allow ses:GetAccount; without it Headgate feels"),
        "{:?}",
        told.one("quota")
    );
    assert_eq!(told.states(&["identity", "dkim"]), ["ok"; 2]);

    fake.deny(&["ses:ListEmailIdentities"]);
    let told = doctor(&fake.endpoint(), &["--from", "a@example.com"]);
    assert_eq!(told.states(&["identity", "dkim"]), ["ok"; 2], "the other action tells as much of a sender");
    let told = doctor(&fake.endpoint(), &[]);
    assert!(told.one("identity").2.starts_with("allow ses:ListEmailIdentities; without it "));

    fake.deny(&["ses:GetEmailIdentity"]);
    let told = doctor(&fake.endpoint(), &["--from", "a@example.com"]);
    assert_eq!(told.states(&["identity", "dkim"]), ["ok", "warn"]);
    assert!(told.one("dkim").2.starts_with("allow ses:GetEmailIdentity; without it "));

    fake.deny(&["ses:GetAccount", "ses:ListEmailIdentities", "ses:GetEmailIdentity"]);
    let told = doctor(&fake.endpoint(), &["--from", "a@example.com"]);
    assert_eq!((told.one("identity").0, told.all("dkim").len(), told.code), ("warn", 0, Some(0)));
}

#[test]
fn the_identities_of_all_senders_are_looked_at() {
    let fake = FakeSes::start(Profile::Today);
    let pending = Identity { status: "PENDING", dkim: "PENDING", ..Identity::good("pending.example") };
    let unsigned = Identity { signs: false, dkim: "NOT_STARTED", ..Identity::good("c@unsigned.example") };
    let bounded = Some(("m.example.com", "FAILED", "REJECT_MESSAGE"));
    let own = Identity { mail_from: bounded, ..Identity::good("example.com") };
    fake.set_identities([pending, Identity::good("other.example"), unsigned, own], 1);
    let settings = format!(
        "{}feedback = \"b@example.com\"\n[bounce]\nfrom = \"postmaster@pending.example\"\n",
        ses(&fake.endpoint())
    );
    let told = with_settings(&settings, &["--from", "c@unsigned.example", "--from", "d@nobody.example"], &[]);
    let found: Vec<_> = told.all("identity").into_iter().map(|(state, found, _)| (state, found)).collect();
    assert_eq!(
        found,
        [
            ("ok", "c@unsigned.example is verified"),
            ("fail", "d@nobody.example: neither the address nor its domain is an identity"),
            ("fail", "postmaster@pending.example is not verified by pending.example (PENDING)"),
            ("ok", "b@example.com is verified by example.com"),
        ]
    );
    let record = "token1._domainkey.pending.example CNAME token1.dkim.amazonses.com";
    assert!(told.all("identity")[2].2.contains(record));
    let signed: Vec<_> = told.all("dkim").into_iter().map(|(state, ..)| state).collect();
    assert_eq!(signed, ["warn", "warn", "ok"]);
    assert_eq!(told.one("mail-from").0, "fail");
    assert_eq!(told.code, Some(1));
}

#[test]
fn without_senders_the_list_tells_who_could_be_one() {
    let fake = FakeSes::start(Profile::Today);
    assert_eq!(doctor(&fake.endpoint(), &[]).one("identity").0, "fail");
    let all: Vec<Identity> = (0..7).map(|number| Identity::good(&format!("{number}.example"))).collect();
    fake.set_identities(all, 2);
    let told = doctor(&fake.endpoint(), &[]);
    assert!(
        told.one("identity").1.starts_with("7 of 7 are verified: 0.example, 1.example"),
        "{:?}",
        told.one("identity")
    );
}

#[test]
fn a_clock_that_is_off_is_told_before_signatures_fail() {
    let fake = fake();
    for (seconds, state) in [(90, "warn"), (-400, "fail"), (5, "ok")] {
        fake.set_clock_ahead(seconds);
        let told = doctor(&fake.endpoint(), &[]);
        assert_eq!(told.one("clock").0, state, "{:?}", told.one("clock"));
    }
}

#[test]
fn credentials_that_ses_does_not_take_fail_though_it_answers() {
    let fake = fake();
    fake.fail_looks(Some((
        403,
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
    )));
    let told = doctor(&fake.endpoint(), &[]);
    assert_eq!(told.states(&["credentials", "reachable", "clock", "quota"]), ["fail", "ok", "ok", "skip"]);
    assert!(told.one("credentials").1.contains("UnrecognizedClientException"));
    assert_eq!(told.code, Some(1));
    fake.fail_looks(Some((500, "InternalFailure", "We are sorry")));
    let told = doctor(&fake.endpoint(), &[]);
    assert_eq!((told.states(&["reachable", "quota"]), told.code), (vec!["warn", "warn"], Some(0)));
}

#[test]
fn a_live_mail_goes_where_destination_says_and_not_where_the_header_does() {
    let fake = fake();
    let settings = format!("{}configuration_set = \"events\"\n", ses(&fake.endpoint()));
    let told = with_settings(&settings, &["--live", "--from", "a@example.com"], &[]);
    let [call] = fake.accepted().try_into().unwrap_or_else(|calls| panic!("{calls:?} {:#?}", told.lines));
    assert_eq!(call.recipients().collect::<Vec<_>>(), ["success@simulator.amazonses.com"]);
    assert_eq!(call.header("To"), ["bounce@simulator.amazonses.com"]);
    assert_eq!(
        (call.header("From"), call.feedback.as_deref()),
        (vec!["a@example.com".to_owned()], Some("a@example.com"))
    );
    assert_eq!(call.configuration_set.as_deref(), Some("events"));
    let (state, found, todo) = told.one("live");
    assert_eq!(state, "ok");
    assert!(found.contains(call.message_id().unwrap()), "{found}");
    assert!(todo.contains(&format!("headgate-id={}", call.tag("headgate-id").unwrap())), "{todo}");
    assert_eq!(told.code, Some(0));

    let told = doctor(&fake.endpoint(), &["--live"]);
    assert_eq!(
        (told.one("live").0, told.code, fake.counts().received),
        ("fail", Some(1), 1),
        "nobody is known to send"
    );
    let denied = "User: x is not authorized to perform: ses:SendEmail";
    fake.otherwise(Answer::error(403, "AccessDeniedException", denied));
    let told = doctor(&fake.endpoint(), &["--live", "--from", "a@example.com"]);
    assert!(told.one("live").2.starts_with("allow ses:SendEmail and ses:SendRawEmail"), "{:?}", told.one("live"));
    let broken = format!("{settings}[limits]\nrecipients = 0\n");
    let told = with_settings(&broken, &["--live", "--from", "a@example.com"], &[]);
    assert_eq!(
        (told.one("live").0, told.code, fake.counts().received),
        ("skip", Some(78), 2),
        "no mail by broken settings"
    );
}

#[test]
fn each_upstream_is_looked_at_though_another_is_down() {
    let fake = fake();
    let down = ses(&format!("http://127.0.0.1:{}", free_port())).replace("fake", "down");
    let settings = format!("{down}{}[[upstream]]\nname = \"doubt\"\nkind = \"pigeon\"\n", ses(&fake.endpoint()));
    let told = with_settings(&settings, &[], &[]);
    let reached: Vec<_> = told.lines.iter().filter(|line| line["check"] == "reachable").collect();
    let names: Vec<_> = reached.iter().map(|line| (line["upstream"].as_str(), line["state"].as_str())).collect();
    assert_eq!(names, [(Some("down"), Some("fail")), (Some("fake"), Some("ok"))]);
    assert_eq!(told.code, Some(78));
    assert!(told.all("settings")[0].1.contains("upstream[2].kind"), "{:?}", told.all("settings"));
}

#[test]
fn a_certificate_is_seen_with_its_dates() {
    let authority = Authority::new("DNS:localhost");
    let server = NextHop::start(Script { privacy: Privacy::Implicit(authority.server()), ..Script::default() });
    let ca = authority.ca_file();
    let settings = ses(&format!("https://localhost:{}", server.port()));
    let told = with_settings(&settings, &[], &[("SSL_CERT_FILE", ca.to_str().unwrap())]);
    let (state, found, todo) = told.one("certificate");
    assert_eq!((state, todo.is_empty()), ("warn", false), "it ends in two days");
    assert!(found.starts_with("it is trusted and ends on 20"), "{found}");
    assert_eq!(told.states(&["dns", "reachable"]), ["ok", "fail"], "what answers there is no SES");
    let told = with_settings(&settings, &[], &[]);
    assert_eq!(told.one("certificate").0, "fail", "nobody vouches for it: {:?}", told.one("certificate"));
}

#[test]
fn a_mail_server_is_looked_at_up_to_its_login() {
    let authority = Authority::new("IP:127.0.0.1");
    let script = Script {
        privacy: Privacy::Starttls(authority.server()),
        login: Some(("evan", "chicken")),
        extensions: vec!["AUTH PLAIN"],
        ..Script::default()
    };
    let server = NextHop::start(script);
    let settings = |password: &str, more: &str| {
        format!(
            "[[upstream]]\nname = \"hop\"\nkind = \"smtp\"\naddress = \"127.0.0.1:{}\"\nusername = \"evan\"\n\
             password = \"{password}\"\n{more}",
            server.port()
        )
    };
    let trusted = format!("ca_file = \"{}\"\n", authority.ca_file().display());
    let checks = ["reachable", "certificate", "credentials"];
    for (password, more, states, code) in [
        ("chicken", trusted.as_str(), ["ok", "warn", "ok"], 0),
        ("wrong", &trusted, ["ok", "skip", "fail"], 1),
        ("chicken", "", ["ok", "fail", "skip"], 1),
    ] {
        let told = with_settings(&settings(password, more), &[], &[]);
        assert_eq!((told.states(&checks), told.code), (states.to_vec(), Some(code)), "{:#?}", told.lines);
        assert!(!format!("{:?}", told.lines).contains(password), "the password is shown");
        assert_eq!(told.all("live"), [], "it is not SES");
    }
}

#[test]
fn the_store_of_a_gateway_that_runs_is_in_use() {
    let fake = fake();
    let gateway = Gateway::start(&format!("{BASE}{}[delivery]\nmode = \"queue\"\n", ses(&fake.endpoint())));
    let config = gateway.path("headgate.toml");
    let ran = Run::new(&["doctor", "--json", "--config", config.to_str().unwrap()]).within(gateway.folder());
    let told = Told::of(&ran);
    assert_eq!(told.one("store").0, "ok");
    assert!(told.one("store").1.contains("is in use by a gateway that runs"), "{:?}", told.one("store"));
}

#[test]
fn an_emulator_tells_its_identities_and_no_account() {
    let moto = Moto::start();
    let settings = ses(&moto.endpoint()).replace("us-east-1", REGION);
    let told = with_settings(&settings, &["--from", &format!("a@{DOMAIN}"), "--from", "b@nobody.example"], &[]);
    let found: Vec<_> = told.all("identity").into_iter().map(|(state, ..)| state).collect();
    assert_eq!(found, ["ok", "fail"], "{:#?}", told.lines);
    assert_eq!(told.states(&["reachable", "sandbox", "quota", "sending"]), ["ok", "skip", "skip", "skip"]);
    assert_eq!(moto.sent(), []);
}
