//! What a call shows besides its answer: where it went, and SES's clock.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_sesv2::{
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::{BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef},
    },
    error::BoxError,
};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};

/// Sees the calls of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    uri: Option<String>,
    clock: Option<SignedDuration>,
}

impl Witness {
    /// The URI of the last call.
    pub fn uri(&self) -> Option<String> {
        self.with(|seen| seen.uri.clone())
    }

    /// SES's clock, less ours, at its last answer.
    pub fn clock(&self) -> Option<SignedDuration> {
        self.with(|seen| seen.clock)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Intercept for Witness {
    fn name(&self) -> &'static str {
        "Witness"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.with(|seen| seen.uri = Some(context.request().uri().to_owned()));
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let clock = context.response().headers().get("date").and_then(|date| ahead(date, Timestamp::now()));
        self.with(|seen| seen.clock = clock);
        Ok(())
    }
}

/// How far the time of a Date field (RFC 9110 section 5.6.7) is ahead.
fn ahead(date: &str, now: Timestamp) -> Option<SignedDuration> {
    let theirs = rfc2822::parse(date).ok()?.timestamp();
    Some(theirs.duration_since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_tells_the_clock() {
        let now = "2026-08-01T12:00:00Z".parse().unwrap();
        assert_eq!(ahead("Sat, 01 Aug 2026 12:06:40 GMT", now), Some(SignedDuration::from_secs(400)));
        assert_eq!(ahead("Sat, 01 Aug 2026 11:59:59 GMT", now), Some(SignedDuration::from_secs(-1)));
        assert_eq!(ahead("yesterday", now), None);
    }
}
