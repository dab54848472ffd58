//! A summary in the place of older messages, where a run is configured so and nothing else makes room: what is asked for,
//! and what stands in the conversation then. What was said stays in the log.

use super::{Run, RunPhase};
use crate::event::{Blocked, ContextSummarised};
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
pub(crate) struct Summaries {
    /// The request under way asks for a summary of what stands before this message.
    asking: Option<usize>,
    /// Whether one was asked for since the model decided last: a window that is full again is another matter.
    tried: bool,
    asked: u32,
    /// Whether a person wants one, room or not.
    wanted: bool,
}

impl Summaries {
    /// Whether another one may be asked for.
    fn may_ask(&self) -> bool {
        !self.tried && self.asked < SUMMARIES_MAX
    }

    /// A request is sent; `until` is there where it asks for a summary.
    pub(super) fn asked(&mut self, until: Option<u32>) {
        self.asking = until.map(|until| until as usize);
        if until.is_some() {
            self.tried = true;
            self.asked += 1;
        }
    }

    /// Another goal is pursued, with as many summaries as the first had.
    pub(super) fn begin_goal(&mut self, wanted: bool) {
        *self = Self {
            wanted,
            ..Self::default()
        };
    }

    /// Nothing is asked any more.
    pub(super) fn close(&mut self) {
        self.asking = None;
    }

    /// The request for a summary came to nothing. Says whether there was one.
    pub(super) fn lost(&mut self, interrupted: bool) -> bool {
        if self.asking.take().is_none() {
            return false;
        }
        // One that nobody heard of is asked for again.
        if interrupted {
            self.tried = false;
            self.asked -= 1;
        } else {
            self.wanted = false;
        }
        true
    }

    /// The model decided: a window that is full from now on may be summed up again.
    pub(super) fn over(&mut self) {
        self.tried = false;
        self.wanted = false;
    }
}

impl Run {
    /// The place of the first message that a summary would leave as it is, if one may be asked for.
    pub(crate) fn summary_until(&self) -> Option<usize> {
        let is_wanted = self.dialogue.summaries.wanted;
        let is_offered = (self.config().context_summary || is_wanted) && self.converses();
        if !is_offered || self.last_turn.is_forced || !self.dialogue.summaries.may_ask() {
            return None;
        }
        let is_reply = |message: &Message| matches!(message, Message::Assistant { .. });
        let messages = self.messages().iter().enumerate();
        let mut replies = messages.rev().filter(|(_, message)| is_reply(message));
        let (until, _) = replies.nth(REPLIES_KEPT - 1)?;
        (until > FIRST + 1).then_some(until)
    }

    /// Whether a person wants a summary, room or not.
    pub(crate) fn wants_summary(&self) -> bool {
        self.dialogue.summaries.wanted
    }

    /// Whether a summary would make the room that a window lacks.
    pub(crate) fn summary_makes_room(&self, blocked: &Blocked) -> bool {
        let projected = i64::try_from(blocked.projected).unwrap_or(i64::MAX);
        let over = projected.saturating_sub(blocked.limit).unsigned_abs();
        let until = self.summary_until();
        until.is_some_and(|until| self.spared_by_summary(until) >= over)
    }

    /// What is spared at least where a summary takes the place of what stands before a message.
    fn spared_by_summary(&self, until: usize) -> u64 {
        let older = self.messages().get(FIRST..until).unwrap_or_default();
        let tokens = self.meter.messages_tokens(older);
        let notice = self.meter.text_tokens(prompt::SUMMED_UP);
        let summary = self.summary_tokens_max().saturating_add(notice);
        self.meter.gauge.at_least(tokens).saturating_sub(summary)
    }

    pub(crate) fn summary_tokens_max(&self) -> u64 {
        SUMMARY_TOKENS_MAX.min(u64::from(self.config().output_tokens_max))
    }

    /// What the request for a summary holds, as it is estimated.
    pub(crate) fn summary_request_tokens(&self, until: usize) -> u64 {
        let older = self.messages().get(..until).unwrap_or_default();
        let tokens = self.meter.messages_tokens(older);
        let system = self.meter.text_tokens(self.system());
        let notice = self.meter.text_tokens(prompt::SUM_UP);
        tokens.saturating_add(system).saturating_add(notice)
    }

    /// Whether the request under way asks for a summary; then the place of the first message that it leaves out.
    pub(crate) fn is_summing_up(&self) -> Option<usize> {
        let is_asking = matches!(self.phase, RunPhase::Asking { .. });
        self.dialogue.summaries.asking.filter(|_| is_asking)
    }

    /// Whether a request asks for a summary of the conversation instead of the next step.
    pub(super) fn sums_up<'a>(&'a self, request: Request<'a>) -> Request<'a> {
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

    /// The goal at hand, where it stands among what is summed up and behind the first message: it stays as it is. Notes where
    /// it stands then.
    fn goal_among(&mut self, until: usize) -> Option<Message> {
        let at = self.pursuit.message;
        if at < FIRST {
            return None;
        }
        if at >= until {
            self.pursuit.message = at - (until - FIRST - 1);
            return None;
        }
        self.pursuit.message = FIRST + 1;
        self.messages().get(at).cloned()
    }

    /// Puts a summary in the place of what it sums up.
    pub(super) fn summarised(&mut self, made: &ContextSummarised) {
        self.dialogue.summaries.asking = None;
        self.dialogue.summaries.wanted = false;
        let until = made.until as usize;
        let messages = self.messages().to_vec();
        if until <= FIRST || until > messages.len() {
            return;
        }
        let (older, later) = messages.split_at(until);
        let summary = prompt::summed_up(&made.answer.text);
        let goal = self.goal_among(until);
        let kept = 1 + usize::from(goal.is_some());
        let shift = until - FIRST - kept;
        self.outputs.sum_up(&self.setup, until, shift);
        older[FIRST..]
            .iter()
            .for_each(|message| self.unsay(message));
        self.tally.ledger.add(&summary);
        goal.iter().for_each(|goal| self.tally.ledger.add(goal));
        if self.config().edition.counts_whole() {
            self.tally.ledger.uncount();
        }
        let conversation = &mut self.dialogue.conversation;
        conversation.truncate(FIRST);
        conversation.push(summary);
        goal.into_iter().for_each(|goal| conversation.push(goal));
        let later = later.iter().cloned();
        later.for_each(|message| conversation.push(message));
        let messages = conversation.messages();
        let system = &self.setup.started.system;
        self.meter.estimate_anew(system, messages);
    }
}
