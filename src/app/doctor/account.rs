//! The account of SES: sandbox, quota, whether sending is on.

use crate::upstream::{Account, Exam, Kind, Rate, Silence};

use super::{CheckRow, Found, Look, Subject};

pub(super) const SANDBOX: CheckRow = CheckRow {
    name: "sandbox",
    about: "the account may send to everybody",
    look: Look::Upstream(|subject| judged(subject, SEND_ANYWAY, sandbox).into_iter().chain(by_smtp(subject)).collect()),
};
pub(super) const QUOTA: CheckRow = CheckRow {
    name: "quota",
    about: "recipients in 24 hours, what is left of them, recipients a second",
    look: Look::Upstream(|subject| {
        judged(subject, FEEL, |account| quota(account, subject.settings.rate)).into_iter().collect()
    }),
};
pub(super) const SENDING: CheckRow = CheckRow {
    name: "sending",
    about: "sending is neither paused nor shut down",
    look: Look::Upstream(|subject| judged(subject, BY_REFUSAL, sending).into_iter().collect()),
};

/// What goes on without a look.
const SEND_ANYWAY: &str = "without it mail goes out all the same";
const FEEL: &str = "without it Headgate feels for the rate from 10 recipients a second, and SES's refusals tell that the \
                    daily quota is used up; a rate of its own in the settings is as good";
const BY_REFUSAL: &str = "without it a paused account shows by SES's refusals, and the mail waits in the queue";
/// The part of the daily quota that is little.
const LITTLE: f64 = 0.1;

fn judged(subject: &Subject, without: &str, judge: impl FnOnce(&Account) -> Found) -> Option<Found> {
    let Exam::Ses(exam) = &subject.exam else { return None };
    Some(exam.account.as_ref().map_or_else(|silence| unknown(silence, without), judge))
}

/// What is not known, and what works without it.
pub(super) fn unknown(silence: &Silence, without: &str) -> Found {
    match silence {
        Silence::Denied(action, words) => Found::warn(
            format!("not known: IAM does not allow {action}: {words}"),
            format!("allow {action}; {without}"),
        ),
        Silence::Throttled => Found::warn("not known: SES was asked too often", "try again in a minute"),
        Silence::Failed(words) => Found::warn(format!("not known: {words}"), "try again"),
        Silence::Absent => Found::skip("not known: what answers there has no such call, as an emulator may"),
        Silence::Rejected(_) => Found::skip("not known: SES does not take the credentials"),
        Silence::Unreached(_) => Found::skip("not known: SES does not answer"),
        Silence::Unasked => Found::skip("not known: SES was not asked"),
    }
}

fn by_smtp(subject: &Subject) -> Option<Found> {
    let by_smtp = subject.settings.kind == Kind::Smtp && subject.settings.is_ses();
    by_smtp.then(|| Found::skip("by SMTP, SES tells nothing of sandbox, quota and identities"))
}

fn sandbox(account: &Account) -> Found {
    if account.production {
        return Found::ok("the account is out of it");
    }
    Found::warn(
        "the account is in it: mail goes to verified addresses and to SES's simulator only",
        "ask for production access, in the SES console under Account dashboard",
    )
}

fn quota(account: &Account, rate: Rate) -> Found {
    let Some([per_second, daily, sent]) = account.quota else { return Found::skip("SES told none") };
    let pace = if per_second < 0.0 { "no limit a second".to_owned() } else { format!("{per_second} a second") };
    if let Rate::PerSecond(ours) = rate
        && per_second >= 0.0
        && ours > per_second
    {
        let text = format!("rate = {ours} is more than SES's {pace}, which refuses the rest");
        return Found::warn(text, "set rate = \"auto\", or nine tenths of what SES grants");
    }
    if daily < 0.0 {
        return Found::ok(format!("recipients: no limit in 24 hours, {pace}"));
    }
    let left = (daily - sent).max(0.0);
    let text = format!("recipients: {left} of {daily} are left in 24 hours, {pace}");
    if left == 0.0 {
        Found::fail(text, "wait, or ask for a higher quota (Service Quotas); until then mail waits in the queue")
    } else if left < daily * LITTLE {
        Found::warn(text, "ask for a higher quota (Service Quotas) if each day is like this")
    } else {
        Found::ok(text)
    }
}

fn sending(account: &Account) -> Found {
    if account.enforcement == "SHUTDOWN" {
        return Found::fail("SES has shut down this account's sending", "answer AWS, in the SES console or by a case");
    }
    if !account.sending {
        return Found::fail(
            "sending is paused in this region",
            "when its cause is mended: aws sesv2 put-account-sending-attributes --sending-enabled",
        );
    }
    if account.enforcement == "PROBATION" {
        return Found::warn(
            "it is on, and the account is under review",
            "bring bounces and complaints down, see the SES console under Reputation metrics",
        );
    }
    Found::ok("it is on")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doctor::{
        State,
        tests::{ses, subject},
    };

    fn account() -> Account {
        ses().account.unwrap()
    }

    #[test]
    fn the_sandbox_is_a_warning() {
        assert_eq!(sandbox(&account()).state, State::Ok);
        assert_eq!(sandbox(&Account { production: false, ..account() }).state, State::Warn);
    }

    #[test]
    fn a_quota_is_little_or_nothing_before_it_is_a_fault() {
        for (quota_now, rate, expected, text) in [
            ([14.0, 50_000.0, 12.0], Rate::Auto, State::Ok, "49988 of 50000 are left in 24 hours, 14 a second"),
            ([14.0, 50_000.0, 45_001.0], Rate::Auto, State::Warn, "4999 of 50000"),
            ([14.0, 200.0, 200.0], Rate::Auto, State::Fail, "0 of 200"),
            ([14.0, 200.0, 201.0], Rate::Auto, State::Fail, "0 of 200"),
            ([14.0, -1.0, 7.0], Rate::Auto, State::Ok, "no limit in 24 hours, 14 a second"),
            ([14.0, -1.0, 7.0], Rate::PerSecond(14.0), State::Ok, "no limit"),
            ([14.0, -1.0, 7.0], Rate::PerSecond(14.5), State::Warn, "rate = 14.5 is more than"),
        ] {
            let found = quota(&Account { quota: Some(quota_now), ..account() }, rate);
            assert_eq!(found.state, expected, "{found:?}");
            assert!(found.text.contains(text), "{found:?}");
        }
        assert_eq!(quota(&Account { quota: None, ..account() }, Rate::Auto).state, State::Skip);
    }

    #[test]
    fn sending_may_be_off() {
        for (on, enforcement, expected) in [
            (true, "HEALTHY", State::Ok),
            (true, "PROBATION", State::Warn),
            (true, "SHUTDOWN", State::Fail),
            (false, "HEALTHY", State::Fail),
        ] {
            let found = sending(&Account { sending: on, enforcement: enforcement.to_owned(), ..account() });
            assert_eq!(found.state, expected, "{on} {enforcement}");
        }
    }

    #[test]
    fn a_denied_look_names_its_action_and_what_works_without() {
        let mut exam = ses();
        exam.account = Err(Silence::Denied("ses:GetAccount", "User: x is not authorized".to_owned()));
        let subject = subject(exam);
        for row in [SANDBOX, QUOTA, SENDING] {
            let Look::Upstream(look) = row.look else { panic!("{}", row.name) };
            let [found] = look(&subject).try_into().unwrap();
            assert_eq!(found.state, State::Warn);
            assert!(found.action.starts_with("allow ses:GetAccount; without it "), "{found:?}");
        }
    }

    #[test]
    fn by_smtp_ses_tells_nothing_of_the_account() {
        let mut subject = subject(ses());
        subject.exam = crate::app::doctor::tests::smtp(Ok(None));
        subject.settings.kind = Kind::Smtp;
        subject.settings.address = "email-smtp.eu-west-1.amazonaws.com:587".to_owned();
        let Look::Upstream(look) = SANDBOX.look else { panic!("not of an upstream") };
        assert_eq!(look(&subject)[0].state, State::Skip);
        subject.settings.address = "mail.example.com:25".to_owned();
        assert_eq!(look(&subject), []);
    }
}
