//! A reply taken apart: what is known of it, and the calls that stand in the provider's own fields.

use crate::event::Answer;
use crate::model::{Finish, Reply, ReplyCall};

/// What is usual is left out: the answer goes into the log.
pub(super) fn split(reply: Reply, asked_model: &str) -> (Answer, Vec<ReplyCall>) {
    let finish = reply.finish;
    let answer = Answer {
        text: reply.text.into(),
        reasoning: reply.reasoning.into(),
        withheld: None,
        masked: false,
        signed: reply.signed.map(Into::into),
        usage: reply.usage,
        cost: reply.cost,
        finish: (finish != Finish::default_of(!reply.calls.is_empty())).then_some(finish),
        stop_reason: reply
            .stop_reason
            .filter(|reason| reason != finish.as_str())
            .map(Into::into),
        model: reply
            .model
            .filter(|model| model != asked_model)
            .map(Into::into),
        provider: reply.provider.map(Into::into),
        request_id: reply.request_id.map(Into::into),
        latency_ms: reply.latency_ms,
    };
    (answer, reply.calls)
}
