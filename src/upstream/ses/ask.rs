//! Questions to SES that are not about a message: an answer, or why there is none.

use std::{error::Error as StdError, time::Duration};

use aws_sdk_sesv2::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};

use crate::upstream::Silence;

use super::errors;

/// Calls of a kind are granted one a second, and a gateway that runs takes some of them.
const BETWEEN: Duration = Duration::from_millis(1200);
/// How often a question is asked.
const TIMES: usize = 3;

/// The types of errors about credentials, their signature, or the time in it.
const REJECTED: &[&str] = &[
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "ExpiredTokenException",
    "ExpiredToken",
    "RequestExpired",
    "IncompleteSignatureException",
    "MissingAuthenticationTokenException",
    "OptInRequired",
];

/// Asks, again after a while when SES says that it is asked too often. `action` is what IAM has to allow.
pub(super) async fn ask<T, E, F>(action: &'static str, call: impl Fn() -> F) -> Result<T, Silence>
where
    E: ProvideErrorMetadata + StdError + 'static,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    patiently(BETWEEN, || async { call().await.map_err(|error| silence(action, &error)) }).await
}

async fn patiently<T, F>(between: Duration, call: impl Fn() -> F) -> Result<T, Silence>
where
    F: Future<Output = Result<T, Silence>>,
{
    let mut asked = 1;
    loop {
        match call().await {
            Err(Silence::Throttled) if asked < TIMES => {
                asked += 1;
                tokio::time::sleep(between).await;
            }
            other => return other,
        }
    }
}

fn silence<E>(action: &'static str, error: &SdkError<E, HttpResponse>) -> Silence
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    match error {
        SdkError::ServiceError(service) => {
            let (metadata, status) = (service.err().meta(), service.raw().status().as_u16());
            answered(
                action,
                (metadata.code().unwrap_or("UnknownError"), status),
                metadata.message().unwrap_or("no text"),
            )
        }
        SdkError::ResponseError(response) if response.raw().status().as_u16() == 404 => Silence::Absent,
        SdkError::ResponseError(response) => Silence::Failed(format!(
            "HTTP status {}, and no answer of SES: {}",
            response.raw().status().as_u16(),
            errors::words(error)
        )),
        _ => Silence::Unreached(errors::outcome(error).cause.trim_start_matches("ambiguous: ").to_owned()),
    }
}

/// `NotFoundException` is for the one who asks; any other 404 comes from something that has no such call.
fn answered(action: &'static str, (kind, status): (&str, u16), text: &str) -> Silence {
    let text = errors::without_request(text);
    let kind = kind.rsplit(['#', '.']).next().unwrap_or(kind);
    if kind.starts_with("AccessDenied") || kind == "NotAuthorized" {
        Silence::Denied(action, text.to_owned())
    } else if REJECTED.contains(&kind) {
        Silence::Rejected(format!("{kind}: {text}"))
    } else if status == 429 || kind.starts_with("Throttling") || kind == "TooManyRequestsException" {
        Silence::Throttled
    } else if status == 404 {
        Silence::Absent
    } else {
        Silence::Failed(format!("{kind}: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_there_is_no_answer_is_told_apart() {
        let of = |kind, status| answered("ses:GetAccount", (kind, status), "words");
        assert_eq!(of("AccessDeniedException", 403), Silence::Denied("ses:GetAccount", "words".to_owned()));
        assert_eq!(
            of("com.amazon#InvalidSignatureException", 403),
            Silence::Rejected("InvalidSignatureException: words".to_owned())
        );
        assert_eq!(of("TooManyRequestsException", 429), Silence::Throttled);
        assert_eq!(of("Throttling", 400), Silence::Throttled);
        assert_eq!(of("UnknownOperationException", 404), Silence::Absent);
        assert_eq!(of("InternalFailure", 500), Silence::Failed("InternalFailure: words".to_owned()));
    }

    #[tokio::test]
    async fn who_asks_too_often_asks_again() {
        for (throttled, expected) in [(0, Ok(1)), (2, Ok(3)), (3, Err(Silence::Throttled))] {
            let asked = std::cell::Cell::new(0);
            let answered = patiently(Duration::ZERO, || async {
                asked.set(asked.get() + 1);
                if asked.get() > throttled { Ok(asked.get()) } else { Err(Silence::Throttled) }
            });
            assert_eq!(answered.await, expected);
            assert!(asked.get() <= TIMES);
        }
    }
}
