//! A condition in words.

use serde_json::{Value, json};

use super::Condition;
use super::clause::Clause;
use super::compare::{Comparison, Op, Operand};

/// A longer value is cut.
const VALUE_CHARS_MAX: usize = 80;

impl Condition {
    /// The condition in words; none where it is always true.
    pub(crate) fn words(&self) -> Option<String> {
        let is_always = matches!(&self.0, Clause::All(parts) if parts.is_empty());
        (!is_always).then(|| clause_words(&self.0, false))
    }
}

/// Within another list a list has brackets.
fn clause_words(clause: &Clause, is_inner: bool) -> String {
    match clause {
        Clause::All(parts) => joined(parts, " and ", "always", is_inner),
        Clause::Any(parts) => joined(parts, " or ", "never", is_inner),
        Clause::Not(part) => format!("not ({})", clause_words(part, false)),
        Clause::Compare(comparison) => compared(comparison),
    }
}

fn joined(parts: &[Clause], joint: &str, none: &str, is_inner: bool) -> String {
    let words = parts
        .iter()
        .map(|part| clause_words(part, parts.len() > 1))
        .collect::<Vec<_>>();
    match (words.as_slice(), is_inner) {
        ([], _) => none.to_owned(),
        ([one], _) => one.clone(),
        (words, true) => format!("({})", words.join(joint)),
        (words, false) => words.join(joint),
    }
}

fn compared(comparison: &Comparison) -> String {
    let field = comparison.field.name();
    let value = match &comparison.operand {
        Operand::Exists(true) => return format!("{field} is there"),
        Operand::Exists(false) => return format!("{field} is not there"),
        Operand::Value(value) => value.clone(),
        Operand::Values(values) => json!(values),
        Operand::Pattern(pattern) => json!(pattern.as_str()),
    };
    let verb = match comparison.op {
        Op::Eq => "is",
        Op::Ne => "is not",
        Op::Lt => "is less than",
        Op::Le => "is at most",
        Op::Gt => "is more than",
        Op::Ge => "is at least",
        Op::Contains => "contains",
        Op::StartsWith => "begins with",
        Op::EndsWith => "ends with",
        Op::In => "is one of",
        Op::Matches => "matches",
        Op::Exists => "is there, which is",
    };
    format!("{field} {verb} {}", short(&value))
}

fn short(value: &Value) -> String {
    let written = value.to_string();
    match written.chars().count() > VALUE_CHARS_MAX {
        true => {
            let cut: String = written.chars().take(VALUE_CHARS_MAX).collect();
            format!("{cut}…")
        }
        false => written,
    }
}
