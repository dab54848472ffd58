//! Reads a prompt file from JSON and collects all that is wrong with it.
//!
//! Faults of the head and of every segment are gathered before anything is given up. Segments without text are kept
//! apart from other faults, because they have a code of their own.

use bonded_kernel::{DEFAULT_CONDITION, Mistake, Mode, STATES, Segment, TAGS, short};
use serde_json::Value;

use super::prompt::{AGENT_NAME, AgentPrompt, MODES, PROMPT_FILE_BYTES_MAX, PROTOCOL};
use crate::fault::{Fault, FaultKind, RuleFields};

/// More segments are refused as a whole, without a look at each.
const SEGMENTS_MAX: usize = 1000;
const VERSION_BYTES_MAX: usize = 64;

const FIELDS: [&str; 6] = [
    "agent_name",
    "version",
    "default_mode",
    "protocol",
    "allowed_tags",
    "segments",
];
const SEGMENT_FIELDS: [&str; 2] = ["condition", "prompt"];

/// What has been found so far.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
    /// The indices of segments without text.
    pub(super) empty: Vec<usize>,
}

impl Reading {
    /// Unknown keys do not stop the file: it may be written for a later version of this program.
    fn warn_unknown(&mut self, unknown: Vec<(String, Mistake)>) {
        let warnings = unknown.into_iter().map(|(at, kind)| Fault::new(at, kind));
        self.warnings.extend(warnings);
    }

    /// The head is read first, the segments after it; None where any of both is missing.
    pub(super) fn prompt(&mut self, value: &Value) -> Option<AgentPrompt> {
        let mut faults = vec![];
        let mut fields = RuleFields::of(value, "", &mut faults);
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

    /// Segments that are wrong are left out; their faults stop the file.
    fn segments(&mut self, values: &[Value]) -> Vec<Segment> {
        if values.len() > SEGMENTS_MAX {
            let found = values.len();
            let most = SEGMENTS_MAX;
            let kind = Mistake::TooMany { found, most };
            self.faults.push(Fault::new("/segments", kind));
            return vec![];
        }
        let read = |(index, value)| self.segment(index, value);
        values.iter().enumerate().filter_map(read).collect()
    }

    /// A blank prompt is remembered by its index and is no fault here.
    fn segment(&mut self, index: usize, value: &Value) -> Option<Segment> {
        let mut faults = vec![];
        let at = format!("/segments/{index}");
        let mut fields = RuleFields::of(value, &at, &mut faults);
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
fn read_head(fields: &mut RuleFields<'_, '_>) -> Head {
    let agent_name = fields.required_text("agent_name", 256);
    let agent_name = the_word(fields, "agent_name", AGENT_NAME, agent_name);
    let version = read_version(fields);
    let default_mode = fields.word("default_mode", &MODES);
    let protocol = fields.text("protocol", 256);
    the_word(fields, "protocol", PROTOCOL, protocol);
    let allowed_tags = match fields.texts("allowed_tags", 64, 64) {
        None => TAGS.map(str::to_owned).to_vec(),
        Some(written) => {
            for (at, tag) in &written {
                if !TAGS.contains(tag) {
                    let fault = Fault::new(at, Mistake::unknown_word(tag, TAGS.into_iter()));
                    fields.faults().push(fault);
                }
            }
            written.into_iter().map(|(_, tag)| tag.to_owned()).collect()
        }
    };
    (agent_name, version, default_mode, allowed_tags)
}

/// A word with only one possible value. Returned even where it is wrong, because the fault says so.
fn the_word(
    fields: &mut RuleFields<'_, '_>,
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
fn read_version(fields: &mut RuleFields<'_, '_>) -> Option<String> {
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
        fields.fault("version", FaultKind::Reason { why });
    }
    Some(written.to_owned())
}

/// The name of a state, or the word for all of them.
fn read_condition(fields: &mut RuleFields<'_, '_>) -> Option<String> {
    let written = fields.required_text("condition", 256)?;
    let known = || std::iter::once(DEFAULT_CONDITION).chain(STATES);
    if !known().any(|it| it == written) {
        let kind = Mistake::unknown_word(written, known().collect::<Vec<_>>().into_iter());
        fields.fault("condition", kind);
    }
    Some(written.to_owned())
}

/// Whether it is missing, empty or something else.
fn no_segments(found: Option<&Value>) -> Fault {
    match found {
        None => Fault::new("", Mistake::Missing { field: "segments" }),
        Some(Value::Array(_)) => Fault::new("/segments", Mistake::Empty),
        Some(other) => Fault::new(
            "/segments",
            Mistake::wrong_type("a list of segments", other),
        ),
    }
}
