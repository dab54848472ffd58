//! Plays scripts as if they were providers.
//!
//! A script behaves as a provider does in everything that a run can see: it takes time, it can be too late, its
//! replies have usage. But nothing depends on a clock, on the machine or on chance, so that the same script
//! gives the same log. Which line answers is told by the request's ordinal and not counted here: a run that was
//! resumed goes on where it stood, in another process too.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bonded_kernel::{Failure, FailureClass, Message, Reply, Request, Usage};
use futures_util::future::BoxFuture;

use crate::failure::{causes, failed};
use crate::script::{Script, ScriptError};

/// The scripts that were read, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Scripts(Mutex<BTreeMap<String, Arc<Script>>>);

impl Scripts {
    /// A script that cannot be read ends the run at once, as a quota does: nothing would change if it were
    /// tried again. Usage that no line states is estimated at four bytes a token. The answer is chosen now, and
    /// only the delay is left to the future.
    pub(crate) fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let script = match self.script(&request.target.endpoint) {
            Ok(script) => script,
            Err(error) => {
                let failure = Failure::new(FailureClass::Quota, causes(&error));
                return Box::pin(std::future::ready(Err(failure)));
            }
        };
        let ordinal = request.ordinal;
        let last_text = if script.expects(ordinal) {
            last_text(request)
        } else {
            String::new()
        };
        let mut answer = script.play(ordinal, &last_text);
        if let Ok(reply) = &mut answer.outcome {
            // Four bytes a token, the usual rule of thumb.
            let input = request_bytes(request).div_ceil(4);
            let output = reply_bytes(reply).div_ceil(4);
            reply.usage.get_or_insert(Usage {
                input,
                output,
                ..Usage::default()
            });
        }
        let timeout_ms = request.target.timeout_ms;
        Box::pin(async move {
            let late = answer.delay_ms > timeout_ms;
            let latency_ms = answer.delay_ms.min(timeout_ms);
            if latency_ms > 0 {
                tokio::time::sleep(Duration::from_millis(latency_ms)).await;
            }
            if late {
                let message = format!("script: no complete answer within {timeout_ms} ms");
                answer.outcome = Err(failed(FailureClass::Timeout, message, true));
            }
            // The latency is the scripted one, so that the same script gives the same log.
            match answer.outcome {
                Ok(reply) => Ok(Reply {
                    latency_ms,
                    ..reply
                }),
                Err(failure) => Err(Failure {
                    latency_ms,
                    ..failure
                }),
            }
        })
    }

    /// A file is read once in the life of a process; one that could not be read is tried again by the next
    /// request.
    fn script(&self, path: &str) -> Result<Arc<Script>, ScriptError> {
        // A panic elsewhere cannot leave a map of finished values half written.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = kept.get(path) {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(Script::load(path)?);
        kept.insert(path.into(), Arc::clone(&script));
        Ok(script)
    }
}

/// Everything that the model has not seen before: what came after its last message, and the notices.
fn last_text(request: &Request<'_>) -> String {
    let messages = request.messages;
    let is_assistant = |message: &Message| matches!(message, Message::Assistant { .. });
    let begin = messages
        .iter()
        .rposition(is_assistant)
        .map_or(0, |at| at + 1);
    let texts = messages[begin..].iter().map(|message| match message {
        Message::User { text, .. }
        | Message::Tool { text, .. }
        | Message::Assistant { text, .. } => text.as_str(),
    });
    let notices = request.notices.iter().map(AsRef::as_ref);
    texts.chain(notices).collect::<Vec<&str>>().join("\n")
}

/// All that a provider would count: the system text, the catalogue, the conversation and the notices.
fn request_bytes(request: &Request<'_>) -> u64 {
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text, .. } | Message::Tool { text, .. } => text.len(),
        Message::Assistant { text, calls, .. } => {
            let calls = calls
                .iter()
                .map(|call| call.tool.len() + call.arguments.len());
            text.len() + calls.sum::<usize>()
        }
    });
    let notices = request.notices.iter().map(|notice| notice.len());
    let frame = request.system.len() + sent_bytes(request);
    (frame + messages.sum::<usize>() + notices.sum::<usize>()) as u64
}

/// The tools that go along; where none has to be found, all as they are kept.
fn sent_bytes(request: &Request<'_>) -> usize {
    let catalog = request.catalog;
    let found = catalog
        .specs()
        .filter(|spec| spec.deferred && request.found.shows(spec));
    let found =
        found.map(|spec| spec.name.len() + spec.description.len() + spec.schema.to_string().len());
    catalog.sent_at_first().len() + found.sum::<usize>()
}

/// Thoughts count as output, as they do at providers.
fn reply_bytes(reply: &Reply) -> u64 {
    let calls = reply
        .calls
        .iter()
        .map(|call| call.tool.len() + call.arguments.len());
    (reply.text.len() + reply.reasoning.len() + calls.sum::<usize>()) as u64
}
