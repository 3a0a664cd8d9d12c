//! `--live`: a message to SES's mailbox simulator, whose header names another simulator than its envelope.

use bytes::Bytes;
use jiff::{Timestamp, fmt::rfc2822};

use crate::{
    mail::{Address, Asks, Dsn, Fate, Id, Options, Outcome, Period, Sender},
    upstream::{self, Attempt, Kind, Settings, Site},
};

use super::{CheckRow, Found, Look, Question};

pub(super) const LIVE: CheckRow = CheckRow {
    name: "live",
    about: "with --live: a mail to SES's simulator is accepted, and how one sees that Destination rules over the header",
    look: Look::Upstream(|subject| live(&subject.live).into_iter().collect()),
};

/// In the envelope: it takes the mail (SES developer guide, "Mailbox simulator").
const TAKES: &str = "success@simulator.amazonses.com";
/// In the header: it would send it back.
const BOUNCES: &str = "bounce@simulator.amazonses.com";
/// How long the attempt may take.
const PATIENCE: Period = Period::seconds(30);

/// What became of the message.
pub(super) enum Sent {
    /// The upstream is not SES.
    Elsewhere,
    /// It was not asked for.
    No,
    /// Nobody is known whom it may come from.
    Nobody,
    /// It could not be made, or the upstream could not be set up.
    Never(String),
    /// The upstream answered.
    Answered(Box<Answer>),
}

/// What an upstream said to the message.
pub(super) struct Answer {
    id: Id,
    /// Where SES would send a bounce; as the identity is set up when there is none.
    reports: Option<Address>,
    /// Whether SES's events name the message by its configuration set.
    set: String,
    outcome: Outcome,
}

/// Sends the message, if that is wished for.
pub(super) async fn send(settings: &Settings, site: &Site, question: &Question) -> Sent {
    if settings.kind == Kind::Outbox || !settings.is_ses() {
        return Sent::Elsewhere;
    }
    if !question.live {
        return Sent::No;
    }
    let Some(from) = question.senders.first().or(site.bounce.as_ref()) else { return Sent::Nobody };
    let settings = Settings { attempt_timeout: settings.attempt_timeout.min(PATIENCE), ..settings.clone() };
    let built = match upstream::build(&settings, site).await {
        Ok(built) => built,
        Err(error) => return Sent::Never(error.to_string()),
    };
    let (id, sender) = (Id::mint(), Sender(Some(from.clone())));
    let (Ok(to), Ok(message)) = (Address::parse(TAKES), message(id, from, site)) else {
        return Sent::Never("the message cannot be made".to_owned());
    };
    let reports = settings.feedback.address(&sender, site.bounce.as_ref());
    let (recipients, options) = (vec![to], Options::default());
    let attempt = Attempt { id, sender, recipients, message, options, dsn: Dsn::default(), asked: Asks::default() };
    let outcome = built.send(attempt).await.of(0);
    Sent::Answered(Box::new(Answer { id, reports, set: settings.configuration_set, outcome }))
}

fn message(id: Id, from: &Address, site: &Site) -> Result<Bytes, jiff::Error> {
    let date = rfc2822::to_string(&Timestamp::now().to_zoned_datetime(jiff::tz::TimeZone::UTC))?;
    let text = format!(
        "From: {from}\r\nTo: {BOUNCES}\r\nSubject: headgate doctor {id}\r\nDate: {date}\r\n\
         Message-ID: <{id}@{}>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n\
         Sent by `headgate doctor --live` to {TAKES}, and to nobody else:\r\n\
         SES is told so, whatever the To field says.\r\n",
        site.hostname
    );
    Ok(Bytes::from(text))
}

fn live(sent: &Sent) -> Option<Found> {
    Some(match sent {
        Sent::Elsewhere => return None,
        Sent::No => {
            Found::skip("nothing was sent; only a mail shows whether IAM allows ses:SendEmail and ses:SendRawEmail")
                .with("headgate doctor --live, with settings that have no fault")
        }
        Sent::Nobody => {
            Found::fail("nothing was sent: whom it may come from is not known", "headgate doctor --live --from ADDRESS")
        }
        Sent::Never(cause) => Found::fail(format!("nothing was sent: {cause}"), "see the lines above"),
        Sent::Answered(answer) => answered(answer),
    })
}

/// That SES accepted it proves that mail goes out; to whom it goes SES does not say in its answer.
fn answered(answer: &Answer) -> Found {
    let Answer { id, reports, set, outcome } = answer;
    match outcome.fate {
        Fate::Delivered => {
            let ses_id = outcome.remote_id.as_deref().unwrap_or("an id that it did not tell");
            let inbox =
                reports.as_ref().map_or_else(|| "where the identity sends them".to_owned(), ToString::to_string);
            let events = if set.is_empty() { String::new() } else { format!(" of the configuration set {set}") };
            Found::ok(format!("SES accepted {ses_id}, for {TAKES} in Destination, with {BOUNCES} in To")).with(format!(
                "to see that Destination ruled, wait some minutes: the events{events} have to show, under that id or the \
                 tag headgate-id={id}, a Delivery for {TAKES}; a Bounce for {BOUNCES}, there or as a report to {inbox}, \
                 would say that the header ruled"
            ))
        }
        Fate::Deferred | Fate::Failed if outcome.ambiguous => Found::fail(
            format!("not known whether SES has it: {}", outcome.cause),
            "look for that id's events; try again",
        ),
        Fate::Deferred | Fate::Failed => Found::fail(outcome.cause.clone(), remedy(&outcome.cause)),
    }
}

fn remedy(cause: &str) -> &'static str {
    if cause.contains("AccessDenied") || cause.contains("not authorized") {
        "allow ses:SendEmail and ses:SendRawEmail, on the identities and on the configuration set; without them no mail \
         goes out"
    } else if cause.contains("not verified") {
        "verify that identity, or name one that is by --from"
    } else {
        "see the lines above; mail of this kind waits in the queue or comes back to its sender"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::doctor::State,
        mail::{Enhanced, Reply},
    };

    fn judged(outcome: Outcome, set: &str) -> Found {
        let reports = Address::parse("bounces@example.com").ok();
        answered(&Answer { id: Id::nil(), reports, set: set.to_owned(), outcome })
    }

    #[test]
    fn what_is_accepted_tells_how_the_proof_is_seen() {
        let outcome = Outcome::delivered("0102-x".to_owned(), Reply::new(250, Enhanced(2, 0, 0), "Ok"));
        let found = judged(outcome, "set");
        assert_eq!(found.state, State::Ok);
        assert!(found.text.starts_with("SES accepted 0102-x, for success@"), "{found:?}");
        for part in ["events of the configuration set set", "headgate-id=000", "report to bounces@example.com"] {
            assert!(found.action.contains(part), "{part}: {found:?}");
        }
    }

    #[test]
    fn what_is_refused_fails_with_its_remedy() {
        let refused = |cause: &str| Outcome::refused(Reply::new(451, Enhanced(4, 7, 0), "no"), cause);
        for (outcome, remedy) in [
            (refused("AccessDeniedException: User is not authorized to perform: ses:SendEmail"), "allow ses:SendEmail"),
            (refused("MessageRejected: Email address is not verified."), "verify that identity"),
            (refused("gone"), "see the lines above"),
            (refused("ambiguous: late").with_doubt(), "look for that id"),
        ] {
            let found = judged(outcome, "");
            assert_eq!(found.state, State::Fail);
            assert!(found.action.starts_with(remedy), "{found:?}");
        }
    }

    #[test]
    fn nothing_is_sent_unless_it_is_wished_for() {
        assert_eq!(live(&Sent::No).map(|found| found.state), Some(State::Skip));
        assert_eq!(live(&Sent::Nobody).map(|found| found.state), Some(State::Fail));
        assert_eq!(live(&Sent::Elsewhere), None);
    }

    #[test]
    fn the_message_is_one_that_ses_takes() {
        let from = Address::parse("a@example.com").unwrap();
        let site = Site { hostname: "relay.example.com".to_owned(), ..Site::default() };
        let whole = message(Id::nil(), &from, &site).unwrap();
        let envelope = crate::mail::Envelope {
            recipients: vec![Address::parse(TAKES).unwrap()],
            sender: Sender(Some(from)),
            ..crate::mail::Envelope::default()
        };
        assert_eq!(upstream::lint(&envelope, &crate::header::split(&whole)), []);
    }
}
