//! What a model is shown when it writes its calls as tags: how to write them, and what came of them.

use std::fmt::Write as _;
use std::ops::Range;

use crate::config::{Encoding, ReportFormat, ReportSpec};
use crate::decode::xml::Slot;
use crate::report::SLACK_SHAPE;
use crate::tool::{FINAL_REPORT, PROGRESS_REPORT, ToolSpec};

/// A request that comes back to the model is shown up to here.
const REQUEST_BYTES_MAX: usize = 4096;

/// What the instructions of one request depend on.
#[derive(Clone, Debug)]
pub struct XmlNext<'a> {
    /// What marks the tags of the run.
    pub nonce: &'a str,
    /// The turn that the request is of, from 1.
    pub turn: u32,
    /// The turn that is the last, as it stands now.
    pub turns_max: u32,
    /// What is written as tags: everything, or the report alone.
    pub encoding: Encoding,
    /// The numbered slots that are free in this request.
    pub slots: Range<u32>,
    /// Those that are explained; the report is not among them.
    pub tools: &'a [&'a ToolSpec],
    /// Whether progress may be reported.
    pub progress: bool,
    /// What the report has to be.
    pub report: &'a ReportSpec,
    /// Whether the model must report now.
    pub final_only: bool,
}

impl XmlNext<'_> {
    fn shows_tools(&self) -> bool {
        self.encoding == Encoding::Xml && !self.final_only && !self.slots.is_empty()
    }

    fn shows_progress(&self) -> bool {
        self.encoding == Encoding::Xml && !self.final_only && self.progress
    }
}

/// The instructions for the next reply. They go out with one request and are not kept.
pub fn xml_next(next: &XmlNext<'_>) -> String {
    let mut text = format!(
        "# System Notice\nTurn {} of {}.\n",
        next.turn, next.turns_max
    );
    if next.shows_tools() {
        write_tools(&mut text, next);
    }
    if next.shows_progress() {
        text.push_str("\n## Progress\nSay in a few words what you do, beside your calls:\n");
        let attributes = format!("tool=\"{PROGRESS_REPORT}\"");
        write_tag(
            &mut text,
            next.nonce,
            Slot::Progress,
            &attributes,
            "progress",
        );
    }
    write_report(&mut text, next);
    text.push_str(match next {
        next if next.final_only => "\nWrite the final report now; no other call is possible.\n",
        next if next.shows_tools() => {
            "\nEither call tools or write the final report. Close every tag. Text outside tags is ignored.\n"
        }
        _ => "\nEither call tools or write the final report. Close its tag.\n",
    });
    text
}

fn write_tools(text: &mut String, next: &XmlNext<'_>) {
    text.push_str("\n## Tools\n");
    if next.tools.is_empty() {
        text.push_str("None are left.\n");
        return;
    }
    let slots: Vec<String> = next
        .slots
        .clone()
        .map(|number| Slot::Numbered(number).to_string())
        .collect();
    let _ = writeln!(
        text,
        "Call a tool by a tag that holds its arguments as one JSON object. Slots: {}. \
         Use each once, a new one for each call:",
        slots.join(", ")
    );
    let slot = Slot::Numbered(next.slots.start);
    write_tag(text, next.nonce, slot, "tool=\"NAME\"", "ARGUMENTS");
    for tool in next.tools {
        let _ = writeln!(
            text,
            "- {}: {}\n  arguments: {}",
            tool.name, tool.description, tool.schema
        );
    }
}

fn write_report(text: &mut String, next: &XmlNext<'_>) {
    let format = next.report.format;
    let _ = writeln!(
        text,
        "\n## Final Report\nFormat {format}: {}.",
        format.description()
    );
    match format {
        ReportFormat::Json => {
            if let Some(schema) = &next.report.schema {
                let _ = writeln!(text, "Schema: {schema}");
            }
        }
        ReportFormat::SlackBlockKit => {
            let _ = writeln!(text, "A JSON array of {SLACK_SHAPE}.");
        }
        ReportFormat::Markdown
        | ReportFormat::MarkdownMermaid
        | ReportFormat::Tty
        | ReportFormat::Pipe
        | ReportFormat::SubAgent => {}
    }
    text.push_str(
        "When the work is done, write the report itself, with nothing around it, into:\n",
    );
    let attributes = format!("tool=\"{FINAL_REPORT}\" format=\"{format}\"");
    write_tag(text, next.nonce, Slot::Final, &attributes, "REPORT");
}

fn write_tag(text: &mut String, nonce: &str, slot: Slot, attributes: &str, payload: &str) {
    let name = format!("ai-agent-{nonce}-{slot}");
    let _ = writeln!(
        text,
        "```\n<{name} {attributes}>\n{payload}\n</{name}>\n```"
    );
}

/// What came of one call.
#[derive(Clone, Copy, Debug)]
pub struct ToolResponse<'a> {
    /// What marks the tags of the run.
    pub nonce: &'a str,
    /// That of the call.
    pub slot: Slot,
    /// A name that can be sent, even where the model wrote one that cannot.
    pub tool: &'a str,
    /// `ok` or `failed`.
    pub status: &'a str,
    /// How long the call took; 0 where nothing was executed.
    pub duration_ms: u64,
    /// The payload of the call.
    pub request: &'a str,
    /// The tool's output, already cut to its own limit.
    pub response: &'a str,
}

/// The user message that answers one call.
pub fn tool_response(response: &ToolResponse<'_>) -> String {
    let ToolResponse {
        nonce, slot, tool, ..
    } = response;
    let seconds = response.duration_ms / 1000;
    let hundredths = response.duration_ms % 1000 / 10;
    format!(
        "System Notice: tool response for {nonce}-{slot} ({tool})\n\
         status: {}\nduration: {seconds}.{hundredths:02}s\n\
         <request>\n{}\n</request>\n<response>\n{}\n</response>",
        response.status,
        cut(response.request),
        response.response
    )
}

/// Cuts a long request. The notice counts as part of what is left.
fn cut(request: &str) -> String {
    if request.len() <= REQUEST_BYTES_MAX {
        return request.to_owned();
    }
    let notice = format!(
        "[TRUNCATED] Original size {} bytes; truncated to {REQUEST_BYTES_MAX} bytes.\n\n",
        request.len()
    );
    let room = request.floor_char_boundary(REQUEST_BYTES_MAX.saturating_sub(notice.len()));
    format!("{notice}{}", &request[..room])
}
