//! A run that works in loops: each turn begins with what the memory holds and with nothing else that was said before, and
//! the run ends when it is idle and has no steps left.

mod audit;
mod codes;
mod op;
mod operation;
mod prompt;
mod results;
mod summary;

use std::sync::Arc;

use serde_json::Value;

pub use audit::LoopAudit;
pub(crate) use codes::is_own_code;
pub(crate) use op::LoopOp;
pub use operation::{OperationOutcome, OperationSummary, RunAudit};

use super::{Begin, Conduct};
use crate::config::{LoopConfig, ScopeCode, Segment};
use crate::decode::attrless::RAM_ADD;
use crate::event::{Answer, Call, Outcome, Refusal, RefusalCode, RejectReason, ToolFinished};
use crate::memory::{Memory, MemoryEdit, State, THINK_LOG_KEY};
use crate::model::{FailureClass, Offer};
use crate::prompt::Brief;
use crate::retry::Attempts;
use crate::termination::{Termination, TerminationKind};
use crate::text::Text;
use crate::time::Millis;
use audit::Summaries;
use codes::{
    CONTEXT_OVERFLOW, LLM_TIMEOUT, LLM_UNAVAILABLE, RATE_LIMITED, XML_PARSE_ERROR, is_violation,
};
use op::{LoopRules, enters_state};
pub(super) use prompt::rejection;
use results::LoopResults;
use summary::{Alike, alike_in, summary_of_finished, summary_of_refused};

pub(super) const CONDUCT: Conduct = Conduct {
    converses: false,
    hears: false,
    reports: false,
    pools_keys: false,
    backs_off: false,
    retry_after_ms_min: 0,
    shortens_replies: true,
    is_parallel: false,
    keeps_codes: true,
};

/// What is kept of a model's reasoning as the log of its thoughts.
const THINK_LOG_BYTES_MAX: usize = 1_024;

/// How often a reply that cannot be read is asked for again.
const REPAIRS_MAX: u32 = 2;

/// How often a provider that fails is asked again.
const RETRIES_MAX: u32 = 3;
const RETRY_MS_MIN: u64 = 100;
const RETRY_MS_MAX: u64 = 5_000;

/// How long to wait after the failure of this number, counted from 0.
pub(super) fn retry_ms(failures_before: u32) -> u64 {
    let factor = 1 << failures_before.min(16);
    RETRY_MS_MIN.saturating_mul(factor).min(RETRY_MS_MAX)
}

/// Calls are written as instructions in the text: no tool is offered.
pub(super) fn brief(notices: Vec<Arc<str>>) -> Brief {
    let offer = Offer::None;
    Brief { notices, offer }
}

/// How a run ends that a provider refuses for good.
pub(super) fn refused_for_good(reason: String) -> Termination {
    Termination::new(TerminationKind::Fatal, reason).with_code(LLM_UNAVAILABLE)
}

/// How a run ends whose request no model can take in.
pub(super) fn overflow() -> Termination {
    let reason = "the prompt, the memory and the request together are larger than the window of every target: \
         shorten the prompt or the memory";
    Termination::new(TerminationKind::Fatal, reason).with_code(CONTEXT_OVERFLOW)
}

/// How a run that works in loops stands.
#[derive(Clone, Debug)]
pub(crate) struct Looping {
    config: Arc<LoopConfig>,
    memory: Memory,
    segments: Arc<[Segment]>,
    /// The system text of the turn's requests.
    system: Text,
    /// What came of the calls of the turn.
    results: LoopResults,
    /// The next turn does not begin before.
    rest_until: Millis,
    operations: u32,
    summaries: Summaries,
    /// Whether the records of this turn showed notes that are alike.
    alike: Alike,
    /// Whether `record_organizing` came by itself.
    organizes: bool,
    /// What a call was refused with that must end the run.
    violation: Option<Arc<str>>,
    /// Why the last reply was rejected.
    rejected: Option<RejectReason>,
    started_at: Millis,
    ended_at: Option<Millis>,
}

/// The results of a turn that is over, and the memory that it leaves, as texts.
pub(crate) struct TurnLeft {
    pub(crate) results: String,
    pub(crate) memory: String,
}

impl Looping {
    pub(super) fn begin(config: &LoopConfig, goal: &str, run: &str, at: Millis) -> Self {
        let mut memory = Memory::read(&config.memory).unwrap_or_default();
        memory.begin(goal, run);
        memory.settle_paging(config.paging_bytes);
        Self {
            config: Arc::new(config.clone()),
            memory,
            segments: config.segments().into(),
            system: Text::default(),
            results: LoopResults::default(),
            rest_until: at,
            operations: 0,
            summaries: Summaries::default(),
            alike: Alike::Unseen,
            organizes: false,
            violation: None,
            rejected: None,
            started_at: at,
            ended_at: None,
        }
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn system(&self) -> &Text {
        &self.system
    }

    pub(super) fn rest_until(&self) -> Millis {
        self.rest_until
    }

    /// What is kept of the run.
    pub(super) fn audit(&self, turn: u32, termination: Option<&Termination>) -> LoopAudit {
        let failed = termination.filter(|it| !it.is_success());
        let code = failed.map(|it| match it.code() {
            Some(code) => code.to_owned(),
            None => it.kind.as_str().to_uppercase(),
        });
        LoopAudit {
            prompt_hash: self.config.prompt_hash.clone(),
            parser_version: self.config.parser_version.clone(),
            loop_count: turn,
            operation_count: self.operations,
            error_code: code,
            started_at: self.started_at,
            completed_at: self.ended_at,
            operations: self.summaries.kept.clone(),
            operations_left_out: self.summaries.left_out,
        }
    }

    /// Makes the system text and the one message of the next turn.
    pub(super) fn compose(&mut self, system: &str, goal: &str) -> Text {
        self.system = prompt::system(self, system);
        prompt::message(self, goal)
    }

    /// Ends a run whose work is done or whose turns are used up; else lets it rest before its next turn.
    pub(super) fn begins(&self, turn: u32, last_turn: u32, now: Millis, woke: bool) -> Begin {
        if turn == 0 {
            return Begin::Now;
        }
        if self.memory.is_idle() && self.memory.has_no_steps() {
            let reason = format!("idle with no steps left after {turn} loops");
            return Begin::End(Termination::new(TerminationKind::Done, reason));
        }
        if turn >= last_turn {
            let reason = format!("{turn} loops were used and work is left");
            return Begin::End(Termination::new(TerminationKind::TurnsExhausted, reason));
        }
        // The host takes in what a person changed while the run rests, however short that is.
        match woke && now >= self.rest_until {
            true => Begin::Now,
            false => Begin::Later,
        }
    }

    /// How a run ends that went beyond its scope where that is not borne.
    pub(super) fn denial(&self) -> Option<Termination> {
        let code = self.violation.as_ref()?;
        let reason = format!("{code}: a call went beyond the scope of the run");
        Some(Termination::new(TerminationKind::Denied, reason).with_code(code))
    }

    /// How a run ends whose turn came to nothing as often as it may.
    pub(super) fn gives_up(&self, attempts: &Attempts, attempts_max: u32) -> Option<Termination> {
        let counted = attempts.counted();
        let may_go_on = attempts.rejections() <= REPAIRS_MAX
            && attempts.failures() <= RETRIES_MAX
            && counted < attempts_max;
        if may_go_on {
            return None;
        }
        let (code, reason) = match (attempts.fault(), attempts.failed_as()) {
            (None, _) if self.rejected == Some(RejectReason::Filtered) => {
                (LLM_UNAVAILABLE, "replies were withheld")
            }
            (None, _) => (XML_PARSE_ERROR, "replies could not be read"),
            (Some(_), class) => failed_as(class),
        };
        let fault = attempts.fault().map(|fault| format!(": {fault}"));
        let reason = format!(
            "{code}: {reason} in {counted} attempts{}",
            fault.unwrap_or_default()
        );
        Some(Termination::new(TerminationKind::Fatal, reason).with_code(code))
    }

    /// Carries out an instruction that changes the memory. The memory itself changes when that is on record.
    pub(super) fn carry_out(&self, op: LoopOp, calls: &[Call], at: usize) -> Option<ToolFinished> {
        let call = calls.get(at)?;
        let mut tried = self.memory.clone();
        let rules = self.rules(calls, at);
        let (outcome, text, code) = match op.perform(&mut tried, &call.arguments, rules) {
            Ok(message) => (Outcome::Ok, message.to_owned(), None),
            Err(fault) => (
                Outcome::Failed,
                format!("(tool failed: {fault})"),
                fault.code(),
            ),
        };
        let tool = call.tool.clone();
        let mut finished = ToolFinished::unexecuted(at as u32, tool, outcome, text.into());
        finished.code = code.map(Into::into);
        Some(finished)
    }

    /// What holds for the instruction at this place of a reply.
    fn rules(&self, calls: &[Call], at: usize) -> LoopRules {
        LoopRules {
            paging_bytes: self.config.paging_bytes,
            ordered: self.config.ordered,
            enters_later: enters_state(calls.get(at + 1..).unwrap_or_default()),
        }
    }

    /// A turn is over: the next one rests for a while first.
    pub(super) fn turn_over(&mut self, now: Millis) -> TurnLeft {
        let delay_ms = match self.memory.is_idle() {
            true => self.config.idle_delay_ms,
            false => self.config.loop_delay_ms,
        };
        self.rest_until = now.plus(delay_ms);
        // Who found notes that are alike puts them in order, until there are none.
        match std::mem::take(&mut self.alike) {
            Alike::Some if self.config.ordered => {
                self.organizes |= self.memory.settle(State::RecordOrganizing, true);
            }
            Alike::None if self.organizes => {
                self.memory.settle(State::RecordOrganizing, false);
                self.organizes = false;
            }
            Alike::Some | Alike::None | Alike::Unseen => {}
        }
        TurnLeft {
            results: self.results.text(),
            memory: self.memory.text(),
        }
    }

    /// A decision was made: what came of the last turn has been seen.
    pub(super) fn decided(&mut self, answer: &Answer, calls: &[Call]) {
        self.results = LoopResults::default();
        self.rejected = None;
        let is_accepted = |call: &&Call| call.refused.is_none();
        let thinks = |call: &Call| &*call.tool == RAM_ADD && about(call) == THINK_LOG_KEY;
        let wrote_log = calls.iter().filter(is_accepted).any(thinks);
        if self.config.keeps_text && !wrote_log && !answer.reasoning.trim().is_empty() {
            let reasoning = answer.reasoning.trim();
            let end = reasoning.floor_char_boundary(THINK_LOG_BYTES_MAX);
            self.memory.think(&reasoning[..end]);
            self.memory.settle_paging(self.config.paging_bytes);
        }
    }

    pub(super) fn rejected(&mut self, reason: RejectReason) {
        self.rejected = Some(reason);
    }

    /// Puts what came of a call before the model, in its next turn.
    pub(super) fn tell(&mut self, call: &Call, text: &Text, outcome: Outcome) {
        self.results.push(&call.tool, &about(call), outcome, text);
    }

    /// What a call did to the memory, and what it is counted as.
    pub(super) fn finished(
        &mut self,
        turn: u32,
        calls: &[Call],
        at: usize,
        finished: &ToolFinished,
    ) {
        let Some(call) = calls.get(at) else {
            return;
        };
        let summary = summary_of_finished(turn, call, &about(call), finished);
        summary.into_iter().for_each(|it| self.summaries.push(it));
        self.alike = match (self.alike, alike_in(call, finished)) {
            (Alike::Some, _) | (_, Alike::Some) => Alike::Some,
            (known, Alike::Unseen) => known,
            (_, Alike::None) => Alike::None,
        };
        if finished.outcome != Outcome::Interrupted {
            self.operations += 1;
        }
        let is_ok = finished.outcome == Outcome::Ok;
        if let Some(op) = LoopOp::of(&call.tool).filter(|_| is_ok) {
            let rules = self.rules(calls, at);
            // It was tried before it was recorded.
            let _ = op.perform(&mut self.memory, &call.arguments, rules);
        }
        let code = finished.code.as_deref().filter(|code| is_violation(code));
        if let Some(code) = code.filter(|_| self.config.scope.strict_scope) {
            self.violation = Some(code.into());
        }
    }

    /// A call that the scope does not allow may have to end the run.
    pub(super) fn refused(&mut self, turn: u32, call: &Call) {
        let summary = summary_of_refused(turn, call, &about(call));
        summary.into_iter().for_each(|it| self.summaries.push(it));
        let is_out = |refusal: &Refusal| refusal.code == RefusalCode::OutOfScope;
        let is_out = call.refused.as_ref().is_some_and(is_out);
        if is_out && self.config.scope.strict_scope {
            self.violation = Some(ScopeCode::ScopeViolation.as_str().into());
        }
    }

    /// Takes in what a person changed in the memory.
    pub(super) fn edited(&mut self, edit: &MemoryEdit) {
        self.memory.edit(edit);
        self.memory.settle_paging(self.config.paging_bytes);
    }

    pub(super) fn ended(&mut self, at: Millis) {
        if self.organizes {
            self.memory.settle(State::RecordOrganizing, false);
        }
        self.memory.end();
        self.ended_at = Some(at);
    }
}

/// The code of a run whose provider failed, and the words for it.
fn failed_as(class: Option<FailureClass>) -> (&'static str, &'static str) {
    match class {
        Some(FailureClass::Timeout) => (LLM_TIMEOUT, "the provider did not answer in time"),
        Some(FailureClass::RateLimit) => (RATE_LIMITED, "the provider limits its rate"),
        Some(
            FailureClass::Auth
            | FailureClass::Quota
            | FailureClass::Network
            | FailureClass::Model
            | FailureClass::Malformed
            | FailureClass::Overflow
            | FailureClass::Interrupted,
        )
        | None => (LLM_UNAVAILABLE, "the provider failed"),
    }
}

/// Which of several calls of a tool one is.
fn about(call: &Call) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let named = ["key", "state", "query"];
    let found = named.iter().find_map(|name| arguments.get(name)?.as_str());
    found.unwrap_or_default().to_owned()
}
