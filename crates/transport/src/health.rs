//! Whether a target could be asked now: its provider answers, takes the key and has the model.

use bonded_kernel::{Failure, FailureClass, Target};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::credentials::Credentials;
use crate::dialect;
use crate::exchange::{Clock, Peer};
use crate::failure::{failed, one_line};
use crate::models::Service;
use crate::offered::{NAME_CHARS_MAX, OfferedModel, get, models_at, peer, unbilled};
use crate::window::ROUTER;

/// For all requests of a look together.
const TIMEOUT_MS: u64 = 5_000;

/// A provider that answers, and whether it has the model that it is to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// True as well where the server has no list to look into.
    pub has_model: bool,
    /// The models that it lists, fit to be shown.
    pub models: Vec<String>,
}

/// Whether a target could be asked now: its provider answers, takes the key, and lists the model, if it lists any.
/// Nothing is asked of the model itself. Gives up after five seconds in all.
pub fn check_health(
    target: &Target,
    credentials: Credentials,
) -> BoxFuture<'static, Result<Health, Failure>> {
    let (target, peer) = (target.clone(), peer(target, credentials, TIMEOUT_MS));
    Box::pin(async move {
        let clock = Clock::start(peer.timeout_ms);
        let outcome = listed(&target, &peer, &clock).await;
        let models = peer.finish(outcome, &clock).map_err(unbilled)?;
        let shown =
            |it: &OfferedModel| one_line(&peer.credentials.masked_in(&it.id), NAME_CHARS_MAX);
        Ok(match models {
            Some(models) => Health {
                has_model: models.iter().any(|it| is_named(&it.id, &target)),
                models: models.iter().map(shown).collect(),
            },
            // What is not listed can only be tried.
            None => Health {
                has_model: true,
                models: vec![],
            },
        })
    })
}

/// The models of a provider that takes the key.
async fn listed(
    target: &Target,
    peer: &Peer,
    clock: &Clock,
) -> Result<Option<Vec<OfferedModel>>, Failure> {
    // The list of this one is open to everybody, whatever the key.
    if target.family() == ROUTER {
        check_key(&target.endpoint, peer, clock).await?;
    }
    let listed = models_at(target, peer, clock).await?;
    // This one lists what could be deployed, and not what is.
    let is_azure = Service::of(target).is_some_and(|it| it.name == "azure");
    Ok(listed.filter(|_| !is_azure))
}

/// Whether a listed model is the one that is meant. A router takes variants of its models, such as `:nitro`, that it does
/// not list.
fn is_named(id: &str, target: &Target) -> bool {
    let model = target.model.as_str();
    let base = model.split_once(':').map_or(model, |(base, _)| base);
    id == model || (target.family() == ROUTER && id == base)
}

/// A key that is refused or used up fails here. What else is said of it is nobody's business.
///
/// A limit that is absent is no limit. What cannot be read as JSON is passed over, since the status has already
/// said that the key is good.
async fn check_key(endpoint: &str, peer: &Peer, clock: &Clock) -> Result<(), Failure> {
    let url = (dialect::of(peer.dialect).resource_url)(endpoint, &["key"])?;
    let body = match get(&url, peer, clock).await {
        Ok(body) => body,
        // What only looks like the router need not have this.
        Err(failure) if failure.status == Some(404) => return Ok(()),
        Err(failure) => return Err(failure),
    };
    let key: Value = serde_json::from_slice(&body).unwrap_or_default();
    let remaining = key.pointer("/data/limit_remaining").and_then(Value::as_f64);
    if remaining.is_some_and(|credits| credits <= 0.0) {
        let message = "the key's limit of credits is used up";
        return Err(failed(FailureClass::Quota, message, false));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_by_its_id_and_a_router_also_takes_variants_of_it() {
        let cases = [
            ("lmstudio", "a/b", "a/b", true),
            ("lmstudio", "a/b", "a/b:4bit", false),
            ("lmstudio", "a/b", "A/B", false),
            ("openrouter", "a/b", "a/b", true),
            ("openrouter", "a/b", "a/b:nitro", true),
            ("openrouter", "a/b:free", "a/b:free", true),
            ("openrouter", "a/b:free", "a/b", false),
        ];
        for (provider, id, model, expected) in cases {
            let target = Target::new(provider, "http://h/v1", model);
            assert_eq!(is_named(id, &target), expected, "{provider} {id} {model}");
        }
    }
}
