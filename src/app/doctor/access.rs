//! Region and credentials; the login of a mail server.

use crate::upstream::{Credentials, Exam, Silence, SmtpExam, Stage};

use super::{CheckRow, Found, Look, Subject};

pub(super) const REGION: CheckRow = CheckRow {
    name: "region",
    about: "a region is set, and where",
    look: Look::Upstream(|subject| region(&subject.exam).into_iter().collect()),
};
pub(super) const CREDENTIALS: CheckRow = CheckRow {
    name: "credentials",
    about: "there are credentials, from which source, and SES takes them; the login of a mail server",
    look: Look::Upstream(|subject| credentials(subject).into_iter().collect()),
};

fn region(exam: &Exam) -> Option<Found> {
    let Exam::Ses(exam) = exam else { return None };
    Some(match &exam.region {
        Some((region, origin)) => Found::ok(format!("{region}, from {origin}")),
        None => Found::fail("none is set", "set region, or AWS_REGION, or a profile that has one"),
    })
}

fn credentials(subject: &Subject) -> Option<Found> {
    match &subject.exam {
        Exam::Ses(exam) => Some(match &exam.credentials {
            Ok(credentials) => taken(credentials, exam.account.as_ref().err()),
            Err(cause) if subject.settings.role_arn.is_empty() || !cause.starts_with("role ") => Found::fail(
                format!("none are found: {cause}"),
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile, or give the container or the instance a role",
            ),
            Err(cause) => Found::fail(
                cause.clone(),
                "let that role trust us (sts:AssumeRole, external_id), and let our credentials take it on",
            ),
        }),
        Exam::Smtp(exam) => Some(login(subject, exam)),
        Exam::Outbox { .. } => None,
    }
}

fn taken(credentials: &Credentials, silence: Option<&Silence>) -> Found {
    let Credentials { source, role, key, expires } = credentials;
    let mut text = format!("from {source}");
    if let Some(role) = role {
        text += &format!(", for {role}");
    }
    if !key.is_empty() {
        text += &format!(", a key that ends in {key}");
    }
    if let Some(expires) = expires {
        text += &format!(", valid until {}", expires.strftime("%Y-%m-%d %H:%M UTC"));
    }
    match silence {
        Some(Silence::Rejected(words)) => Found::fail(
            format!("{text}; SES does not take them: {words}"),
            "renew or correct them; when they are right, look at the clock and at the region",
        ),
        Some(Silence::Unasked | Silence::Unreached(_)) => Found::ok(format!("{text}; SES has not seen them")),
        _ => Found::ok(text),
    }
}

fn login(subject: &Subject, exam: &SmtpExam) -> Found {
    let name = &subject.settings.username;
    if name.is_empty() {
        return if subject.settings.is_ses() {
            Found::fail("no login is set", "set username and password_file to SMTP credentials of SES")
        } else {
            Found::skip("no login is set")
        };
    }
    match &exam.session {
        Ok(_) => Found::ok(format!("the server takes the login {name}")),
        Err(fault) if fault.stage == Stage::Login => {
            let ses = "; SES has SMTP credentials of their own, which are not the access key, for each region";
            let ses = if subject.settings.is_ses() { ses } else { "" };
            Found::fail(fault.cause.clone(), format!("correct username and password_file{ses}"))
        }
        Err(_) => Found::skip("no login was tried, since the connection did not come that far"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doctor::{
        State,
        tests::{ses, smtp, subject},
    };

    fn judged(subject: &Subject) -> Found {
        credentials(subject).unwrap()
    }

    #[test]
    fn the_source_of_credentials_is_told_and_no_secret() {
        let mut exam = ses();
        assert_eq!(judged(&subject(exam.clone())), Found::ok("from environment variables, a key that ends in MPLE"));
        exam.credentials = Ok(Credentials {
            source: "instance metadata".to_owned(),
            role: Some("arn:aws:iam::1:role/mail".to_owned()),
            key: String::new(),
            expires: Some("2026-08-01T12:00:00Z".parse().unwrap()),
        });
        let text = "from instance metadata, for arn:aws:iam::1:role/mail, valid until 2026-08-01 12:00 UTC";
        assert_eq!(judged(&subject(exam)), Found::ok(text));
    }

    #[test]
    fn missing_and_wrong_credentials_fail() {
        let mut exam = ses();
        exam.account = Err(Silence::Rejected("ExpiredToken: old".to_owned()));
        let found = judged(&subject(exam.clone()));
        assert_eq!((found.state, found.text.contains("ExpiredToken: old")), (State::Fail, true));
        exam.account = Err(Silence::Unreached("gone".to_owned()));
        assert_eq!(judged(&subject(exam.clone())).state, State::Ok, "that they are there is all that is known");
        exam.credentials = Err("no providers".to_owned());
        assert_eq!(judged(&subject(exam.clone())).state, State::Fail);
        exam.credentials = Err("role arn: denied".to_owned());
        let mut taken_on = subject(exam);
        taken_on.settings.role_arn = "arn".to_owned();
        assert!(judged(&taken_on).action.contains("sts:AssumeRole"));
    }

    #[test]
    fn a_region_is_needed() {
        let mut exam = ses();
        assert_eq!(region(&Exam::Ses(Box::new(exam.clone()))), Some(Found::ok("eu-west-1, from the settings")));
        exam.region = None;
        assert_eq!(region(&Exam::Ses(Box::new(exam))).unwrap().state, State::Fail);
    }

    #[test]
    fn a_login_is_tried_where_one_is_set() {
        let mut subject = subject(ses());
        let fault = |stage| Err(crate::upstream::SmtpFault { stage, cause: "AUTH: 535 no".to_owned() });
        for (username, session, expected) in [
            ("", Ok(None), State::Skip),
            ("evan", Ok(None), State::Ok),
            ("evan", fault(Stage::Login), State::Fail),
            ("evan", fault(Stage::Tls), State::Skip),
        ] {
            subject.settings.kind = crate::upstream::Kind::Smtp;
            subject.settings.username = username.to_owned();
            subject.exam = smtp(session);
            assert_eq!(judged(&subject).state, expected);
        }
        subject.settings.username.clear();
        subject.settings.address = "email-smtp.eu-west-1.amazonaws.com:587".to_owned();
        assert_eq!(judged(&subject).state, State::Fail, "SES takes nothing without a login");
    }
}
