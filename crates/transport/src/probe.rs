//! Asks a server what it has: the quickest way to see whether it answers, takes the key and knows the model.
//!
//! Only lists are asked for, so that a probe costs nothing and says so even where it fails. It is strict about
//! the difference between a server that is not there, one that refuses the key, one that lacks the model, and
//! one that has no list: a person who sets up a provider is told which of them it is.

use bonded_kernel::{Failure, FailureClass, Target};
use futures_util::future::BoxFuture;
use reqwest::Url;
use reqwest::header::ACCEPT;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::address::unusable;
use crate::body::{self, Cut, IDLE_MAX};
use crate::clients::Clients;
use crate::credentials::Credentials;
use crate::dialect;
use crate::exchange::{Clock, Peer, Timed};
use crate::failure::{failed, malformed, one_line};
use crate::models::Service;

/// For all requests of a probe together.
const TIMEOUT_MS: u64 = 5_000;

/// A name that is longer is shown cut.
pub(crate) const NAME_CHARS_MAX: usize = 200;

/// A provider that answers, and whether it has the model that it is to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// True as well where the server has no list to look into.
    pub has_model: bool,
    /// The models that it lists, fit to be shown.
    pub models: Vec<String>,
}

/// The ids of the models at a target's endpoint, from `GET /models`, which every dialect has; `None` where a server
/// answers and has no such list. Gives up after five seconds.
pub fn probe(
    target: &Target,
    credentials: Credentials,
) -> BoxFuture<'static, Result<Option<Vec<String>>, Failure>> {
    let (target, peer) = (target.clone(), peer(target, credentials, TIMEOUT_MS));
    Box::pin(async move {
        let clock = Clock::start(peer.timeout_ms);
        let outcome = models(&target, &peer, &clock).await;
        peer.finish(outcome, &clock).map_err(unbilled)
    })
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
        let shown = |id: &String| one_line(&peer.credentials.masked_in(id), NAME_CHARS_MAX);
        Ok(match models {
            Some(models) => Health {
                has_model: models.iter().any(|id| is_named(id, &target)),
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

/// Nothing of the target's own timeout is used: a person waits for this.
pub(crate) fn peer(target: &Target, credentials: Credentials, timeout_ms: u64) -> Peer {
    Peer {
        provider: target.provider.clone(),
        dialect: target.dialect,
        credentials,
        key_header: target.key_header.clone(),
        beta: None,
        timeout_ms,
    }
}

/// The models of a provider that takes the key.
async fn listed(
    target: &Target,
    peer: &Peer,
    clock: &Clock,
) -> Result<Option<Vec<String>>, Failure> {
    // The list of this one is open to everybody, whatever the key.
    if target.family() == ROUTER {
        check_key(&target.endpoint, peer, clock).await?;
    }
    let listed = models(target, peer, clock).await?;
    // This one lists what could be deployed, and not what is.
    let is_azure = Service::of(target).is_some_and(|it| it.name == "azure");
    Ok(listed.filter(|_| !is_azure))
}

/// As a target's family has it.
const ROUTER: &str = "openrouter";

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
    let body = match get(url, peer, clock).await {
        Ok(body) => body,
        // What only looks like the router need not have this.
        Err(failure) if failure.status == Some(404) => return Ok(()),
        Err(failure) => return Err(failure),
    };
    let key: Value = serde_json::from_slice(&body).unwrap_or_default();
    let remaining = key.pointer("/data/limit_remaining").and_then(Value::as_f64);
    if remaining.is_some_and(|credits| credits <= 0.0) {
        let message = "the key has used up its credit limit";
        return Err(failed(FailureClass::Quota, message, false));
    }
    Ok(())
}

/// A status that only says that there is no such resource is no failure yet: some servers answer requests and
/// have no list.
async fn models(
    target: &Target,
    peer: &Peer,
    clock: &Clock,
) -> Result<Option<Vec<String>>, Failure> {
    let body = list_body(target, peer, clock).await?;
    body.map(|body| model_ids(&body)).transpose()
}

/// The list as it came; `None` where a server answers and has none.
pub(crate) async fn list_body(
    target: &Target,
    peer: &Peer,
    clock: &Clock,
) -> Result<Option<Vec<u8>>, Failure> {
    match get(dialect::models_url(target)?, peer, clock).await {
        Ok(body) => Ok(Some(body)),
        Err(failure) if matches!(failure.status, Some(404 | 405 | 501)) => {
            answers(target, peer, clock, failure).await.map(|()| None)
        }
        Err(failure) => Err(failure),
    }
}

/// Whether there is something to be asked where a list of models is missing. It is looked at in a way that asks for
/// nothing: a server that takes requests there says that this is none. Else the address itself is wrong.
///
/// A request without a body, sent by GET, cannot start a model. `missing` is what is reported where the address
/// turns out to be wrong, because that is where the person looked first.
async fn answers(
    target: &Target,
    peer: &Peer,
    clock: &Clock,
    missing: Failure,
) -> Result<(), Failure> {
    match get(dialect::completion_url(target)?, peer, clock).await {
        Ok(_) => Err(missing),
        Err(failure) => match failure.status {
            Some(400 | 405 | 411 | 415 | 422 | 501) => Ok(()),
            Some(404) => Err(missing),
            _ => Err(failure),
        },
    }
}

/// What lies at an address.
///
/// Builds a client for itself: probes are rare, and a connection that stays open would only hold a socket.
async fn get(url: Url, peer: &Peer, clock: &Clock) -> Result<Vec<u8>, Failure> {
    let client = Clients::default()
        .for_url(&url)
        .map_err(|why| unusable(&why))?;
    let request = client.get(url).header(ACCEPT, "application/json");
    let response = peer.exchange(request, clock).await?;
    let read = body::read_whole(body::pieces(response, IDLE_MAX));
    match timeout(clock.left(), read).await {
        Ok(body) => body.map_err(Cut::into_failure),
        Err(_) => Err(peer.too_late(clock)),
    }
}

/// A list of models costs nothing, however it fails.
///
/// The ways to fail that are shared with real requests say that they may be billed.
pub(crate) fn unbilled(failure: Failure) -> Failure {
    Failure {
        billable: false,
        ..failure
    }
}

/// A list has no place for how long it took.
impl Timed for Option<Vec<String>> {
    fn set_latency_ms(&mut self, _: u64) {}
}

/// Google lists under `models`, most others under `data`.
#[derive(Deserialize)]
struct Listing {
    data: Option<Vec<NamedModel>>,
    models: Option<Vec<NamedModel>>,
}

/// Either of the two names is there, the id first.
#[derive(Deserialize)]
struct NamedModel {
    id: Option<String>,
    name: Option<String>,
}

/// A model without a name is passed over. Names come from the server as they are; `check_health` makes them fit
/// to be shown.
fn model_ids(body: &[u8]) -> Result<Vec<String>, Failure> {
    let why = "the answer is not a list of models";
    let listing: Listing = serde_json::from_slice(body).map_err(|_| malformed(why, body))?;
    let listed = listing.data.or(listing.models);
    let listed = listed.ok_or_else(|| malformed(why, body))?;
    let names = listed.into_iter().filter_map(|model| {
        let name = model.id.or(model.name)?;
        // Google says of each model that it is one.
        Some(name.strip_prefix("models/").unwrap_or(&name).into())
    });
    Ok(names.collect())
}

#[cfg(test)]
mod tests {
    use bonded_kernel::FailureClass;

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

    #[test]
    fn model_ids_are_read_from_the_usual_listings() {
        let cases = [
            (
                r#"{"object":"list","data":[{"id":"a/b"},{"id":"c"}]}"#,
                Some(vec!["a/b", "c"]),
            ),
            (
                r#"{"models":[{"name":"qwen3:8b"}]}"#,
                Some(vec!["qwen3:8b"]),
            ),
            (
                r#"{"models":[{"name":"models/gemini-2.5-pro"}],"nextPageToken":"x"}"#,
                Some(vec!["gemini-2.5-pro"]),
            ),
            (r#"{"data":[]}"#, Some(vec![])),
            (r#"{"detail":"Not Found"}"#, None),
            ("<html>hello</html>", None),
        ];
        for (body, expected) in cases {
            let ids = model_ids(body.as_bytes());
            match expected {
                Some(expected) => {
                    assert_eq!(ids, Ok(expected.into_iter().map(Into::into).collect()));
                }
                None => assert!(
                    ids.is_err_and(|f| f.class == FailureClass::Malformed),
                    "{body}"
                ),
            }
        }
    }
}
