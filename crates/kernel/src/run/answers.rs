//! What the model is shown of the calls that it made, and what that takes of its window.

use super::guard::exceeded;
use super::outputs::Output;
use super::setup::sendable_name;
use super::{Run, ToolOutput};
use crate::batch;
use crate::context::REFUSED;
use crate::event::{Call, Outcome, ToolFinished};
use crate::image::{self, Image};
use crate::paging;
use crate::text::Text;
use crate::tokens::MESSAGE_TOKENS;

/// What a batch is charged with besides its results.
const NO_RESULTS: &str = r#"{"results":[]}"#;

impl Run {
    /// Answers the call that is up without its execution.
    pub(super) fn pass_with(&mut self, text: &Text, outcome: Outcome) {
        let Some((calls, at)) = self.calls_up() else {
            return;
        };
        if let Some(call) = calls.get(at) {
            self.answer_call(call, (text, &[]), outcome, 0, None);
        }
        self.pass(calls, at);
    }

    /// Puts before the model why a call was not executed, in short where there is no room.
    pub(super) fn refuse(&mut self, call: &Call, text: Text) {
        let tokens = self.tokens_of(call, &text, Outcome::Failed, 0);
        let has_room = exceeded(self, tokens).is_none();
        let text = if has_room { text } else { REFUSED.into() };
        self.answer_call(call, (&text, &[]), Outcome::Failed, 0, None);
    }

    /// Puts what came of a call before the model: where the provider has a place for it, or as a message
    /// that names the tag.
    pub(super) fn answer_call(
        &mut self,
        call: &Call,
        (text, images): (&Text, &[Image]),
        outcome: Outcome,
        latency_ms: u64,
        tokens: Option<u64>,
    ) {
        if self.standing.tell(call, text, outcome) {
            return;
        }
        if call.member.is_some() {
            self.scratch.gathered_images.extend_from_slice(images);
            let weight = self.meter.images_tokens(images);
            return self.gather(call, text, outcome, latency_ms, weight);
        }
        let of_members = std::mem::take(&mut self.scratch.gathered_images);
        let message = self.setup.answer(call, text, outcome, latency_ms);
        let message = message.with_images(&of_members).with_images(images);
        let weight = self.meter.images_tokens(message.images());
        let counted = tokens.filter(|_| call.tag.is_none());
        let charged = match counted {
            Some(tokens) => tokens.saturating_add(MESSAGE_TOKENS).saturating_add(weight),
            None => self.meter.answer_tokens(&message),
        };
        let images = (message.images().len(), weight);
        self.note_output(call, text, images, (outcome, latency_ms), charged);
        let gathered = std::mem::take(&mut self.scratch.gathered);
        if !gathered.is_empty() {
            let whole = self.meter.message_tokens(&message);
            let rest = whole.saturating_sub(gathered.tokens);
            return self.push(message, Some(rest));
        }
        self.push(message, Some(charged));
    }

    /// Notes that the next message of the conversation is the output of a call, with so many images.
    fn note_output(
        &mut self,
        call: &Call,
        text: &Text,
        (images, images_tokens): (usize, u64),
        (outcome, latency_ms): (Outcome, u64),
        charged: u64,
    ) {
        let edition = self.config().edition;
        // A window that is not known may be learned.
        let is_wanted = self.is_guarded() || edition.learns_windows();
        let is_worth_it = Output::is_long(text) || images > 0;
        if !is_worth_it || !is_wanted || !edition.fills_windows() {
            return;
        }
        let handle = paging::handle(self.turn, self.phase.call_up());
        let pages = self.setup.paged_bytes_max().is_some();
        let mut stub = paging::taken_out(text.len(), pages.then_some(&handle));
        if images > 0 {
            stub.push_str(&format!("\n[images taken out with it: {images}]"));
        }
        self.outputs.show(Output {
            message: self.messages().len(),
            turn: self.turn,
            handle,
            text: text.clone(),
            charged,
            is_counted: false,
            stub: self.setup.answer(call, &stub.into(), outcome, latency_ms),
            images_tokens,
        });
    }

    /// Puts the result of a member to those of its batch.
    fn gather(
        &mut self,
        call: &Call,
        text: &Text,
        outcome: Outcome,
        latency_ms: u64,
        images_tokens: u64,
    ) {
        let result = member_result(call, text, outcome, latency_ms);
        let words = self.member_tokens(call, &result);
        let tokens = words.saturating_add(images_tokens);
        self.meter.context.add(tokens);
        self.scratch.gathered.push(result, tokens);
    }

    /// What the answer to a call adds to the next request.
    fn tokens_of(&self, call: &Call, text: &Text, outcome: Outcome, latency_ms: u64) -> u64 {
        if call.member.is_some() {
            return self.member_tokens(call, &member_result(call, text, outcome, latency_ms));
        }
        let answer = self.setup.answer(call, text, outcome, latency_ms);
        self.meter.message_tokens(&answer)
    }

    /// What a member adds to the results of its batch; the first one adds the batch's own answer.
    fn member_tokens(&self, call: &Call, result: &str) -> u64 {
        let comma = 1;
        let tokens = self.meter.gauge.estimate(result).saturating_add(comma);
        if !self.scratch.gathered.is_empty() {
            return tokens;
        }
        let member = call.member.as_ref();
        let batch = member.and_then(|member| self.phase.batch_of(member));
        let around = batch.map_or(0, |batch| {
            let no_results = NO_RESULTS.into();
            let answer = self.setup.answer(batch, &no_results, Outcome::Failed, 0);
            self.meter.message_tokens(&answer)
        });
        tokens.saturating_add(around)
    }

    /// The tokens of the answer to the call under way, whose output has so many. The outcome is taken
    /// for the longer word: a replay of a dropped output does not know it.
    pub(crate) fn answer_tokens(&self, output: &ToolOutput, tokens: u64) -> u64 {
        let call = self.phase.call();
        // Only tags and the results of a batch stand around a text; otherwise a message is its text and no more.
        let weighs_members = self.config().edition.cuts_members();
        let wrapped =
            call.filter(|call| call.tag.is_some() || call.member.is_some() && weighs_members);
        let around = wrapped.map_or(MESSAGE_TOKENS, |call| {
            let text = output.text.as_str().into();
            let whole = self.tokens_of(call, &text, Outcome::Failed, output.latency_ms);
            whole.saturating_sub(self.meter.gauge.estimate(&text))
        });
        let block = call.map_or(0, |call| self.block_tokens(call, output));
        tokens.saturating_add(around).saturating_add(block)
    }

    /// What the model is shown of an output, and its tokens where the host counted them. What the kernel
    /// itself says of a call is not enclosed.
    fn shown(&self, call: &Call, finished: &ToolFinished) -> (Text, Option<u64>) {
        let output = &finished.output;
        let is_own = finished.is_dropped() || finished.outcome == Outcome::Interrupted;
        // What the host counted is the whole.
        let counted = finished.tokens.filter(|_| finished.dropped.is_none());
        let counted = counted.or(finished.tokens.filter(|_| finished.is_dropped()));
        if is_own || self.config().policy.is_none() {
            return (output.clone(), counted);
        }
        let (setup, marked) = (&self.setup, finished.marked);
        let shown = self.oversight.enclosed(setup, call, output, marked);
        let more = self.meter.estimate_beyond(&shown, output);
        let tokens = counted.map(|tokens| tokens.saturating_add(more));
        (shown, tokens)
    }

    /// The same with a note of the images that are not shown.
    pub(super) fn shown_with_note(
        &self,
        call: &Call,
        finished: &ToolFinished,
    ) -> (Text, Option<u64>) {
        let (output, tokens) = self.shown(call, finished);
        let why = finished.images_withheld.as_ref();
        let Some(why) = why.filter(|_| !finished.is_dropped()) else {
            return (output, tokens);
        };
        let note = image::stubs(&finished.images, why);
        let more = self.meter.gauge.estimate(&note);
        let tokens = tokens.map(|tokens| tokens.saturating_add(more));
        (format!("{output}\n{note}").into(), tokens)
    }

    /// What the block around an output takes, where it is shown in one.
    fn block_tokens(&self, call: &Call, output: &ToolOutput) -> u64 {
        if self.config().policy.is_none() {
            return 0;
        }
        let (setup, marked) = (&self.setup, output.marked);
        let text = output.text.as_str().into();
        let shown = self.oversight.enclosed(setup, call, &text, marked);
        self.meter.estimate_beyond(&shown, &text)
    }
}

fn member_result(call: &Call, text: &str, outcome: Outcome, latency_ms: u64) -> String {
    batch::result(call, &sendable_name(&call.tool), text, outcome, latency_ms)
}
