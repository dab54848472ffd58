//! Plays scripts as if they were providers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bonded_kernel::{Failure, FailureClass, Message, Reply, Request, Usage};

use crate::BoxFuture;
use crate::failure::{causes, failed};
use crate::script::{Script, ScriptError};

/// The scripts that were read, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Scripts(Mutex<BTreeMap<String, Arc<Script>>>);

impl Scripts {
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
        Message::User { text } | Message::Tool { text, .. } | Message::Assistant { text, .. } => {
            text.as_str()
        }
    });
    let notices = request.notices.iter().map(AsRef::as_ref);
    texts.chain(notices).collect::<Vec<&str>>().join("\n")
}

fn request_bytes(request: &Request<'_>) -> u64 {
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text } | Message::Tool { text, .. } => text.len(),
        Message::Assistant { text, calls, .. } => {
            let calls = calls
                .iter()
                .map(|call| call.tool.len() + call.arguments.len());
            text.len() + calls.sum::<usize>()
        }
    });
    let notices = request.notices.iter().map(|notice| notice.len());
    let frame = request.system.len() + request.catalog.text().len();
    (frame + messages.sum::<usize>() + notices.sum::<usize>()) as u64
}

fn reply_bytes(reply: &Reply) -> u64 {
    let calls = reply
        .calls
        .iter()
        .map(|call| call.tool.len() + call.arguments.len());
    (reply.text.len() + reply.reasoning.len() + calls.sum::<usize>()) as u64
}
