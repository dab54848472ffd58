//! Schemas that are seen to be good at a glance.
//!
//! The schema of schemas takes longer to set up than everything else that a run needs for its start. Most tools
//! use a handful of keywords: those are checked here, and the others with the real thing.

use std::collections::BTreeSet;

use serde_json::Value;

/// Deeper ones are left to the real check.
const DEPTH_MAX: u32 = 32;

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Whether a value is a schema of well-known keywords, each with a value that it may have. One that is not may
/// still be a schema.
pub(crate) fn is_plain(schema: &Value) -> bool {
    is_plain_within(schema, DEPTH_MAX)
}

fn is_plain_within(schema: &Value, depth: u32) -> bool {
    let Some(below) = depth.checked_sub(1) else {
        return false;
    };
    match schema {
        Value::Bool(_) => true,
        Value::Object(keywords) => keywords
            .iter()
            .all(|(keyword, value)| is_usable(keyword, value, below)),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn is_usable(keyword: &str, value: &Value, depth: u32) -> bool {
    let all = |values: &Vec<Value>| values.iter().all(|it| is_plain_within(it, depth));
    match keyword {
        "type" => match value.as_array() {
            Some(types) => !types.is_empty() && are_distinct(types) && types.iter().all(is_type),
            None => is_type(value),
        },
        "description" | "title" | "$comment" => value.is_string(),
        "default" | "const" => true,
        "enum" | "examples" => value.is_array(),
        "required" => value.as_array().is_some_and(|it| are_distinct(it)),
        "properties" => value
            .as_object()
            .is_some_and(|named| named.values().all(|it| is_plain_within(it, depth))),
        "additionalProperties" | "items" => is_plain_within(value, depth),
        "anyOf" | "oneOf" | "allOf" => value.as_array().is_some_and(|it| !it.is_empty() && all(it)),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        _ => false,
    }
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// Whether all are texts and none comes twice.
fn are_distinct(values: &[Value]) -> bool {
    let texts: BTreeSet<&str> = values.iter().filter_map(Value::as_str).collect();
    texts.len() == values.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_usual_schema_is_plain() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "a path" },
                "args": { "type": "array", "items": { "type": ["string", "null"] } },
                "how": { "anyOf": [{ "enum": ["a", "b"] }, { "const": 1 }], "default": "a" },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert!(is_plain(&schema));
    }

    #[test]
    fn what_is_wrong_or_unusual_is_not_plain() {
        for schema in [
            json!(1),
            json!({ "type": "text" }),
            json!({ "type": [] }),
            json!({ "type": ["string", "string"] }),
            json!({ "required": ["a", "a"] }),
            json!({ "required": "a" }),
            json!({ "minLength": -1 }),
            json!({ "minLength": 1.5 }),
            json!({ "anyOf": [] }),
            json!({ "properties": { "a": 1 } }),
            json!({ "pattern": "(" }),
            json!({ "$ref": "#/nowhere" }),
            json!({ "items": [{ "type": "string" }] }),
        ] {
            assert!(!is_plain(&schema), "{schema}");
        }
        let deep = (0..100).fold(json!(true), |inner, _| json!({ "items": inner }));
        assert!(!is_plain(&deep));
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            json!("string"),
            json!("object"),
            json!("text"),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(true),
            json!([]),
            json!(["a", "a"]),
            json!(["string", "null"]),
            json!({}),
            json!(null),
        ]);
        let keyword = || {
            prop::sample::select(vec![
                "type",
                "properties",
                "required",
                "items",
                "enum",
                "minLength",
                "minimum",
                "anyOf",
                "uniqueItems",
                "description",
                "additionalProperties",
                "const",
                "pattern",
                "title",
            ])
        };
        word.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec((keyword(), inner.clone()), 0..4).prop_map(Value::from_iter),
                prop::collection::vec(inner, 0..3).prop_map(Value::from),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_plain_is_a_schema(schema in any_schema()) {
            if is_plain(&schema) {
                prop_assert!(jsonschema::meta::is_valid(&schema), "{}", schema);
                let built = jsonschema::draft7::new(&schema);
                prop_assert!(built.is_ok(), "{}", schema);
            }
        }
    }
}
