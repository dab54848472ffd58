//! What comes back: one message, or events until the answer is among them.
//!
//! A stream may break at any event. If the server has numbered its events, the stream is asked for again from
//! the last one, within a number of tries; if not, the answer is lost and the outcome unknown. The stream for
//! what a server says unasked is optional, and its loss ends nothing.

use reqwest::{Response, StatusCode};
use rmcp::model::{JsonRpcMessage, RequestId};
use serde_json::value::RawValue;
use tokio::time::{Duration, Instant, sleep};

use super::body::{Events, whole};
use super::exchange::Exchanges;
use super::fault::HttpFault;
use super::status::{HttpRefusal, is_of, no_message};
use super::trail::Trail;
use crate::mcp::frame::error_of;

/// How often a stream that broke is asked for again before it is given up.
const FAILURES_MAX: usize = 5;

/// A stream that lasted so long did not fail.
const LASTING: Duration = Duration::from_secs(10);

/// How a stream came to its end.
#[derive(Debug, PartialEq, Eq)]
enum StreamEnd {
    /// With the answer that was waited for.
    Answered,
    Over,
}

impl Exchanges {
    /// Hands on what an answer holds, until the one with this id has come.
    pub(super) async fn read_answer(
        &self,
        response: Response,
        id: &RequestId,
    ) -> Result<(), HttpFault> {
        if !response.status().is_success() {
            return self.refused(response, id).await;
        }
        if is_of(&response, "text/event-stream") {
            return self.follow(response, id).await;
        }
        if !is_of(&response, "application/json") || response.status() == StatusCode::ACCEPTED {
            return Err(no_message(&response));
        }
        let mut noise_bytes = 0;
        for message in messages(&whole(response).await?) {
            if self
                .take(message.get().as_bytes(), Some(id), &mut noise_bytes)
                .await?
            {
                return Ok(());
            }
        }
        let what = "JSON that does not answer the request".into();
        Err(HttpFault::NoMessage { what })
    }

    /// A refusal that is an error of JSON-RPC is an answer, whatever its status and its id.
    async fn refused(&self, response: Response, id: &RequestId) -> Result<(), HttpFault> {
        let refusal = HttpRefusal::read(response).await;
        let fault = refusal.fault(self.has_session());
        if let HttpFault::Refused { .. } | HttpFault::Failed { .. } = fault
            && let Some(error) = refusal.error()
        {
            let error = error_of(&error);
            let answer = JsonRpcMessage::error(error, Some(id.clone()));
            return self.forward(answer).await;
        }
        Err(fault)
    }

    /// Reads events, and takes the stream up again where it broke, until the answer has come.
    async fn follow(&self, mut response: Response, id: &RequestId) -> Result<(), HttpFault> {
        let mut trail = Trail::default();
        loop {
            let end = self.read_events(response, Some(id), &mut trail).await;
            match end {
                Ok(StreamEnd::Answered) => return Ok(()),
                Ok(StreamEnd::Over) | Err(HttpFault::Broken { .. })
                    if trail.last_id().is_some() => {}
                Ok(StreamEnd::Over) => return Err(HttpFault::Unanswered),
                Err(fault) => return Err(fault),
            }
            response = self.resume(&trail).await?;
        }
    }

    /// However it fails, the server may have done what it was asked to.
    async fn resume(&self, trail: &Trail) -> Result<Response, HttpFault> {
        for _ in 0..FAILURES_MAX {
            sleep(trail.pause()).await;
            match self.get(trail).await {
                Ok(response) => return Ok(response),
                Err(HttpFault::Unreachable { .. } | HttpFault::Broken { .. }) => {}
                Err(HttpFault::Failed { .. }) => {}
                Err(_) => return Err(HttpFault::Unanswered),
            }
        }
        Err(HttpFault::Unanswered)
    }

    /// Takes what the server says without having been asked, for as long as it offers a stream for that.
    ///
    /// A server that refuses the stream does not offer one, and is not asked again.
    pub(super) async fn listen(&self) {
        let mut trail = Trail::default();
        let mut failures = 0;
        while failures < FAILURES_MAX {
            let begun = Instant::now();
            match self.get(&trail).await {
                Ok(response) => {
                    // How it ended does not matter: it is asked for again.
                    let _ = self.read_events(response, None, &mut trail).await;
                }
                Err(
                    HttpFault::Unreachable { .. }
                    | HttpFault::Broken { .. }
                    | HttpFault::Failed { .. },
                ) => {}
                Err(_) => return,
            }
            failures = if begun.elapsed() >= LASTING {
                0
            } else {
                failures + 1
            };
            sleep(trail.pause()).await;
        }
    }

    /// Events of other names than that of a message are passed over. With `id`, it stops at the answer to that
    /// request; without, it reads to the end.
    async fn read_events(
        &self,
        response: Response,
        id: Option<&RequestId>,
        trail: &mut Trail,
    ) -> Result<StreamEnd, HttpFault> {
        let mut events = Events::of(response);
        let mut noise_bytes = 0;
        while let Some(event) = events.next().await? {
            trail.note(&event);
            let is_message = event.event.as_deref().is_none_or(|name| name == "message");
            let Some(data) = event.data.filter(|_| is_message) else {
                continue;
            };
            if self.take(data.as_bytes(), id, &mut noise_bytes).await? {
                return Ok(StreamEnd::Answered);
            }
        }
        Ok(StreamEnd::Over)
    }

    /// Takes one text in. Whether it is the answer that is waited for.
    async fn take(
        &self,
        text: &[u8],
        id: Option<&RequestId>,
        noise_bytes: &mut u64,
    ) -> Result<bool, HttpFault> {
        let Some(message) = self.inlet.read(text, noise_bytes)? else {
            return Ok(false);
        };
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let is_it = id.is_some() && answered == id;
        self.forward(message).await?;
        Ok(is_it)
    }
}

/// The messages of a body: one, or a list of them.
fn messages(body: &[u8]) -> Vec<Box<RawValue>> {
    if body.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(body).unwrap_or_default();
    }
    serde_json::from_slice(body).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_message_or_a_list_of_them_or_nothing() {
        for (body, count) in [
            ("", 0),
            ("{", 0),
            ("{}", 1),
            (" [{},{}]", 2),
            ("[{},", 0),
            ("[]", 0),
            ("\u{feff}{}", 0),
        ] {
            assert_eq!(messages(body.as_bytes()).len(), count, "{body:?}");
        }
    }
}
