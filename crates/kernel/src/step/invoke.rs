//! The acting phase: calls, in the order in which the model wrote them.

use std::sync::Arc;

use super::Stepper;
use crate::context::DROPPED;
use crate::event::{Call, Event, Outcome, SkipReason, ToolFinished};
use crate::id::RunId;
use crate::own_tools::OwnTool;
use crate::paging;
use crate::profile::LoopOp;
use crate::run::{Review, Run, ToolOutput};
use crate::termination::{Termination, TerminationKind};
use crate::text::Text;
use crate::tool::{DONE, FINAL_REPORT, ToolEffect, is_terminal};

/// What the model is shown for a call whose outcome nobody knows.
pub(crate) const INTERRUPTED: &str = "(tool failed: interrupted, outcome unknown)";
/// The same for one whose arguments are not kept.
const INTERRUPTED_UNKEPT: &str = "(tool failed: interrupted, outcome unknown; the arguments held a secret, which is not kept, so it is not executed again)";

/// A call that was decoded, checked and logged: the only thing that a tool registry executes. Nothing
/// outside the kernel can make one.
#[derive(Clone, Debug)]
pub struct Invocation {
    run: RunId,
    turn: u32,
    call: u32,
    tool: Arc<str>,
    arguments: Text,
    as_written: bool,
    effect: ToolEffect,
    timeout_ms: u64,
    output_bytes_max: u64,
    /// `None` where nothing is kept of an output that is cut.
    kept_bytes_max: Option<u64>,
    pages: bool,
    keeps_code: bool,
    approved: bool,
}

impl Invocation {
    /// `None` where the arguments held a secret and are not known any more. A call of another agent needs them
    /// for its beginning alone.
    pub(super) fn new(run: &Run, at: usize, call: &Call) -> Option<Self> {
        let as_written = run.scratch.has_arguments(at, call);
        if !as_written && run.sub_agent(&call.tool).is_none() {
            return None;
        }
        let config = run.config();
        let limits = &config.limits;
        let paged_bytes_max = run.setup.paged_bytes_max();
        Some(Self {
            run: run.setup.id.clone(),
            turn: run.turn,
            call: at as u32,
            tool: call.tool.clone(),
            arguments: run.scratch.arguments(at, call).clone(),
            as_written,
            effect: run.setup.effect_of(&call.tool),
            timeout_ms: limits.tool_timeout_ms,
            output_bytes_max: limits.tool_output_bytes_max,
            kept_bytes_max: match config.keeps_originals {
                true => Some(u64::MAX),
                false => paged_bytes_max,
            },
            pages: paged_bytes_max.is_some(),
            keeps_code: run.profile().conduct().keeps_codes,
            // The verdict is of the call that is up, and of none beside it.
            approved: run.oversight.review == Review::Approved && run.phase.call_up() == at as u32,
        })
    }

    /// The run whose log holds the call.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The turn that its reply is of.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// The call's place in its reply, from 0.
    pub fn call(&self) -> u32 {
        self.call
    }

    /// A tool of the run's catalogue.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether the arguments are as the model wrote them. Not so where they held a secret that is not known any
    /// more: such a call may take up what it had begun, and begin nothing.
    pub fn is_as_written(&self) -> bool {
        self.as_written
    }

    /// A JSON object that fits the tool's schema.
    pub fn arguments(&self) -> &str {
        if self.arguments.trim().is_empty() {
            "{}"
        } else {
            &self.arguments
        }
    }

    /// As the catalogue has it, frozen when the run began.
    pub fn effect(&self) -> ToolEffect {
        self.effect
    }

    /// The time after which the host ends the call.
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms
    }

    /// The length to which the host cuts the output.
    pub fn output_bytes_max(&self) -> u64 {
        self.output_bytes_max
    }

    /// How much of an output that is cut is wanted beside it; `None` where nothing is.
    pub fn kept_bytes_max(&self) -> Option<u64> {
        self.kept_bytes_max
    }

    /// The name by which the model can read on in the output, where the run offers that.
    pub fn output_handle(&self) -> Option<String> {
        self.pages.then(|| paging::handle(self.turn, self.call))
    }

    /// Whether the code of a failure is wanted beside what the model is shown.
    pub fn keeps_code(&self) -> bool {
        self.keeps_code
    }

    /// Whether a person looked at this very call and approved it; not where the policy let it through.
    pub fn approved(&self) -> bool {
        self.approved
    }

    /// The same for every execution of this call, different for every other call.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.run, self.turn, self.call)
    }
}

impl Stepper<'_> {
    /// Invokes the call that is up next. The terminal calls are the kernel's own.
    pub(super) fn invoke(&mut self) {
        let Some((calls, at)) = self.run.phase.calls() else {
            return;
        };
        let calls = calls.clone();
        let Some(call) = calls.get(at) else {
            return;
        };
        let own = self.run.setup.own_tool(&call.tool);
        if own == Some(OwnTool::Progress) {
            return self.report_progress(at, call);
        }
        if !is_terminal(&call.tool) && self.passes_to_report(&calls, at) {
            return;
        }
        // A batch is answered with what its members left.
        let is_free = is_terminal(&call.tool) || own == Some(OwnTool::Batch);
        if self.run.last_turn.is_forced && !is_free {
            self.emit(Event::CallSkipped {
                call: at as u32,
                tool: call.tool.clone(),
                reason: SkipReason::ContextBudget,
            });
            return self.advance();
        }
        let op = self.run.standing.op(&call.tool);
        // Of a batch the members are held; what the kernel itself answers does nothing.
        if own.is_none() && op.is_none() && (self.is_unkept(at, call) || self.is_held(at, call)) {
            return;
        }
        self.emit_invoked(at, call);
        if let Some(op) = op {
            return self.carry_out(op, &calls, at);
        }
        match (&*call.tool, own) {
            (DONE, _) => self.finish(&calls, at, call),
            (FINAL_REPORT, _) => self.take_report(&calls, at, call),
            (_, Some(OwnTool::Batch)) => self.close_batch(at, call),
            (_, Some(OwnTool::Output)) => self.turn_page(at, call),
            (_, Some(OwnTool::Search)) => self.find_tools(at, call),
            (_, Some(OwnTool::Progress) | None) => self.invoke_beside(&calls, at),
        }
    }

    /// Carries out an instruction that the kernel itself answers.
    fn carry_out(&mut self, op: LoopOp, calls: &[Call], at: usize) {
        if let Some(finished) = self.run.standing.carry_out(op, calls, at) {
            self.emit(Event::ToolFinished(Box::new(finished)));
            self.advance();
        }
    }

    pub(super) fn emit_invoked(&mut self, at: usize, call: &Call) {
        let setup = &self.run.setup;
        let spec = setup.catalog.spec(&call.tool);
        let invoked = Event::ToolInvoked {
            call: at as u32,
            tool: call.tool.clone(),
            effect: setup.effect_of(&call.tool),
            sandbox: spec.and_then(|spec| spec.sandbox),
        };
        self.emit(invoked);
    }

    fn finish(&mut self, calls: &[Call], at: usize, call: &Call) {
        let reason = done_reason(&call.arguments);
        let output = serde_json::json!({ "status": "done", "reason": reason }).to_string();
        self.answered(at, call, Outcome::Ok, output);
        self.skip_later(calls, at);
        let kind = TerminationKind::of_answer(&reason);
        self.end_quietly(Termination::new(kind, reason), None);
    }

    /// Records what the kernel itself answered to a call.
    pub(super) fn answered(&mut self, at: usize, call: &Call, outcome: Outcome, output: String) {
        let tool = call.tool.clone();
        let finished = ToolFinished::unexecuted(at as u32, tool, outcome, output.into());
        self.emit(Event::ToolFinished(Box::new(finished)));
    }

    /// What comes after the terminal call of a reply is not executed.
    pub(super) fn skip_later(&mut self, calls: &[Call], at: usize) {
        let later = calls.iter().enumerate().skip(at + 1);
        for (index, skipped) in later.filter(|(_, call)| call.refused.is_none()) {
            self.emit(Event::CallSkipped {
                call: index as u32,
                tool: skipped.tool.clone(),
                reason: SkipReason::AfterTheEnd,
            });
        }
    }

    pub(super) fn returned(&mut self, call: u32, output: ToolOutput) {
        let Some(tool) = self.call_under_way().map(|call| call.tool) else {
            return;
        };
        // A call that returned was not interrupted, whatever the tool says.
        let outcome = match output.outcome == Outcome::Interrupted {
            true => Outcome::Failed,
            false => output.outcome,
        };
        let tokens = output
            .tokens
            .unwrap_or_else(|| self.run.meter.gauge.estimate(&output.text));
        let images_withheld = self.withholds_images(&output, tokens);
        let beside = self.beside_the_words(&output.images, images_withheld.as_deref());
        let dropped = self.admit(&output, tokens.saturating_add(beside));
        let shown_bytes = dropped.as_ref().and_then(|it| it.shown_bytes);
        let is_dropped = dropped.is_some() && shown_bytes.is_none();
        let text: Text = if is_dropped {
            DROPPED.into()
        } else if let Some(bytes) = shown_bytes {
            paging::fitted(&output.text, bytes, self.run.turn, call).into()
        } else {
            let whole = output.text.into();
            if output.tokens.is_none() {
                self.run.meter.weighed(&whole, tokens);
            }
            whole
        };
        self.emit(Event::ToolFinished(Box::new(ToolFinished {
            call,
            tool,
            outcome: if is_dropped { Outcome::Failed } else { outcome },
            output: text,
            cut_from_bytes: output.cut_from_bytes,
            original: output.original.map(Into::into),
            latency_ms: output.latency_ms,
            tokens: output.tokens,
            dropped: dropped.clone(),
            spent: output.spent,
            marked: output.marked,
            sandbox: output.sandbox,
            code: output.code,
            images: output.images,
            images_withheld,
        })));
        if let Some(dropped) = dropped.filter(|_| is_dropped) {
            self.force_after_drop(&dropped);
        }
        self.advance();
    }

    /// Records that the call that is up will not be heard of again.
    pub(super) fn interrupt_call(&mut self) {
        let Some(call) = self.call_under_way() else {
            return;
        };
        let at = self.run.phase.call_up();
        let shown = match call.masked {
            false => INTERRUPTED,
            true => INTERRUPTED_UNKEPT,
        };
        let outcome = Outcome::Interrupted;
        let finished = ToolFinished::unexecuted(at, call.tool, outcome, shown.into());
        self.emit(Event::ToolFinished(Box::new(finished)));
    }

    fn call_under_way(&self) -> Option<Call> {
        self.run.phase.call().cloned()
    }
}

/// The schema of `done` has made sure that there is one.
fn done_reason(arguments: &str) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_str(arguments).ok();
    parsed
        .as_ref()
        .and_then(|value| value.get("reason"))
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
