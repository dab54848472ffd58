//! The report of an agent: taken from its call, from its text as a last resort, or made where it gave none.

use serde_json::{Value, json};

use super::Stepper;
use crate::agent::AgentConfig;
use crate::decode::xml::Slot;
use crate::edition::Edition;
use crate::event::{Call, Event, Outcome, SkipReason};
use crate::report::{
    self, FINAL_REPORT, Report, ReportFault, ReportFormat, ReportSource, ReportWarning, Shortfall,
    SyntheticReason,
};
use crate::termination::{Termination, TerminationKind};
use crate::text::Text;

/// The model is told as much of what is wrong with its report; the last turn has room for it.
const FAULT_CHARS_MAX: usize = 300;

impl Stepper<'_> {
    /// Reads the report of a call. A good one ends the run, a bad one is answered.
    pub(super) fn take_report(&mut self, calls: &[Call], at: usize, call: &Call) {
        let Some(agent) = self.run.config().agent.clone() else {
            return;
        };
        match read(&agent, self.run.config().edition, call) {
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
        let Some(agent) = &self.run.config().agent else {
            return false;
        };
        let is_good = |call: &&Call| {
            let is_report = &*call.tool == FINAL_REPORT && call.refused.is_none();
            is_report && read(agent, edition, call).is_ok()
        };
        let later = calls.get(at + 1..).unwrap_or_default();
        if !edition.report_comes_first() || !later.iter().any(|call| is_good(&call)) {
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
        if let Some(report) = self.run.reporting.fallback.clone() {
            return self.end_with(&report, TerminationKind::Done);
        }
        let turns = self.run.turn;
        let Some(agent) = &self.run.config().agent else {
            let reason = format!("{turns} turns were used without a call of done");
            return self.end(TerminationKind::TurnsExhausted, reason);
        };
        let reason = if self.run.reporting.failed_in == Some(turns) {
            SyntheticReason::FinalReportToolFailed
        } else if self.run.is_forced() || self.is_too_large() {
            SyntheticReason::ContextOverflow
        } else {
            SyntheticReason::MaxTurnsExhausted
        };
        let report = self.synthetic(agent, reason, cause.map(Text::as_str));
        self.end_with(&report, TerminationKind::TurnsExhausted);
    }

    /// Whether a provider found the request of this turn larger than its window.
    fn is_too_large(&self) -> bool {
        self.run.config().edition.backs_off() && self.run.attempts.some_overflowed()
    }

    /// What stood in a text is better than nothing also when a limit ends the run. The report says which.
    pub(super) fn rescued(&self, kind: TerminationKind, cause: &str) -> Option<Report> {
        if !self.run.config().rescues || !is_limit(kind) {
            return None;
        }
        let mut report = self.run.reporting.fallback.as_deref()?.clone();
        let reason = SyntheticReason::LimitReached.as_str();
        let limit = json!({ "reason": reason, "limit": kind.as_str(), "cause": cause });
        report.metadata.get_or_insert(limit);
        Some(report)
    }

    /// The report that a run delivers which a limit has ended.
    pub(super) fn report_of_limit(&self, kind: TerminationKind, cause: &str) -> Option<Text> {
        let agent = self.run.config().agent.as_ref()?;
        if !is_limit(kind) {
            return None;
        }
        let reason = SyntheticReason::LimitReached;
        Some(written(&self.synthetic(agent, reason, Some(cause))))
    }

    fn synthetic(
        &self,
        agent: &AgentConfig,
        reason: SyntheticReason,
        cause: Option<&str>,
    ) -> Report {
        report::synthetic(
            &agent.report,
            &Shortfall {
                reason,
                turns_completed: self.run.turn,
                report_attempts: self.run.reporting.attempts,
                last_stop_reason: self.run.reporting.last_stop.as_deref(),
                cause,
            },
        )
    }

    pub(super) fn end_with(&mut self, report: &Report, kind: TerminationKind) {
        let said = report.content.clone().unwrap_or_else(|| {
            let messages = report.messages.as_ref().map(Value::to_string);
            messages.unwrap_or_default().into()
        });
        self.end_quietly(Termination::new(kind, said), Some(written(report)));
    }
}

/// Turns are a limit too, but they end a run by another way.
fn is_limit(kind: TerminationKind) -> bool {
    matches!(
        kind,
        TerminationKind::NoProgress | TerminationKind::BudgetExhausted | TerminationKind::TimedOut
    )
}

type Read = Result<(Report, Vec<ReportWarning>), ReportFault>;

fn read(agent: &AgentConfig, edition: Edition, call: &Call) -> Read {
    let spec = &agent.report;
    let of_text = |text: &str| {
        let takes = edition.takes_text_for_slack() && spec.format == ReportFormat::SlackBlockKit;
        let report = report::slack_from_text(text).filter(|_| takes);
        report.map(|report| (report, vec![]))
    };
    if let Some(tag) = &call.tag
        && Slot::of_id(&call.id) == Slot::Final
    {
        let read = report::from_xml(spec, tag.format.as_deref(), &call.arguments);
        return read.or_else(|fault| of_text(&call.arguments).map(from_tag).ok_or(fault));
    }
    let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
    let said = report::text_of_call(&arguments);
    let read = report::from_call(spec, &arguments);
    let read = read.or_else(|fault| said.and_then(of_text).ok_or(fault))?;
    Ok(match call.tag {
        Some(_) => from_tag(read),
        None => read,
    })
}

fn from_tag((mut report, warnings): (Report, Vec<ReportWarning>)) -> (Report, Vec<ReportWarning>) {
    report.source = ReportSource::Xml;
    (report, warnings)
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
