//! The top of a schema, which services want to be one plain object.
//!
//! Unions, references and the like at the top are what services refuse most. `shape` says what all alternatives
//! have in common, which takes their place; what is lost by that, which properties go together, is told in the
//! description in as few words as possible. The kernel still judges every call by the tool's own schema.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::refs::definition;
use super::rules::Rules;
use super::shape::{PropertyChoice, Shape, shape_of};
use super::steps::{Steps, TooMany};

/// Longer conditions are cut: a model that needs more of them is told by the kernel.
const CONDITIONS_BYTES_MAX: usize = 4_000;

/// Takes away what may not stand at the top and puts in its place what can be said without it. Gives what was taken,
/// in short, where that says more.
pub(super) fn lift(
    schema: &mut Value,
    rules: &Rules,
    steps: &mut Steps,
) -> Result<Option<Value>, TooMany> {
    let lifted = |keyword: &str| rules.lifted.contains(&keyword);
    let has_lifted = |top: &Map<String, Value>| top.keys().any(|keyword| lifted(keyword));
    let mut conditions = None;
    if schema.as_object().is_some_and(has_lifted) {
        let shape = shape_of(schema, steps)?;
        conditions = Some(Value::Object(conditions_of(schema, rules, steps)?));
        if let Some(top) = schema.as_object_mut() {
            // What has been looked at is no longer known once the alternatives are gone.
            top.retain(|keyword, _| !lifted(keyword) && keyword != "unevaluatedProperties");
            put(top, shape);
        }
    }
    if let Some(top) = schema.as_object_mut().filter(|_| rules.wants_properties) {
        top.entry("properties").or_insert_with(|| json!({}));
    }
    Ok(conditions)
}

/// A schema that is not closed keeps what it said of other properties itself.
fn put(top: &mut Map<String, Value>, shape: Shape) {
    let Shape {
        properties,
        required,
        closed,
    } = shape;
    let properties = properties.into_iter();
    let properties: Map<_, _> = properties
        .map(|(key, choice): (String, PropertyChoice)| (key, choice.into_schema()))
        .collect();
    top.insert("properties".into(), properties.into());
    if required.is_empty() {
        top.remove("required");
    } else {
        let required: Vec<String> = required.into_iter().collect();
        top.insert("required".into(), required.into());
    }
    if closed {
        top.insert("additionalProperties".into(), false.into());
    }
}

/// The conditions among what is taken away: which properties go together, and what values tell them apart.
fn conditions_of(
    schema: &Value,
    rules: &Rules,
    steps: &mut Steps,
) -> Result<Map<String, Value>, TooMany> {
    let mut conditions = Map::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        if !rules.lifted.contains(&keyword.as_str()) {
            continue;
        }
        match (keyword.as_str(), value) {
            ("anyOf" | "oneOf", Value::Array(alternatives)) => {
                let short: Vec<Value> = alternatives.iter().map(short).collect();
                conditions.insert(keyword.clone(), short.into());
            }
            ("allOf", Value::Array(parts)) => {
                let mut short = vec![];
                for part in parts {
                    short.extend(choice_in(part, schema, steps)?);
                }
                if !short.is_empty() {
                    conditions.insert(keyword.clone(), short.into());
                }
            }
            ("$ref", _) => {
                let meant = choice_in(&json!({ "$ref": value }), schema, steps)?;
                conditions.extend(meant.map(|meant| (keyword.clone(), meant)));
            }
            _ => {
                conditions.insert(keyword.clone(), value.clone());
            }
        }
    }
    Ok(conditions)
}

/// What a part that always holds leaves to choose, if anything: all else is in the object.
fn choice_in(part: &Value, top: &Value, steps: &mut Steps) -> Result<Option<Value>, TooMany> {
    let reference = part.get("$ref").and_then(Value::as_str);
    let meant = reference.and_then(|reference| definition(top, reference));
    let part = meant.unwrap_or(part);
    let chooses = [
        "anyOf", "const", "enum", "if", "not", "oneOf", "allOf", "$ref",
    ];
    let any = chooses.iter().any(|keyword| part.get(keyword).is_some());
    // Many references may mean one and the same.
    steps.take_all(any.then_some(part))?;
    Ok(any.then(|| short(part)))
}

/// A schema without what the object shows: the names of properties that must be there, and fixed values.
fn short(schema: &Value) -> Value {
    let Some(keywords) = schema.as_object() else {
        return schema.clone();
    };
    let mut kept = Map::new();
    for (keyword, value) in keywords {
        let value = match (keyword.as_str(), value) {
            ("$ref" | "const" | "enum" | "not" | "required" | "title", value) => value.clone(),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                parts.iter().map(short).collect::<Vec<_>>().into()
            }
            ("properties", Value::Object(properties)) => {
                let fixed = properties
                    .iter()
                    .filter_map(|(key, it)| Some((key.clone(), fixed(it)?)));
                let fixed: Map<_, _> = fixed.collect();
                if fixed.is_empty() {
                    continue;
                }
                fixed.into()
            }
            _ => continue,
        };
        kept.insert(keyword.clone(), value);
    }
    kept.into()
}

fn fixed(property: &Value) -> Option<Value> {
    ["const", "enum"].iter().find_map(|keyword| {
        let values = property.get(keyword)?;
        Some(json!({ *keyword: values }))
    })
}

/// The description of a tool, and the conditions that its schema no longer says.
pub(super) fn describe<'a>(description: &'a str, conditions: Option<&Value>) -> Cow<'a, str> {
    let says_more = |it: &&Value| it.as_object().is_some_and(|it| !it.is_empty());
    let Some(conditions) = conditions.filter(says_more) else {
        return description.into();
    };
    let mut text = conditions.to_string();
    if text.len() > CONDITIONS_BYTES_MAX {
        text.truncate(text.floor_char_boundary(CONDITIONS_BYTES_MAX));
        text.push('…');
    }
    let gap = if description.is_empty() { "" } else { "\n\n" };
    format!("{description}{gap}The arguments must also fit this JSON Schema: {text}").into()
}
