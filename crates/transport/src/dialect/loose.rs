//! Readers for what only adorns a reply: a wrong type there is as good as nothing.

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

/// More tokens than any reply has, and a whole number as a fraction still.
const MAX_COUNT: f64 = 1e15;

pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_u64())
}

pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_bool() == Some(true))
}

/// An error field that says something; some servers send an empty one beside a good reply.
pub(super) fn real_error(error: Option<Value>) -> Option<Value> {
    error.filter(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    })
}

/// The first of these places of a value that holds a count.
pub(super) fn first_count(value: &Value, pointers: &[&str]) -> Option<u64> {
    let mut found = pointers.iter().filter_map(|at| value.pointer(at));
    found.find_map(count)
}

/// A count; some servers write one as a fraction.
fn count(value: &Value) -> Option<u64> {
    let rounded = || {
        let number = value.as_f64()?.round();
        let is_count = (0.0..=MAX_COUNT).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is a whole number within these bounds"
        )]
        is_count.then_some(number as u64)
    };
    value.as_u64().or_else(rounded)
}
