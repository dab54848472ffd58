//! The schemas inside a schema. What stands under other keywords is data, and is not touched.

use serde_json::Value;

const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const SEVERAL: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const NAMED: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// The schemas directly inside a schema, each with the keyword under which it stands.
pub(super) fn parts(schema: &Value) -> Vec<(&str, &Value)> {
    let mut found = vec![];
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let keyword = keyword.as_str();
        match value {
            Value::Array(list) if SEVERAL.contains(&keyword) => {
                found.extend(list.iter().map(|part| (keyword, part)));
            }
            Value::Object(named) if NAMED.contains(&keyword) => {
                found.extend(named.values().map(|part| (keyword, part)));
            }
            Value::Object(_) | Value::Bool(_) if ONE.contains(&keyword) => {
                found.push((keyword, value));
            }
            _ => {}
        }
    }
    found.retain(|(_, part)| is_schema(part));
    found
}

/// The same, to be changed.
pub(super) fn parts_mut(schema: &mut Value) -> Vec<(&str, &mut Value)> {
    let mut found: Vec<(&str, &mut Value)> = vec![];
    for (keyword, value) in schema.as_object_mut().into_iter().flatten() {
        let keyword = keyword.as_str();
        if ONE.contains(&keyword) && is_schema(value) {
            found.push((keyword, value));
            continue;
        }
        match value {
            Value::Array(list) if SEVERAL.contains(&keyword) => {
                found.extend(list.iter_mut().map(|part| (keyword, part)));
            }
            Value::Object(named) if NAMED.contains(&keyword) => {
                found.extend(named.values_mut().map(|part| (keyword, part)));
            }
            _ => {}
        }
    }
    found.retain(|(_, part)| is_schema(part));
    found
}

/// Under `dependencies` lists of names may stand.
fn is_schema(part: &Value) -> bool {
    part.is_object() || part.is_boolean()
}
