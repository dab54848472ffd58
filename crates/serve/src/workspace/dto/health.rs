//! Whether the server lives, and whether it can work.
//!
//! These two are answered to anybody who can reach the server, so nothing in them tells what it holds or where it asks.

use std::sync::Arc;

use bonded_workspace::{ProviderHealth, ProviderState};
use serde::Serialize;

use super::scalars::Timestamp;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Health {
    pub(crate) status: Alive,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum Alive {
    #[serde(rename = "ok")]
    Ok,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Ready {
    pub(crate) status: Readiness,
    pub(crate) provider: ReadyProvider,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum Readiness {
    #[serde(rename = "ready")]
    Ready,
}

/// The provider of the agent, as it was when it was looked at last
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) struct ReadyProvider {
    kind: String,
    status: ProviderStatus,
    /// How the provider failed.
    #[cfg_attr(test, schemars(extend("enum" = [
        "auth", "quota", "rate_limit", "network", "timeout", "model", "malformed", "overflow", null
    ])))]
    failure: Option<&'static str>,
    checked_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum ProviderStatus {
    #[serde(rename = "unchecked")]
    Unchecked,
    #[serde(rename = "ok")]
    Ok,
    #[serde(rename = "model_not_listed")]
    ModelNotListed,
    #[serde(rename = "unavailable")]
    Unavailable,
}

/// Who may ask this is anybody: neither the place of the provider nor its words are shown.
impl From<&Arc<ProviderHealth>> for ReadyProvider {
    fn from(provider: &Arc<ProviderHealth>) -> Self {
        let last = provider.last();
        let (status, failure) = match last.as_ref().map(|look| &look.state) {
            None => (ProviderStatus::Unchecked, None),
            Some(ProviderState::Well) => (ProviderStatus::Ok, None),
            Some(ProviderState::WithoutModel { .. }) => (ProviderStatus::ModelNotListed, None),
            Some(ProviderState::Away { failure }) => {
                (ProviderStatus::Unavailable, Some(failure.class.as_str()))
            }
        };
        Self {
            kind: provider.kind().to_owned(),
            status,
            failure,
            checked_at: last.map(|look| look.at.into()),
        }
    }
}
