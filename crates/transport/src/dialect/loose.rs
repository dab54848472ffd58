//! Readers for what only adorns a reply: a wrong type there is as good as nothing.

use bonded_kernel::Money;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

use crate::money::dollars;

/// A dollar has ten thousand million ticks.
const PICO_PER_TICK: u64 = 100;

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
    let mut found = pointers.iter().filter_map(|at| at_pointer(value, at));
    found.find_map(count)
}

/// What a service says that a request cost: a router in dollars, xAI in ticks.
pub(super) fn cost_of(usage: &Value) -> Option<Money> {
    let cost = usage.get("cost").and_then(Value::as_f64);
    cost.and_then(dollars).or_else(|| {
        let ticks = usage.get("cost_in_usd_ticks").and_then(count)?;
        Some(Money(ticks.saturating_mul(PICO_PER_TICK)))
    })
}

/// What lies at a pointer of ours: it leads through objects, and no key in it needs an escape. `Value::pointer` makes two
/// copies of each key to look for those, which is more work than to read the reply.
fn at_pointer<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let mut keys = pointer.split('/').skip(1);
    keys.try_fold(value, |value, key| value.as_object()?.get(key))
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
