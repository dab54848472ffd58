//! The report that a run is to give: its format, and what a model is told of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReportFormat {
    /// GitHub markdown; the default.
    #[default]
    #[serde(rename = "markdown")]
    Markdown,
    /// The same with fenced mermaid diagrams.
    #[serde(rename = "markdown+mermaid")]
    MarkdownMermaid,
    /// Messages of Slack, as JSON; they are checked against what Slack takes.
    #[serde(rename = "slack-block-kit")]
    SlackBlockKit,
    /// Plain text for a terminal.
    #[serde(rename = "tty")]
    Tty,
    /// Plain text for another program.
    #[serde(rename = "pipe")]
    Pipe,
    /// One JSON value; the only format that a schema can be given for.
    #[serde(rename = "json")]
    Json,
    /// Whatever serves the agent that called this one.
    #[serde(rename = "sub-agent")]
    SubAgent,
}

impl ReportFormat {
    /// In the order in which help texts list them.
    pub const ALL: [Self; 7] = [
        Self::Markdown,
        Self::MarkdownMermaid,
        Self::SlackBlockKit,
        Self::Tty,
        Self::Pipe,
        Self::Json,
        Self::SubAgent,
    ];

    /// The id of the format, as agent files and logs have it.
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
    /// What the report is read as, whatever the model says that it wrote.
    pub format: ReportFormat,
    /// What a JSON report must look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}
