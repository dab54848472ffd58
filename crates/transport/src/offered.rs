//! What an endpoint offers: the models that it lists, with what its list says of their windows and prices.
//!
//! The same list that a probe looks at, read further. Nothing in it can be trusted: a number that no window has is none,
//! a price that is not an amount is none, and names are made fit to be shown. The key goes to the endpoint alone.

use bonded_kernel::{Failure, Money, Price, Target};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::credentials::Credentials;
use crate::exchange::{Clock, Timed};
use crate::failure::{malformed, one_line};
use crate::probe::{NAME_CHARS_MAX, list_body, peer, unbilled};
use crate::window::listed_tokens;

/// A person waits for all endpoints together, and those that answer do so at once.
const TIMEOUT_MS: u64 = 3_000;

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
        let listed = match list_body(&target, &peer, &clock).await {
            Ok(Some(body)) => models(&body).map(Some),
            Ok(None) => Ok(None),
            Err(failure) => Err(failure),
        };
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
        price: model.get("pricing").and_then(price),
    })
}

/// As OpenRouter writes it: dollars a token, as texts. What is not exactly an amount is no price.
fn price(pricing: &Value) -> Option<Price> {
    let rate = |key: &str| -> Option<u64> {
        let dollars: Money = pricing.get(key)?.as_str()?.parse().ok()?;
        Some(dollars.0)
    };
    let (input, output) = (rate("prompt")?, rate("completion")?);
    Some(Price {
        input,
        output,
        cached: rate("input_cache_read").unwrap_or(input),
        written: rate("input_cache_write"),
        above: None,
    })
}

#[cfg(test)]
mod tests {
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
            { "id": "c/odd", "context_length": -1, "pricing": { "prompt": "-1", "completion": "-1" } },
            { "id": "a/one" }, { "nothing": 1 }, 7,
        ]});
        assert_eq!(
            read(&router),
            [
                ("a/one".into(), None, None),
                ("b/two".into(), Some(200_000), Some(2_000_000)),
                ("c/odd".into(), None, None),
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
    }

    #[test]
    fn what_is_no_list_is_a_failure() {
        for body in ["", "[]", "{}", "{\"data\": 1}", "<html>"] {
            assert!(models(body.as_bytes()).is_err(), "{body}");
        }
    }
}
