//! Reports that a model gave.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value, json};

use super::{Report, ReportFault, ReportSource, ReportStatus, ReportWarning, schema, slack};
use crate::config::{ReportFormat, ReportSpec};
use crate::decode::xml::TAG;
use crate::repair::{self, Parsed};

/// A report, and what was put right in it.
type ReadResult = Result<(Report, Vec<ReportWarning>), ReportFault>;

/// Reads the report from the arguments of a call.
pub fn from_call(spec: &ReportSpec, arguments: &Value) -> ReadResult {
    let mut warnings = vec![];
    let field = field(spec.format);
    let Some(arguments) = arguments.as_object() else {
        return Err(ReportFault::NotAnObject { field });
    };
    let written = first(arguments, &["report_format", "format"]).and_then(Value::as_str);
    warn_of_format(spec, written, &mut warnings);
    let content = first(arguments, &[field, "report_content", "content"])
        .ok_or(ReportFault::Missing { field })?;
    let content = match content.as_str() {
        Some(text) => Value::String(decoded(text, arguments.get("encoding"))?),
        None => content.clone(),
    };
    let mut report = read_payload(spec, content, &mut warnings)?;
    match arguments.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(given)) => add_metadata(&mut report, given),
        Some(_) => warnings.push(ReportWarning::DroppedMetadata),
    }
    Ok((report, warnings))
}

/// Reads the report from the payload of its tag.
pub fn from_xml(spec: &ReportSpec, format_attribute: Option<&str>, payload: &str) -> ReadResult {
    let mut warnings = vec![];
    warn_of_format(spec, format_attribute, &mut warnings);
    let payload = Value::String(payload.to_owned());
    let mut report = read_payload(spec, payload, &mut warnings)?;
    report.source = ReportSource::Xml;
    Ok((report, warnings))
}

/// Reads a report from text, as a last resort: an object that has the shape of the tool's arguments, or
/// one that fits the schema of the report. Any other text is no report.
pub fn from_text(spec: &ReportSpec, text: &str) -> Option<(Report, Vec<ReportWarning>)> {
    let parsed = repair::parse_arguments(text).ok()?;
    if parsed.is_cut() {
        return None;
    }
    let object = parsed.value.as_object()?;
    let read = match names_a_format(object) {
        true => from_call(spec, &parsed.value).ok(),
        false => None,
    };
    let (mut report, warnings) = read.or_else(|| bare(spec, &parsed))?;
    report.source = ReportSource::Text;
    Some((report, warnings))
}

fn names_a_format(members: &Map<String, Value>) -> bool {
    first(members, &["report_format", "format"])
        .and_then(Value::as_str)
        .is_some_and(|name| ReportFormat::parse(name).is_some())
}

/// Reads a report from whatever text the last turn left: JSON and Slack messages must be there, anything else is what it says.
/// A text with tags in it is no report, but a call that went wrong.
pub(crate) fn from_prose(spec: &ReportSpec, text: &str) -> Option<Report> {
    let text = text.trim();
    if text.is_empty() || text.contains(TAG) {
        return None;
    }
    // A report call that was written out as text and has no content says nothing.
    let written = serde_json::from_str::<Map<String, Value>>(text);
    if written.is_ok_and(|members| names_a_format(&members)) {
        return None;
    }
    let payload = match spec.format {
        ReportFormat::Json => {
            let parsed = repair::parse_document(text).or_else(|_| repair::parse_arguments(text));
            parsed.ok().filter(|it| !it.is_cut())?.value
        }
        ReportFormat::SlackBlockKit
        | ReportFormat::Markdown
        | ReportFormat::MarkdownMermaid
        | ReportFormat::Tty
        | ReportFormat::Pipe
        | ReportFormat::SubAgent => Value::String(text.to_owned()),
    };
    let read = read_payload(spec, payload, &mut vec![]).ok();
    let is_slack = spec.format == ReportFormat::SlackBlockKit;
    let mut report = read.or_else(|| slack_from_text(text).filter(|_| is_slack))?;
    report.source = ReportSource::Text;
    Some(report)
}

/// Reads Slack messages from a text that is no JSON and does not look like it.
pub(crate) fn slack_from_text(text: &str) -> Option<Report> {
    let text = text.trim();
    let is_json = text.starts_with(['{', '[']);
    if text.is_empty() || is_json {
        return None;
    }
    slack::of_text(text).ok().map(slack_report)
}

/// The text that a call gives for its report.
pub(crate) fn text_of_call(arguments: &Value) -> Option<&str> {
    let fields = ["messages", "report_content", "content", "text"];
    first(arguments.as_object()?, &fields)?.as_str()
}

/// An object that is the report itself, without anything around it.
fn bare(spec: &ReportSpec, parsed: &Parsed) -> Option<(Report, Vec<ReportWarning>)> {
    let wanted = spec.schema.as_ref()?;
    if spec.format != ReportFormat::Json || !schema::fits(wanted, &parsed.value) {
        return None;
    }
    Some((json_report(parsed.value.clone()), vec![]))
}

/// The field that holds the report.
fn field(format: ReportFormat) -> &'static str {
    match format {
        ReportFormat::Json => "content_json",
        ReportFormat::SlackBlockKit => "messages",
        ReportFormat::Markdown
        | ReportFormat::MarkdownMermaid
        | ReportFormat::Tty
        | ReportFormat::Pipe
        | ReportFormat::SubAgent => "report_content",
    }
}

fn first<'a>(members: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    let mut values = keys.iter().filter_map(|key| members.get(*key));
    values.find(|value| !value.is_null())
}

fn warn_of_format(spec: &ReportSpec, written: Option<&str>, warnings: &mut Vec<ReportWarning>) {
    let Some(found) = written else { return };
    if ReportFormat::parse(found) != Some(spec.format) {
        warnings.push(ReportWarning::OtherFormat {
            found: found.chars().take(40).collect(),
            expected: spec.format.as_str(),
        });
    }
}

/// The format's own layer: it knows neither calls nor tags.
fn read_payload(
    spec: &ReportSpec,
    payload: Value,
    warnings: &mut Vec<ReportWarning>,
) -> Result<Report, ReportFault> {
    let field = field(spec.format);
    if payload.as_str().is_some_and(|text| text.trim().is_empty()) {
        return Err(ReportFault::Empty { field });
    }
    match spec.format {
        ReportFormat::Json => {
            let value = match payload.as_str() {
                Some(text) => unwrapped(spec, text, warnings)?,
                None => payload,
            };
            let fitting = schema::fit(spec.schema.as_ref(), value, warnings)?;
            Ok(json_report(fitting))
        }
        ReportFormat::SlackBlockKit => {
            let messages = match payload.as_str() {
                Some(text) => parsed(text, warnings)?,
                None => payload,
            };
            Ok(slack_report(slack::messages(&messages)?))
        }
        ReportFormat::Markdown
        | ReportFormat::MarkdownMermaid
        | ReportFormat::Tty
        | ReportFormat::Pipe
        | ReportFormat::SubAgent => {
            let Value::String(text) = payload else {
                let wanted = "a string";
                return Err(ReportFault::WrongType { field, wanted });
            };
            Ok(Report {
                content: Some(text.into()),
                ..report(spec.format)
            })
        }
    }
}

/// JSON that came as text. A schema may want a text: then it is one.
fn unwrapped(
    spec: &ReportSpec,
    text: &str,
    warnings: &mut Vec<ReportWarning>,
) -> Result<Value, ReportFault> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let as_text = Value::String(text.to_owned());
    match spec.schema.as_ref() {
        Some(wanted) if schema::fits(wanted, &as_text) => Ok(as_text),
        _ => parsed(text, warnings),
    }
}

fn parsed(text: &str, warnings: &mut Vec<ReportWarning>) -> Result<Value, ReportFault> {
    let parsed = repair::parse_document(text).map_err(|fault| ReportFault::BadJson {
        why: fault.to_string(),
    })?;
    if parsed.is_cut() {
        return Err(ReportFault::Cut);
    }
    if !parsed.steps.is_empty() {
        let steps: Vec<&str> = parsed.steps.iter().map(|step| step.as_str()).collect();
        warnings.push(ReportWarning::Repaired {
            steps: steps.join(", "),
        });
    }
    Ok(parsed.value)
}

pub(super) fn report(format: ReportFormat) -> Report {
    Report {
        status: ReportStatus::Success,
        source: ReportSource::ToolCall,
        format,
        content: None,
        content_json: None,
        messages: None,
        metadata: None,
    }
}

pub(super) fn json_report(value: Value) -> Report {
    Report {
        content: Some(value.to_string().into()),
        content_json: Some(value),
        ..report(ReportFormat::Json)
    }
}

pub(super) fn slack_report(messages: Value) -> Report {
    Report {
        metadata: Some(json!({ "slack": { "messages": messages } })),
        messages: Some(messages),
        ..report(ReportFormat::SlackBlockKit)
    }
}

/// The model's metadata stands beside ours, and never in its place.
fn add_metadata(report: &mut Report, given: &Map<String, Value>) {
    let mut all = given.clone();
    if let Some(Value::Object(own)) = report.metadata.take() {
        all.extend(own);
    }
    report.metadata = Some(Value::Object(all));
}

fn decoded(text: &str, encoding: Option<&Value>) -> Result<String, ReportFault> {
    match encoding {
        None | Some(Value::Null) => Ok(text.to_owned()),
        Some(Value::String(name)) if name.eq_ignore_ascii_case("raw") => Ok(text.to_owned()),
        Some(Value::String(name)) if name.eq_ignore_ascii_case("base64") => from_base64(text),
        Some(other) => Err(ReportFault::UnknownEncoding {
            found: other.to_string().chars().take(40).collect(),
        }),
    }
}

/// Takes both alphabets, with and without padding, over as many lines as it came in.
fn from_base64(text: &str) -> Result<String, ReportFault> {
    let dense: String = text.split_whitespace().collect();
    let alphabet = match dense.contains(['-', '_']) {
        true => URL_SAFE,
        false => STANDARD,
    };
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = GeneralPurpose::new(&alphabet, lenient)
        .decode(dense)
        .map_err(|error| ReportFault::BadBase64 {
            why: error.to_string(),
        })?;
    String::from_utf8(bytes).map_err(|error| ReportFault::BadBase64 {
        why: error.to_string(),
    })
}
