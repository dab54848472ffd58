//! Asks a server which models it has: the quickest way to see whether it answers and takes the key.

use bonded_kernel::{Failure, Target};
use reqwest::header::ACCEPT;
use serde::Deserialize;
use tokio::time::timeout;

use crate::BoxFuture;
use crate::address::{unusable, url_under};
use crate::body::{self, Cut, IDLE_MAX};
use crate::clients::Clients;
use crate::credentials::Credentials;
use crate::exchange::{Clock, Peer, Timed};
use crate::failure::malformed;

const TIMEOUT_MS: u64 = 5_000;

/// The ids of the models at a target's endpoint, from `GET /models`, which every dialect has. Gives up
/// after five seconds.
pub fn probe(
    target: &Target,
    credentials: Credentials,
) -> BoxFuture<'static, Result<Vec<String>, Failure>> {
    let endpoint = target.endpoint.clone();
    let peer = Peer {
        provider: target.provider.clone(),
        dialect: target.dialect,
        credentials,
        timeout_ms: TIMEOUT_MS,
    };
    Box::pin(async move {
        let clock = Clock::start(peer.timeout_ms);
        let outcome = models(&endpoint, &peer, &clock).await;
        peer.finish(outcome, &clock).map_err(unbilled)
    })
}

async fn models(endpoint: &str, peer: &Peer, clock: &Clock) -> Result<Vec<String>, Failure> {
    let url = url_under(endpoint, &["models"])?;
    let client = Clients::default()
        .for_url(&url)
        .map_err(|why| unusable(&why))?;
    let request = client.get(url).header(ACCEPT, "application/json");
    let response = peer.exchange(request, clock).await?;
    let read = body::read_whole(body::pieces(response, IDLE_MAX));
    let body = match timeout(clock.left(), read).await {
        Ok(body) => body.map_err(Cut::into_failure)?,
        Err(_) => return Err(peer.too_late(clock)),
    };
    model_ids(&body)
}

/// A list of models costs nothing, however it fails.
fn unbilled(failure: Failure) -> Failure {
    Failure {
        billable: false,
        ..failure
    }
}

impl Timed for Vec<String> {
    fn set_latency_ms(&mut self, _: u64) {}
}

#[derive(Deserialize)]
struct Listing {
    data: Option<Vec<Listed>>,
    models: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    id: Option<String>,
    name: Option<String>,
}

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
