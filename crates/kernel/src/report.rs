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
    pub status: ReportStatus,
    pub source: ReportSource,
    pub format: ReportFormat,
    /// The text; for JSON the JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_json: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// A model's report is a success, one of ours is a failure: the model has no say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    Success,
    Failure,
}

impl ReportStatus {
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
    ToolCall,
    Xml,
    Text,
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
    #[error("the report says format {found:?}, this run reports {expected}: kept as {expected}")]
    OtherFormat {
        found: String,
        expected: &'static str,
    },
    #[error("the report's JSON was repaired: {steps}")]
    Repaired { steps: String },
    #[error("the text at {place} was parsed as JSON, as the schema wants")]
    ParsedText { place: String },
    #[error("the report's metadata is not an object: dropped")]
    DroppedMetadata,
}

/// Why a report was not accepted. The model is shown this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportFault {
    #[error("the arguments of the final report are not an object: pass {field}")]
    NotAnObject { field: &'static str },
    #[error("the final report has no {field}: pass it")]
    Missing { field: &'static str },
    #[error("{field} of the final report is empty: write the report into it")]
    Empty { field: &'static str },
    #[error("{field} of the final report must be {wanted}")]
    WrongType {
        field: &'static str,
        wanted: &'static str,
    },
    #[error("encoding {found:?} of the final report is not known: use raw or base64")]
    UnknownEncoding { found: String },
    #[error(
        "report_content is not base64 of UTF-8 text: {why}; encode it again or use encoding raw"
    )]
    BadBase64 { why: String },
    #[error("the final report is not JSON: {why}")]
    BadJson { why: String },
    #[error("the final report ends inside a JSON value: write it again, shorter")]
    Cut,
    #[error("the final report does not fit its schema: {place}: {why}")]
    Invalid { place: String, why: String },
    #[error("the schema of the report is not usable: {why}")]
    BadSchema { why: String },
    #[error("Slack messages: {place}: {why}")]
    BadSlack { place: String, why: String },
}
