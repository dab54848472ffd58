//! The formats of a report, and what a model is told about them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{FINAL_REPORT, SLACK_SHAPE};
use crate::tool::{ToolEffect, ToolSpec};

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReportFormat {
    #[default]
    #[serde(rename = "markdown")]
    Markdown,
    #[serde(rename = "markdown+mermaid")]
    MarkdownMermaid,
    #[serde(rename = "slack-block-kit")]
    SlackBlockKit,
    #[serde(rename = "tty")]
    Tty,
    #[serde(rename = "pipe")]
    Pipe,
    #[serde(rename = "json")]
    Json,
    #[serde(rename = "sub-agent")]
    SubAgent,
}

impl ReportFormat {
    pub const ALL: [Self; 7] = [
        Self::Markdown,
        Self::MarkdownMermaid,
        Self::SlackBlockKit,
        Self::Tty,
        Self::Pipe,
        Self::Json,
        Self::SubAgent,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::MarkdownMermaid => "markdown+mermaid",
            Self::SlackBlockKit => "slack-block-kit",
            Self::Tty => "tty",
            Self::Pipe => "pipe",
            Self::Json => "json",
            Self::SubAgent => "sub-agent",
        }
    }

    /// Reads an id, or one of the other names that people use.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "text" | "plain" | "plaintext" | "plain-text" => Some(Self::Pipe),
            "ansi" | "terminal" => Some(Self::Tty),
            id => Self::ALL.into_iter().find(|format| format.as_str() == id),
        }
    }

    /// What a model is told to write.
    pub fn description(self) -> &'static str {
        match self {
            Self::Markdown => "GitHub markdown",
            Self::MarkdownMermaid => "GitHub markdown; fenced mermaid diagrams where they help",
            Self::SlackBlockKit => {
                "Slack Block Kit messages with mrkdwn text (*bold*, no tables, no # headings)"
            }
            Self::Tty => "plain text for a terminal; no colours or control characters, no markdown",
            Self::Pipe => "plain text for another program: no colours, no markdown, no chatter",
            Self::Json => "one JSON value that fits the schema",
            Self::SubAgent => "whatever serves the calling agent best: compact, complete facts",
        }
    }
}

impl std::fmt::Display for ReportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The report that a run is to give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportSpec {
    pub format: ReportFormat,
    /// What a JSON report must look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// The tool by which a model gives its report. It is sent with each request, so it is short.
pub fn report_tool_spec(spec: &ReportSpec) -> ToolSpec {
    let format = spec.format;
    let mut properties = json!({
        "report_format": { "type": "string", "const": format.as_str() },
        "metadata": { "type": "object" }
    });
    let (field, value) = match format {
        ReportFormat::Json => ("content_json", embedded(spec.schema.as_ref())),
        ReportFormat::SlackBlockKit => ("messages", slack_schema()),
        _ => {
            properties["encoding"] = json!({ "type": "string", "enum": ["raw", "base64"] });
            (
                "report_content",
                json!({ "type": "string", "minLength": 1 }),
            )
        }
    };
    properties[field] = value;
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": ["report_format", field],
        "additionalProperties": false
    });
    // References such as `#/$defs/x` start at the root, which the report's schema no longer is.
    for key in ["$defs", "definitions"] {
        if let Some(shared) = spec.schema.as_ref().and_then(|schema| schema.get(key))
            && format == ReportFormat::Json
        {
            schema[key] = shared.clone();
        }
    }
    ToolSpec {
        name: FINAL_REPORT.into(),
        description: format!(
            "Ends the run with your report. `{field}`: {}.",
            format.description()
        ),
        schema,
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
    }
}

fn embedded(schema: Option<&Value>) -> Value {
    let Some(mut schema) = schema.cloned() else {
        return json!({ "type": "object" });
    };
    if let Some(members) = schema.as_object_mut() {
        for key in ["$schema", "$defs", "definitions"] {
            members.remove(key);
        }
    }
    schema
}

fn slack_schema() -> Value {
    let block = json!({
        "type": "object",
        "properties": {
            "type": { "enum": ["section", "header", "divider", "context"] },
            "text": { "type": "object" },
            "fields": { "type": "array", "maxItems": 10 },
            "elements": { "type": "array", "minItems": 1, "maxItems": 10 }
        },
        "required": ["type"]
    });
    json!({
        "type": "array", "minItems": 1, "maxItems": 20, "description": SLACK_SHAPE,
        "items": {
            "type": "object",
            "properties": { "blocks": { "type": "array", "minItems": 1, "maxItems": 50, "items": block } },
            "required": ["blocks"]
        }
    })
}
