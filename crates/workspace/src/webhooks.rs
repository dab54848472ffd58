//! The action `webhook`: a signed message to an address that the operator lists.
//!
//! The run is the message's place in the queue: it is durable before anything is sent, and ends when the message was
//! taken. A process that dies in between leaves a run that is taken up again, so a message arrives at least once, each
//! time with the same `webhook-id`, which is the id of the run. Whoever receives it leaves out what it has seen.

mod message;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::{Clock, with_causes};
use bonded_outbound::{builder, for_scheme, tls_refusal};
use bonded_workspace_rules::{Code, WebhookAction};
use futures_util::future::BoxFuture;
use reqwest::header::CONTENT_TYPE;
use reqwest::{StatusCode, Url};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::config::HostSurroundings;
use super::firing::{Firing, Performed, Performs};
use super::hook_secret::{HookSecret, ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};
use crate::store::WorkspaceStore;

/// How often a message is sent before its run fails.
const ATTEMPTS_MAX: u32 = 5;
/// After the first attempt; twice as long after each other one.
const PAUSE_MS: u64 = 1000;
/// What another server has for its answer, where nobody says otherwise.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends messages for rules.
pub struct Webhooks {
    /// Where the secrets of rules are.
    pub store: Arc<WorkspaceStore>,
    /// Where rules may send to.
    pub surroundings: Arc<HostSurroundings>,
    /// For the time of a message, and the pauses between attempts.
    pub clock: Arc<dyn Clock>,
    /// For one attempt, from the look at the name to the first line of the answer.
    pub timeout: Duration,
}

/// What came of one attempt.
enum Sent {
    /// The other side has it.
    Taken(StatusCode),
    /// Another attempt may do better.
    Failed(String),
    /// No attempt will.
    Refused(String),
}

/// A message that is ready to be sent, any number of times.
struct Letter {
    url: Url,
    id: String,
    body: Vec<u8>,
    secret: HookSecret,
}

impl std::fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhooks")
    }
}

impl Webhooks {
    /// The address and the secret are looked at when the message is sent, not only when the rule was saved.
    async fn letter(&self, firing: &Firing, action: &WebhookAction) -> Result<Letter, Performed> {
        let url = self.surroundings.webhook(&action.url);
        let url =
            url.map_err(|why| Performed::failed(Code::RuleInvalid, &format!("url: {why}")))?;
        let rule_id = firing.rule.rule_id;
        // A store that fails may work again later.
        let secret = self
            .store
            .secret(rule_id)
            .await
            .map_err(|_| Performed::Waits)?;
        let secret = secret.as_deref().and_then(HookSecret::read).ok_or_else(|| {
            let message = format!(
                "the rule has no secret to sign with: POST /api/automation/rules/{rule_id}/secret creates one"
            );
            Performed::failed(Code::WebhookFailed, &message)
        })?;
        Ok(Letter {
            url,
            id: firing.run.run_id.to_string(),
            body: message::of(firing),
            secret,
        })
    }

    /// Sends it until it was taken, at most so often. A run that is cancelled is let go of between two attempts.
    async fn deliver(&self, letter: &Letter, cancel: &CancellationToken) -> Performed {
        let (mut why, mut pause_ms) = (String::new(), PAUSE_MS);
        for attempt in 1..=ATTEMPTS_MAX {
            match self.send(letter).await {
                Sent::Taken(status) => {
                    return Performed::succeeded(json!({
                        "webhook_id": letter.id,
                        "status": status.as_u16(),
                        "attempts": attempt,
                    }));
                }
                Sent::Refused(why) => return Performed::failed(Code::WebhookFailed, &why),
                Sent::Failed(failure) => why = failure,
            }
            if attempt < ATTEMPTS_MAX {
                let until = self.clock.now().plus(pause_ms);
                pause_ms *= 2;
                tokio::select! {
                    () = cancel.cancelled() => return Performed::Waits,
                    () = self.clock.sleep_until(until) => {}
                }
            }
        }
        let message = format!("{why} (after {ATTEMPTS_MAX} attempts)");
        Performed::failed(Code::WebhookFailed, &message)
    }

    async fn send(&self, letter: &Letter) -> Sent {
        let sent = tokio::time::timeout(self.timeout, self.attempt(letter)).await;
        sent.unwrap_or_else(|_| {
            let ms = self.timeout.as_millis();
            Sent::Failed(format!("there was no answer within {ms} ms"))
        })
    }

    /// Where the name leads is looked up once and held on to: between a check and a connection it could lead elsewhere.
    async fn attempt(&self, letter: &Letter) -> Sent {
        let addresses = match self.addresses(&letter.url).await {
            Ok(addresses) => addresses,
            Err(sent) => return sent,
        };
        let host = letter.url.host_str().unwrap_or_default();
        // A proxy would look the name up by itself.
        let client = builder().no_proxy();
        let client = client.resolve_to_addrs(host, &addresses);
        let client = for_scheme(client, &letter.url)
            .and_then(|client| client.build().map_err(|error| error.to_string()));
        let client = match client {
            Ok(client) => client,
            Err(why) => return Sent::Failed(why),
        };
        let timestamp = self.clock.now().0 / 1000;
        let signature = letter.secret.sign(&letter.id, timestamp, &letter.body);
        let request = client
            .post(letter.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ID_HEADER, &letter.id)
            .header(TIMESTAMP_HEADER, timestamp)
            .header(SIGNATURE_HEADER, signature)
            .body(letter.body.clone());
        // The status is all that counts: the rest of an answer is not read, however long it is.
        match request.send().await {
            Ok(answer) => judged(answer.status()),
            Err(error) => Sent::Failed(tls_refusal(&error).unwrap_or_else(|| with_causes(&error))),
        }
    }

    /// Those that rules may send to; a name that leads to none of them is refused.
    async fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, Sent> {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or(443);
        let found = tokio::net::lookup_host((bare, port)).await;
        let found: Vec<SocketAddr> = match found {
            Ok(found) => found.collect(),
            Err(error) => return Err(Sent::Failed(format!("{host} cannot be found: {error}"))),
        };
        let allowed: Vec<SocketAddr> = found
            .into_iter()
            .filter(|address| self.surroundings.may_connect(url, *address))
            .collect();
        match allowed.is_empty() {
            false => Ok(allowed),
            true => Err(Sent::Refused(format!(
                "{host} leads to a private address; automation.allowed_webhooks in config.json must list the address itself"
            ))),
        }
    }
}

/// What another server says by its status.
fn judged(status: StatusCode) -> Sent {
    let may_pass = [
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_EARLY,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    let answered = format!("the answer was {status}");
    match status {
        status if status.is_success() => Sent::Taken(status),
        status if status.is_redirection() => {
            Sent::Refused(format!("{answered}; redirects are not followed"))
        }
        status if status.is_server_error() || may_pass.contains(&status) => Sent::Failed(answered),
        _ => Sent::Refused(answered),
    }
}

impl Performs<WebhookAction> for Webhooks {
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a WebhookAction,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        Box::pin(async move {
            match self.letter(firing, action).await {
                Ok(letter) => self.deliver(&letter, &cancel).await,
                Err(performed) => performed,
            }
        })
    }
}
