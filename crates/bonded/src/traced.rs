//! A transport that shows what goes to models and what comes back.
//!
//! It stands around the real transport and passes everything on unchanged. What is shown is made from the request
//! as the run has it, and not from the bytes on the wire, so that no header with a key can be among it.

use std::sync::Arc;

use bonded_kernel::{Failure, Reply, Request, Target};
use bonded_transport::{Live, Transport};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::output;
use bonded_host::shapes::result::message_value;

/// Shows every request and its answer on stderr, a line of JSON each. Keys are no part of either.
pub(crate) struct Traced(pub(crate) Arc<dyn Transport>);

impl Transport for Traced {
    fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        traced(request, self.0.send(request))
    }

    fn send_live(
        &self,
        request: &Request<'_>,
        live: Box<dyn Live>,
    ) -> BoxFuture<'static, Result<Reply, Failure>> {
        traced(request, self.0.send_live(request, live))
    }

    fn window(&self, target: &Target) -> BoxFuture<'static, Option<u64>> {
        self.0.window(target)
    }
}

/// A request whose future is dropped has no second line.
fn traced(
    request: &Request<'_>,
    sent: BoxFuture<'static, Result<Reply, Failure>>,
) -> BoxFuture<'static, Result<Reply, Failure>> {
    let name = format!("{}/{}", request.target.provider, request.target.model);
    output::stderr(&format!("trace: to {name}: {}", request_value(request)));
    Box::pin(async move {
        let answer = sent.await;
        output::stderr(&format!("trace: from {name}: {}", answer_value(&answer)));
        answer
    })
}

/// Tools by name only: their schemas would bury everything else.
fn request_value(request: &Request<'_>) -> Value {
    let notices: Vec<&str> = request.notices.iter().map(|notice| &**notice).collect();
    let tools: Vec<&str> = request.tools().map(|spec| spec.name.as_str()).collect();
    json!({
        "turn": request.turn,
        "attempt": request.attempt,
        "system": request.system,
        "messages": request.messages.iter().map(message_value).collect::<Vec<_>>(),
        "notices": notices,
        "tools": tools,
        "maxOutputTokens": request.output_tokens_max,
    })
}

/// A failure is shown as it is recorded: class, message and status.
fn answer_value(answer: &Result<Reply, Failure>) -> Value {
    match answer {
        Ok(reply) => {
            let call = |call: &bonded_kernel::ReplyCall| json!({ "id": call.id, "name": call.tool, "parameters": call.arguments });
            json!({
                "text": reply.text,
                "reasoning": reply.reasoning,
                "calls": reply.calls.iter().map(call).collect::<Vec<_>>(),
                "finish": reply.finish.as_str(),
            })
        }
        Err(failure) => json!({
            "failure": failure.class.as_str(),
            "message": failure.message,
            "status": failure.status,
        }),
    }
}
