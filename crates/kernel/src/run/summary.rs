//! A summary in the place of older messages, where a run is configured so and nothing else makes room: what is asked for,
//! and what stands in the conversation then. What was said stays in the log.

use super::{Phase, Run};
use crate::context::{self, Context};
use crate::event::ContextSummarised;
use crate::model::{Message, Request};
use crate::prompt;

/// So many times a run asks for a summary at most.
const SUMMARIES_MAX: u32 = 3;

/// A summary is no longer than this, nor than any other reply.
const SUMMARY_TOKENS_MAX: u64 = 2_048;

/// The replies at the end of the conversation that are left as they are, with what was answered to their calls.
const REPLIES_KEPT: usize = 2;

/// The first message, the goal, is left as it is.
const FIRST: usize = 1;

/// How a run stands with its summaries.
#[derive(Clone, Debug, Default)]
pub(super) struct Summaries {
    /// The request under way asks for a summary of what stands before this message.
    asking: Option<usize>,
    /// Whether one was asked for since the model decided last: a window that is full again is another matter.
    tried: bool,
    asked: u32,
}

impl Run {
    /// The place of the first message that a summary would leave as it is, if one may be asked for.
    pub(crate) fn summary_until(&self) -> Option<usize> {
        let may_ask = self.config().context_summary && self.converses() && !self.is_forced();
        if !may_ask || self.summaries.tried || self.summaries.asked >= SUMMARIES_MAX {
            return None;
        }
        let is_reply = |message: &Message| matches!(message, Message::Assistant { .. });
        let messages = self.messages().iter().enumerate();
        let mut replies = messages.rev().filter(|(_, message)| is_reply(message));
        let (until, _) = replies.nth(REPLIES_KEPT - 1)?;
        (until > FIRST + 1).then_some(until)
    }

    /// What is spared at least where a summary takes the place of what stands before a message.
    pub(crate) fn spared_by_summary(&self, until: usize) -> u64 {
        let older = self.messages().get(FIRST..until).unwrap_or_default();
        let tokens = older
            .iter()
            .map(|message| self.message_tokens(message))
            .sum();
        let notice = context::text_tokens(&self.gauge, prompt::SUMMED_UP);
        let summary = self.summary_tokens_max().saturating_add(notice);
        self.gauge.at_least(tokens).saturating_sub(summary)
    }

    pub(crate) fn summary_tokens_max(&self) -> u64 {
        SUMMARY_TOKENS_MAX.min(u64::from(self.config().output_tokens_max))
    }

    /// What the request for a summary holds, as it is estimated.
    pub(crate) fn summary_request_tokens(&self, until: usize) -> u64 {
        let older = self.messages().get(..until).unwrap_or_default();
        let tokens: u64 = older
            .iter()
            .map(|message| self.message_tokens(message))
            .sum();
        let system = context::text_tokens(&self.gauge, self.system());
        let notice = context::text_tokens(&self.gauge, prompt::SUM_UP);
        tokens.saturating_add(system).saturating_add(notice)
    }

    /// Whether the request under way asks for a summary; then the place of the first message that it leaves out.
    pub(crate) fn is_summing_up(&self) -> Option<usize> {
        let is_asking = matches!(self.phase, Phase::Asking { .. });
        self.summaries.asking.filter(|_| is_asking)
    }

    /// Whether a request asks for a summary of the conversation instead of the next step.
    pub(crate) fn sums_up<'a>(&'a self, request: Request<'a>) -> Request<'a> {
        let Some(until) = self.is_summing_up() else {
            return request;
        };
        let brief = prompt::summary_brief();
        Request {
            messages: self.messages().get(..until).unwrap_or_default(),
            notices: brief.notices,
            offer: brief.offer,
            ..request
        }
    }

    pub(super) fn summary_asked(&mut self, until: Option<u32>) {
        self.summaries.asking = until.map(|until| until as usize);
        if until.is_some() {
            self.summaries.tried = true;
            self.summaries.asked += 1;
        }
    }

    /// The request for a summary came to nothing. Says whether there was one.
    pub(super) fn summary_lost(&mut self, interrupted: bool) -> bool {
        if self.summaries.asking.take().is_none() {
            return false;
        }
        // One that nobody heard of is asked for again.
        if interrupted {
            self.summaries.tried = false;
            self.summaries.asked -= 1;
        }
        true
    }

    /// The model decided: a window that is full from now on may be summed up again.
    pub(super) fn summary_over(&mut self) {
        self.summaries.tried = false;
    }

    /// Puts a summary in the place of what it sums up.
    pub(super) fn summarised(&mut self, made: &ContextSummarised) {
        self.summaries.asking = None;
        let until = made.until as usize;
        let messages = self.messages().to_vec();
        if until <= FIRST || until > messages.len() {
            return;
        }
        let (older, later) = messages.split_at(until);
        let summary = prompt::summed_up(&made.answer.text);
        let shift = until - FIRST - 1;
        self.outputs_summed_up(until, shift);
        older[FIRST..]
            .iter()
            .for_each(|message| self.unsay(message));
        self.ledger.said(&summary);
        if self.config().edition.counts_whole() {
            self.ledger.uncount();
        }
        self.conversation.truncate(FIRST);
        self.conversation.push(summary);
        let later = later.iter().cloned();
        later.for_each(|message| self.conversation.push(message));
        self.context = self.estimated_anew();
    }

    /// The context as it is estimated: no provider has counted this conversation.
    fn estimated_anew(&self) -> Context {
        let mut context = Context::default();
        let messages = self.messages().iter();
        let tokens: u64 = messages.map(|message| self.message_tokens(message)).sum();
        context.said(tokens.saturating_add(context::text_tokens(&self.gauge, self.system())));
        let thinks = |message: &Message| matches!(message, Message::Assistant { reasoning, signed, .. } if !reasoning.is_empty() || signed.is_some());
        if self.messages().iter().any(thinks) {
            context.thought();
        }
        context
    }
}
