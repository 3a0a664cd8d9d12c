//! GetAccount: enters the wished quota, leaves its JSON. It must not know the send calls: the numbers are the test's.

use serde_json::{Value, json};

use super::answer::Refusal;

/// The sending quota of the account. Both limits count recipients (SES developer guide, "Service quotas").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// Recipients a second.
    pub max_send_rate: f64,
    /// Recipients in 24 hours; -1 is unlimited.
    pub max_24_hour_send: f64,
    /// Recipients that were sent to in the last 24 hours.
    pub sent_last_24_hours: f64,
}

impl Default for Account {
    /// Wide enough that a test which is not about quotas never meets one.
    fn default() -> Self {
        Self { max_send_rate: 1000.0, max_24_hour_send: 1_000_000.0, sent_last_24_hours: 0.0 }
    }
}

/// What the account may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Whether it is out of the sandbox.
    pub production: bool,
    /// Whether sending is on.
    pub sending: bool,
    /// HEALTHY, PROBATION or SHUTDOWN.
    pub enforcement: &'static str,
}

impl Default for Standing {
    /// A healthy account in production.
    fn default() -> Self {
        Self { production: true, sending: true, enforcement: "HEALTHY" }
    }
}

impl Account {
    /// The GetAccount response.
    pub(super) fn json(&self, standing: Standing) -> Value {
        json!({
            "DedicatedIpAutoWarmupEnabled": false,
            "EnforcementStatus": standing.enforcement,
            "ProductionAccessEnabled": standing.production,
            "SendingEnabled": standing.sending,
            "SendQuota": {
                "Max24HourSend": self.max_24_hour_send,
                "MaxSendRate": self.max_send_rate,
                "SentLast24Hours": self.sent_last_24_hours,
            },
        })
    }
}

/// The answer to a principal that may send but not look.
pub(super) fn denied(action: &str) -> Refusal {
    let who = "arn:aws:iam::123456789012:user/gateway";
    let message = format!("User: {who} is not authorized to perform: {action}");
    Refusal::new(403, "AccessDeniedException", message)
}
