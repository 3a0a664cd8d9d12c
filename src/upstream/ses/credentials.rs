//! Which credentials the SDK finds, and where.
//!
//! They are fetched as for a call; of the key only its end is told.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::credential_feature::AwsCredentialFeature as Feature;
use aws_sdk_sesv2::config::{self, ProvideCredentials as _, SharedCredentialsProvider};
use jiff::Timestamp;
use tokio::time::timeout;

use crate::upstream::{Credentials, Settings};

use super::{errors, setup};

/// How long the search may take: an instance that is none is asked for its role in vain for some seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Characters of the key's id that tell it from others.
const TOLD: usize = 4;

/// The members of the chain, in words.
const SOURCES: &[(Feature, &str)] = &[
    (Feature::CredentialsEnvVars, "environment variables"),
    (Feature::CredentialsEnvVarsStsWebIdToken, "a web identity token"),
    (Feature::CredentialsProfileStsWebIdToken, "a web identity token"),
    (Feature::CredentialsStsAssumeRoleWebId, "a web identity token"),
    (Feature::CredentialsHttp, "the container's endpoint"),
    (Feature::CredentialsImds, "instance metadata"),
    (Feature::CredentialsProcess, "a credential_process"),
    (Feature::CredentialsSso, "SSO"),
    (Feature::CredentialsProfile, "a profile of the AWS files"),
    (Feature::CredentialsStsAssumeRole, "a role"),
];

/// The credentials that calls are signed with.
///
/// # Errors
/// Why there are none.
pub(super) async fn examine(settings: &Settings, shared: &SdkConfig) -> Result<Credentials, String> {
    let provider = shared.credentials_provider().ok_or("the AWS environment names none")?;
    let own = found(&provider).await?;
    let source = source(&own);
    if settings.role_arn.is_empty() {
        return Ok(told(&own, source, None));
    }
    let role = setup::assumed(settings, &settings.role_arn, shared).await;
    let of_role = found(&role).await.map_err(|error| format!("role {}: {error}", settings.role_arn))?;
    Ok(told(&of_role, source, Some(settings.role_arn.clone())))
}

async fn found(provider: &SharedCredentialsProvider) -> Result<config::Credentials, String> {
    match timeout(PATIENCE, provider.provide_credentials()).await {
        Ok(found) => found.map_err(|error| brief(&errors::words(&error))),
        Err(_) => Err(format!("none within {PATIENCE:?}")),
    }
}

/// The words of the chain, without its members that are simply not set up.
fn brief(words: &str) -> String {
    let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut told: Vec<&str> = Vec::new();
    for (at, line) in lines.enumerate() {
        if at == 0 {
            told.push(line.split(" Attempted:").next().unwrap_or(line).trim_end_matches('.'));
        } else if !line.contains("was not enabled") {
            told.push(line);
        }
    }
    told.join("; ")
}

fn source(credentials: &config::Credentials) -> String {
    let features = credentials.get_property::<Vec<Feature>>().map(Vec::as_slice).unwrap_or_default();
    let mut words: Vec<&str> =
        SOURCES.iter().filter(|(known, _)| features.contains(known)).map(|(_, word)| *word).collect();
    words.dedup();
    if words.is_empty() { "the AWS environment".to_owned() } else { words.join(" and ") }
}

fn told(credentials: &config::Credentials, source: String, role: Option<String>) -> Credentials {
    let id = credentials.access_key_id();
    // Of an id as short as that nothing would be hidden.
    let from = id.char_indices().rev().nth(TOLD - 1).map_or(id.len(), |(at, _)| at);
    let key = if id.len() >= 4 * TOLD { id.get(from..).unwrap_or_default() } else { "" };
    let expires = credentials.expiry().and_then(|time| Timestamp::try_from(time).ok());
    Credentials { source, role, key: key.to_owned(), expires }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(id: &str, features: &[Feature]) -> config::Credentials {
        let mut credentials = config::Credentials::new(id, "secret", None, None, "test");
        credentials.get_property_mut_or_default::<Vec<Feature>>().extend_from_slice(features);
        credentials
    }

    #[test]
    fn the_source_is_in_words() {
        for (features, expected) in [
            (vec![Feature::CredentialsEnvVars], "environment variables"),
            (vec![Feature::CredentialsSso, Feature::CredentialsProfile], "SSO and a profile of the AWS files"),
            (vec![Feature::CredentialsImds, Feature::ResolvedAccountId], "instance metadata"),
            (vec![], "the AWS environment"),
        ] {
            assert_eq!(source(&credentials("AKIDEXAMPLE", &features)), expected);
        }
    }

    #[test]
    fn a_chain_that_found_none_is_brief() {
        let words = "not enabled: none found in chain. Attempted:\n  Environment: the provider was not enabled: no variable\n  \
                     Profile: the file cannot be read";
        assert_eq!(brief(words), "not enabled: none found in chain; Profile: the file cannot be read");
        assert_eq!(brief("expired"), "expired");
    }

    #[test]
    fn of_the_key_only_its_end_is_told() {
        let told = |id| told(&credentials(id, &[]), String::new(), None).key;
        assert_eq!(told("AKIAIOSFODNN7EXAMPLE"), "MPLE");
        assert_eq!(told("secretsecret"), "");
        assert_eq!(told(""), "");
    }
}
