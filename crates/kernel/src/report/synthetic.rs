//! The report that a run gives when its model gave none.

use serde_json::json;

use super::read::{json_report, report, slack_report};
use super::{Report, ReportSource, ReportStatus};
use crate::config::{ReportFormat, ReportSpec};

/// Why there is no report of the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntheticReason {
    /// The turns were used up.
    MaxTurnsExhausted,
    /// The model tried to report, and never well.
    FinalReportToolFailed,
    /// The context was full, so that the last turn came early.
    ContextOverflow,
    /// A limit of time, tokens or money, or no progress.
    LimitReached,
    /// The providers failed in the last turn.
    ModelFailed,
}

impl SyntheticReason {
    /// The word for it in the metadata of the report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxTurnsExhausted => "max_turns_exhausted",
            Self::FinalReportToolFailed => "final_report_tool_failed",
            Self::ContextOverflow => "context_overflow",
            Self::LimitReached => "limit_reached",
            Self::ModelFailed => "model_failed",
        }
    }
}

/// How a run ended without a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall<'a> {
    /// The reason that the metadata of the report names.
    pub reason: SyntheticReason,
    /// The turns that the text of the report names.
    pub turns_completed: u32,
    /// How often the model tried to report.
    pub report_attempts: u32,
    /// Why the model stopped last, in the provider's word; absent where it never answered.
    pub last_stop_reason: Option<&'a str>,
    /// One more sentence for the person.
    pub cause: Option<&'a str>,
}

/// Makes the report of a run that ended without one. It says what is known and is always a failure.
pub fn synthetic(spec: &ReportSpec, shortfall: &Shortfall<'_>) -> Report {
    let turns = shortfall.turns_completed;
    let plural = if turns == 1 { "" } else { "s" };
    let mut text = format!("Session completed without a final report after {turns} turn{plural}.");
    if let Some(cause) = shortfall.cause {
        text.push(' ');
        text.push_str(cause);
    }
    let reason = shortfall.reason.as_str();
    let mut made = match spec.format {
        // It does not fit the schema of the report, and says so by its status.
        ReportFormat::Json => {
            json_report(json!({ "status": "failure", "reason": reason, "message": text }))
        }
        ReportFormat::SlackBlockKit => {
            let section = json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } });
            let mut made = slack_report(json!([{ "blocks": [section] }]));
            made.content = Some(text.into());
            made
        }
        ReportFormat::Markdown
        | ReportFormat::MarkdownMermaid
        | ReportFormat::Tty
        | ReportFormat::Pipe
        | ReportFormat::SubAgent => Report {
            content: Some(text.into()),
            ..report(spec.format)
        },
    };
    let mut metadata = json!({
        "reason": reason,
        "turns_completed": turns,
        "final_report_attempts": shortfall.report_attempts,
        "last_stop_reason": shortfall.last_stop_reason,
    });
    if let Some(messages) = &made.messages {
        metadata["slack"] = json!({ "messages": messages });
    }
    made.metadata = Some(metadata);
    made.status = ReportStatus::Failure;
    made.source = ReportSource::Synthetic;
    made
}
