//! The final report: what a run gives to the person or program that asked.
//!
//! A report comes over one of three ways in (a call, a tag, or as a last resort the text) or is made by us.
//! All of them take three layers: the way in finds the payload, the format reads it, the report holds it.
//! What wrapped the payload never becomes part of it, and its format is always the one that was asked for.

mod offer;
mod read;
mod schema;
mod slack;
mod synthetic;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::ReportFormat;
use crate::text::Text;

pub use offer::report_tool_spec;
pub use read::{from_call, from_text, from_xml};
pub(crate) use read::{from_prose, slack_from_text, text_of_call};
pub(crate) use slack::SHAPE as SLACK_SHAPE;
pub use synthetic::{Shortfall, SyntheticReason, synthetic};

/// A report as the log keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Whether the model gave it.
    pub status: ReportStatus,
    /// Which way it came.
    pub source: ReportSource,
    /// Always the one that was asked for.
    pub format: ReportFormat,
    /// The text; for JSON the JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    /// For JSON the value itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_json: Option<Value>,
    /// For Slack the array of messages; there is no content then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Value>,
    /// What the model gave beside it, or why the report is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// A model's report is a success, one of ours is a failure: the model has no say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    /// The model gave it.
    Success,
    /// The run made it, because the model gave none.
    Failure,
}

impl ReportStatus {
    /// The word for it in logs and in what people are shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// Which way a report came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSource {
    /// A call of the tool for it.
    ToolCall,
    /// A tag in the text.
    Xml,
    /// A text that stood in the place of a report.
    Text,
    /// Made by the run itself.
    Synthetic,
}

impl ReportSource {
    /// As people and programs are shown it; the log has its own words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool-call",
            Self::Xml => "xml",
            Self::Text => "text-fallback",
            Self::Synthetic => "synthetic",
        }
    }
}

/// What was put right in a report that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportWarning {
    /// The model says that it wrote another format than was asked for.
    #[error("the report says format {found:?}, this run reports {expected}: kept as {expected}")]
    OtherFormat {
        /// What it says.
        found: String,
        /// What was asked for, and what it is kept as.
        expected: &'static str,
    },
    /// Its JSON was mended.
    #[error("the report's JSON was repaired: {steps}")]
    Repaired {
        /// What was changed, by the names of [`RepairStep`](crate::RepairStep).
        steps: String,
    },
    /// A text held the JSON that the schema wants there.
    #[error("the text at {place} was parsed as JSON, as the schema wants")]
    ParsedText {
        /// A JSON pointer.
        place: String,
    },
    /// The metadata could not be kept; the report itself is.
    #[error("the report's metadata is not an object: dropped")]
    DroppedMetadata,
}

/// Why a report was not accepted. The model is shown this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportFault {
    /// The arguments are something else than an object.
    #[error("the arguments of the final report are not an object: pass {field}")]
    NotAnObject {
        /// The member that is wanted in one.
        field: &'static str,
    },
    /// What the format needs is not there.
    #[error("the final report has no {field}: pass it")]
    Missing {
        /// Its name.
        field: &'static str,
    },
    /// It is there, and blank.
    #[error("{field} of the final report is empty: write the report into it")]
    Empty {
        /// Its name.
        field: &'static str,
    },
    /// It is there, and of another type.
    #[error("{field} of the final report must be {wanted}")]
    WrongType {
        /// Its name.
        field: &'static str,
        /// The type, in words.
        wanted: &'static str,
    },
    /// The text is wrapped in a way that nobody knows.
    #[error("encoding {found:?} of the final report is not known: use raw or base64")]
    UnknownEncoding {
        /// What the model says.
        found: String,
    },
    /// It says base64 and is none.
    #[error(
        "report_content is not base64 of UTF-8 text: {why}; encode it again or use encoding raw"
    )]
    BadBase64 {
        /// What the decoder says.
        why: String,
    },
    /// The format is JSON, and this is none.
    #[error("the final report is not JSON: {why}")]
    BadJson {
        /// What the parser says.
        why: String,
    },
    /// The JSON was cut by the output limit: what was read would be a part of it.
    #[error("the final report ends inside a JSON value: write it again, shorter")]
    Cut,
    /// It is JSON and does not fit the schema.
    #[error("the final report does not fit its schema: {place}: {why}")]
    Invalid {
        /// A JSON pointer into the report.
        place: String,
        /// What the schema demands there.
        why: String,
    },
    /// Nobody can report by this schema: it is the fault of the agent file.
    #[error("the schema of the report is not usable: {why}")]
    BadSchema {
        /// What is wrong with it.
        why: String,
    },
    /// Slack would refuse the messages.
    #[error("Slack messages: {place}: {why}")]
    BadSlack {
        /// A JSON pointer into the messages.
        place: String,
        /// What Slack demands there.
        why: String,
    },
}
