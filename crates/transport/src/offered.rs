//! What an endpoint offers: the models that it lists, with what its list says of their windows and prices.
//!
//! Only lists are asked for, so that a look costs nothing and says so even where it fails. It is strict about the
//! difference between a server that is not there, one that refuses the key, and one that has no list: a person who sets
//! up a provider is told which of them it is. Nothing in a list can be trusted: a number that no window has is none, a
//! price that is not an amount is none, and names are made fit to be shown. The key goes to the endpoint alone.

use bonded_kernel::{Failure, Money, Price, Target};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use crate::body::{self, Cut, IDLE_MAX};
use crate::clients::Clients;
use crate::credentials::Credentials;
use crate::dialect;
use crate::exchange::{Clock, Outgoing, Peer, Timed};
use crate::failure::{malformed, one_line};
use crate::window::listed_tokens;

/// A person waits for all endpoints together, and those that answer do so at once.
const TIMEOUT_MS: u64 = 3_000;

/// A name that is longer is shown cut.
pub(crate) const NAME_CHARS_MAX: usize = 200;

/// More models than any service has; a hostile list ends here.
const MODELS_MAX: usize = 5_000;

/// A model of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    /// As requests name it.
    pub id: String,
    /// What the list says that it takes in.
    pub window: Option<u64>,
    /// What the list says that it costs.
    pub price: Option<Price>,
}

/// The models at a target's endpoint, by their names; `None` where a server answers and has no list. Gives up after three
/// seconds, and costs nothing.
pub fn offered(
    target: &Target,
    credentials: Credentials,
) -> BoxFuture<'static, Result<Option<Vec<OfferedModel>>, Failure>> {
    let (target, peer) = (target.clone(), peer(target, credentials, TIMEOUT_MS));
    Box::pin(async move {
        let clock = Clock::start(peer.timeout_ms);
        let listed = models_at(&target, &peer, &clock).await;
        let listed = peer.finish(listed, &clock).map_err(unbilled)?;
        let shown = |model: OfferedModel| OfferedModel {
            id: one_line(&peer.credentials.masked_in(&model.id), NAME_CHARS_MAX),
            ..model
        };
        Ok(listed.map(|models| models.into_iter().map(shown).collect()))
    })
}

/// A list has no place for how long it took.
impl Timed for Option<Vec<OfferedModel>> {
    fn set_latency_ms(&mut self, _: u64) {}
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

/// What is listed, by names as the server writes them; `None` where it answers and has no list.
pub(crate) async fn models_at(
    target: &Target,
    peer: &Peer,
    clock: &Clock,
) -> Result<Option<Vec<OfferedModel>>, Failure> {
    let body = list_body(target, peer, clock).await?;
    body.map(|body| models(&body)).transpose()
}

/// Google lists under `models`, most others under `data`.
fn models(body: &[u8]) -> Result<Vec<OfferedModel>, Failure> {
    let why = "the answer is not a list of models";
    let list: Value = serde_json::from_slice(body).map_err(|_| malformed(why, body))?;
    let listed = list.get("data").or_else(|| list.get("models"));
    let listed = listed.and_then(Value::as_array);
    let listed = listed.ok_or_else(|| malformed(why, body))?;
    let mut models: Vec<OfferedModel> = listed
        .iter()
        .filter(|model| answers_text(model))
        .filter_map(offered_model)
        .take(MODELS_MAX)
        .collect();
    models.sort_by(|a, b| a.id.cmp(&b.id));
    models.dedup_by(|a, b| a.id == b.id);
    Ok(models)
}

/// Google says what each model is for; others do not.
fn answers_text(model: &Value) -> bool {
    let methods = model.get("supportedGenerationMethods");
    let Some(methods) = methods.and_then(Value::as_array) else {
        return true;
    };
    methods.iter().any(|method| method == "generateContent")
}

/// A model without a name is passed over.
fn offered_model(model: &Value) -> Option<OfferedModel> {
    let named = ["id", "name"]
        .iter()
        .find_map(|key| model.get(key)?.as_str());
    let id = named?;
    // Google says of each model that it is one.
    let id = id.strip_prefix("models/").unwrap_or(id);
    Some(OfferedModel {
        id: id.to_owned(),
        window: listed_tokens(model),
        price: model.get("pricing").and_then(|it| price(id, it)),
    })
}

/// As OpenRouter writes it: dollars a token, as texts. What is not exactly an amount is no price, and neither is one that
/// asks something for each request beside its tokens. A server that does not know a price may write 0: only a model that
/// is called free by its name costs nothing.
fn price(id: &str, pricing: &Value) -> Option<Price> {
    let rate = |key: &str| -> Option<u64> {
        let dollars: Money = pricing.get(key)?.as_str()?.parse().ok()?;
        Some(dollars.0)
    };
    let (input, output) = (rate("prompt")?, rate("completion")?);
    let is_nothing = input == 0 && output == 0;
    if rate("request").is_some_and(|each| each > 0) || (is_nothing && !id.ends_with(":free")) {
        return None;
    }
    Some(Price {
        input,
        output,
        cached: rate("input_cache_read").unwrap_or(input),
        written: rate("input_cache_write"),
        above: None,
    })
}

/// The list as it came. A status that only says that there is no such resource is no failure yet: some servers answer
/// requests and have no list.
async fn list_body(
    target: &Target,
    peer: &Peer,
    clock: &Clock,
) -> Result<Option<Vec<u8>>, Failure> {
    match get(&dialect::models_url(target)?, peer, clock).await {
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
    match get(&dialect::completion_url(target)?, peer, clock).await {
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
/// Builds a client for itself: looks are rare, and a connection that stays open would only hold a socket.
pub(crate) async fn get(url: &Url, peer: &Peer, clock: &Clock) -> Result<Vec<u8>, Failure> {
    let clients = Clients::default();
    let request = Outgoing::json(url, None)?;
    let response = peer.exchange(&clients, request, clock).await?;
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

#[cfg(test)]
mod tests {
    use bonded_kernel::FailureClass;
    use serde_json::json;

    use super::*;

    fn read(list: &Value) -> Vec<(String, Option<u64>, Option<u64>)> {
        let models = models(list.to_string().as_bytes()).expect("it is a list");
        let row = |it: OfferedModel| (it.id, it.window, it.price.map(|price| price.output));
        models.into_iter().map(row).collect()
    }

    #[test]
    fn a_list_says_names_windows_and_prices_as_far_as_it_has_them() {
        let router = json!({ "data": [
            { "id": "b/two", "context_length": 200_000, "pricing": { "prompt": "0.00000025", "completion": "0.000002" } },
            { "id": "a/one" },
            { "id": "d/each", "pricing": { "prompt": "0", "completion": "0", "request": "0.01" } },
            { "id": "e/one:free", "pricing": { "prompt": "0", "completion": "0", "request": "0" } },
            { "id": "f/unknown", "pricing": { "prompt": "0", "completion": "0" } },
            { "id": "c/odd", "context_length": -1, "pricing": { "prompt": "-1", "completion": "-1" } },
            { "id": "a/one" }, { "nothing": 1 }, 7,
        ]});
        assert_eq!(
            read(&router),
            [
                ("a/one".into(), None, None),
                ("b/two".into(), Some(200_000), Some(2_000_000)),
                ("c/odd".into(), None, None),
                ("d/each".into(), None, None),
                ("e/one:free".into(), None, Some(0)),
                ("f/unknown".into(), None, None),
            ]
        );
        let google = json!({ "models": [
            { "name": "models/gemini-2.5-pro", "inputTokenLimit": 1_048_576,
              "supportedGenerationMethods": ["generateContent"] },
            { "name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"] },
        ]});
        assert_eq!(
            read(&google),
            [("gemini-2.5-pro".into(), Some(1_048_576), None)]
        );
        let ollama = json!({ "models": [{ "name": "qwen3:8b" }] });
        assert_eq!(read(&ollama), [("qwen3:8b".into(), None, None)]);
        assert!(read(&json!({ "data": [] })).is_empty());
    }

    #[test]
    fn what_is_no_list_is_a_failure() {
        let bodies = [
            "",
            "[]",
            "{}",
            "{\"data\": 1}",
            "{\"detail\": \"Not Found\"}",
            "<html>",
        ];
        for body in bodies {
            let failure = models(body.as_bytes()).expect_err(body);
            assert_eq!(failure.class, FailureClass::Malformed, "{body}");
        }
    }
}
