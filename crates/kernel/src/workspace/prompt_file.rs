//! The prompt file of the agent: who it is, what it may write, and which text it is given in which state.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::{Fault, FaultKind};
use super::fields::{Fields, unknown_word};
use crate::work::short;

/// The only agent that a prompt file can be of.
pub const AGENT_NAME: &str = "kjxlkj-agent";
/// The only protocol that a prompt file can ask for.
pub const PROTOCOL: &str = "xml_attrless";
/// What an agent may write, where its file does not say less.
pub const TAGS: [&str; 8] = [
    "state_add",
    "state_delete",
    "ram_add",
    "ram_delete",
    "record_add",
    "record_issue",
    "record_update",
    "record_search",
];
/// The states that have segments of their own.
pub const STATES: [&str; 6] = [
    "planning",
    "executing",
    "evaluating",
    "idle",
    "record_organizing",
    "paging",
];
/// The condition of segments that are always given.
pub const DEFAULT_CONDITION: &str = "default";

pub const PROMPT_FILE_BYTES_MAX: usize = 1 << 20;
const SEGMENTS_MAX: usize = 1000;
const VERSION_BYTES_MAX: usize = 64;

/// How an agent's changes to notes take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// At once.
    Yolo,
    /// When a person has applied them.
    Reviewed,
}

pub(super) const MODES: [(&str, Mode); 2] = [("yolo", Mode::Yolo), ("reviewed", Mode::Reviewed)];

/// A prompt file that was read and checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPrompt {
    pub agent_name: String,
    pub version: String,
    pub default_mode: Option<Mode>,
    pub protocol: String,
    pub allowed_tags: Vec<String>,
    pub segments: Vec<Segment>,
}

/// A part of the prompt, and when it is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    pub condition: String,
    pub prompt: String,
}

/// Why a prompt file cannot be used. Each stops the start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptFault {
    #[error("line {line}, column {column}: this is no JSON: {why}")]
    NotJson {
        line: usize,
        column: usize,
        why: String,
    },
    #[error("{}", joined(.faults))]
    Schema { faults: Vec<Fault> },
    #[error(
        "/segments/{index}/prompt: segment {index} has no text; write what the agent is to be told, or remove the segment"
    )]
    SegmentEmpty { index: usize },
}

fn joined(faults: &[Fault]) -> String {
    let sentences: Vec<String> = faults.iter().map(Fault::to_string).collect();
    sentences.join("; ")
}

impl PromptFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "PROMPT_JSON_INVALID",
            Self::Schema { .. } => "PROMPT_SCHEMA_INVALID",
            Self::SegmentEmpty { .. } => "PROMPT_SEGMENT_EMPTY",
        }
    }
}

/// A prompt file, and what it holds that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPrompt {
    pub prompt: AgentPrompt,
    /// Keys that were left aside.
    pub warnings: Vec<Fault>,
}

const FIELDS: [&str; 6] = [
    "agent_name",
    "version",
    "default_mode",
    "protocol",
    "allowed_tags",
    "segments",
];
const SEGMENT_FIELDS: [&str; 2] = ["condition", "prompt"];

impl AgentPrompt {
    /// Reads the bytes of a prompt file.
    pub fn read(bytes: &[u8]) -> Result<ReadPrompt, PromptFault> {
        let value = parse(bytes)?;
        let mut reading = Reading::default();
        let prompt = reading.prompt(&value);
        match (prompt, reading.faults.is_empty(), reading.empty.first()) {
            (Some(prompt), true, None) => Ok(ReadPrompt {
                prompt,
                warnings: reading.warnings,
            }),
            (_, true, Some(&index)) => Err(PromptFault::SegmentEmpty { index }),
            _ => Err(PromptFault::Schema {
                faults: reading.faults,
            }),
        }
    }

    /// The segments that are given in these states: those for all of them and those of each state, in the order of
    /// the file.
    pub fn segments_for<'a>(&'a self, states: &'a [&str]) -> impl Iterator<Item = &'a Segment> {
        segments_for(&self.segments, states)
    }
}

/// The segments that are given in these states, in their order.
pub fn segments_for<'a>(
    segments: &'a [Segment],
    states: &'a [&str],
) -> impl Iterator<Item = &'a Segment> {
    let applies = |it: &&Segment| {
        it.condition == DEFAULT_CONDITION || states.contains(&it.condition.as_str())
    };
    segments.iter().filter(applies)
}

fn parse(bytes: &[u8]) -> Result<Value, PromptFault> {
    let not_json = |line, column, why: &str| PromptFault::NotJson {
        line,
        column,
        why: why.into(),
    };
    if bytes.len() > PROMPT_FILE_BYTES_MAX {
        let why = format!("the file is longer than {PROMPT_FILE_BYTES_MAX} bytes");
        return Err(not_json(1, 1, &why));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| not_json(error.line(), error.column(), &error.to_string()))
}

/// What has been found so far.
#[derive(Default)]
struct Reading {
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
    /// The indices of segments without text.
    empty: Vec<usize>,
}

impl Reading {
    fn warn_unknown(&mut self, unknown: Vec<(String, FaultKind)>) {
        let warnings = unknown.into_iter().map(|(at, kind)| Fault { at, kind });
        self.warnings.extend(warnings);
    }

    fn prompt(&mut self, value: &Value) -> Option<AgentPrompt> {
        let mut faults = vec![];
        let mut fields = Fields::of(value, "", &mut faults);
        let unknown = fields.as_ref().map(|it| it.unknown(&FIELDS));
        let head = fields.as_mut().map(read_head);
        let segments = fields.and_then(|fields| fields.given("segments"));
        self.warn_unknown(unknown.unwrap_or_default());
        self.faults.append(&mut faults);
        let segments = match segments {
            _ if head.is_none() => None,
            Some(Value::Array(values)) if !values.is_empty() => Some(self.segments(values)),
            found => {
                self.faults.push(no_segments(found));
                None
            }
        };
        let (agent_name, version, default_mode, allowed_tags) = head?;
        Some(AgentPrompt {
            agent_name: agent_name?,
            version: version?,
            default_mode,
            protocol: PROTOCOL.into(),
            allowed_tags,
            segments: segments?,
        })
    }

    fn segments(&mut self, values: &[Value]) -> Vec<Segment> {
        if values.len() > SEGMENTS_MAX {
            let found = values.len();
            let most = SEGMENTS_MAX;
            let kind = FaultKind::TooMany { found, most };
            self.faults.push(Fault::new("/segments", kind));
            return vec![];
        }
        let read = |(index, value)| self.segment(index, value);
        values.iter().enumerate().filter_map(read).collect()
    }

    fn segment(&mut self, index: usize, value: &Value) -> Option<Segment> {
        let mut faults = vec![];
        let at = format!("/segments/{index}");
        let mut fields = Fields::of(value, &at, &mut faults);
        let unknown = fields.as_ref().map(|it| it.unknown(&SEGMENT_FIELDS));
        let condition = fields.as_mut().and_then(read_condition);
        let prompt = match fields.as_ref().and_then(|it| it.given("prompt")) {
            Some(Value::String(text)) if text.trim().is_empty() => {
                self.empty.push(index);
                None
            }
            Some(Value::String(text)) => Some(text.clone()),
            _ => {
                let text = fields.as_mut();
                text.and_then(|it| {
                    it.required_text("prompt", PROMPT_FILE_BYTES_MAX)
                        .map(str::to_owned)
                })
            }
        };
        self.warn_unknown(unknown.unwrap_or_default());
        self.faults.append(&mut faults);
        Some(Segment {
            condition: condition?,
            prompt: prompt?,
        })
    }
}

type Head = (Option<String>, Option<String>, Option<Mode>, Vec<String>);

/// Everything but the segments.
fn read_head(fields: &mut Fields<'_, '_>) -> Head {
    let agent_name = fields.required_text("agent_name", 256);
    let agent_name = the_word(fields, "agent_name", AGENT_NAME, agent_name);
    let version = read_version(fields);
    let default_mode = fields.word("default_mode", &MODES);
    let protocol = fields.text("protocol", 256);
    the_word(fields, "protocol", PROTOCOL, protocol);
    let tags = TAGS.map(|tag| (tag, ()));
    let all = || TAGS.map(str::to_owned).to_vec();
    let allowed_tags = match fields.texts("allowed_tags", 64, 64) {
        None => all(),
        Some(written) => {
            for (at, tag) in &written {
                if !tags.iter().any(|(known, ())| known == tag) {
                    let fault = Fault::new(at, unknown_word(tag, TAGS.into_iter()));
                    fields.faults().push(fault);
                }
            }
            written.into_iter().map(|(_, tag)| tag.to_owned()).collect()
        }
    };
    (agent_name, version, default_mode, allowed_tags)
}

fn the_word(
    fields: &mut Fields<'_, '_>,
    field: &str,
    expected: &'static str,
    written: Option<&str>,
) -> Option<String> {
    let written = written?;
    if written != expected {
        let found = short(written);
        fields.fault(field, FaultKind::NotTheWord { expected, found });
    }
    Some(written.to_owned())
}

/// A date or a version number: digits and what stands between them.
fn read_version(fields: &mut Fields<'_, '_>) -> Option<String> {
    let written = fields.required_text("version", VERSION_BYTES_MAX)?;
    let is_version = written.starts_with(|c: char| c.is_ascii_digit())
        && written
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".+-_".contains(&b));
    if !is_version {
        let why = format!(
            "must be a date such as 2026-02-15 or a version such as 1.2.0, not {:?}",
            short(written)
        );
        fields.fault("version", FaultKind::Told { why });
    }
    Some(written.to_owned())
}

fn read_condition(fields: &mut Fields<'_, '_>) -> Option<String> {
    let written = fields.required_text("condition", 256)?;
    let known = || std::iter::once(DEFAULT_CONDITION).chain(STATES);
    if !known().any(|it| it == written) {
        let kind = unknown_word(written, known().collect::<Vec<_>>().into_iter());
        fields.fault("condition", kind);
    }
    Some(written.to_owned())
}

fn no_segments(found: Option<&Value>) -> Fault {
    match found {
        None => Fault::new("", FaultKind::Missing { field: "segments" }),
        Some(Value::Array(_)) => Fault::new("/segments", FaultKind::Empty),
        Some(other) => Fault::new(
            "/segments",
            super::fields::wrong_type("an array of segments", other),
        ),
    }
}
