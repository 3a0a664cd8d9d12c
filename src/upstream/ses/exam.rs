//! What SES is found to be: region, credentials, endpoint, clock, account, identities.

use std::{env, time::Duration};

use aws_config::SdkConfig;
use aws_sdk_sesv2::{
    Client,
    config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _},
    operation::get_account::GetAccountOutput,
};

use tokio::time::timeout;

use crate::{
    mail::Address,
    upstream::{Account, SesExam, Settings, Sight, Silence, Site, sight},
};

use super::{
    ask::ask,
    credentials,
    identities::{self, Identities},
    setup,
    witness::Witness,
};

/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long all calls about identities may take.
const ALL: Duration = Duration::from_secs(30);

/// Asks SES about itself and about the identities of these senders.
pub(in crate::upstream) async fn examine(settings: &Settings, site: &Site, senders: &[Address]) -> SesExam {
    let shared = setup::load(settings, site, PATIENCE).await;
    let region = shared.region().map(|region| (region.to_string(), origin(settings)));
    let credentials = credentials::examine(settings, &shared).await;
    let witness = Witness::default();
    let config = setup::configure(settings, &shared).await.interceptor(witness.clone()).build();
    let client = (region.is_some() && credentials.is_ok()).then(|| Client::from_conf(config));
    let account = match &client {
        Some(client) => ask("ses:GetAccount", || client.get_account().send()).await.map(|account| told(&account)),
        None => Err(Silence::Unasked),
    };
    // What does not answer once is not asked again and again.
    let speaking = match (&client, &account) {
        (_, Err(silence @ (Silence::Unasked | Silence::Unreached(_) | Silence::Rejected(_)))) => Err(silence.clone()),
        (Some(client), _) => Ok(client),
        (None, _) => Err(Silence::Unasked),
    };
    let (sight, (identities, senders)) =
        tokio::join!(look(settings, &shared, witness.uri()), identified(speaking, senders));
    SesExam { region, credentials, sight, account, clock: witness.clock(), identities, senders }
}

/// The identities, in a time that no number of senders makes longer.
async fn identified(client: Result<&Client, Silence>, senders: &[Address]) -> Identities {
    match timeout(ALL, identities::examine(client, senders)).await {
        Ok(found) => found,
        Err(_) => {
            let late = Silence::Unreached(format!("not all identities within {ALL:?}"));
            identities::examine(Err(late), senders).await
        }
    }
}

/// Where the region comes from, in the SDK's own order.
fn origin(settings: &Settings) -> &'static str {
    if !settings.region.is_empty() {
        return "the settings";
    }
    ["AWS_REGION", "AWS_DEFAULT_REGION"]
        .into_iter()
        .find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
        .unwrap_or("the AWS profile or the instance")
}

fn told(account: &GetAccountOutput) -> Account {
    Account {
        production: account.production_access_enabled(),
        sending: account.sending_enabled(),
        enforcement: account.enforcement_status().unwrap_or_default().to_owned(),
        quota: account.send_quota().map(|one| [one.max_send_rate(), one.max24_hour_send(), one.sent_last24_hours()]),
    }
}

/// Where calls went, or would go.
async fn look(settings: &Settings, shared: &SdkConfig, uri: Option<String>) -> Option<Sight> {
    let uri = match uri {
        Some(uri) => uri,
        None => resolved(settings, shared).await?,
    };
    let (host, port, tls) = place(&uri)?;
    Some(sight::look(&host, port, tls).await)
}

async fn resolved(settings: &Settings, shared: &SdkConfig) -> Option<String> {
    let own = Some(settings.endpoint_url.as_str()).filter(|url| !url.is_empty()).or(shared.endpoint_url());
    let parameters = Params::builder()
        .region(shared.region()?.to_string())
        .use_fips(shared.use_fips().unwrap_or_default())
        .use_dual_stack(shared.use_dual_stack().unwrap_or_default())
        .set_endpoint(own.map(str::to_owned))
        .build()
        .ok()?;
    let endpoint = DefaultResolver::new().resolve_endpoint(&parameters).await.ok()?;
    Some(endpoint.url().to_owned())
}

/// Host, port and whether it is TLS, of a URI.
fn place(uri: &str) -> Option<(String, u16, bool)> {
    let (scheme, rest) = uri.split_once("://")?;
    let tls = scheme.eq_ignore_ascii_case("https");
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, behind)| behind);
    let usual = if tls { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host.to_owned(), port, tls)).filter(|(host, ..)| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_with_a_port() {
        for (uri, host, port, tls) in [
            ("https://email.eu-west-1.amazonaws.com/v2/email/account", "email.eu-west-1.amazonaws.com", 443, true),
            ("http://127.0.0.1:8005/prefix/v2", "127.0.0.1", 8005, false),
            ("http://[::1]:8005", "::1", 8005, false),
            ("https://[2001:db8::1]/", "2001:db8::1", 443, true),
            ("HTTP://user@localhost", "localhost", 80, false),
        ] {
            assert_eq!(place(uri), Some((host.to_owned(), port, tls)), "{uri}");
        }
        for wrong in ["", "email.example.com", "http://", "http://a:b/"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn the_endpoint_of_a_region_is_known_without_asking() {
        let shared = SdkConfig::builder().region(aws_config::Region::new("eu-west-1")).build();
        let found = resolved(&Settings::default(), &shared).await;
        assert_eq!(found.as_deref(), Some("https://email.eu-west-1.amazonaws.com"));
        let own = Settings { endpoint_url: "http://127.0.0.1:9/x".to_owned(), ..Settings::default() };
        let found = resolved(&own, &shared).await.unwrap_or_default();
        assert!(found.starts_with("http://127.0.0.1:9"), "{found}");
        assert_eq!(resolved(&own, &SdkConfig::builder().build()).await, None);
    }
}
