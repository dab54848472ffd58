//! Readers for what only adorns a reply: a wrong type there is as good as nothing.

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(count(&Value::deserialize(deserializer)?))
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

/// A count, which some servers write as a fraction.
fn count(value: &Value) -> Option<u64> {
    let fraction = || {
        let number = value.as_f64().filter(|number| *number >= 0.0)?;
        // Too large a number becomes the largest.
        Some(number as u64)
    };
    value.as_u64().or_else(fraction)
}
