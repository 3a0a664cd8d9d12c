//! The client of the SDK, as the settings want it.

use std::{sync::Arc, time::Duration};

use aws_config::{
    BehaviorVersion, Region, SdkConfig, meta::region::RegionProviderChain, retry::RetryConfig, sts::AssumeRoleProvider,
    timeout::TimeoutConfig,
};
use aws_sdk_sesv2::{
    Client,
    config::{self, Credentials, SharedCredentialsProvider, StalledStreamProtectionConfig},
};

use crate::{
    mail::Period,
    upstream::{Keys, Settings, SetupError, Site, Upstream, UpstreamRow},
};

use super::{Wishes, client::Ses};

pub(in crate::upstream) const ROW: UpstreamRow = UpstreamRow {
    kind: "ses",
    doc: "Amazon SES by its API version 2",
    argument: "region",
    build: |settings, site| Box::pin(build(settings, site)),
};

/// How long a connection may take to be made.
const CONNECT: Period = Period::seconds(10);
/// Whom AWS's logs name as the one that took on the role.
const SESSION: &str = "headgate";

async fn build(settings: &Settings, site: &Site) -> Result<Arc<dyn Upstream>, SetupError> {
    let shared = load(settings, site, settings.attempt_timeout.0).await;
    if shared.region().is_none() {
        let message = "no region: set region, or AWS_REGION, or a profile that has one".to_owned();
        return Err(SetupError { name: settings.name.clone(), message });
    }
    Ok(Arc::new(Ses {
        name: settings.name.clone(),
        client: Client::from_conf(configure(settings, &shared).await.build()),
        wishes: Wishes::of_settings(settings),
        feedback: settings.feedback.clone(),
        bounce: site.bounce.clone(),
    }))
}

/// What only SES's client has: its endpoint, and the role that calls are made in.
pub(super) async fn configure(settings: &Settings, shared: &SdkConfig) -> config::Builder {
    let mut own = config::Builder::from(shared);
    if let Some(endpoint) = given(&settings.endpoint_url) {
        own = own.endpoint_url(endpoint);
    }
    if let Some(role) = given(&settings.role_arn) {
        own = own.credentials_provider(assumed(settings, role, shared).await);
    }
    own
}

fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// What SES and STS have in common: region, credentials, time-outs. The endpoint is not: it is that of SES alone.
pub(super) async fn load(settings: &Settings, site: &Site, patience: Duration) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT.0.min(patience))
        .operation_attempt_timeout(patience)
        .operation_timeout(patience)
        .build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .timeout_config(timeouts);
    if let Some(region) = given(&settings.region) {
        loader = loader.region(Region::new(region.to_owned()));
    } else if let Some(region) = &site.region {
        loader = loader.region(RegionProviderChain::default_provider().or_else(Region::new(region.clone())));
    }
    if let Some(Keys { id, secret }) = &site.keys {
        loader = loader.credentials_provider(Credentials::new(id, secret.reveal(), None, None, "given keys"));
    }
    if let Some(profile) = given(&settings.profile) {
        loader = loader.profile_name(profile);
    }
    loader.load().await
}

/// Credentials of the role, renewed by the SDK before they end.
pub(super) async fn assumed(settings: &Settings, role: &str, shared: &SdkConfig) -> SharedCredentialsProvider {
    let mut builder = AssumeRoleProvider::builder(role).session_name(SESSION).configure(shared);
    if let Some(external) = given(&settings.external_id) {
        builder = builder.external_id(external);
    }
    SharedCredentialsProvider::new(builder.build().await)
}
