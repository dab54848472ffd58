//! What the kernel's own tools leave in a run: results of a batch, outputs to read on in.

use super::conversation::sendable_name;
use super::{Phase, Run};
use crate::batch;
use crate::event::{Call, Member, Outcome, ToolFinished};
use crate::paging;
use crate::text::Text;

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
            None => self.message_tokens(&self.answer(call, text, outcome, latency_ms)),
        }
    }

    /// What a member adds to the results of its batch; the first one adds the batch's own answer.
    fn member_tokens(&self, call: &Call, result: &str) -> u64 {
        let comma = 1;
        let tokens = self.gauge.estimate(result).saturating_add(comma);
        if !self.gathered.is_empty() {
            return tokens;
        }
        let batch = call
            .member
            .as_ref()
            .and_then(|member| self.batch_of(member));
        let around = batch.map_or(0, |batch| {
            let answer = self.answer(batch, &NO_RESULTS.into(), Outcome::Failed, 0);
            self.message_tokens(&answer)
        });
        tokens.saturating_add(around)
    }

    fn batch_of(&self, member: &Member) -> Option<&Call> {
        let Phase::Acting { calls, .. } = &self.phase else {
            return None;
        };
        calls.iter().find(|call| call.id == member.batch)
    }

    /// Keeps an output that was cut, where the model can read on in it.
    pub(super) fn keep(&mut self, finished: &ToolFinished) {
        let bytes_max = self.config().own_tools.output_kept_bytes_max;
        let whole = finished.dropped.as_ref().map(|it| &it.output);
        let Some(original) = finished.original.as_ref().or(whole) else {
            return;
        };
        let is_shown = finished.cut_from_bytes.is_some() || finished.dropped.is_some();
        if let (Some(bytes_max), true, false) = (bytes_max, is_shown, finished.is_dropped()) {
            let handle = paging::handle(self.turn, finished.call);
            let said_bytes = finished.cut_from_bytes.unwrap_or(original.len() as u64);
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
