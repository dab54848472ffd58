//! A run with a report to deliver: how it is asked for, read from a call or a text, and made where the model gave none.

use std::sync::Arc;

use super::{Conduct, TurnView};
use crate::config::{AgentConfig, Encoding, ReportFormat, ReportSpec, Spelling};
use crate::decode::numbered_slots;
use crate::decode::xml::Slot;
use crate::edition::Edition;
use crate::event::{Answer, Call, DecisionMade, RejectReason};
use crate::model::{Finish, Offer};
use crate::own_tools::OwnTool;
use crate::prompt::{self, Brief, xml};
use crate::report::{
    self, Report, ReportFault, ReportSource, ReportWarning, Shortfall, SyntheticReason,
};
use crate::retry::RETRY_AFTER_MS_MIN;
use crate::text::Text;
use crate::tool::{FINAL_REPORT, ToolSpec, is_terminal};

pub(super) const CONDUCT: Conduct = Conduct {
    converses: true,
    hears: false,
    reports: true,
    pools_keys: true,
    backs_off: true,
    retry_after_ms_min: RETRY_AFTER_MS_MIN,
    shortens_replies: false,
    is_parallel: true,
    keeps_codes: false,
};

const THOUGHT: &str = "System notice: your last reply held reasoning alone. Go on: call a tool, or give your final report.";
const WITHHELD: &str = "System notice: your last reply was withheld by the provider. Go on in another way, or give your final report.";
const REPORT_NOW: &str = "System notice: this is the last turn. Tools are no longer available. Give your final report now, from what you have.";

pub(super) fn spelling(agent: &AgentConfig) -> Spelling<'_> {
    Spelling {
        encoding: agent.encoding,
        nonce: &agent.nonce,
        quotes_are_text: agent.quotes_are_text,
        reports: true,
    }
}

pub(super) fn brief(
    agent: &AgentConfig,
    asked: &TurnView<'_>,
    mut notices: Vec<Arc<str>>,
) -> Brief {
    if asked.is_last {
        let instruction = match asked.is_forced {
            true => prompt::REPORT_NOW_FULL,
            false => REPORT_NOW,
        };
        notices.push(instruction.into());
    }
    let offer = match (agent.encoding, asked.is_last) {
        (Encoding::Native, false) => Offer::All,
        (Encoding::Native, true) => Offer::TerminalOnly,
        (Encoding::XmlFinal, false) => Offer::WithoutTerminal,
        (Encoding::XmlFinal, true) | (Encoding::Xml, _) => Offer::None,
    };
    if agent.encoding != Encoding::Native {
        notices.push(tag_instructions(agent, asked).into());
    }
    Brief { notices, offer }
}

/// How tags are to be written, where calls or the report are.
fn tag_instructions(agent: &AgentConfig, asked: &TurnView<'_>) -> String {
    let own = asked.config.own_tools;
    let tools: Vec<&ToolSpec> = match agent.encoding {
        Encoding::Xml => asked
            .catalog
            .specs()
            .filter(|spec| !is_terminal(&spec.name) && asked.found.shows(spec))
            // Progress has a slot of its own.
            .filter(|spec| own.of(&spec.name) != Some(OwnTool::Progress))
            .collect(),
        Encoding::Native | Encoding::XmlFinal => vec![],
    };
    xml::xml_next(&xml::XmlNext {
        nonce: &agent.nonce,
        turn: asked.turn,
        turns_max: asked.last_turn,
        encoding: agent.encoding,
        slots: numbered_slots(&asked.config.limits, asked.turn),
        tools: &tools,
        progress: own.progress,
        report: &agent.report,
        final_only: asked.is_last,
    })
}

/// What the last request offers and explains.
pub(super) fn last_request(agent: &AgentConfig, asked: &TurnView<'_>) -> (Offer, Option<String>) {
    match agent.encoding {
        Encoding::Native => (Offer::TerminalOnly, None),
        Encoding::XmlFinal | Encoding::Xml => (Offer::None, Some(tag_instructions(agent, asked))),
    }
}

/// A stub as it is shown at its longest: where calls are tags it names the tool, which has 64 letters at most.
pub(super) fn longest_stub(agent: &AgentConfig, stub: String) -> String {
    match agent.encoding {
        Encoding::Native | Encoding::XmlFinal => stub,
        Encoding::Xml => xml::tool_response(&xml::ToolResponse {
            nonce: &agent.nonce,
            slot: Slot::Numbered(u32::MAX),
            tool: &"_".repeat(64),
            status: "failed",
            duration_ms: u64::from(u32::MAX),
            request: "",
            response: &stub,
        }),
    }
}

/// What is said of a decision that does nothing: an agent that only thought goes on by itself, but not every provider
/// takes its thought back.
pub(super) fn nothing_done(decision: &DecisionMade, edition: Edition) -> Option<&'static str> {
    let is_thought = decision.calls.is_empty() && decision.answer.text.trim().is_empty();
    (is_thought && edition.varies_requests()).then_some(THOUGHT)
}

/// What is said of a rejected reply besides what is said to everybody.
pub(super) fn rejection(reason: RejectReason) -> Option<&'static str> {
    (reason == RejectReason::Filtered).then_some(WITHHELD)
}

/// A report as it was read, with what was put right in it.
pub(crate) type ReadReport = Result<(Report, Vec<ReportWarning>), ReportFault>;

/// How an agent's report stands.
#[derive(Clone, Debug)]
pub(crate) struct Reporting {
    spec: Arc<ReportSpec>,
    attempts: u32,
    /// The turn in which a report was read and found wanting.
    failed_in: Option<u32>,
    /// A report that stood in the text: the last resort.
    fallback: Option<Box<Report>>,
    /// The text that it stood in.
    fallback_text: Text,
    /// How many texts of the last turn may be the report.
    prose: u32,
    /// Why the model stopped last.
    last_stop: Option<Arc<str>>,
}

impl Reporting {
    pub(super) fn begin(agent: &AgentConfig) -> Self {
        Self {
            spec: Arc::new(agent.report.clone()),
            attempts: 0,
            failed_in: None,
            fallback: None,
            fallback_text: Text::default(),
            prose: 0,
            last_stop: None,
        }
    }

    pub(super) fn fallback(&self) -> Option<&Report> {
        self.fallback.as_deref()
    }

    pub(super) fn fallback_text(&self) -> &Text {
        &self.fallback_text
    }

    pub(super) fn stopped(&mut self, answer: &Answer, calls: &[Call]) {
        self.last_stop = Some(answer.stop_reason(calls));
    }

    /// Counts the reports among calls, and says whether one of them could not even be read.
    pub(super) fn count(&mut self, calls: &[Call]) -> bool {
        let tried = calls.iter().filter(|call| &*call.tool == FINAL_REPORT);
        self.attempts += tried.clone().count() as u32;
        tried.clone().any(|call| call.refused.is_some())
    }

    pub(super) fn failed(&mut self, turn: u32) {
        self.failed_in = Some(turn);
    }

    /// Keeps the report that stands in the text of a rejected reply. What a provider withheld is withheld as a whole.
    pub(super) fn rejected(&mut self, reason: RejectReason, answer: &Answer, takes_prose: bool) {
        if reason == RejectReason::Filtered {
            return;
        }
        let found = report::from_text(&self.spec, &answer.text).map(|(found, _)| found);
        let found = found.or_else(|| takes_prose.then(|| self.prose(reason, answer))?);
        if let Some(found) = found {
            self.fallback = Some(Box::new(found));
            self.fallback_text = answer.text.clone();
        }
    }

    /// What a text of the last turn says, where it was said to its end. A report that was written as one is not given up
    /// for it.
    fn prose(&mut self, reason: RejectReason, answer: &Answer) -> Option<Report> {
        let is_whole = reason == RejectReason::NoCall && answer.finish != Some(Finish::Length);
        let is_free = self.fallback.is_none() || self.prose > 0;
        if !is_whole || !is_free {
            return None;
        }
        let found = report::from_prose(&self.spec, &answer.text)?;
        self.prose += 1;
        Some(found)
    }

    /// Whether the model, told that texts are ignored, has written one again: it is the report.
    pub(super) fn has_repeated_prose(&self) -> bool {
        self.prose > 1
    }

    /// Reads the report of a call.
    pub(super) fn read(&self, edition: Edition, call: &Call) -> ReadReport {
        let spec = &*self.spec;
        let of_text = |text: &str| {
            let is_slack = spec.format == ReportFormat::SlackBlockKit;
            let takes = edition.takes_text_for_slack() && is_slack;
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
        let text = report::text_of_call(&arguments);
        let read = report::from_call(spec, &arguments);
        let read = read.or_else(|fault| text.and_then(of_text).ok_or(fault))?;
        Ok(match call.tag {
            Some(_) => from_tag(read),
            None => read,
        })
    }

    /// The report of a run whose turns are used up.
    pub(super) fn of_turns(&self, turn: u32, is_full: bool, cause: Option<&str>) -> Report {
        let reason = if self.failed_in == Some(turn) {
            SyntheticReason::FinalReportToolFailed
        } else if is_full {
            SyntheticReason::ContextOverflow
        } else {
            SyntheticReason::MaxTurnsExhausted
        };
        self.synthetic(reason, turn, cause)
    }

    /// The report that the run itself makes.
    pub(super) fn synthetic(
        &self,
        reason: SyntheticReason,
        turn: u32,
        cause: Option<&str>,
    ) -> Report {
        report::synthetic(
            &self.spec,
            &Shortfall {
                reason,
                turns_completed: turn,
                report_attempts: self.attempts,
                last_stop_reason: self.last_stop.as_deref(),
                cause,
            },
        )
    }
}

fn from_tag((mut report, warnings): (Report, Vec<ReportWarning>)) -> (Report, Vec<ReportWarning>) {
    report.source = ReportSource::Xml;
    (report, warnings)
}
