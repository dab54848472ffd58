//! Arguments that are almost JSON, read as what they plainly mean; what is ambiguous is refused.
//!
//! The order is fixed: the text as it stands, without its code fence, without a trailing ellipsis, its
//! first object. Each is parsed natively, then rewritten and parsed again. All of it takes time linear in
//! the text, and each change is named in [`Parsed::steps`].

mod rewrite;
mod string;

use serde_json::Value;

use crate::event::RepairStep;
use rewrite::rewrite;

/// Longer texts are refused unread.
pub const REPAIR_BYTES_MAX: usize = 10_000_000;

/// A JSON value, and what had to be changed in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What the text means.
    pub value: Value,
    /// Empty if the text was JSON as it stood.
    pub steps: Vec<RepairStep>,
}

impl Parsed {
    /// Whether the text ended inside a value, so that the value may be only the start of what was meant.
    pub fn is_cut(&self) -> bool {
        self.steps.contains(&RepairStep::ClosedText)
    }
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairFault {
    /// It was not even looked at.
    #[error("{bytes} bytes are more than the {REPAIR_BYTES_MAX} that are read")]
    TooLarge {
        /// What the text has.
        bytes: usize,
    },
    /// It is no JSON, and its meaning is not plain.
    #[error("not JSON: {why}")]
    Unreadable {
        /// What the parser says of the text as it stands.
        why: String,
    },
    /// It is JSON, but arguments must be an object.
    #[error("a JSON object is wanted, not {found}")]
    NotAnObject {
        /// What it is instead, in words.
        found: &'static str,
    },
}

/// Reads the arguments of a call. The caller deals with a blank text and with a reply that was cut by its
/// output limit before it comes here.
pub fn parse_arguments(text: &str) -> Result<Parsed, RepairFault> {
    let mut parsed = parse(text, &['{'])?;
    if let Value::String(inner) = &parsed.value
        && let Ok(nested) = parse(inner, &['{'])
    {
        parsed.value = nested.value;
        parsed.steps.push(RepairStep::NestedText);
        parsed.steps.extend(nested.steps);
    }
    match parsed.value.is_object() {
        true => Ok(parsed),
        false => Err(RepairFault::NotAnObject {
            found: kind(&parsed.value),
        }),
    }
}

/// Reads an object or an array out of a text.
pub(crate) fn parse_document(text: &str) -> Result<Parsed, RepairFault> {
    parse(text, &['{', '['])
}

/// Parses without looking for JSON inside other text: natively, or else rewritten.
pub(crate) fn parse_whole(text: &str) -> Option<Parsed> {
    if let Ok(value) = serde_json::from_str(text) {
        let steps = vec![];
        return Some(Parsed { value, steps });
    }
    let (json, steps) = rewrite(text)?;
    let value = serde_json::from_str(&json).ok()?;
    Some(Parsed { value, steps })
}

fn parse(text: &str, openings: &[char]) -> Result<Parsed, RepairFault> {
    if text.len() > REPAIR_BYTES_MAX {
        return Err(RepairFault::TooLarge { bytes: text.len() });
    }
    let why = match serde_json::from_str(text) {
        Ok(value) => {
            let steps = vec![];
            return Ok(Parsed { value, steps });
        }
        Err(error) => error.to_string(),
    };
    let mut before = vec![];
    let mut candidate = text.trim();
    type Peel = fn(&str) -> Option<&str>;
    let peels: [(RepairStep, Peel); 2] = [
        (RepairStep::CodeFence, without_fence),
        (RepairStep::Ellipsis, without_ellipsis),
    ];
    if let Some(parsed) = attempt(candidate, &before) {
        return Ok(parsed);
    }
    for (step, peel) in peels {
        let Some(peeled) = peel(candidate) else {
            continue;
        };
        candidate = peeled;
        before.push(step);
        if let Some(parsed) = attempt(candidate, &before) {
            return Ok(parsed);
        }
    }
    before.push(RepairStep::FirstObject);
    first_document(candidate, openings)
        .and_then(|found| attempt(found, &before))
        .ok_or(RepairFault::Unreadable { why })
}

fn attempt(candidate: &str, before: &[RepairStep]) -> Option<Parsed> {
    let mut parsed = parse_whole(candidate)?;
    parsed.steps.splice(0..0, before.iter().copied());
    Some(parsed)
}

fn without_fence(text: &str) -> Option<&str> {
    let (_language, inside) = text.strip_prefix("```")?.split_once('\n')?;
    let end = inside.rfind("```").unwrap_or(inside.len());
    inside.get(..end).map(str::trim)
}

fn without_ellipsis(text: &str) -> Option<&str> {
    let shorter = text
        .strip_suffix("...")
        .or_else(|| text.strip_suffix('…'))?;
    Some(shorter.trim_end())
}

/// From the first opening bracket to the one that closes it, or to the end of the text.
fn first_document<'a>(text: &'a str, openings: &[char]) -> Option<&'a str> {
    let start = text.find(openings)?;
    let found = text.get(start..)?;
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in found.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return found.get(..=at);
        }
    }
    Some(found)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
