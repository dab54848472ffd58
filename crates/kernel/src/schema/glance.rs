//! Values that are seen to fit at a glance.
//!
//! The validator takes longer to set up than everything else that a run needs for its first call, and most calls fit a
//! schema of a handful of keywords. Who fits is let through here without it; whoever may not is looked at by the
//! validator, which also says why. So this is never the one to refuse, and what it cannot tell for sure it does not say.

use serde_json::{Map, Value};

/// Whether the value surely fits. The schema is a plain one: see [`crate::plain_schema`].
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    match schema {
        Value::Bool(all) => *all,
        Value::Object(keywords) => keywords
            .iter()
            .all(|(keyword, argument)| meets(keywords, keyword, argument, value)),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn meets(keywords: &Map<String, Value>, keyword: &str, argument: &Value, value: &Value) -> bool {
    match keyword {
        "description" | "title" | "$comment" | "default" | "examples" | "deprecated"
        | "readOnly" | "writeOnly" => true,
        "type" => match argument.as_array() {
            Some(types) => types.iter().any(|it| is_of(it, value)),
            None => is_of(argument, value),
        },
        "const" => argument == value,
        "enum" => argument.as_array().is_some_and(|some| some.contains(value)),
        "anyOf" => argument
            .as_array()
            .is_some_and(|some| some.iter().any(|it| fits(it, value))),
        "allOf" => argument
            .as_array()
            .is_some_and(|all| all.iter().all(|it| fits(it, value))),
        _ => match value {
            Value::Object(members) => members_meet(keywords, keyword, argument, members),
            Value::Array(items) => items_meet(keyword, argument, items),
            Value::String(text) => text_meets(keyword, argument, text),
            Value::Number(_) => number_meets(keyword, argument, value),
            // No keyword is left that concerns these; but for one that is not known here.
            Value::Null | Value::Bool(_) => concerns_some(keyword),
        },
    }
}

/// A fraction may be an integer in a schema's eyes, so it is left to the validator.
fn is_of(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("null") => value.is_null(),
        _ => false,
    }
}

fn members_meet(
    keywords: &Map<String, Value>,
    keyword: &str,
    argument: &Value,
    members: &Map<String, Value>,
) -> bool {
    match keyword {
        "properties" => argument.as_object().is_some_and(|named| {
            let mut known = members
                .iter()
                .filter_map(|(key, it)| Some((named.get(key)?, it)));
            known.all(|(schema, it)| fits(schema, it))
        }),
        "additionalProperties" => {
            let named = keywords.get("properties").and_then(Value::as_object);
            let is_named = |key: &str| named.is_some_and(|named| named.contains_key(key));
            let mut others = members.iter().filter(|(key, _)| !is_named(key));
            others.all(|(_, it)| fits(argument, it))
        }
        "required" => argument.as_array().is_some_and(|keys| {
            let has = |key: &Value| key.as_str().is_some_and(|key| members.contains_key(key));
            keys.iter().all(has)
        }),
        "minProperties" => is_least(argument, members.len()),
        "maxProperties" => is_most(argument, members.len()),
        _ => concerns_some(keyword),
    }
}

fn items_meet(keyword: &str, argument: &Value, items: &[Value]) -> bool {
    match keyword {
        "items" => items.iter().all(|it| fits(argument, it)),
        "minItems" => is_least(argument, items.len()),
        "maxItems" => is_most(argument, items.len()),
        "uniqueItems" => *argument == Value::Bool(false) || items.len() < 2,
        _ => concerns_some(keyword),
    }
}

fn text_meets(keyword: &str, argument: &Value, text: &str) -> bool {
    match keyword {
        "minLength" => is_least(argument, text.chars().count()),
        "maxLength" => is_most(argument, text.chars().count()),
        _ => concerns_some(keyword),
    }
}

/// Only whole numbers are compared here.
fn number_meets(keyword: &str, argument: &Value, value: &Value) -> bool {
    let compared = || Some(value.as_i64()?.cmp(&argument.as_i64()?));
    match keyword {
        "minimum" => compared().is_some_and(std::cmp::Ordering::is_ge),
        "maximum" => compared().is_some_and(std::cmp::Ordering::is_le),
        "exclusiveMinimum" => compared().is_some_and(std::cmp::Ordering::is_gt),
        "exclusiveMaximum" => compared().is_some_and(std::cmp::Ordering::is_lt),
        _ => concerns_some(keyword),
    }
}

/// Whether a keyword is one of those that concern values of one kind, and so not those of the others.
fn concerns_some(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "additionalProperties"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "items"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "minLength"
            | "maxLength"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
    )
}

fn is_least(argument: &Value, count: usize) -> bool {
    argument.as_u64().is_some_and(|least| count as u64 >= least)
}

fn is_most(argument: &Value, count: usize) -> bool {
    argument.as_u64().is_some_and(|most| count as u64 <= most)
}
