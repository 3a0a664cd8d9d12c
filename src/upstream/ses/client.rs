//! `SendEmail` with raw content.
//!
//! `FromEmailAddress` is never given, since SES would put it in the place of the From field; the envelope's recipients go
//! into `ToAddresses`, which rewrites no field. The SDK's own retries are off: it would repeat a call that timed out,
//! although SES has no idempotency token.

use std::{collections::BTreeMap, sync::Arc};

use aws_config::{BehaviorVersion, Region, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_sesv2::{
    Client,
    config::StalledStreamProtectionConfig,
    error::BuildError,
    primitives::Blob,
    types::{Destination, EmailContent, ListManagementOptions, MessageTag, RawMessage},
};

use crate::mail::{Enhanced, Envelope, Id, Message, Outcome, Outcomes, Period, Reply, Soon};

use super::{errors, lint};
use crate::upstream::{Attempt, Capacity, Finding, Settings, SetupError, Upstream, UpstreamRow};

pub(in crate::upstream) const ROW: UpstreamRow = UpstreamRow {
    kind: "ses",
    doc: "Amazon SES by its API version 2",
    argument: "region",
    build: |settings| Box::pin(build(settings)),
};

/// The name of the tag that carries the transaction's id into SES's events.
const ID_TAG: &str = "headgate-id";
/// Recipients of one call (SES quotas page).
const BATCH: usize = 50;
/// How long a connection may take to be made.
const CONNECT: Period = Period::seconds(10);

struct Ses {
    name: String,
    client: Client,
    configuration_set: Option<String>,
}

async fn build(settings: &Settings) -> Result<Arc<dyn Upstream>, SetupError> {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT.0)
        .operation_attempt_timeout(settings.attempt_timeout.0)
        .operation_timeout(settings.attempt_timeout.0)
        .build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .timeout_config(timeouts);
    if let Some(region) = given(&settings.region) {
        loader = loader.region(Region::new(region));
    }
    if let Some(profile) = given(&settings.profile) {
        loader = loader.profile_name(profile);
    }
    if let Some(endpoint) = given(&settings.endpoint_url) {
        loader = loader.endpoint_url(endpoint);
    }
    let config = loader.load().await;
    if config.region().is_none() {
        let message = "no region: set region, or AWS_REGION, or a profile that has one".to_owned();
        return Err(SetupError { name: settings.name.clone(), message });
    }
    Ok(Arc::new(Ses {
        name: settings.name.clone(),
        client: Client::new(&config),
        configuration_set: given(&settings.configuration_set),
    }))
}

impl Upstream for Ses {
    fn name(&self) -> &str {
        &self.name
    }

    fn lint(&self, envelope: &Envelope, message: &Message) -> Vec<Finding> {
        lint(envelope, message)
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn send(&self, attempt: Attempt) -> Soon<'_, Outcomes> {
        Box::pin(async move { Outcomes::All(self.call(attempt).await) })
    }

    fn check(&self) -> Soon<'_, Result<Capacity, String>> {
        Box::pin(async move {
            let account = self.client.get_account().send().await;
            let account = account.map_err(|error| errors::outcome(&error).cause)?;
            let quota = account.send_quota();
            Ok(Capacity {
                rate: quota.map(|quota| quota.max_send_rate()),
                daily: quota.map(|quota| quota.max24_hour_send()),
                sent: quota.map(|quota| quota.sent_last24_hours()),
            })
        })
    }
}

impl Ses {
    async fn call(&self, attempt: Attempt) -> Outcome {
        let recipients = attempt.recipients.iter().map(ToString::to_string).collect();
        let raw = RawMessage::builder().data(Blob::from_maybe_shared(attempt.message)).build();
        let options = attempt.options;
        let (Ok(raw), Ok(tags)) = (raw, tags(attempt.id, options.tags)) else {
            return broken("the request has no content");
        };
        let list = match options.list_management.as_deref().map(list_management).transpose() {
            Ok(list) => list,
            Err(_) => return broken("list_management names no contact list"),
        };
        let sent = self
            .client
            .send_email()
            .destination(Destination::builder().set_to_addresses(Some(recipients)).build())
            .content(EmailContent::builder().raw(raw).build())
            .set_feedback_forwarding_email_address(attempt.feedback.map(|address| address.to_string()))
            .set_configuration_set_name(options.configuration_set.or_else(|| self.configuration_set.clone()))
            .set_from_email_address_identity_arn(options.from_identity_arn)
            .set_list_management_options(list)
            .set_email_tags(Some(tags))
            .send()
            .await;
        match sent {
            Ok(output) => accepted(output.message_id().unwrap_or_default()),
            Err(error) => errors::outcome(&error),
        }
    }
}

/// The tags that rules set, behind our own.
fn tags(id: Id, given: BTreeMap<String, String>) -> Result<Vec<MessageTag>, BuildError> {
    let own = (ID_TAG.to_owned(), id.to_string());
    let tag = |(name, value)| MessageTag::builder().name(name).value(value).build();
    std::iter::once(own).chain(given).map(tag).collect()
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
