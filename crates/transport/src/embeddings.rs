//! Asks a model what texts mean: one vector for each, from `POST /embeddings` as OpenAI-compatible servers have it.
//!
//! It goes the way of a request to a model: the same clients, the same clock, the same masking of secrets. What
//! comes back is checked before anybody compares with it: as many vectors as texts, each in its place, all of
//! one length, none without a direction. A server that mixes up two texts would otherwise go unnoticed, since
//! every vector looks like any other.

use std::sync::Arc;

use bonded_kernel::{Failure, Target};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use crate::address::url_under;
use crate::body::{self, Cut, IDLE_MAX};
use crate::clients::Clients;
use crate::credentials::Credentials;
use crate::exchange::{Clock, Outgoing, Peer, Timed};
use crate::failure::{ServerError, malformed};

/// Sends texts to embedding models. Connections are kept for the next request.
#[derive(Clone, Debug, Default)]
pub struct Embeddings {
    clients: Arc<Clients>,
}

impl Embeddings {
    /// The vectors of these texts, in their order, all of one length and each with a direction; anything else is a
    /// failure. The target's timeout holds for all of it. Each future sends at most one request.
    pub fn send(
        &self,
        target: &Target,
        credentials: Credentials,
        texts: &[String],
    ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, Failure>> {
        let ask = EmbeddingRequest {
            endpoint: target.endpoint.clone(),
            body: encode(&target.model, texts),
            count: texts.len(),
        };
        let peer = Peer {
            provider: target.provider.clone(),
            dialect: target.dialect,
            credentials,
            key_header: target.key_header.clone(),
            beta: None,
            timeout_ms: target.timeout_ms,
        };
        let clients = Arc::clone(&self.clients);
        Box::pin(async move {
            let clock = Clock::start(peer.timeout_ms);
            let outcome = embed(&clients, &peer, ask, &clock).await;
            peer.finish(outcome, &clock)
        })
    }
}

/// A request that is ready to be sent.
struct EmbeddingRequest {
    endpoint: String,
    body: Vec<u8>,
    /// How many vectors must come back.
    count: usize,
}

/// Sends once and reads whole. What is left of the clock after the headers have come bounds the reading of the
/// body.
async fn embed(
    clients: &Clients,
    peer: &Peer,
    ask: EmbeddingRequest,
    clock: &Clock,
) -> Result<Vec<Vec<f32>>, Failure> {
    let url = url_under(&ask.endpoint, &["embeddings"])?;
    let request = Outgoing::json(&url, Some(ask.body))?;
    let response = peer.exchange(clients, request, clock).await?;
    let read = body::read_whole(body::pieces(response, IDLE_MAX));
    let body = match timeout(clock.left(), read).await {
        Ok(body) => body.map_err(Cut::into_failure)?,
        Err(_) => return Err(peer.too_late(clock)),
    };
    decode(&body, ask.count)
}

/// Vectors have no place for how long they took.
impl Timed for Vec<Vec<f32>> {
    fn set_latency_ms(&mut self, _: u64) {}
}

/// The body of a request.
#[derive(Serialize)]
struct Wire<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

/// Numbers are asked for as such, because the format also knows them packed in base64, which is not read here.
fn encode(model: &str, texts: &[String]) -> Vec<u8> {
    let wire = Wire {
        model,
        input: texts,
        encoding_format: "float",
    };
    serde_json::to_vec(&wire).expect("texts can always be written as JSON")
}

/// The answer. A list beside an error is not taken: one of the two is wrong, and nothing tells which.
#[derive(Deserialize)]
struct Listing {
    data: Option<Vec<Listed>>,
    /// Some servers send errors with a good status.
    error: Option<Value>,
}

/// One vector, with the place of its text in the request where the server names it.
#[derive(Deserialize)]
struct Listed {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Reads `count` vectors out of an answer.
///
/// An error that came with a good status may have been billed and says so; a list that is no list is malformed,
/// with an excerpt for whoever looks into it.
fn decode(body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, Failure> {
    let not_vectors = "the answer is not a list of embeddings";
    let listing: Listing = serde_json::from_slice(body)
        .map_err(|error| malformed(&format!("{not_vectors}: {error}"), body))?;
    let listed = match (listing.data, listing.error) {
        (Some(listed), None | Some(Value::Null)) => listed,
        (_, Some(error)) if !error.is_null() => {
            return Err(ServerError::from_value(&error).into_failure(true));
        }
        _ => return Err(malformed(not_vectors, body)),
    };
    let vectors = in_order(listed, count).map_err(|why| malformed(&why, body))?;
    match vectors
        .iter()
        .find_map(|vector| fault(vector, vectors[0].len()))
    {
        Some(why) => Err(malformed(&why, body)),
        None => Ok(vectors),
    }
}

/// The vectors in the order of their texts. A server that gives no places keeps the order.
fn in_order(listed: Vec<Listed>, count: usize) -> Result<Vec<Vec<f32>>, String> {
    if listed.len() != count {
        return Err(format!(
            "{} embeddings were returned for {count} texts",
            listed.len()
        ));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, it) in listed.into_iter().enumerate() {
        let place = it.index.unwrap_or(at);
        match vectors.get_mut(place) {
            Some(vector @ None) => *vector = Some(it.embedding),
            Some(_) => return Err(format!("two embeddings were returned for text {place}")),
            None => {
                return Err(format!(
                    "an embedding was returned for text {place} of {count}"
                ));
            }
        }
    }
    // As many as there are places, none taken twice: all are taken.
    Ok(vectors.into_iter().flatten().collect())
}

/// What is wrong with a vector.
///
/// The sum of the squares is enough to see it: it is zero for a vector of zeros, and not finite where a number
/// is not or where the numbers are so large that no comparison could use them.
fn fault(vector: &[f32], numbers: usize) -> Option<String> {
    if vector.len() != numbers {
        return Some("the embeddings differ in length".into());
    }
    let length = vector.iter().map(|n| n * n).sum::<f32>();
    match length.is_finite() && length > 0.0 {
        true => None,
        false => Some("an embedding has no direction".into()),
    }
}

#[cfg(test)]
mod tests {
    use bonded_kernel::FailureClass;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_their_texts() {
        let rows = [
            r#"{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}"#,
            r#"{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"error":null}"#,
            r#"{"object":"list","data":[{"embedding":[1.0,2e0]},{"embedding":[3,4]}],"usage":{}}"#,
        ];
        for body in rows {
            let vectors = decode(body.as_bytes(), 2);
            assert_eq!(vectors, Ok(vec![vec![1.0, 2.0], vec![3.0, 4.0]]), "{body}");
        }
        assert_eq!(decode(br#"{"data":[]}"#, 0), Ok(vec![]));
    }

    #[test]
    fn answers_that_are_wrong_are_failures_with_a_class_and_a_reason() {
        use FailureClass::*;
        let rows = [
            ("", Malformed, "not a list"),
            ("<html>", Malformed, "not a list"),
            ("[]", Malformed, "not a list"),
            ("{}", Malformed, "not a list"),
            (r#"{"data":null,"error":null}"#, Malformed, "not a list"),
            (
                r#"{"data":[{"embedding":"AAAA"}]}"#,
                Malformed,
                "not a list",
            ),
            (
                r#"{"data":[{"embedding":[null,1]}]}"#,
                Malformed,
                "not a list",
            ),
            (
                r#"{"data":[{"index":-1,"embedding":[1]}]}"#,
                Malformed,
                "not a list",
            ),
            (
                r#"{"data":[{"embedding":[1]}]}"#,
                Malformed,
                "1 embeddings were returned for 2 texts",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}"#,
                Malformed,
                "3 embeddings were returned for 2 texts",
            ),
            (
                r#"{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}"#,
                Malformed,
                "two embeddings were returned for text 1",
            ),
            (
                r#"{"data":[{"index":7,"embedding":[1]},{"index":1,"embedding":[1]}]}"#,
                Malformed,
                "text 7 of 2",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
                Malformed,
                "differ in length",
            ),
            (
                r#"{"data":[{"embedding":[1,1]},{"embedding":[0,0]}]}"#,
                Malformed,
                "no direction",
            ),
            (
                r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#,
                Malformed,
                "no direction",
            ),
            (
                r#"{"data":[{"embedding":[1e38]},{"embedding":[1e38]}]}"#,
                Malformed,
                "no direction",
            ),
            (
                r#"{"data":[{"embedding":[1]},{"embedding":[1e300]}]}"#,
                Malformed,
                "out of range",
            ),
            (
                r#"{"error":{"message":"slow down","code":429}}"#,
                RateLimit,
                "slow down",
            ),
            (
                r#"{"data":[],"error":"no such model"}"#,
                Model,
                "no such model",
            ),
        ];
        for (body, class, reason) in rows {
            let failure = decode(body.as_bytes(), 2).expect_err(body);
            assert_eq!(failure.class, class, "{body}: {failure:?}");
            assert!(failure.message.contains(reason), "{body}: {failure:?}");
        }
    }

    #[test]
    fn a_request_names_the_model_and_asks_for_plain_numbers() {
        let body = encode("m-1", &["a \"b\"".to_owned(), String::new()]);
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let expected = serde_json::json!({
            "model": "m-1", "input": ["a \"b\"", ""], "encoding_format": "float",
        });
        assert_eq!(body, expected);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic_and_what_passes_fits(
            body in r#"\{"data":\[(\{"index":[0-3],"embedding":\[(-?[0-9]{1,3}(e[0-9]{1,3})?,){0,3}1\]\},){0,3}\{"embedding":\[1,0\]\}\]\}"#,
            count in 0..5_usize,
        ) {
            if let Ok(vectors) = decode(body.as_bytes(), count) {
                prop_assert_eq!(vectors.len(), count);
                prop_assert!(vectors.iter().all(|it| it.len() == vectors[0].len()));
                prop_assert!(vectors.iter().flatten().all(|n| n.is_finite()));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _whatever = decode(&body, 1);
        }
    }
}
