//! What a condition made of some facts, part by part, for who wonders why a rule fires or does not.
//!
//! The tree is walked beside the JSON that it was read from, so that each part is told with its place. Nothing is left
//! out: a part that did not matter any more is judged all the same.

use bonded_kernel::escaped;
use serde_json::{Value, json};

use super::Condition;
use super::clause::Clause;
use super::compare::{Comparison, Operand};
use super::facts::Facts;
use super::field::FieldValue;

/// A longer text is cut: it is there to be recognised.
const FOUND_CHARS_MAX: usize = 2000;

/// One part of a condition, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedPart {
    /// A JSON pointer into the condition.
    pub at: String,
    /// What sort of part it is.
    pub kind: PartKind,
    /// Whether it holds of the facts.
    pub holds: bool,
}

/// What sort of part it is.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKind {
    /// Each of its parts must hold.
    All,
    /// One of its parts must hold.
    Any,
    /// Its part must not hold.
    Not,
    /// A field is compared.
    Compare {
        field: String,
        op: &'static str,
        value: Value,
        /// None where the facts have no such field.
        found: Option<Value>,
    },
}

impl Condition {
    /// Every part in the order in which it was written, the whole first. `written` is what the condition was read from.
    pub fn judged(&self, written: &Value, facts: &Facts<'_>) -> Vec<JudgedPart> {
        let mut parts = vec![];
        walk(&self.0, written, "", facts, &mut parts);
        parts
    }
}

/// The depth is that of the condition, which is bounded.
fn walk(
    clause: &Clause,
    written: &Value,
    at: &str,
    facts: &Facts<'_>,
    parts: &mut Vec<JudgedPart>,
) {
    let kind = match clause {
        Clause::All(_) => PartKind::All,
        Clause::Any(_) => PartKind::Any,
        Clause::Not(_) => PartKind::Not,
        Clause::Compare(comparison) => compared(comparison, facts),
    };
    parts.push(JudgedPart {
        at: at.to_owned(),
        kind,
        holds: clause.holds(facts),
    });
    match clause {
        Clause::All(inner) | Clause::Any(inner) => {
            let places = places(written, at);
            for (part, (at, written)) in inner.iter().zip(places) {
                walk(part, written, &at, facts, parts);
            }
        }
        Clause::Not(inner) => walk(inner, &written["not"], &format!("{at}/not"), facts, parts),
        Clause::Compare(_) => {}
    }
}

/// Where the parts of a list stand: in `all` or `any`, or under the names of the fields that must be equal.
fn places<'a>(written: &'a Value, at: &str) -> Vec<(String, &'a Value)> {
    let list = ["all", "any"]
        .into_iter()
        .find_map(|joint| Some((joint, written.get(joint)?.as_array()?)));
    match (list, written.as_object()) {
        (Some((joint, members)), _) => (0..)
            .zip(members)
            .map(|(index, member)| (format!("{at}/{joint}/{index}"), member))
            .collect(),
        (None, Some(fields)) => fields
            .iter()
            .map(|(name, value)| (format!("{at}/{}", escaped(name)), value))
            .collect(),
        (None, None) => vec![],
    }
}

fn compared(comparison: &Comparison, facts: &Facts<'_>) -> PartKind {
    let value = match &comparison.operand {
        Operand::Value(value) => value.clone(),
        Operand::Values(values) => json!(values),
        Operand::Pattern(pattern) => json!(pattern.as_str()),
        Operand::Exists(wanted) => json!(wanted),
    };
    PartKind::Compare {
        field: comparison.field.name(),
        op: comparison.op.name(),
        value,
        found: comparison.field.of(facts).map(|found| shown(&found)),
    }
}

fn shown(found: &FieldValue<'_>) -> Value {
    let cut = |text: &str| -> Value {
        text.chars()
            .take(FOUND_CHARS_MAX)
            .collect::<String>()
            .into()
    };
    match found {
        FieldValue::Text(text) => cut(text),
        FieldValue::Texts(texts) => json!(texts),
        FieldValue::Number(number) => json!(number),
        FieldValue::Json(Value::String(text)) => cut(text),
        FieldValue::Json(value) => (*value).clone(),
    }
}
