//! The identities that mail comes from: verified, signed, with a MAIL FROM domain that works.

use crate::{
    mail::Address,
    upstream::{Details, Exam, Identity, SesExam, Silence},
};

use super::{CheckRow, Found, Look, Subject, account::unknown};

pub(super) const IDENTITY: CheckRow = CheckRow {
    name: "identity",
    about: "those whom mail comes from ([bounce] from, feedback, --from) are verified",
    look: Look::Upstream(|subject| with_exam(subject, identity)),
};
pub(super) const DKIM: CheckRow = CheckRow {
    name: "dkim",
    about: "mail of these identities is signed",
    look: Look::Upstream(|subject| with_exam(subject, |_, exam| each(exam, dkim))),
};
pub(super) const MAIL_FROM: CheckRow = CheckRow {
    name: "mail-from",
    about: "their MAIL FROM domains, where they have one, work",
    look: Look::Upstream(|subject| with_exam(subject, |_, exam| each(exam, mail_from))),
};

/// What goes on without a look.
const BY_REFUSAL: &str = "without it mail goes out all the same, and SES's refusals tell what is not verified";
const UNSIGNED: &str = "without it mail goes out and is signed as SES is set up";
/// Identities that a summary names at most.
const NAMED: usize = 5;

fn with_exam(subject: &Subject, look: impl FnOnce(&Subject, &SesExam) -> Vec<Found>) -> Vec<Found> {
    match &subject.exam {
        Exam::Ses(exam) => look(subject, exam),
        Exam::Smtp(_) | Exam::Outbox { .. } => Vec::new(),
    }
}

fn identity(subject: &Subject, exam: &SesExam) -> Vec<Found> {
    let arn = &subject.settings.from_identity_arn;
    if !arn.is_empty() {
        return vec![Found::skip(format!("mail goes out by the policy of {arn}, which its own account can look at"))];
    }
    if exam.senders.is_empty() {
        return vec![summary(&exam.identities)];
    }
    let region = exam.region.as_ref().map_or("its region", |(region, _)| region);
    exam.senders.iter().map(|(sender, found)| verified(sender, found, region)).collect()
}

/// Without a word about who sends, what could.
fn summary(identities: &Result<Vec<(String, bool)>, Silence>) -> Found {
    let identities = match identities {
        Ok(identities) => identities,
        Err(silence) => return unknown(silence, BY_REFUSAL),
    };
    let able: Vec<&str> = identities.iter().filter(|(_, verified)| *verified).map(|(name, _)| name.as_str()).collect();
    let all = identities.len();
    let Some(named) = able.get(..able.len().min(NAMED)).filter(|named| !named.is_empty()) else {
        return Found::fail(
            format!("none of {all} identities is verified, so SES takes no mail"),
            "verify your domain in the SES console under Identities",
        );
    };
    let more = if able.len() > named.len() { ", …" } else { "" };
    Found::ok(format!("{} of {all} are verified: {}{more}", able.len(), named.join(", ")))
        .with("name those whom mail comes from by --from ADDRESS, and they are looked at")
}

fn verified(sender: &Address, found: &Result<Option<Identity>, Silence>, region: &str) -> Found {
    let sender = sender.to_string();
    let identity = match found {
        Ok(Some(identity)) => identity,
        Ok(None) => {
            return Found::fail(
                format!("{sender}: neither the address nor its domain is an identity"),
                format!(
                    "verify the domain in the SES console of {region} under Identities; until then SES refuses its mail"
                ),
            );
        }
        Err(silence) => {
            let found = unknown(silence, BY_REFUSAL);
            return Found { text: format!("{sender}: {}", found.text), ..found };
        }
    };
    let name = &identity.name;
    let by = if *name == sender { String::new() } else { format!(" by {name}") };
    if identity.verified {
        return Found::ok(format!("{sender} is verified{by}"));
    }
    let status = identity.details.as_ref().map(|details| details.status.clone()).unwrap_or_default();
    let status = if status.is_empty() { String::new() } else { format!(" ({status})") };
    let how = match &identity.details {
        _ if name.contains('@') => "follow the link in the mail that SES sent to that address".to_owned(),
        Ok(details) if !details.records.is_empty() => records(details),
        _ => format!("publish the records that the SES console of {region} shows under Identities"),
    };
    Found::fail(format!("{sender} is not verified{by}{status}"), how)
}

fn records(details: &Details) -> String {
    let records: Vec<String> = details.records.iter().map(|(name, target)| format!("{name} CNAME {target}")).collect();
    format!("publish in DNS: {}", records.join("; "))
}

/// A line an identity, each once, however many senders stand for it.
fn each(exam: &SesExam, judge: impl Fn(&Identity, &Details) -> Option<Found>) -> Vec<Found> {
    let mut seen: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for identity in exam.senders.iter().filter_map(|(_, found)| found.as_ref().ok()?.as_ref()) {
        if seen.contains(&identity.name.as_str()) {
            continue;
        }
        seen.push(&identity.name);
        if let Ok(details) = &identity.details {
            lines.extend(judge(identity, details));
        } else if let Err(silence) = &identity.details
            && judge(identity, &Details::default()).is_some()
        {
            let found = unknown(silence, UNSIGNED);
            lines.push(Found { text: format!("{}: {}", identity.name, found.text), ..found });
        }
    }
    lines
}

fn dkim(identity: &Identity, details: &Details) -> Option<Found> {
    let (name, status) = (&identity.name, &details.dkim);
    Some(if !details.signs {
        Found::warn(
            format!("{name}: mail is signed by amazonses.com only"),
            "turn DKIM on in the SES console under Identities; many receivers ask for a signature of your domain",
        )
    } else if status == "SUCCESS" {
        Found::ok(format!("{name} signs its mail"))
    } else {
        let how = if details.records.is_empty() {
            "publish the public key that belongs to it, as the SES console shows it".to_owned()
        } else {
            records(details)
        };
        Found::warn(format!("{name}: SES does not find the key in DNS ({status})"), how)
    })
}

fn mail_from(identity: &Identity, details: &Details) -> Option<Found> {
    let (domain, status, refuses) = details.mail_from.as_ref()?;
    let name = &identity.name;
    Some(match (status.as_str(), refuses) {
        ("SUCCESS", _) => Found::ok(format!("{name} sends as {domain}")),
        (_, true) => Found::fail(
            format!("{name}: SES does not find the MX record of {domain} ({status}) and refuses its mail"),
            format!("publish the MX and TXT records of {domain} that the SES console shows under Identities"),
        ),
        (_, false) => Found::warn(
            format!("{name}: SES does not find the MX record of {domain} ({status}) and sends as amazonses.com"),
            format!("publish the MX and TXT records of {domain} that the SES console shows under Identities"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doctor::{
        State,
        tests::{ses, subject},
    };

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn known(verified: bool, details: Details) -> Identity {
        Identity { name: "example.com".to_owned(), verified, details: Ok(details) }
    }

    fn with(senders: &[(&str, Result<Option<Identity>, Silence>)]) -> Subject {
        let mut exam = ses();
        exam.senders = senders.iter().map(|(sender, found)| (address(sender), found.clone())).collect();
        subject(exam)
    }

    fn lines(row: &CheckRow, subject: &Subject) -> Vec<Found> {
        let Look::Upstream(look) = row.look else { panic!("not of an upstream") };
        look(subject)
    }

    fn signed(status: &str) -> Details {
        let records = vec![("t._domainkey.example.com".to_owned(), "t.dkim.amazonses.com".to_owned())];
        Details { status: "PENDING".to_owned(), signs: true, dkim: status.to_owned(), records, mail_from: None }
    }

    #[test]
    fn a_sender_is_verified_by_its_identity() {
        let good = known(true, signed("SUCCESS"));
        let subject = with(&[("a@example.com", Ok(Some(good.clone()))), ("b@example.com", Ok(Some(good)))]);
        let expected = ["a", "b"].map(|name| Found::ok(format!("{name}@example.com is verified by example.com")));
        assert_eq!(lines(&IDENTITY, &subject), expected);
        assert_eq!(lines(&DKIM, &subject), [Found::ok("example.com signs its mail")], "an identity is told once");
        assert_eq!(lines(&MAIL_FROM, &subject), []);
    }

    #[test]
    fn what_is_not_verified_fails_with_the_records_to_publish() {
        let subject =
            with(&[("a@example.com", Ok(Some(known(false, signed("PENDING"))))), ("b@other.example", Ok(None))]);
        let found = lines(&IDENTITY, &subject);
        assert!(found.iter().all(|one| one.state == State::Fail), "{found:?}");
        assert_eq!(found[0].text, "a@example.com is not verified by example.com (PENDING)");
        assert_eq!(found[0].action, "publish in DNS: t._domainkey.example.com CNAME t.dkim.amazonses.com");
        assert!(found[1].text.starts_with("b@other.example: neither"), "{found:?}");
    }

    #[test]
    fn a_signature_that_is_missing_is_a_warning() {
        for (details, expected) in [
            (signed("SUCCESS"), State::Ok),
            (signed("PENDING"), State::Warn),
            (signed("FAILED"), State::Warn),
            (Details { signs: false, ..signed("SUCCESS") }, State::Warn),
        ] {
            assert_eq!(dkim(&known(true, details.clone()), &details).unwrap().state, expected, "{details:?}");
        }
    }

    #[test]
    fn a_mail_from_domain_without_mx_fails_where_it_stops_mail() {
        for (status, refuses, expected) in
            [("SUCCESS", true, State::Ok), ("FAILED", false, State::Warn), ("PENDING", true, State::Fail)]
        {
            let own = Some(("m.example.com".to_owned(), status.to_owned(), refuses));
            let details = Details { mail_from: own, ..signed("SUCCESS") };
            assert_eq!(mail_from(&known(true, details.clone()), &details).unwrap().state, expected);
        }
    }

    #[test]
    fn a_denied_look_names_its_action() {
        let denied = Silence::Denied("ses:GetEmailIdentity", "no".to_owned());
        let half = Identity { details: Err(denied.clone()), ..known(true, Details::default()) };
        let subject = with(&[("a@example.com", Ok(Some(half))), ("b@example.org", Err(denied))]);
        let found = lines(&IDENTITY, &subject);
        assert_eq!([found[0].state, found[1].state], [State::Ok, State::Warn], "the list alone tells of the first");
        assert!(found[1].action.starts_with("allow ses:GetEmailIdentity; without it"), "{found:?}");
        let found = lines(&DKIM, &subject);
        assert!(found[0].action.starts_with("allow ses:GetEmailIdentity; without it"), "{found:?}");
        assert_eq!(lines(&MAIL_FROM, &subject), []);
    }

    #[test]
    fn without_senders_it_is_told_who_could_be_one() {
        let of = |identities: &[(&str, bool)]| {
            let owned = identities.iter().map(|(name, verified)| ((*name).to_owned(), *verified));
            summary(&Ok(owned.collect()))
        };
        let found = of(&[("example.com", true), ("example.org", false)]);
        assert_eq!((found.state, found.text.as_str()), (State::Ok, "1 of 2 are verified: example.com"));
        assert_eq!(of(&[("example.org", false)]).state, State::Fail);
        assert_eq!(of(&[]).state, State::Fail);
        let many: Vec<(String, bool)> = (0..7).map(|number| (format!("{number}.example"), true)).collect();
        assert!(summary(&Ok(many)).text.ends_with("4.example, …"));
    }

    #[test]
    fn an_identity_of_another_account_is_not_ours_to_look_at() {
        let mut subject = with(&[("a@example.com", Ok(None))]);
        subject.settings.from_identity_arn = "arn:aws:ses:eu-west-1:1:identity/example.com".to_owned();
        assert_eq!(lines(&IDENTITY, &subject)[0].state, State::Skip);
    }
}
