//! The way to an upstream: its name, a connection, the dates of its certificate, its clock.

use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::upstream::{Exam, SesExam, Sight, Silence, SmtpExam, Stage, Validity};

use super::{CheckRow, Found, Look};

pub(super) const DNS: CheckRow = CheckRow {
    name: "dns",
    about: "the name of the upstream's host has addresses",
    look: Look::Upstream(|subject| dns(&subject.exam).into_iter().collect()),
};
pub(super) const REACHABLE: CheckRow = CheckRow {
    name: "reachable",
    about: "the upstream answers",
    look: Look::Upstream(|subject| reachable(&subject.exam).into_iter().collect()),
};
pub(super) const CERTIFICATE: CheckRow = CheckRow {
    name: "certificate",
    about: "its certificate is trusted and does not end soon",
    look: Look::Upstream(|subject| certificate(&subject.exam, subject.now).into_iter().collect()),
};
pub(super) const CLOCK: CheckRow = CheckRow {
    name: "clock",
    about: "this machine's clock is that of SES",
    look: Look::Upstream(|subject| clock(&subject.exam).into_iter().collect()),
};

/// Days before its end from which on a certificate is worth a word.
const SOON: i64 = 14;
/// AWS takes no signature that is further away (IAM user guide, "Signing AWS API requests").
const FAR: SignedDuration = SignedDuration::from_mins(5);
/// Clocks that are kept differ by less.
const KEPT: SignedDuration = SignedDuration::from_mins(1);
const PROXY: &str = "SES answers all the same, so there is a proxy on the way";

impl Silence {
    /// Whether something answered.
    fn is_answer(&self) -> bool {
        !matches!(self, Self::Unasked | Self::Unreached(_))
    }
}

fn answers(exam: &SesExam) -> bool {
    exam.account.as_ref().err().is_none_or(Silence::is_answer)
}

fn dns(exam: &Exam) -> Option<Found> {
    let (host, lookup, answers) = match exam {
        Exam::Ses(exam) => {
            let Some(sight) = &exam.sight else { return Some(Found::skip("without a region SES has no name")) };
            (&sight.host, &sight.lookup, answers(exam))
        }
        Exam::Smtp(exam) => (&exam.host, &exam.lookup, false),
        Exam::Outbox { .. } => return None,
    };
    Some(match lookup {
        None => Found::skip(format!("{host} is no name")),
        Some(Ok(1)) => Found::ok(format!("{host} has 1 address")),
        Some(Ok(count)) => Found::ok(format!("{host} has {count} addresses")),
        Some(Err(error)) if answers => {
            Found::warn(format!("{host}: {error}"), format!("nothing, if that is meant: {PROXY}"))
        }
        Some(Err(error)) => Found::fail(
            format!("{host}: {error}"),
            "look at the region, at /etc/resolv.conf and, in a VPC, at its DNS and the names of its endpoints",
        ),
    })
}

fn reachable(exam: &Exam) -> Option<Found> {
    match exam {
        Exam::Ses(exam) => Some(match &exam.sight {
            Some(sight) => ses(exam, sight),
            None => Found::skip("without a region it is not known where SES is"),
        }),
        Exam::Smtp(exam) => Some(server(exam)),
        Exam::Outbox { .. } => None,
    }
}

fn ses(exam: &SesExam, sight: &Sight) -> Found {
    let place = format!("{} port {}", sight.host, sight.port);
    let open = format!("let this machine connect to {place} (firewall, security group, proxy, VPC endpoint)");
    match (&exam.account, &sight.connection) {
        (Err(Silence::Unreached(cause)), _) => {
            Found::fail(format!("{place}: {cause}"), format!("{open}; until then mail waits in the queue"))
        }
        (Err(Silence::Unasked), Ok(())) => {
            Found::ok(format!("{place} takes connections; SES was asked nothing, without credentials"))
        }
        (Err(Silence::Unasked), Err(error)) => Found::fail(format!("{place}: {error}"), open),
        (Err(Silence::Failed(words)), _) => Found::warn(
            format!("{place} answers with a fault: {words}"),
            "try again; if it stays so, look at endpoint_url and at the state of SES in that region",
        ),
        (Ok(_) | Err(_), Ok(())) => Found::ok(format!("{place} answers")),
        (Ok(_) | Err(_), Err(error)) => Found::warn(
            format!("{place} takes no connection of ours: {error}"),
            format!("nothing, if that is meant: {PROXY}"),
        ),
    }
}

fn server(exam: &SmtpExam) -> Found {
    let place = format!("{} port {}", exam.host, exam.port);
    let Err(fault) = &exam.session else { return Found::ok(format!("{place} would take mail")) };
    let cause = &fault.cause;
    match fault.stage {
        Stage::Login | Stage::Tls => Found::ok(format!("{place} answers")),
        Stage::Setup => Found::fail(cause.clone(), "correct the settings of this upstream"),
        Stage::Connection => Found::fail(
            if cause.starts_with(&place) { cause.clone() } else { format!("{place}: {cause}") },
            "look at address and at what is between here and there; hosters often close port 25, so try 587 or 465",
        ),
        Stage::Welcome => {
            Found::fail(format!("{place}: {cause}"), "ask those who run that server what they want of us")
        }
    }
}

fn certificate(exam: &Exam, now: Timestamp) -> Option<Found> {
    match exam {
        Exam::Ses(exam) => match &exam.sight {
            Some(Sight { certificate: Some(certificate), .. }) => {
                Some(dates(certificate, now).unwrap_or_else(|cause| untrusted(&cause, answers(exam))))
            }
            Some(sight) if sight.connection.is_ok() => {
                Some(Found::skip("the endpoint is http, as it may be for an emulator or on this machine"))
            }
            _ => Some(Found::skip("there was no connection to see it on")),
        },
        Exam::Smtp(exam) => match &exam.session {
            Ok(Some(certificate)) => Some(dates(certificate, now).unwrap_or_else(|cause| untrusted(&cause, false))),
            Ok(None) => Some(Found::skip("the connection has no TLS, as the settings say")),
            Err(fault) if fault.stage == Stage::Tls => Some(untrusted(&fault.cause, false)),
            Err(_) => Some(Found::skip("the connection did not come so far that it was seen")),
        },
        Exam::Outbox { .. } => None,
    }
}

fn untrusted(cause: &str, answers: bool) -> Found {
    if answers {
        return Found::warn(
            format!("it cannot be seen from here: {cause}"),
            format!("nothing, if that is meant: {PROXY}"),
        );
    }
    Found::fail(
        cause,
        "install ca-certificates, or name the authority of that server (ca_file; SSL_CERT_FILE for SES); an expired \
         certificate has to be renewed over there",
    )
}

fn dates(certificate: &Result<Validity, String>, now: Timestamp) -> Result<Found, String> {
    let validity = certificate.as_ref().map_err(Clone::clone)?;
    let until = validity.until.strftime("%Y-%m-%d");
    // The settings decide whom we trust; that it has ended is refused before we see it, unless our clock is wrong.
    if !validity.holds(now) {
        let text = format!("it is valid from {} until {until}, and not now", validity.from.strftime("%Y-%m-%d"));
        return Ok(Found::fail(text, "look at the clock of this machine; else it has to be renewed over there"));
    }
    let soon = now.checked_add((SOON * 24).hours()).is_ok_and(|then| validity.until < then);
    Ok(if soon {
        Found::warn(format!("it is trusted and ends on {until}"), "see to it that it is renewed over there before")
    } else {
        Found::ok(format!("it is trusted and valid until {until}"))
    })
}

fn clock(exam: &Exam) -> Option<Found> {
    let Exam::Ses(exam) = exam else { return None };
    let Some(ahead) = exam.clock else { return Some(Found::skip("SES told no time")) };
    let side = if ahead.is_positive() { "behind" } else { "ahead of" };
    let text = format!("this machine is {} s {side} SES", ahead.abs().as_secs());
    let action = "set the clock, by NTP; SES takes no signature that is more than 5 minutes off";
    Some(match ahead.abs() {
        near if near <= KEPT => Found::ok("within a minute of SES's"),
        some if some < FAR => Found::warn(text, action),
        _ => Found::fail(text, action),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::doctor::{
            State,
            tests::{NOW, ses as healthy, smtp},
        },
        upstream::SmtpFault,
    };

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn validity(from: &str, until: &str) -> Result<Validity, String> {
        Ok(Validity { from: from.parse().unwrap(), until: until.parse().unwrap() })
    }

    #[test]
    fn the_clock_may_differ_by_less_than_a_signature_bears() {
        for (seconds, expected, text) in [
            (0, State::Ok, "within a minute of SES's"),
            (-60, State::Ok, "within a minute of SES's"),
            (61, State::Warn, "this machine is 61 s behind SES"),
            (-299, State::Warn, "this machine is 299 s ahead of SES"),
            (300, State::Fail, "this machine is 300 s behind SES"),
        ] {
            let exam = SesExam { clock: Some(SignedDuration::from_secs(seconds)), ..healthy() };
            let found = clock(&Exam::Ses(Box::new(exam))).unwrap();
            assert_eq!((found.state, found.text.as_str()), (expected, text));
        }
        let exam = SesExam { clock: None, ..healthy() };
        assert_eq!(clock(&Exam::Ses(Box::new(exam))).unwrap().state, State::Skip);
    }

    #[test]
    fn a_certificate_is_told_of_before_it_ends() {
        for (until, expected) in [
            ("2027-01-01T00:00:00Z", State::Ok),
            ("2026-08-15T12:00:01Z", State::Ok),
            ("2026-08-15T11:00:00Z", State::Warn),
            ("2026-08-01T11:00:00Z", State::Fail),
        ] {
            let certificate = validity("2026-01-01T00:00:00Z", until);
            assert_eq!(dates(&certificate, now()).unwrap().state, expected, "{until}");
            let found = super::certificate(&smtp(Ok(Some(certificate))), now()).unwrap();
            assert_eq!(found.state, expected);
        }
        assert_eq!(dates(&validity("2026-09-01T00:00:00Z", "2027-01-01T00:00:00Z"), now()).unwrap().state, State::Fail);
        let mut exam = healthy();
        exam.sight.as_mut().unwrap().certificate = Some(Err("UnknownIssuer".to_owned()));
        let of = |exam: &SesExam| super::certificate(&Exam::Ses(Box::new(exam.clone())), now()).unwrap().state;
        assert_eq!(of(&exam), State::Warn, "through a proxy it is not ours to see");
        exam.account = Err(Silence::Unreached("UnknownIssuer".to_owned()));
        assert_eq!(of(&exam), State::Fail);
        exam.sight.as_mut().unwrap().certificate = None;
        assert_eq!(of(&exam), State::Skip);
    }

    #[test]
    fn a_name_without_address_fails_unless_ses_answers() {
        let mut exam = healthy();
        let of = |exam: &SesExam| dns(&Exam::Ses(Box::new(exam.clone()))).unwrap().state;
        assert_eq!(of(&exam), State::Ok);
        exam.sight.as_mut().unwrap().lookup = Some(Err("no such name".to_owned()));
        assert_eq!(of(&exam), State::Warn);
        exam.account = Err(Silence::Unreached("dns error".to_owned()));
        assert_eq!(of(&exam), State::Fail);
        exam.sight.as_mut().unwrap().lookup = None;
        assert_eq!(of(&exam), State::Skip);
        exam.sight = None;
        assert_eq!(of(&exam), State::Skip);
    }

    #[test]
    fn whether_ses_answers_is_told_from_whether_it_is_willing() {
        let fails = |words: &str| words.to_owned();
        for (account, connection, expected) in [
            (healthy().account, Ok(()), State::Ok),
            (healthy().account, Err("refused".to_owned()), State::Warn),
            (Err(Silence::Denied("ses:GetAccount", fails("no"))), Ok(()), State::Ok),
            (Err(Silence::Rejected(fails("who"))), Ok(()), State::Ok),
            (Err(Silence::Failed(fails("500"))), Ok(()), State::Warn),
            (Err(Silence::Unreached(fails("gone"))), Ok(()), State::Fail),
            (Err(Silence::Unasked), Ok(()), State::Ok),
            (Err(Silence::Unasked), Err("refused".to_owned()), State::Fail),
        ] {
            let mut exam = SesExam { account, ..healthy() };
            exam.sight.as_mut().unwrap().connection = connection;
            let found = reachable(&Exam::Ses(Box::new(exam.clone()))).unwrap();
            assert_eq!(found.state, expected, "{exam:?}");
        }
    }

    #[test]
    fn a_mail_server_fails_where_it_has_to_be_mended() {
        for (stage, reached, trusted) in [
            (Stage::Setup, State::Fail, State::Skip),
            (Stage::Connection, State::Fail, State::Skip),
            (Stage::Welcome, State::Fail, State::Skip),
            (Stage::Tls, State::Ok, State::Fail),
            (Stage::Login, State::Ok, State::Skip),
        ] {
            let exam = smtp(Err(SmtpFault { stage, cause: "why".to_owned() }));
            assert_eq!(reachable(&exam).unwrap().state, reached, "{stage:?}");
            assert_eq!(certificate(&exam, now()).unwrap().state, trusted, "{stage:?}");
        }
        assert_eq!(reachable(&smtp(Ok(None))).unwrap().state, State::Ok);
    }
}
