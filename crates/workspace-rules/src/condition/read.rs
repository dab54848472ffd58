//! Reads a condition from JSON and collects all that is wrong with it.
//!
//! Everything is bounded, because a condition is kept for good and asked about every event: depth, number of parts,
//! length of values and what a pattern may weigh. Faults of several parts come back together.

use bonded_kernel::{Mistake, WorkspaceId, escaped, short};
use regex::RegexBuilder;
use serde_json::{Map, Value};

use super::clause::Clause;
use super::compare::{Comparison, OPS, Op, Operand};
use super::field::{FREE, Field, PLAIN, Sort};
use crate::fault::{Fault, FaultKind};

/// How deep conditions nest.
pub const CONDITION_DEPTH_MAX: usize = 16;
/// Of how many parts a condition consists.
pub const CONDITION_PARTS_MAX: usize = 256;
/// How long a value may be that something is compared with.
pub const CONDITION_VALUE_BYTES_MAX: usize = 4096;

pub(super) const JOINTS: [&str; 3] = ["all", "any", "not"];
const COMPARISON: [&str; 3] = ["field", "op", "value"];
/// A longer name is no field, which bounds the keys of metadata.
pub(super) const NAME_BYTES_MAX: usize = 128;
pub(super) const PATTERN_BYTES_MAX: usize = 1000;
/// What a pattern may weigh when it is compiled, which also bounds the time that a match takes.
const PATTERN_COMPILED_BYTES_MAX: usize = 512 << 10;

/// Reads the tree at a pointer. Whatever was found wrong is in `faults`.
pub(super) fn clause(written: &Value, at: &str, faults: &mut Vec<Fault>) -> Option<Clause> {
    let mut reading = Reading { faults, parts: 0 };
    reading.clause(written, at, 1)
}

/// What one reading has found and counted.
struct Reading<'f> {
    faults: &'f mut Vec<Fault>,
    parts: usize,
}

impl Reading<'_> {
    fn fault<T>(&mut self, at: &str, kind: impl Into<FaultKind>) -> Option<T> {
        self.faults.push(Fault::new(at, kind));
        None
    }

    /// One part more; a condition with too many is not read any further.
    fn count(&mut self, at: &str) -> Option<()> {
        let most = CONDITION_PARTS_MAX;
        self.parts += 1;
        match self.parts.cmp(&(most + 1)) {
            std::cmp::Ordering::Less => Some(()),
            std::cmp::Ordering::Equal => self.fault(at, FaultKind::TooManyParts { most }),
            std::cmp::Ordering::Greater => None,
        }
    }

    /// An object with `all`, `any` or `not` is a joint, one with `field`, `op` or `value` a comparison, and any other a
    /// list of equalities.
    fn clause(&mut self, written: &Value, at: &str, depth: usize) -> Option<Clause> {
        self.count(at)?;
        if depth > CONDITION_DEPTH_MAX {
            let most = CONDITION_DEPTH_MAX;
            return self.fault(at, FaultKind::TooDeep { most });
        }
        let Value::Object(fields) = written else {
            return self.fault(at, Mistake::wrong_type("an object", written));
        };
        let joint = JOINTS.into_iter().find(|it| fields.contains_key(*it));
        if let Some(joint) = joint {
            self.refuse_others(fields, at, &[joint]);
            return self.joint(joint, &fields[joint], &format!("{at}/{joint}"), depth);
        }
        if COMPARISON.iter().any(|it| fields.contains_key(*it)) {
            self.refuse_others(fields, at, &COMPARISON);
            let comparison = self.comparison(fields, at)?;
            return Some(Clause::Compare(Box::new(comparison)));
        }
        self.equalities(fields, at)
    }

    fn refuse_others(&mut self, fields: &Map<String, Value>, at: &str, known: &[&'static str]) {
        for field in fields.keys().filter(|it| !known.contains(&it.as_str())) {
            let kind = Mistake::unknown_field(field, known.iter().copied());
            let at = format!("{at}/{}", escaped(field));
            self.faults.push(Fault::new(at, kind));
        }
    }

    /// The parts of a list that has become too long are not looked at, so that a huge condition costs no more than the
    /// bound.
    fn joint(&mut self, joint: &str, written: &Value, at: &str, depth: usize) -> Option<Clause> {
        if joint == "not" {
            let part = self.clause(written, at, depth + 1)?;
            return Some(Clause::Not(Box::new(part)));
        }
        let Value::Array(parts) = written else {
            return self.fault(at, Mistake::wrong_type("a list of conditions", written));
        };
        let mut read = vec![];
        for (index, part) in parts.iter().enumerate() {
            if self.parts > CONDITION_PARTS_MAX {
                break;
            }
            read.extend(self.clause(part, &format!("{at}/{index}"), depth + 1));
        }
        Some(match joint {
            "all" => Clause::All(read),
            _ => Clause::Any(read),
        })
    }

    /// `{"note.kind": "note"}`: all of these are equal. Nothing at all is always so.
    fn equalities(&mut self, fields: &Map<String, Value>, at: &str) -> Option<Clause> {
        let mut parts = vec![];
        for (name, value) in fields {
            let at = format!("{at}/{}", escaped(name));
            if self.count(&at).is_none() {
                break;
            }
            let comparison = self.field(name, &at);
            let comparison = comparison.and_then(|it| self.compared(it, Op::Eq, value, &at));
            parts.extend(comparison.map(|it| Clause::Compare(Box::new(it))));
        }
        Some(Clause::All(parts))
    }

    /// Field, operation and value are each looked at, whatever is wrong with the others.
    fn comparison(&mut self, fields: &Map<String, Value>, at: &str) -> Option<Comparison> {
        let name = self.word(fields, at, "field");
        let op = self.word(fields, at, "op");
        let field = name.and_then(|name| self.field(name, &format!("{at}/field")));
        let op = op.and_then(|op| self.op(op, &format!("{at}/op")));
        let value = match (fields.get("value"), op) {
            (Some(value), _) => value,
            // A field either is there or not; that it is there is what one asks for.
            (None, Some(Op::Exists)) => &Value::Bool(true),
            (None, _) => return self.fault(at, Mistake::Missing { field: "value" }),
        };
        self.compared(field?, op?, value, &format!("{at}/value"))
    }

    /// A text that must be there.
    fn word<'a>(
        &mut self,
        fields: &'a Map<String, Value>,
        at: &str,
        field: &'static str,
    ) -> Option<&'a str> {
        match fields.get(field) {
            Some(Value::String(word)) => Some(word),
            Some(other) => self.fault(
                &format!("{at}/{field}"),
                Mistake::wrong_type("a text", other),
            ),
            None => self.fault(at, Mistake::Missing { field }),
        }
    }

    /// A name that is too long is no field either.
    fn field(&mut self, name: &str, at: &str) -> Option<Field> {
        let field = Field::named(name).filter(|_| name.len() <= NAME_BYTES_MAX);
        if field.is_none() {
            let known = PLAIN.iter().map(|(known, _)| *known);
            let known = known.chain(FREE);
            let known: Vec<&str> = known.collect();
            self.faults.push(Fault::new(
                at,
                Mistake::unknown_word(name, known.into_iter()),
            ));
        }
        field
    }

    fn op(&mut self, name: &str, at: &str) -> Option<Op> {
        let found = OPS.iter().find(|(known, _)| *known == name);
        if found.is_none() {
            let known = OPS.iter().map(|(known, _)| *known);
            self.faults
                .push(Fault::new(at, Mistake::unknown_word(name, known)));
        }
        found.map(|(_, op)| *op)
    }

    /// The operation must suit the sort of the field, and the value both.
    fn compared(&mut self, field: Field, op: Op, value: &Value, at: &str) -> Option<Comparison> {
        let sort = field.sort();
        if !op.suits(sort) {
            let kind = FaultKind::NotComparable {
                field: sort_name(sort).into(),
                op: op.name(),
                why: "use eq, ne, in or exists, or another field",
            };
            return self.fault(at, kind);
        }
        let bytes = value.to_string().len();
        if bytes > CONDITION_VALUE_BYTES_MAX {
            let most = CONDITION_VALUE_BYTES_MAX;
            let found = bytes;
            return self.fault(at, Mistake::TooLong { found, most });
        }
        let operand = operand(sort, op, value);
        match operand {
            Ok(operand) => Some(Comparison { field, op, operand }),
            Err(kind) => self.fault(at, kind),
        }
    }
}

fn sort_name(sort: Sort) -> &'static str {
    match sort {
        Sort::Id => "an id",
        Sort::Text => "a text",
        Sort::Texts => "a list of texts",
        Sort::Number => "a number",
        Sort::Anything => "any value",
    }
}

/// The value in the form that the operation needs, or what is wrong with it.
pub(super) fn operand(sort: Sort, op: Op, value: &Value) -> Result<Operand, FaultKind> {
    match (op, value) {
        (Op::Exists, Value::Bool(wanted)) => Ok(Operand::Exists(*wanted)),
        (Op::Exists, other) => Err(Mistake::wrong_type("true or false", other).into()),
        (Op::Matches, Value::String(written)) => pattern(written),
        (Op::Matches, other) => Err(Mistake::wrong_type("a text", other).into()),
        (Op::In, Value::Array(members)) => {
            let member = member_sort(sort);
            let values = members.iter().map(|it| plain(member, it));
            values.collect::<Result<_, _>>().map(Operand::Values)
        }
        (Op::In, other) => Err(Mistake::wrong_type("a list of values", other).into()),
        (Op::Contains, value) => plain(member_sort(sort), value).map(Operand::Value),
        (Op::StartsWith | Op::EndsWith, value) => plain(Sort::Text, value).map(Operand::Value),
        (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, value) => {
            plain(sort, value).map(Operand::Value)
        }
    }
}

/// What one member of such a field is.
fn member_sort(sort: Sort) -> Sort {
    match sort {
        Sort::Texts => Sort::Text,
        sort @ (Sort::Id | Sort::Text | Sort::Number | Sort::Anything) => sort,
    }
}

/// A value as a field of this sort can have it.
/// Ids are written anew in their one form, so that they compare as texts.
fn plain(sort: Sort, value: &Value) -> Result<Value, FaultKind> {
    match (sort, value) {
        (Sort::Id, Value::String(text)) => match text.parse::<WorkspaceId>() {
            Ok(id) => Ok(Value::String(id.to_string())),
            Err(_) => Err(FaultKind::NotAnId { found: short(text) }),
        },
        (Sort::Text, Value::String(_)) | (Sort::Number, Value::Number(_)) => Ok(value.clone()),
        (Sort::Texts, Value::Array(members)) if members.iter().all(Value::is_string) => {
            Ok(value.clone())
        }
        (Sort::Anything, value) => Ok(value.clone()),
        (Sort::Id | Sort::Text, other) => Err(Mistake::wrong_type("a text", other).into()),
        (Sort::Number, other) => Err(Mistake::wrong_type("a number", other).into()),
        (Sort::Texts, other) => Err(Mistake::wrong_type("a list of texts", other).into()),
    }
}

/// The engine for patterns has no backtracking: with its size bounded, so is the time of a match.
fn pattern(written: &str) -> Result<Operand, FaultKind> {
    if written.len() > PATTERN_BYTES_MAX {
        let most = PATTERN_BYTES_MAX;
        let found = written.len();
        return Err(Mistake::TooLong { found, most }.into());
    }
    let compiled = RegexBuilder::new(written)
        .size_limit(PATTERN_COMPILED_BYTES_MAX)
        .dfa_size_limit(PATTERN_COMPILED_BYTES_MAX)
        .nest_limit(32)
        .build();
    match compiled {
        Ok(pattern) => Ok(Operand::Pattern(Box::new(pattern))),
        Err(error) => Err(FaultKind::BadPattern {
            why: last_line(&error.to_string()),
        }),
    }
}

/// What the parser of patterns says, without the drawing.
fn last_line(message: &str) -> String {
    let line = message.lines().next_back().unwrap_or_default().trim();
    short(line.strip_prefix("error: ").unwrap_or(line))
}
