//! What SES says, as SMTP replies (RFC 5321 section 4.2, RFC 3463).
//!
//! The message's own faults are 5xx. What an operator has to mend (credentials, permissions, a paused account) and what
//! passes by itself (throttling, the network) is 4xx, so that no mail is bounced for it.

use std::error::Error as StdError;

use aws_sdk_sesv2::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};

use crate::mail::{Enhanced, Outcome, Pressure, Reply};

/// How an answer is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    code: u16,
    enhanced: Enhanced,
    alarm: bool,
    pressure: Option<Pressure>,
    /// About an address or an identity, so that one recipient of several may be the culprit.
    divisible: bool,
}

const fn class(code: u16, enhanced: Enhanced) -> Class {
    Class { code, enhanced, alarm: false, pressure: None, divisible: false }
}

const fn operator(code: u16, enhanced: Enhanced) -> Class {
    Class { alarm: true, ..class(code, enhanced) }
}

const fn pressing(code: u16, enhanced: Enhanced, pressure: Pressure) -> Class {
    Class { pressure: Some(pressure), ..class(code, enhanced) }
}

const fn about_address(code: u16, enhanced: Enhanced) -> Class {
    Class { divisible: true, ..class(code, enhanced) }
}

const THROTTLED: Class = pressing(454, Enhanced(4, 3, 2), Pressure::Rate);
const QUOTA: Class = pressing(454, Enhanced(4, 7, 0), Pressure::Quota);
const CREDENTIALS: Class = operator(451, Enhanced(4, 7, 0));
const UNAVAILABLE: Class = class(451, Enhanced(4, 3, 0));
const CONTENT: Class = class(554, Enhanced(5, 6, 0));
const ADDRESS: Class = about_address(553, Enhanced(5, 1, 3));
const SIZE: Class = class(552, Enhanced(5, 3, 4));

/// How SES begins when a From, Sender, Return-Path or, in the sandbox, a recipient is no verified identity.
const NOT_VERIFIED: &str = "Email address is not verified";
/// Identities that are told of one refusal at most, and octets of each.
const IDENTITIES: usize = 50;
const IDENTITY: usize = 320;

/// Words of SES that decide whatever the type of the error is; the first that is found counts.
const TEXTS: &[(&str, Class)] = &[
    ("Daily message quota exceeded", QUOTA),
    ("Maximum sending rate exceeded", THROTTLED),
    ("Message length is more than", SIZE),
    (NOT_VERIFIED, about_address(554, Enhanced(5, 7, 1))),
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
    let by_text = by_text(text);
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
    let cause = words(error);
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
    let text = without_request(text);
    let Class { code, enhanced, alarm, pressure, divisible } = classify(kind, status, text);
    let outcome = Outcome::refused(Reply::new(code, enhanced, &format!("SES: {text}")), format!("{kind}: {text}"));
    Outcome { alarm, pressure, divisible, unverified: unverified(text), http: Some(status), ..outcome }
}

/// The words of a refusal without the request that AWS may repeat in it when a signature is wrong ("Troubleshoot signed
/// requests" in the IAM user guide): among its header fields is the token of temporary credentials.
pub(super) fn without_request(text: &str) -> &str {
    let begins = ["The Canonical String", "The String-to-Sign", "x-amz-security-token", "X-Amz-Security-Token"];
    let end = begins.iter().filter_map(|words| text.find(words)).min();
    end.and_then(|end| text.get(..end)).unwrap_or(text).trim_end()
}

/// Whether SES answers and only does not tell of the account: the credentials may send but not look, the call came too
/// often (one a second for all gateways of an account), or an emulator has no such call.
pub(super) fn is_silence<E>(error: &SdkError<E, HttpResponse>) -> bool
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let SdkError::ServiceError(service) = error else {
        return matches!(error, SdkError::ResponseError(response) if response.raw().status().as_u16() == 404);
    };
    let (status, code) = (service.raw().status().as_u16(), service.err().code().unwrap_or_default());
    let denied = code.starts_with("AccessDenied");
    denied || status == 404 || classify(code, status, "").pressure.is_some()
}

fn by_text(text: &str) -> Option<Class> {
    TEXTS.iter().find(|(needle, _)| text.contains(needle)).map(|(_, class)| *class)
}

/// Whether SES's words ask for less mail; its SMTP endpoint has the same ones, behind `Throttling failure:`.
pub(in crate::upstream) fn pressure(text: &str) -> Option<Pressure> {
    let throttled = || text.contains("Throttling failure").then_some(Pressure::Rate);
    by_text(text).and_then(|class| class.pressure).or_else(throttled)
}

/// Whether SES's words are about an address or an identity.
pub(in crate::upstream) fn divisible(text: &str) -> bool {
    by_text(text).is_some_and(|class| class.divisible)
}

/// The identities behind `… failed the check in region X:`, without their display names.
pub(in crate::upstream) fn unverified(text: &str) -> Vec<String> {
    let behind = text.split_once(NOT_VERIFIED).and_then(|(_, rest)| rest.split_once(" in region "));
    let Some((_, list)) = behind.and_then(|(_, rest)| rest.split_once(':')) else { return Vec::new() };
    let identities = pieces(list).into_iter().map(identity);
    identities.filter(|one| !one.is_empty() && one.len() <= IDENTITY).take(IDENTITIES).map(str::to_owned).collect()
}

/// A list cut at its commas, but for those in quotes.
fn pieces(list: &str) -> Vec<&str> {
    let mut quoted = false;
    list.split(|one| {
        quoted ^= one == '"';
        one == ',' && !quoted
    })
    .collect()
}

fn identity(piece: &str) -> &str {
    let inside =
        piece.rsplit_once('<').map_or(piece, |(_, rest)| rest.split_once('>').map_or(rest, |(inside, _)| inside));
    inside.trim().trim_end_matches('.')
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

/// An error and its causes in words.
pub(super) fn words(error: &(dyn StdError + 'static)) -> String {
    chain(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
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
    fn the_token_in_a_refusal_about_the_signature_is_told_to_nobody() {
        let text = "The request signature we calculated does not match the signature you provided.\n\n\
                    The Canonical String for this request should have been\n'POST\n/v2/email/outbound-emails\n\n\
                    host:email.eu-west-1.amazonaws.com\nx-amz-security-token:IQoJb3JpZ2lu\n'";
        let outcome = answered("InvalidSignatureException", 403, text);
        assert_eq!(
            outcome.reply.to_string(),
            "451 4.7.0 SES: The request signature we calculated does not match the signature you provided."
        );
        assert!(!format!("{outcome:?}").contains("IQoJ"), "{outcome:?}");
    }

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

    #[test]
    fn throttling_presses_and_nothing_else_does() {
        for (kind, status, text, pressure) in [
            ("TooManyRequestsException", 429, "Maximum sending rate exceeded.", Some(Pressure::Rate)),
            ("ThrottlingException", 400, "Rate exceeded", Some(Pressure::Rate)),
            ("UnknownError", 429, "no text", Some(Pressure::Rate)),
            ("TooManyRequestsException", 429, "Daily message quota exceeded", Some(Pressure::Quota)),
            ("LimitExceededException", 400, "limit", Some(Pressure::Quota)),
            ("SendingPausedException", 400, "Account is paused", None),
            ("InternalFailure", 500, "Maximum sending rate exceeded.", None),
            ("MessageRejected", 400, "content", None),
        ] {
            assert_eq!(answered(kind, status, text).pressure, pressure, "{kind} {status} {text}");
        }
        assert_eq!(pressure("Throttling failure: Daily message quota exceeded."), Some(Pressure::Quota));
        assert_eq!(pressure("Throttling failure: Maximum sending rate exceeded."), Some(Pressure::Rate));
        assert_eq!(pressure("Throttling failure"), Some(Pressure::Rate));
        assert_eq!(pressure("Temporary service failure"), None);
    }

    #[test]
    fn what_is_about_an_address_is_divisible() {
        let divisible = |kind, text| answered(kind, 400, text).divisible;
        assert!(divisible("BadRequestException", "Missing final '@domain'"));
        assert!(divisible("BadRequestException", "Domain contains illegal character"));
        assert!(divisible("MessageRejected", "Email address is not verified. x"));
        assert!(!divisible("BadRequestException", "Duplicate header 'X'."));
        assert!(!divisible("TooManyRequestsException", "Maximum sending rate exceeded."));
        assert!(!divisible("SendingPausedException", "Account is paused"));
    }

    #[test]
    fn the_identities_that_are_not_verified_are_told() {
        let text = |list: &str| {
            format!(
                "Email address is not verified. The following identities failed the check in region EU-WEST-1: {list}"
            )
        };
        let told = |list: &str| answered("MessageRejected", 400, &text(list)).unverified.join("|");
        assert_eq!(told("a@b, c"), "a@b|c");
        assert_eq!(
            told(" a@b.example ,, \"Doe, Jane\" <jane@b.example>, Joe <joe@b.example>."),
            "a@b.example|jane@b.example|joe@b.example"
        );
        assert_eq!(told("arn:aws:ses:eu-west-1:1:identity/x"), "arn:aws:ses:eu-west-1:1:identity/x");
        assert_eq!(told(""), "");
        assert_eq!(told(&"x".repeat(400)), "");
        assert_eq!(told(&"a@b,".repeat(1000)).split('|').count(), IDENTITIES);
        assert_eq!(unverified("Email address is not verified."), [""; 0]);
        assert_eq!(unverified("in region X: a@b"), [""; 0]);
    }
}
