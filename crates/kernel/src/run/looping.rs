//! How the events of a run that works in loops change its memory, and what its next turn shows.

use serde_json::Value;

use super::{Phase, Run};
use crate::context::{self, Context};
use crate::decode::attrless::RAM_ADD;
use crate::event::{Answer, Call, Outcome, RefusalCode, ToolFinished};
use crate::looping::{
    Alike, LoopAudit, LoopConfig, LoopOp, LoopRules, Told, alike_in, enters_state, is_violation,
    summary_of_finished, summary_of_refused,
};
use crate::memory::{Memory, MemoryEdit, State, THINK_LOG_KEY};
use crate::model::Message;
use crate::prompt::{Conversation, segments};
use crate::text::Text;
use crate::time::Millis;

/// What is kept of a model's reasoning as the log of its thoughts.
const THINK_LOG_BYTES_MAX: usize = 1_024;

impl Run {
    /// The memory, where the run works in loops.
    pub fn memory(&self) -> Option<&Memory> {
        self.looping.as_ref().map(|looping| &looping.memory)
    }

    /// What is kept of a run that works in loops.
    pub fn audit_of_loop(&self) -> Option<LoopAudit> {
        let (looping, config) = (self.looping.as_ref()?, self.loop_config()?);
        let failed = self.termination().filter(|it| !it.is_success());
        let code = failed.map(|it| match it.code() {
            Some(code) => code.to_owned(),
            None => it.kind.as_str().to_uppercase(),
        });
        Some(LoopAudit {
            prompt_hash: config.prompt_hash.clone(),
            parser_version: config.parser_version.clone(),
            loop_count: self.turn,
            operation_count: looping.operations,
            error_code: code,
            started_at: looping.started_at,
            completed_at: looping.ended_at,
            operations: looping.summaries.kept.clone(),
            operations_left_out: looping.summaries.left_out,
        })
    }

    /// What holds for the instruction at this place of the turn's reply.
    pub(crate) fn loop_rules(&self, at: usize) -> Option<LoopRules> {
        let config = self.loop_config()?;
        let later = match &self.phase {
            Phase::Acting { calls, .. } => calls.get(at + 1..).unwrap_or_default(),
            _ => &[],
        };
        Some(LoopRules {
            paging_bytes: config.paging_bytes,
            ordered: config.ordered,
            enters_later: enters_state(later),
        })
    }

    pub(crate) fn loop_config(&self) -> Option<&LoopConfig> {
        self.started.config.looping.as_deref()
    }

    /// Whether the log keeps what the model wrote.
    pub fn keeps_text(&self) -> bool {
        self.loop_config().is_none_or(|config| config.keeps_text)
    }

    pub(crate) fn is_looping(&self) -> bool {
        self.looping.is_some()
    }

    /// The system text of the requests of this turn.
    pub(crate) fn system_now(&self) -> &Text {
        match &self.looping {
            Some(looping) => &looping.system,
            None => &self.started.system,
        }
    }

    /// Makes the one message of the next turn.
    pub(super) fn compose(&mut self) {
        let started = self.started.clone();
        let Some(looping) = &mut self.looping else {
            return;
        };
        looping.system = segments::system(looping, &started.system);
        let text = segments::message(looping, &started.goal);
        let message = Message::User { text };
        let tokens = context::text_tokens(&self.gauge, &looping.system)
            + context::message_tokens(&self.gauge, &message);
        let system_bytes = looping.system.len() as u64;
        let mut conversation = Conversation::default();
        conversation.push(message);
        self.ledger.restart(system_bytes, &conversation);
        self.context = Context::default();
        self.context.said(tokens);
        self.conversation = conversation;
    }

    /// A turn is over: the next one rests for a while first.
    pub(super) fn turn_over(&mut self) {
        let now = self.watch.last_at;
        let Some((config, looping)) = self.loop_parts() else {
            return;
        };
        let delay_ms = match looping.memory.is_idle() {
            true => config.idle_delay_ms,
            false => config.loop_delay_ms,
        };
        looping.rest_until = now.plus(delay_ms);
        // Who found notes that are alike puts them in order, until there are none.
        match std::mem::take(&mut looping.alike) {
            Alike::Some if config.ordered => {
                looping.organizes |= looping.memory.settle(State::RecordOrganizing, true);
            }
            Alike::None if looping.organizes => {
                looping.memory.settle(State::RecordOrganizing, false);
                looping.organizes = false;
            }
            Alike::Some | Alike::None | Alike::Unseen => {}
        }
        let (results, memory) = (looping.told.text(), looping.memory.text());
        self.progress.turn_over(&results, &memory);
        self.compose();
    }

    /// A decision was made: what came of the last turn has been seen.
    pub(super) fn decided_in_loop(&mut self, answer: &Answer, calls: &[Call]) {
        let Some((config, looping)) = self.loop_parts() else {
            return;
        };
        looping.told = Told::default();
        looping.rejected = None;
        let is_accepted = |call: &&Call| call.refused.is_none();
        let thinks = |call: &Call| &*call.tool == RAM_ADD && about(call) == THINK_LOG_KEY;
        let wrote_log = calls.iter().filter(is_accepted).any(thinks);
        if config.keeps_text && !wrote_log && !answer.reasoning.trim().is_empty() {
            let reasoning = answer.reasoning.trim();
            let end = reasoning.floor_char_boundary(THINK_LOG_BYTES_MAX);
            looping.memory.think(&reasoning[..end]);
            looping.memory.settle_paging(config.paging_bytes);
        }
    }

    /// Puts what came of a call before the model, in its next turn.
    pub(super) fn tell(&mut self, call: &Call, text: &Text, outcome: Outcome) {
        if let Some(looping) = &mut self.looping {
            looping.told.push(&call.tool, &about(call), outcome, text);
        }
    }

    /// What a call did to the memory, and what it is counted as.
    pub(super) fn finished_in_loop(&mut self, at: usize, call: &Call, finished: &ToolFinished) {
        let (turn, rules) = (self.turn, self.loop_rules(at));
        let (Some((config, looping)), Some(rules)) = (self.loop_parts(), rules) else {
            return;
        };
        let summary = summary_of_finished(turn, call, &about(call), finished);
        summary
            .into_iter()
            .for_each(|it| looping.summaries.push(it));
        looping.alike = match (looping.alike, alike_in(call, finished)) {
            (Alike::Some, _) | (_, Alike::Some) => Alike::Some,
            (known, Alike::Unseen) => known,
            (_, Alike::None) => Alike::None,
        };
        if finished.outcome != Outcome::Interrupted {
            looping.operations += 1;
        }
        let is_ok = finished.outcome == Outcome::Ok;
        if let Some(op) = LoopOp::of(&call.tool).filter(|_| is_ok) {
            let memory = &mut looping.memory;
            // It was tried before it was recorded.
            let _ = op.perform(memory, &call.arguments, rules);
        }
        let code = finished.code.as_deref().filter(|code| is_violation(code));
        if let Some(code) = code.filter(|_| config.scope.strict_scope) {
            looping.violation = Some(code.into());
        }
    }

    /// A call that the scope does not allow may have to end the run.
    pub(super) fn refused_in_loop(&mut self, call: &Call) {
        let summary = summary_of_refused(self.turn, call, &about(call));
        if let Some(looping) = &mut self.looping {
            summary
                .into_iter()
                .for_each(|it| looping.summaries.push(it));
        }
        let is_out = |refusal: &crate::event::Refusal| refusal.code == RefusalCode::OutOfScope;
        if !call.refused.as_ref().is_some_and(is_out) {
            return;
        }
        if let Some((config, looping)) = self.loop_parts()
            && config.scope.strict_scope
        {
            let code = crate::looping::ScopeCode::ScopeViolation;
            looping.violation = Some(code.as_str().into());
        }
    }

    pub(super) fn memory_edited(&mut self, edit: &MemoryEdit) {
        let Some((config, looping)) = self.loop_parts() else {
            return;
        };
        looping.memory.edit(edit);
        looping.memory.settle_paging(config.paging_bytes);
        // A turn that is open goes on with what it began with.
        if matches!(self.phase, Phase::Between) {
            self.compose();
        }
    }

    pub(super) fn ended_in_loop(&mut self, at: Millis) {
        if let Some(looping) = &mut self.looping {
            if looping.organizes {
                looping.memory.settle(State::RecordOrganizing, false);
            }
            looping.memory.end();
            looping.ended_at = Some(at);
        }
    }

    fn loop_parts(&mut self) -> Option<(&LoopConfig, &mut crate::looping::Looping)> {
        let config = self.started.config.looping.as_deref()?;
        Some((config, self.looping.as_deref_mut()?))
    }
}

/// Which of several calls of a tool one is.
fn about(call: &Call) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let named = ["key", "state", "query"];
    let found = named.iter().find_map(|name| arguments.get(name)?.as_str());
    found.unwrap_or_default().to_owned()
}
