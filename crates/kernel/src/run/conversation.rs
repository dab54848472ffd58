//! The conversation of a run: what the model said, and what it is shown of the calls that it made.

use std::sync::Arc;

use super::guard::exceeded;
use super::{Run, ToolOutput};
use crate::budget;
use crate::context::{self, DROPPED, REFUSED};
use crate::decode::xml::Slot;
use crate::event::{Call, DecisionMade, Outcome};
use crate::model::{Message, MessageCall};
use crate::own_tools::OwnTool;
use crate::prompt;
use crate::prompt::xml::{ToolResponse, tool_response};
use crate::text::Text;
use crate::tokens::MESSAGE_TOKENS;

impl Run {
    pub(super) fn message_tokens(&self, message: &Message) -> u64 {
        context::message_tokens(&self.gauge, message)
    }

    fn push(&mut self, message: Message, tokens: Option<u64>) {
        self.ledger.said(&message);
        if self.is_guarded() {
            let tokens = tokens.unwrap_or_else(|| self.message_tokens(&message));
            self.context.said(tokens);
        }
        self.conversation.push(message);
    }

    /// Counts a message no more. What a provider counted with it is taken for what it was.
    pub(super) fn unsay(&mut self, message: &Message) {
        self.ledger.unsaid(budget::message_bytes(message));
        if self.is_guarded() {
            self.context.uncounted(self.message_tokens(message), 0);
        }
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
            self.context.thought();
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
        self.notices.extend(nothing_done.map(Into::into));
        if not_shown > 0 {
            self.notices.push(prompt::not_shown(not_shown));
        }
        match is_thought || self.exchange.is_some() {
            true => self.notice_again(),
            false => self.useless = 0,
        }
    }

    /// Puts before the model why a call was not executed, in short where there is no room.
    pub(super) fn refuse(&mut self, call: &Call, text: Text) {
        let tokens = self.tokens_of(call, &text, Outcome::Failed, 0);
        let has_room = exceeded(self, tokens).is_none();
        let text = if has_room { text } else { REFUSED.into() };
        self.answer_call(call, &text, Outcome::Failed, 0, None);
    }

    /// Puts what came of a call before the model: where the provider has a place for it, or as a message
    /// that names the tag.
    pub(super) fn answer_call(
        &mut self,
        call: &Call,
        text: &Text,
        outcome: Outcome,
        latency_ms: u64,
        tokens: Option<u64>,
    ) {
        if self.standing.tell(call, text, outcome) {
            return;
        }
        if call.member.is_some() {
            return self.gather(call, text, outcome, latency_ms);
        }
        let message = self.answer(call, text, outcome, latency_ms);
        let counted = tokens.filter(|_| call.tag.is_none());
        let charged = match counted {
            Some(tokens) => tokens.saturating_add(MESSAGE_TOKENS),
            None => self.message_tokens(&message),
        };
        self.note_output(call, text, outcome, latency_ms, charged);
        let gathered = std::mem::take(&mut self.gathered);
        if !gathered.is_empty() {
            let rest = self
                .message_tokens(&message)
                .saturating_sub(gathered.tokens);
            return self.push(message, Some(rest));
        }
        self.push(message, Some(charged));
    }

    /// What the model is shown of a call. A stub does not repeat the request, and neither does a report.
    pub(super) fn answer(
        &self,
        call: &Call,
        text: &Text,
        outcome: Outcome,
        latency_ms: u64,
    ) -> Message {
        let (Some(_), Some(nonce)) = (&call.tag, self.profile().nonce()) else {
            return Message::Tool {
                call_id: call.id.clone(),
                text: text.clone(),
            };
        };
        let slot = Slot::of_id(&call.id);
        let is_stub = [DROPPED, REFUSED].contains(&text.as_str());
        // Its results name what was asked.
        let is_batch = self.config().own_tools.of(&call.tool) == Some(OwnTool::Batch);
        let response = ToolResponse {
            nonce,
            slot,
            tool: &sendable_name(&call.tool),
            status: match outcome {
                Outcome::Ok => "ok",
                Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => "failed",
            },
            duration_ms: latency_ms,
            request: match is_stub || is_batch || slot == Slot::Final {
                true => "",
                false => &call.arguments,
            },
            response: text,
        };
        Message::User {
            text: tool_response(&response).into(),
        }
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
            whole.saturating_sub(self.gauge.estimate(&text))
        });
        let block = call.map_or(0, |call| self.block_tokens(call, output));
        tokens.saturating_add(around).saturating_add(block)
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

/// Providers refuse a conversation that names a tool as no tool can be named.
pub(super) fn sendable_name(tool: &Arc<str>) -> Arc<str> {
    let is_sendable = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    if (1..=64).contains(&tool.len()) && tool.chars().all(|c| is_sendable(&c)) {
        return tool.clone();
    }
    let kept: String = tool.chars().filter(is_sendable).take(64).collect();
    if kept.is_empty() {
        "unnamed".into()
    } else {
        kept.into()
    }
}
