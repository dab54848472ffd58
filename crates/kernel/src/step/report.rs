//! The report of an agent: taken from its call, from its text as a last resort, or made where it gave none.

use serde_json::{Value, json};

use super::Stepper;
use crate::event::{Call, Event, Outcome, SkipReason};
use crate::report::{Report, ReportWarning, SyntheticReason};
use crate::termination::{Termination, TerminationKind};
use crate::text::Text;
use crate::tool::FINAL_REPORT;

/// The model is told as much of what is wrong with its report; the last turn has room for it.
const FAULT_CHARS_MAX: usize = 300;

impl Stepper<'_> {
    /// Reads the report of a call. A good one ends the run, a bad one is answered.
    pub(super) fn take_report(&mut self, calls: &[Call], at: usize, call: &Call) {
        let edition = self.run.config().edition;
        let Some(read) = self.run.standing.read_report(edition, call) else {
            return;
        };
        match read {
            Ok((report, warnings)) => {
                self.answered(at, call, Outcome::Ok, accepted(&warnings));
                self.skip_later(calls, at);
                self.end_with(&report, TerminationKind::Done);
            }
            Err(fault) => {
                let fault: String = fault.to_string().chars().take(FAULT_CHARS_MAX).collect();
                let output = format!("(tool failed: {fault})");
                self.answered(at, call, Outcome::Failed, output);
                self.advance();
            }
        }
    }

    /// Passes the calls over that stand before a good report: it was written without what they return. Says whether it did.
    pub(super) fn passes_to_report(&mut self, calls: &[Call], at: usize) -> bool {
        let edition = self.run.config().edition;
        let standing = &self.run.standing;
        let is_good = |call: &Call| {
            let is_report = &*call.tool == FINAL_REPORT && call.refused.is_none();
            let read = || standing.read_report(edition, call);
            is_report && read().is_some_and(|read| read.is_ok())
        };
        let later = calls.get(at + 1..).unwrap_or_default();
        if !edition.report_comes_first() || !later.iter().any(is_good) {
            return false;
        }
        self.emit(Event::CallSkipped {
            call: at as u32,
            tool: calls[at].tool.clone(),
            reason: SkipReason::BesideTheReport,
        });
        self.advance();
        true
    }

    /// The turns are used up. What stood in a text is better than nothing; else the run says itself that
    /// it has failed.
    pub(super) fn end_without_report(&mut self, cause: Option<&Text>) {
        let standing = &self.run.standing;
        if let Some(report) = standing.fallback().cloned() {
            return self.end_with(&report, TerminationKind::Done);
        }
        let max = self.run.config().limits.turns_max;
        let turns = self.run.pursuit.turns(self.run.turn, max);
        let is_full = self.run.last_turn.is_forced || self.is_too_large();
        let kind = TerminationKind::TurnsExhausted;
        match standing.report_of_turns(turns, is_full, cause.map(Text::as_str)) {
            Some(report) => self.end_with(&report, kind),
            None => {
                let wanted = self.run.profile().ends_with();
                let reason = format!("{turns} turns were used without {wanted}");
                self.end(kind, reason);
            }
        }
    }

    /// Whether a provider found the request of this turn larger than its window.
    fn is_too_large(&self) -> bool {
        self.run.config().edition.backs_off() && self.run.targets.attempts.some_overflowed()
    }

    /// What stood in a text is better than nothing also when a limit ends the run. The report says which.
    pub(super) fn rescued(&self, kind: TerminationKind, cause: &str) -> Option<Report> {
        if !self.run.config().rescues || !is_limit(kind) {
            return None;
        }
        let mut report = self.run.standing.fallback()?.clone();
        let reason = SyntheticReason::LimitReached.as_str();
        let limit = json!({ "reason": reason, "limit": kind.as_str(), "cause": cause });
        report.metadata.get_or_insert(limit);
        Some(report)
    }

    /// The report that a run delivers which a limit has ended.
    pub(super) fn report_of_limit(&self, kind: TerminationKind, cause: &str) -> Option<Text> {
        if !is_limit(kind) {
            return None;
        }
        let report = self.run.standing.report_of_limit(self.run.turn, cause)?;
        Some(written(&report))
    }

    pub(super) fn end_with(&mut self, report: &Report, kind: TerminationKind) {
        let text = report.content.clone().unwrap_or_else(|| {
            let messages = report.messages.as_ref().map(Value::to_string);
            messages.unwrap_or_default().into()
        });
        self.end_quietly(Termination::new(kind, text), Some(written(report)));
    }
}

/// Turns are a limit too, but they end a run by another way.
fn is_limit(kind: TerminationKind) -> bool {
    matches!(
        kind,
        TerminationKind::NoProgress | TerminationKind::BudgetExhausted | TerminationKind::TimedOut
    )
}

fn accepted(warnings: &[ReportWarning]) -> String {
    if warnings.is_empty() {
        return json!({ "ok": true }).to_string();
    }
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    json!({ "ok": true, "warnings": warnings }).to_string()
}

fn written(report: &Report) -> Text {
    let text = serde_json::to_string(report).expect("a report holds texts and JSON values");
    text.into()
}
