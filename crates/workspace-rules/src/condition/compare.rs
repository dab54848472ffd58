//! Comparisons of a field with a value.
//!
//! A comparison never fails: what cannot be compared does not hold. Most of what makes no sense was refused when the
//! rule was saved; metadata can hold anything, so its sort is only known when the event comes.

use std::cmp::Ordering;

use regex::Regex;
use serde_json::Value;

use super::facts::Facts;
use super::field::{Field, FieldValue, Sort};

/// How much of a text a pattern is looked for in.
pub const MATCHED_BYTES_MAX: usize = 64 << 10;

/// How a field is compared. The words are in `OPS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Contains,
    StartsWith,
    EndsWith,
    In,
    Matches,
    Exists,
}

pub(super) const OPS: [(&str, Op); 12] = [
    ("eq", Op::Eq),
    ("ne", Op::Ne),
    ("lt", Op::Lt),
    ("le", Op::Le),
    ("gt", Op::Gt),
    ("ge", Op::Ge),
    ("contains", Op::Contains),
    ("starts_with", Op::StartsWith),
    ("ends_with", Op::EndsWith),
    ("in", Op::In),
    ("matches", Op::Matches),
    ("exists", Op::Exists),
];

impl Op {
    /// The word that people write for it.
    pub(super) fn name(self) -> &'static str {
        let found = OPS.iter().find(|(_, op)| *op == self);
        found.map_or("eq", |(name, _)| name)
    }

    /// Whether fields of this sort can be compared so at all.
    pub(super) fn suits(self, sort: Sort) -> bool {
        use Op::{Contains, EndsWith, Ge, Gt, Le, Lt, Matches, StartsWith};
        let is_order = matches!(self, Lt | Le | Gt | Ge);
        let is_of_text = matches!(self, Contains | StartsWith | EndsWith | Matches);
        match sort {
            Sort::Id => !is_order && !is_of_text,
            Sort::Number => !is_of_text,
            Sort::Texts => !is_order && !matches!(self, StartsWith | EndsWith),
            Sort::Text | Sort::Anything => true,
        }
    }
}

/// A field, how it is compared, and with what.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) field: Field,
    pub(super) op: Op,
    pub(super) operand: Operand,
}

/// What is compared with, in the form that the operation needs: patterns are compiled once, when the condition is read.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Value(Value),
    Values(Vec<Value>),
    Pattern(Box<Regex>),
    Exists(bool),
}

impl Comparison {
    /// Of a field that is not there only `ne` holds, and `exists` with false.
    pub(super) fn holds(&self, facts: &Facts<'_>) -> bool {
        let found = self.field.of(facts);
        let Some(found) = found else {
            return match &self.operand {
                Operand::Exists(wanted) => !wanted,
                Operand::Value(_) | Operand::Values(_) | Operand::Pattern(_) => self.op == Op::Ne,
            };
        };
        match &self.operand {
            Operand::Exists(wanted) => *wanted,
            Operand::Pattern(pattern) => found.has_text(|text| pattern.is_match(begin(text))),
            Operand::Values(values) => values.iter().any(|value| found.is_one(value)),
            Operand::Value(value) => self.compares(&found, value),
        }
    }

    /// An order between values that have none does not hold in either direction.
    fn compares(&self, found: &FieldValue<'_>, value: &Value) -> bool {
        let text = value.as_str();
        let order = || found.order(value);
        match self.op {
            Op::Eq => found.equals(value),
            Op::Ne => !found.equals(value),
            Op::Lt => order() == Some(Ordering::Less),
            Op::Le => order().is_some_and(Ordering::is_le),
            Op::Gt => order() == Some(Ordering::Greater),
            Op::Ge => order().is_some_and(Ordering::is_ge),
            Op::Contains => found.contains(value),
            Op::StartsWith => text.is_some_and(|it| found.is_text(|text| text.starts_with(it))),
            Op::EndsWith => text.is_some_and(|it| found.is_text(|text| text.ends_with(it))),
            Op::In | Op::Matches | Op::Exists => false,
        }
    }
}

impl FieldValue<'_> {
    /// Only of a single text, not of a list of them.
    fn is_text(&self, holds: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Text(text) => holds(text),
            Self::Json(value) => value.as_str().is_some_and(holds),
            Self::Texts(_) | Self::Number(_) => false,
        }
    }

    /// Whether it holds of the text, or of one text of a list.
    fn has_text(&self, holds: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Texts(texts) => texts.iter().any(|text| holds(text)),
            Self::Json(Value::Array(members)) => {
                members.iter().filter_map(Value::as_str).any(holds)
            }
            Self::Text(_) | Self::Number(_) | Self::Json(_) => self.is_text(holds),
        }
    }

    /// A list equals a list with the same members in the same order.
    fn equals(&self, value: &Value) -> bool {
        match self {
            Self::Texts(texts) => value.as_array().is_some_and(|members| {
                let mut pairs = texts.iter().zip(members);
                texts.len() == members.len() && pairs.all(|(text, member)| member == text)
            }),
            Self::Number(number) => value.is_number() && same(&Value::from(*number), value),
            Self::Json(found) => same(found, value),
            Self::Text(found) => value.as_str() == Some(&**found),
        }
    }

    /// Whether it is the value, or a list that has it.
    fn is_one(&self, value: &Value) -> bool {
        self.equals(value) || self.has_member(value)
    }

    /// Whether it is a list with this value in it.
    fn has_member(&self, value: &Value) -> bool {
        match self {
            Self::Texts(texts) => texts.iter().any(|text| value == text),
            Self::Json(found) => found
                .as_array()
                .is_some_and(|members| members.iter().any(|member| same(member, value))),
            Self::Text(_) | Self::Number(_) => false,
        }
    }

    /// A list contains its members, and a text the texts within it.
    fn contains(&self, value: &Value) -> bool {
        let text = value.as_str();
        self.has_member(value) || text.is_some_and(|it| self.is_text(|text| text.contains(it)))
    }

    /// Numbers by their size and texts by their characters; anything else has no order.
    fn order(&self, value: &Value) -> Option<Ordering> {
        match self {
            Self::Text(found) => value.as_str().map(|text| (**found).cmp(text)),
            Self::Json(found) => match (found.as_str(), value.as_str()) {
                (Some(found), Some(text)) => Some(found.cmp(text)),
                (None, _) | (_, None) => numbers(found, value),
            },
            Self::Number(found) => numbers(&Value::from(*found), value),
            Self::Texts(_) => None,
        }
    }
}

/// Whole numbers are compared as such, so that large ones do not lose their last digits.
fn numbers(one: &Value, other: &Value) -> Option<Ordering> {
    match (one.as_i64(), other.as_i64()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// Equal as JSON, where 1 and 1.0 are the same number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => numbers(one, other) == Some(Ordering::Equal),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        _ => one == other,
    }
}

/// As much of a text as a pattern is looked for in.
/// Cut at a boundary of characters. A match beyond it is not found, which is the price of a bounded time.
fn begin(text: &str) -> &str {
    let mut end = text.len().min(MATCHED_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
