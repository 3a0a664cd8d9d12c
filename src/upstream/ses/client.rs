//! `SendEmail` with raw content, and `GetAccount`.
//!
//! `FromEmailAddress` is never given, since SES would put it in the place of the From field; the envelope's recipients go
//! into `ToAddresses`, which rewrites no field. The SDK's own retries are off: it would repeat a call that timed out,
//! although SES has no idempotency token.

use std::collections::BTreeMap;

use aws_sdk_sesv2::{
    Client,
    error::BuildError,
    operation::get_account::GetAccountOutput,
    primitives::Blob,
    types::{Destination, EmailContent, ListManagementOptions, MessageTag, RawMessage},
};

use crate::{
    mail::{Address, Enhanced, Envelope, Message, Outcome, Outcomes, Reply, Soon},
    upstream::{Attempt, Capacity, Feedback, Finding, Upstream},
};

use super::{Wishes, errors, lint};

/// Recipients of one call (SES quotas page).
pub(in crate::upstream) const RECIPIENTS_MAX: usize = 50;

pub(super) struct Ses {
    pub name: String,
    pub client: Client,
    pub wishes: Wishes,
    pub feedback: Feedback,
    pub bounce: Option<Address>,
}

impl Upstream for Ses {
    fn name(&self) -> &str {
        &self.name
    }

    fn lint(&self, envelope: &Envelope, message: &Message) -> Vec<Finding> {
        lint(envelope, message)
    }

    fn batch(&self) -> usize {
        RECIPIENTS_MAX
    }

    fn send(&self, attempt: Attempt) -> Soon<'_, Outcomes> {
        Box::pin(async move { Outcomes::All(self.call(attempt).await) })
    }

    fn check(&self) -> Soon<'_, Result<Capacity, String>> {
        Box::pin(async move {
            match self.client.get_account().send().await {
                Ok(account) => capacity(&account),
                Err(error) if errors::is_silence(&error) => Ok(Capacity::default()),
                Err(error) => Err(errors::outcome(&error).cause.trim_start_matches("ambiguous: ").to_owned()),
            }
        })
    }
}

/// What the account may send; a fault when it may not at all (SES API, GetAccount).
fn capacity(account: &GetAccountOutput) -> Result<Capacity, String> {
    if account.enforcement_status() == Some("SHUTDOWN") {
        return Err("SES has shut this account's sending down (EnforcementStatus SHUTDOWN)".to_owned());
    }
    if !account.sending_enabled() {
        return Err("sending is paused for this account (SendingEnabled false)".to_owned());
    }
    let Some(quota) = account.send_quota() else { return Ok(Capacity::default()) };
    // -1 is unlimited.
    let limit = |number: f64| Some(number).filter(|number| *number >= 0.0);
    Ok(Capacity {
        rate: limit(quota.max_send_rate()),
        daily: limit(quota.max24_hour_send()),
        sent: limit(quota.sent_last24_hours()),
    })
}

impl Ses {
    async fn call(&self, attempt: Attempt) -> Outcome {
        let Attempt { id, sender, recipients, message, options, .. } = attempt;
        if recipients.len() > RECIPIENTS_MAX {
            let text = format!("SES takes {RECIPIENTS_MAX} recipients a call, and these are {}", recipients.len());
            return Outcome::refused(Reply::new(554, Enhanced(5, 5, 3), &text), text);
        }
        let recipients = recipients.iter().map(ToString::to_string).collect();
        let (wishes, message) = Wishes::take(Wishes::of_rules(options), &self.wishes, (id, message));
        let raw = RawMessage::builder().data(Blob::from_maybe_shared(message)).build();
        let list = wishes.list_management.as_deref().map(list_management).transpose();
        let (Ok(raw), Ok(tags), Ok(list)) = (raw, tags(wishes.tags), list) else {
            return broken("the request has no content");
        };
        let feedback = self.feedback.address(&sender, self.bounce.as_ref());
        let sent = self
            .client
            .send_email()
            .destination(Destination::builder().set_to_addresses(Some(recipients)).build())
            .content(EmailContent::builder().raw(raw).build())
            .set_feedback_forwarding_email_address(feedback.map(|address| address.to_string()))
            .set_feedback_forwarding_email_address_identity_arn(wishes.feedback_identity_arn)
            .set_configuration_set_name(wishes.configuration_set)
            .set_from_email_address_identity_arn(wishes.from_identity_arn)
            .set_list_management_options(list)
            .set_tenant_name(wishes.tenant)
            .set_email_tags(Some(tags))
            .send()
            .await;
        match sent {
            Ok(output) => accepted(output.message_id().unwrap_or_default()),
            Err(error) => errors::outcome(&error),
        }
    }
}

fn tags(tags: BTreeMap<String, String>) -> Result<Vec<MessageTag>, BuildError> {
    tags.into_iter().map(|(name, value)| MessageTag::builder().name(name).value(value).build()).collect()
}

/// Reads `LIST` or `LIST; topic=TOPIC`, as the X-SES-LIST-MANAGEMENT-OPTIONS field is written.
fn list_management(text: &str) -> Result<ListManagementOptions, BuildError> {
    let (list, topic) = text.split_once(';').unwrap_or((text, ""));
    let topic = topic.trim().strip_prefix("topic=").map(|topic| topic.trim().to_owned());
    ListManagementOptions::builder().contact_list_name(list.trim()).set_topic_name(topic).build()
}

fn accepted(message_id: &str) -> Outcome {
    Outcome::delivered(message_id.to_owned(), Reply::new(250, Enhanced(2, 0, 0), &format!("Ok {message_id}")))
}

fn broken(cause: &str) -> Outcome {
    Outcome::refused(Reply::new(451, Enhanced(4, 3, 0), "The request to SES could not be made"), cause).with_alarm()
}
