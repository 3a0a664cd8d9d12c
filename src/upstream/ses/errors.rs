//! What SES says, as SMTP replies (RFC 5321 section 4.2, RFC 3463).
//!
//! The message's own faults are 5xx. What an operator has to mend (credentials, permissions, a paused account) and what
//! passes by itself (throttling, the network) is 4xx, so that no mail is bounced for it.

use std::error::Error as StdError;

use aws_sdk_sesv2::{
    config::http::HttpResponse,
    error::{DisplayErrorContext, ProvideErrorMetadata, SdkError},
};

use crate::mail::{Enhanced, Outcome, Reply};

/// How an answer is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    code: u16,
    enhanced: Enhanced,
    alarm: bool,
}

const fn class(code: u16, enhanced: Enhanced) -> Class {
    Class { code, enhanced, alarm: false }
}

const fn operator(code: u16, enhanced: Enhanced) -> Class {
    Class { code, enhanced, alarm: true }
}

const THROTTLED: Class = class(454, Enhanced(4, 3, 2));
const QUOTA: Class = class(454, Enhanced(4, 7, 0));
const CREDENTIALS: Class = operator(451, Enhanced(4, 7, 0));
const UNAVAILABLE: Class = class(451, Enhanced(4, 3, 0));
const CONTENT: Class = class(554, Enhanced(5, 6, 0));
const ADDRESS: Class = class(553, Enhanced(5, 1, 3));
const SIZE: Class = class(552, Enhanced(5, 3, 4));

/// Words of SES that decide whatever the type of the error is; the first that is found counts.
const TEXTS: &[(&str, Class)] = &[
    ("Daily message quota exceeded", QUOTA),
    ("Maximum sending rate exceeded", THROTTLED),
    ("Message length is more than", SIZE),
    ("Email address is not verified", class(554, Enhanced(5, 7, 1))),
    ("Missing final '@domain'", ADDRESS),
    ("Local address contains", ADDRESS),
    ("Domain contains", ADDRESS),
    ("Missing local name", ADDRESS),
    ("Missing domain", ADDRESS),
    ("Illegal address", ADDRESS),
    ("Extra route-addr", ADDRESS),
    ("Invalid email address", ADDRESS),
];

/// The types of SES's errors, without their namespace.
const KINDS: &[(&str, Class)] = &[
    ("TooManyRequestsException", THROTTLED),
    ("ThrottlingException", THROTTLED),
    ("Throttling", THROTTLED),
    ("LimitExceededException", QUOTA),
    ("SendingPausedException", operator(451, Enhanced(4, 3, 2))),
    ("AccountSuspendedException", operator(451, Enhanced(4, 7, 1))),
    ("MailFromDomainNotVerifiedException", operator(451, Enhanced(4, 7, 0))),
    ("NotFoundException", operator(451, Enhanced(4, 3, 5))),
    ("MessageRejected", CONTENT),
    ("BadRequestException", CONTENT),
    ("InvalidParameterValue", CONTENT),
];

/// What an HTTP status says when the type of the error is not known.
fn by_status(status: u16) -> Class {
    match status {
        429 => THROTTLED,
        401 | 403 => CREDENTIALS,
        404 => operator(451, Enhanced(4, 3, 5)),
        413 => SIZE,
        _ => UNAVAILABLE,
    }
}

/// A 400 of an unknown type is a fault of credentials or of the clock more often than of a message; nothing is bounced
/// for what is not understood.
fn classify(kind: &str, status: u16, text: &str) -> Class {
    let kind = kind.rsplit(['#', '.']).next().unwrap_or(kind);
    let by_text = TEXTS.iter().find(|(needle, _)| text.contains(needle)).map(|(_, class)| *class);
    let by_kind = KINDS.iter().find(|(known, _)| *known == kind).map(|(_, class)| *class);
    if status >= 500 {
        return UNAVAILABLE;
    }
    match (by_text, by_kind) {
        (Some(class), _) => class,
        (None, Some(class)) => class,
        (None, None) if status == 400 => CREDENTIALS,
        (None, None) => by_status(status),
    }
}

/// The outcome of a call that did not succeed.
pub(super) fn outcome<E>(error: &SdkError<E, HttpResponse>) -> Outcome
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let cause = DisplayErrorContext(error).to_string();
    match error {
        SdkError::ServiceError(service) => {
            let status = service.raw().status().as_u16();
            let metadata = service.err();
            let kind = metadata.code().unwrap_or("UnknownError");
            let text = metadata.message().unwrap_or("no text");
            answered(kind, status, text)
        }
        SdkError::ResponseError(response) if response.raw().status().is_success() => {
            doubtful("SES answered something unreadable", &cause)
        }
        SdkError::ResponseError(response) => answered("UnreadableResponse", response.raw().status().as_u16(), &cause),
        SdkError::TimeoutError(_) => doubtful("SES did not answer in time", &cause),
        SdkError::DispatchFailure(_) if chain(error).any(|one| one.to_string().contains("credential")) => {
            let reply = Reply::new(451, CREDENTIALS.enhanced, "No usable AWS credentials");
            Outcome::refused(reply, short(&cause)).with_alarm()
        }
        SdkError::DispatchFailure(_) if never_connected(error) => {
            Outcome::refused(Reply::new(451, Enhanced(4, 4, 1), "SES cannot be reached"), short(&cause)).with_alarm()
        }
        SdkError::DispatchFailure(_) => doubtful("The connection to SES broke", &cause),
        _ => {
            Outcome::refused(Reply::new(451, Enhanced(4, 3, 5), "The request to SES could not be made"), short(&cause))
                .with_alarm()
        }
    }
}

fn answered(kind: &str, status: u16, text: &str) -> Outcome {
    let Class { code, enhanced, alarm } = classify(kind, status, text);
    let outcome = Outcome::refused(Reply::new(code, enhanced, &format!("SES: {text}")), format!("{kind}: {text}"));
    if alarm { outcome.with_alarm() } else { outcome }
}

/// The request may have been read: SES may have sent the message.
fn doubtful(text: &str, cause: &str) -> Outcome {
    let reply = Reply::new(451, Enhanced(4, 4, 2), text);
    Outcome::refused(reply, format!("ambiguous: {}", short(cause))).with_doubt()
}

/// An error and its causes. The SDK tells only by their words whether a request left at all.
fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let one = next?;
        next = one.source();
        Some(one)
    })
}

/// Whether the request cannot have reached SES.
fn never_connected(error: &(dyn StdError + 'static)) -> bool {
    use std::io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
    let refused = [AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable];
    chain(error).any(|one| {
        let kind = one.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let text = one.to_string();
        kind.is_some_and(|kind| refused.contains(&kind))
            || ["tcp connect error", "dns error", "connect timeout"].iter().any(|words| text.contains(words))
    })
}

fn short(cause: &str) -> String {
    cause.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ses_says_becomes_the_right_reply() {
        for (kind, status, text, reply) in [
            ("TooManyRequestsException", 429, "Maximum sending rate exceeded.", "454 4.3.2"),
            ("LimitExceededException", 400, "Daily message quota exceeded", "454 4.7.0"),
            ("TooManyRequestsException", 429, "Daily message quota exceeded", "454 4.7.0"),
            ("SendingPausedException", 400, "Account is paused", "451 4.3.2"),
            (
                "MessageRejected",
                400,
                "Email address is not verified. The following identities failed the check in region X: a@b",
                "554 5.7.1",
            ),
            ("MessageRejected", 400, "content", "554 5.6.0"),
            ("com.amazonaws.sesv2#BadRequestException", 400, "Duplicate header 'X'.", "554 5.6.0"),
            ("BadRequestException", 400, "Missing final '@domain'", "553 5.1.3"),
            ("BadRequestException", 400, "Message length is more than 10485760 bytes long: '12078147'.", "552 5.3.4"),
            ("NotFoundException", 404, "configuration set", "451 4.3.5"),
            ("AccessDeniedException", 403, "User `arn' is not authorized to perform `ses:SendRawEmail'", "451 4.7.0"),
            ("ExpiredTokenException", 403, "expired", "451 4.7.0"),
            ("ExpiredToken", 400, "expired", "451 4.7.0"),
            ("UnrecognizedClientException", 400, "?", "451 4.7.0"),
            ("InternalFailure", 500, "?", "451 4.3.0"),
            ("MessageRejected", 503, "?", "451 4.3.0"),
            ("UnknownError", 302, "?", "451 4.3.0"),
        ] {
            let class = classify(kind, status, text);
            assert_eq!(format!("{} {}", class.code, class.enhanced), reply, "{kind} {status} {text}");
        }
    }
}
