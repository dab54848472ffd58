//! What the model said, as the conversation of a run has it, and what the next request says of it.

use super::Run;
use super::setup::sendable_name;
use crate::event::{Call, DecisionMade};
use crate::model::{Message, MessageCall};
use crate::prompt;

impl Run {
    pub(super) fn push(&mut self, message: Message, tokens: Option<u64>) {
        self.tally.ledger.add(&message);
        if self.is_guarded() {
            let tokens = tokens.unwrap_or_else(|| self.meter.message_tokens(&message));
            self.meter.context.add(tokens);
        }
        self.dialogue.conversation.push(message);
    }

    /// Counts a message no more. What a provider counted with it is taken for what it was.
    pub(super) fn unsay(&mut self, message: &Message) {
        self.tally.ledger.unsay(message);
        if self.is_guarded() {
            let tokens = self.meter.message_tokens(message);
            self.meter.context.uncounted(tokens, 0);
        }
    }

    /// Takes out what the reply before this one left in the last turn.
    pub(super) fn take_back(&mut self) {
        let out = self.dialogue.take_exchange();
        out.iter().for_each(|message| self.unsay(message));
    }

    /// Puts what the model said into the conversation.
    pub(super) fn say(&mut self, decision: &DecisionMade) {
        let answer = &decision.answer;
        let mends = self.config().repairs;
        let calls = decision.calls.iter().enumerate();
        let native = calls.filter(|(at, call)| call.is_native() && self.shows(*at, call));
        let calls: Vec<MessageCall> = native.map(|(_, call)| message_call(call, mends)).collect();
        self.notice(decision);
        if !answer.reasoning.is_empty() || answer.signed.is_some() {
            self.meter.context.thought();
        }
        self.push(
            Message::Assistant {
                text: answer.text.clone(),
                reasoning: answer.reasoning.clone(),
                signed: answer.signed.clone(),
                calls,
            },
            None,
        );
    }

    /// Whether a call stands in the conversation. A flood of refused calls would fill the context.
    pub(super) fn shows(&self, at: usize, call: &Call) -> bool {
        !self.is_guarded()
            || call.refused.is_none()
            || at < prompt::refused_shown_max(&self.config().limits)
    }

    /// What the next request says of a decision.
    fn notice(&mut self, decision: &DecisionMade) {
        let calls = &decision.calls;
        let is_thought = calls.is_empty() && decision.answer.text.trim().is_empty();
        let shown = (0..).zip(calls).filter(|(at, call)| self.shows(*at, call));
        let not_shown = calls.len() - shown.count();
        let edition = self.config().edition;
        let nothing_done = self.profile().nothing_done(decision, edition);
        let notices = &mut self.dialogue.notices;
        notices.extend(nothing_done.map(Into::into));
        if not_shown > 0 {
            notices.push(prompt::not_shown(not_shown));
        }
        match is_thought || self.dialogue.has_exchange() {
            true => self.dialogue.was_useless(edition.varies_requests()),
            false => self.dialogue.was_useful(),
        }
    }
}

/// Arguments that are no JSON object would make later requests unreadable for some providers.
fn message_call(call: &Call, mends: bool) -> MessageCall {
    let broken = call
        .refused
        .as_ref()
        .is_some_and(|refusal| refusal.code.arguments_unreadable());
    MessageCall {
        id: call.id.clone(),
        tool: if mends {
            sendable_name(&call.tool)
        } else {
            call.tool.clone()
        },
        arguments: if broken || call.arguments.trim().is_empty() {
            "{}".into()
        } else {
            call.arguments.clone()
        },
    }
}
