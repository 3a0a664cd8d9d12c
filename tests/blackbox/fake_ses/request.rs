//! Reads one request: enter the Authorization header and the JSON of SendEmail, leaves a [`Call`] or what AWS says to
//! a request that it cannot read. It must not judge what a readable call asks for: that is `law`'s.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use serde_json::Value;

use super::answer::Refusal;
use super::call::Call;

/// The scope of an AWS Signature Version 4. The signature itself is not checked: there is no secret to check it with.
pub(super) struct Credential {
    pub(super) access_key: String,
    pub(super) region: String,
}

impl Credential {
    /// None unless the Authorization is a complete one for the service `ses` (IAM guide, "Signing AWS API requests").
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let parts = value.strip_prefix("AWS4-HMAC-SHA256 ")?;
        let part = |name: &str| {
            let mut all = parts.split(',');
            all.find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('=')).filter(|value| !value.is_empty())
        };
        part("SignedHeaders").and(part("Signature"))?;
        let scope: Vec<&str> = part("Credential")?.split('/').collect();
        match scope.as_slice() {
            [access_key, _date, region, "ses", "aws4_request"] => {
                Some(Self { access_key: (*access_key).into(), region: (*region).into() })
            }
            _ => None,
        }
    }
}

/// What AWS says without a usable Authorization.
pub(super) fn unauthorized() -> Refusal {
    let message = "Missing Authentication Token";
    Refusal::new(403, "MissingAuthenticationTokenException", message)
}

/// Fills in what the request says. On a refusal the call holds what could be read up to there.
pub(super) fn read(body: &[u8], call: &mut Call) -> Result<(), Refusal> {
    let mut asked: Value = serde_json::from_slice(body).map_err(|error| malformed(&error.to_string()))?;
    let object = asked.as_object_mut().ok_or_else(|| malformed("no object"))?;
    let content = object.remove("Content").unwrap_or_default();
    call.request = asked;
    let asked = &call.request;
    let destination = &asked["Destination"];
    call.to = texts(&destination["ToAddresses"])?;
    call.cc = texts(&destination["CcAddresses"])?;
    call.bcc = texts(&destination["BccAddresses"])?;
    call.feedback = text(&asked["FeedbackForwardingEmailAddress"])?;
    call.from_email_address = text(&asked["FromEmailAddress"])?;
    call.configuration_set = text(&asked["ConfigurationSetName"])?;
    call.tags = tags(&asked["EmailTags"])?;
    call.raw = raw(&content)?;
    Ok(())
}

/// A body that AWS cannot turn into the operation's input.
fn malformed(why: &str) -> Refusal {
    let message = format!("The request cannot be read: {why}");
    Refusal::new(400, "SerializationException", message)
}

fn text(value: &Value) -> Result<Option<String>, Refusal> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(malformed("a string was expected")),
    }
}

fn list(value: &Value) -> Result<&[Value], Refusal> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(malformed("a list was expected")),
    }
}

fn texts(value: &Value) -> Result<Vec<String>, Refusal> {
    let required = |item| text(item)?.ok_or_else(|| malformed("a null in a list"));
    list(value)?.iter().map(required).collect()
}

/// A missing half is empty here, and refused as such by `law`.
fn tags(value: &Value) -> Result<Vec<(String, String)>, Refusal> {
    let half = |tag: &Value, name: &str| Ok(text(&tag[name])?.unwrap_or_default());
    let tag = |tag| Ok((half(tag, "Name")?, half(tag, "Value")?));
    list(value)?.iter().map(tag).collect()
}

fn raw(content: &Value) -> Result<Bytes, Refusal> {
    let Some(data) = text(&content["Raw"]["Data"])? else {
        return Err(Refusal::bad_request("Only raw content is known here."));
    };
    let message = STANDARD.decode(data).map_err(|error| malformed(&error.to_string()))?;
    Ok(message.into())
}
