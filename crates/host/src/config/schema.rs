//! The configuration as JSON Schema, for editors: from the table of keys and that of options.
//!
//! It is of one file, and a configuration is several: what only all of them together must have is not in it. An unknown
//! key is refused here, where the reader only warns.

use bonded_kernel::{described, or_null};
use serde_json::{Map, Value, json};

use super::check::{BOUND, TOOL_NAME_PATTERN};
use super::known::{ALIASES, ConfigKey, ROOT};
use super::options::{OptionRow, TABLE, in_any_case, row_schema};
use super::shape::{ValueShape, WITHOUT_EFFECT};
use super::{KeyPath, expand};

/// A text with a variable in it, which nobody can judge before it is put in.
const VARIABLE: &str = r"\$\{";

/// The addresses that a provider may have.
const WEB: &str = "^https?://";

/// A file of the configuration as JSON Schema.
pub fn config_schema() -> Value {
    let mut schema = of_shape(ROOT, &KeyPath::root());
    schema["title"] = "A configuration of bonded".into();
    schema["description"] = "`.ai-agent.json`: providers, tools, and defaults of runs".into();
    schema
}

/// The schema of what stands at a path. Null is taken everywhere below the top: it takes back what a lower layer says.
fn at(shape: ValueShape, path: &KeyPath) -> Value {
    let dotted = path.keys().join(".");
    match option_at(&dotted) {
        Some(row) => with_variables(row_schema(row), path),
        None => or_null(of_shape(shape, path)),
    }
}

/// The option that a path sets.
fn option_at(dotted: &str) -> Option<&'static OptionRow> {
    TABLE.iter().find(|row| row.config.contains(&dotted))
}

fn of_shape(shape: ValueShape, path: &KeyPath) -> Value {
    match shape {
        ValueShape::Any => json!({}),
        ValueShape::Text => json!({ "type": "string" }),
        ValueShape::Bool => json!({ "type": "boolean" }),
        ValueShape::Number => json!({ "type": "number" }),
        ValueShape::Price => json!({ "type": "number", "minimum": 0 }),
        ValueShape::Count => json!({ "type": "integer", "minimum": 1, "maximum": u64::MAX }),
        ValueShape::Measured(measure, min) => measure.schema(min..=u64::MAX),
        ValueShape::Port => json!({ "type": "integer", "minimum": 1, "maximum": 65535 }),
        ValueShape::Word(words) => with_variables(json!({ "enum": words() }), path),
        ValueShape::WordList(words) => {
            let word = with_variables(json!({ "enum": words() }), path);
            json!({ "type": "array", "items": word })
        }
        ValueShape::AnyCase(words) => with_variables(in_any_case(&words()), path),
        ValueShape::AnyCaseList(words) => {
            let word = with_variables(in_any_case(&words()), path);
            json!({ "type": "array", "items": word })
        }
        ValueShape::Http => with_variables(json!({ "type": "string", "pattern": WEB }), path),
        ValueShape::TextList => texts(),
        ValueShape::TextOrList => json!({ "anyOf": [{ "type": "string" }, texts()] }),
        ValueShape::Reasoning => {
            let one = json!({ "type": ["number", "string", "null"] });
            let four = json!({ "type": "array", "items": one, "minItems": 4, "maxItems": 4 });
            json!({ "anyOf": [one, four] })
        }
        ValueShape::AnyObject => json!({ "type": "object" }),
        ValueShape::Object(keys) => object(keys, path),
        ValueShape::Map(inside) => map(*inside, path),
        ValueShape::Defaults => defaults(path),
        ValueShape::Unsupported(why) => described(json!({ "deprecated": true }), why),
    }
}

fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

/// The same, or a text with a variable, where variables are put in.
fn with_variables(mut schema: Value, path: &KeyPath) -> Value {
    if expand::is_left_alone(path) {
        return schema;
    }
    let variable = json!({ "type": "string", "pattern": VARIABLE });
    // What people are told stays outside, where editors look for it.
    let mut whole = json!({});
    for keyword in ["description", "default"] {
        if let Some(value) = schema.as_object_mut().and_then(|it| it.remove(keyword)) {
            whole[keyword] = value;
        }
    }
    whole["anyOf"] = json!([schema, variable]);
    whole
}

fn object(keys: &[ConfigKey], path: &KeyPath) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut schema = at(key.shape, &path.child(key.name));
        if !key.help.is_empty() {
            schema = described(schema, key.help);
        }
        properties.insert(key.name.into(), schema);
    }
    for alias in ALIASES.iter().filter(|alias| alias.stands_at(path)) {
        let meant = properties.get(alias.meant).cloned().unwrap_or_default();
        let help = format!("Another spelling of {}", alias.meant);
        properties.insert(alias.written.into(), described(meant, &help));
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Names that become part of those of tools have only some letters.
fn map(inside: ValueShape, path: &KeyPath) -> Value {
    let mut schema = json!({
        "type": "object",
        "additionalProperties": at(inside, &path.child("*")),
    });
    if let [section] = path.keys()
        && BOUND.contains(&section.as_str())
    {
        schema["propertyNames"] = json!({ "pattern": TOOL_NAME_PATTERN });
    }
    schema
}

/// The options that the configuration may set there.
fn defaults(path: &KeyPath) -> Value {
    let mut properties = Map::new();
    let prefix = format!("{}.", path.keys().join("."));
    for row in TABLE {
        for key in row.config.iter().filter_map(|it| it.strip_prefix(&prefix)) {
            let schema = with_variables(row_schema(row), &path.child(key));
            properties.insert(key.into(), schema);
        }
    }
    for key in WITHOUT_EFFECT {
        let schema = described(json!({ "deprecated": true }), "this has no effect here");
        properties.insert(key.into(), schema);
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}
