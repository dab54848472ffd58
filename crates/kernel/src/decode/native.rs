//! The native encoding: calls come in the fields that the provider has for them. Text is only text.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::check;
use crate::config::Limits;
use crate::event::{Answer, Call, DecisionMade, RejectReason};
use crate::model::{Finish, Reply, ReplyCall};
use crate::tool::Catalog;

/// A reply that no decision can be made from.
pub(crate) struct Rejected {
    pub(crate) reason: RejectReason,
    pub(crate) answer: Box<Answer>,
}

impl Rejected {
    fn new(reason: RejectReason, answer: Answer) -> Self {
        let answer = Box::new(answer);
        Self { reason, answer }
    }
}

/// Decodes a reply and checks every call in it.
pub(crate) fn decode(
    reply: Reply,
    catalog: &Catalog,
    limits: &Limits,
    turn: u32,
    asked_model: &str,
) -> Result<DecisionMade, Rejected> {
    let finish = reply.finish;
    let answer = Answer {
        text: reply.text.into(),
        reasoning: reply.reasoning.into(),
        usage: reply.usage,
        finish: (finish != Finish::usual(!reply.calls.is_empty())).then_some(finish),
        model: reply
            .model
            .filter(|model| model != asked_model)
            .map(Into::into),
        request_id: reply.request_id.map(Into::into),
        latency_ms: reply.latency_ms,
    };
    if finish == Finish::ContentFilter {
        return Err(Rejected::new(RejectReason::Filtered, answer));
    }
    let says_nothing = answer.text.trim().is_empty() && answer.reasoning.trim().is_empty();
    if says_nothing && reply.calls.is_empty() {
        return Err(Rejected::new(RejectReason::Empty, answer));
    }
    let mut ids = BTreeSet::new();
    let calls = reply
        .calls
        .into_iter()
        .enumerate()
        .map(|(index, call)| {
            let (id, original_id) = unique_id(&mut ids, &call, turn, index);
            let refused = check::call(&call, index, finish, catalog, limits).err();
            Call {
                id,
                original_id,
                tool: call.tool.into(),
                arguments: call.arguments.into(),
                refused,
            }
        })
        .collect();
    Ok(DecisionMade { answer, calls })
}

/// A result finds its call by the id, so an id that is missing or used twice is replaced.
fn unique_id(
    taken: &mut BTreeSet<Arc<str>>,
    call: &ReplyCall,
    turn: u32,
    index: usize,
) -> (Arc<str>, Option<Arc<str>>) {
    let written: Arc<str> = call.id.as_str().into();
    if !written.is_empty() && taken.insert(written.clone()) {
        return (written, None);
    }
    let mut made: Arc<str> = format!("call_{turn}_{index}").into();
    while !taken.insert(made.clone()) {
        made = format!("{made}_").into();
    }
    (made, Some(written))
}
