//! What the tests of the checks begin with: facts of which none is wrong.

use super::*;
use crate::upstream::{Account, Credentials, SesExam, Settings, Sight, SmtpExam, SmtpFault, Validity};

pub(super) const NOW: &str = "2026-08-01T12:00:00Z";

/// SES as it has to be.
pub(super) fn ses() -> SesExam {
    SesExam {
        region: Some(("eu-west-1".to_owned(), "the settings")),
        credentials: Ok(Credentials {
            source: "environment variables".to_owned(),
            role: None,
            key: "MPLE".to_owned(),
            expires: None,
        }),
        sight: Some(Sight {
            host: "email.eu-west-1.amazonaws.com".to_owned(),
            port: 443,
            lookup: Some(Ok(3)),
            connection: Ok(()),
            certificate: Some(Ok(Validity {
                from: "2026-01-01T00:00:00Z".parse().unwrap(),
                until: "2027-01-01T00:00:00Z".parse().unwrap(),
            })),
        }),
        account: Ok(Account {
            production: true,
            sending: true,
            enforcement: "HEALTHY".to_owned(),
            quota: Some([14.0, 50_000.0, 12.0]),
        }),
        clock: Some(jiff::SignedDuration::ZERO),
        identities: Ok(vec![("example.com".to_owned(), true)]),
        senders: Vec::new(),
    }
}

/// A mail server with which a connection came that far.
pub(super) fn smtp(session: Result<Option<Result<Validity, String>>, SmtpFault>) -> Exam {
    Exam::Smtp(Box::new(SmtpExam { host: "mail.example.com".to_owned(), port: 587, lookup: Some(Ok(1)), session }))
}

/// An upstream of SES with these facts.
pub(super) fn subject(exam: SesExam) -> Subject {
    Subject {
        settings: Settings::default(),
        exam: Exam::Ses(Box::new(exam)),
        live: live::Sent::No,
        now: NOW.parse().unwrap(),
    }
}

#[test]
fn nothing_is_to_be_done_where_all_is_well() {
    let gateway = Gateway {
        draft: Draft {
            settings: Some(config::Settings::default()),
            rules: Some(Ok(crate::rules::Rules::none())),
            ..Draft::default()
        },
        file: None,
        store: None,
    };
    let lines = judge(&gateway, &[subject(ses())]);
    assert!(lines.iter().all(|line| matches!(line.state, State::Ok | State::Skip)), "{lines:#?}");
    let names: Vec<&str> = lines.iter().map(|line| line.check).collect();
    let place = |name: &str| CHECKS.iter().position(|row| row.name == name);
    assert!(names.is_sorted_by_key(|name| place(name)), "{names:?}");
}

#[test]
fn each_sender_is_looked_at_once() {
    let address = |text: &str| Address::parse(text).unwrap();
    let site = Site { bounce: Some(address("b@example.com")), ..Site::default() };
    let settings = Settings { feedback: Feedback::To(address("c@example.com")), ..Settings::default() };
    let found = senders(&settings, &site, &[address("a@example.com"), address("b@example.com")]);
    assert_eq!(found, ["a@example.com", "b@example.com", "c@example.com"].map(address));
}
