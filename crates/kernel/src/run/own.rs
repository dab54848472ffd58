//! What the kernel's own tools leave in a run: results of a batch, outputs to read on in.

use super::fold::sendable_name;
use super::{Phase, Run};
use crate::batch;
use crate::context;
use crate::event::{Call, Member, Outcome, ToolFinished};
use crate::paging;
use crate::text::Text;
use crate::tokens::estimate;

/// What a batch is charged with besides its results.
const NO_RESULTS: &str = r#"{"results":[]}"#;

impl Run {
    /// Puts the result of a member to those of its batch.
    pub(super) fn gather(&mut self, call: &Call, text: &Text, outcome: Outcome, latency_ms: u64) {
        let result = member_result(call, text, outcome, latency_ms);
        let tokens = self.member_tokens(call, &result);
        self.context.said(tokens);
        self.gathered.push(result, tokens);
    }

    /// What the answer to a call adds to the next request.
    pub(super) fn tokens_of(
        &self,
        call: &Call,
        text: &Text,
        outcome: Outcome,
        latency_ms: u64,
    ) -> u64 {
        match call.member {
            Some(_) => self.member_tokens(call, &member_result(call, text, outcome, latency_ms)),
            None => context::message_tokens(&self.answer(call, text, outcome, latency_ms)),
        }
    }

    /// What a member adds to the results of its batch; the first one adds the batch's own answer.
    fn member_tokens(&self, call: &Call, result: &str) -> u64 {
        let comma = 1;
        let tokens = estimate(result).saturating_add(comma);
        let Phase::Acting { calls, .. } = &self.phase else {
            return tokens;
        };
        let batch = calls.iter().find(|it| {
            let of_this = |member: &Member| member.batch == it.id;
            call.member.as_ref().is_some_and(of_this)
        });
        match batch.filter(|_| self.gathered.is_empty()) {
            Some(batch) => {
                let around = self.answer(batch, &NO_RESULTS.into(), Outcome::Failed, 0);
                tokens.saturating_add(context::message_tokens(&around))
            }
            None => tokens,
        }
    }

    /// Keeps an output that was cut, where the model can read on in it.
    pub(super) fn keep(&mut self, finished: &ToolFinished) {
        let bytes_max = self.config().own_tools.output_kept_bytes_max;
        if let (Some(bytes_max), Some(original), Some(said_bytes), None) = (
            bytes_max,
            &finished.original,
            finished.cut_from_bytes,
            &finished.dropped,
        ) {
            let handle = paging::handle(self.turn, finished.call);
            self.kept.keep(handle, original, said_bytes, bytes_max);
        }
    }

    /// Answers the call that is up without its execution.
    pub(super) fn pass_with(&mut self, text: &Text, outcome: Outcome) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, at) = (calls.clone(), *at);
        if let Some(call) = calls.get(at) {
            self.answer_call(call, text, outcome, 0, None);
        }
        self.pass(calls, at);
    }
}

fn member_result(call: &Call, text: &str, outcome: Outcome, latency_ms: u64) -> String {
    batch::result(call, &sendable_name(&call.tool), text, outcome, latency_ms)
}
