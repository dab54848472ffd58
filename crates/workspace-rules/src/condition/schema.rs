//! Conditions as JSON Schema, for editors.
//!
//! Which comparisons there are, and with what, is asked of the reader itself: a value of each type is shown to it.

use serde_json::{Map, Value, json};

use super::compare::{OPS, Op};
use super::field::{BODY, Field, METADATA, PLAIN, Plain, Sort};
use super::read::{CONDITION_VALUE_BYTES_MAX, JOINTS, NAME_BYTES_MAX, PATTERN_BYTES_MAX, operand};

const SORTS: [Sort; 5] = [
    Sort::Id,
    Sort::Text,
    Sort::Texts,
    Sort::Number,
    Sort::Anything,
];

/// A value of each type that is no list. The text is an id and a pattern too.
fn samples() -> [(&'static str, Value); 5] {
    [
        ("null", Value::Null),
        ("boolean", json!(true)),
        ("number", json!(1)),
        ("string", json!("6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11")),
        ("object", json!({})),
    ]
}

/// The definitions that a rule refers to.
pub(crate) fn definitions() -> Value {
    let itself = json!({ "$ref": "#/$defs/condition" });
    let joint = |name: &str| {
        let inside = match name {
            "not" => itself.clone(),
            _ => json!({ "type": "array", "items": itself }),
        };
        json!({
            "type": "object",
            "properties": { name: inside },
            "required": [name],
            "additionalProperties": false,
        })
    };
    let mut forms: Vec<Value> = JOINTS.iter().map(|name| joint(name)).collect();
    forms.push(json!({ "$ref": "#/$defs/comparison" }));
    forms.push(equalities());
    json!({
        "condition": {
            "description": "all, any, not, a comparison {field, op, value}, or fields with the values that they must have",
            "anyOf": forms,
        },
        "comparison": comparison(),
    })
}

/// `{"note.kind": "note"}`: all of these are equal.
fn equalities() -> Value {
    let mut properties = Map::new();
    for (name, field) in PLAIN {
        let sort = Field::Plain(field).sort();
        properties.insert(name.into(), compared_with(sort, Op::Eq));
    }
    let mut free = Map::new();
    free.insert(free_pattern(), compared_with(Sort::Anything, Op::Eq));
    json!({
        "type": "object",
        "properties": properties,
        "patternProperties": free,
        "additionalProperties": false,
    })
}

/// `{"field": …, "op": …, "value": …}`: an operation that suits the field, and a value that suits both.
fn comparison() -> Value {
    let ops: Vec<&str> = OPS.iter().map(|(name, _)| *name).collect();
    let by_sort: Vec<Value> = SORTS
        .into_iter()
        .map(|sort| {
            json!({
                "if": { "properties": { "field": names(sort) }, "required": ["field"] },
                "then": { "anyOf": operations(sort) },
            })
        })
        .collect();
    let all: Vec<Value> = SORTS.into_iter().map(names).collect();
    json!({
        "type": "object",
        "properties": {
            "field": { "anyOf": all },
            "op": { "enum": ops },
            "value": {},
        },
        "required": ["field", "op"],
        "additionalProperties": false,
        "allOf": by_sort,
    })
}

/// The fields of a sort, by their names.
fn names(sort: Sort) -> Value {
    let is_of = |field: &Plain| Field::Plain(*field).sort() == sort;
    let plain = PLAIN.iter().filter(|(_, field)| is_of(field));
    let names: Vec<&str> = plain.map(|(name, _)| *name).collect();
    match sort {
        Sort::Anything => json!({ "type": "string", "pattern": free_pattern() }),
        Sort::Id | Sort::Text | Sort::Texts | Sort::Number => json!({ "enum": names }),
    }
}

/// Fields whose keys are free: any key of metadata, and a path of keys in what was sent.
fn free_pattern() -> String {
    let written = |begin: &str| begin.replace('.', r"\.");
    let (metadata, body) = (written(METADATA), written(BODY));
    let (key_max, path_max) = (NAME_BYTES_MAX - METADATA.len(), NAME_BYTES_MAX - BODY.len());
    format!(r"^({metadata}[\s\S]{{1,{key_max}}}|{body}(?=[\s\S]{{1,{path_max}}}$)[^.]+(\.[^.]+)*)$")
}

/// The operations of a sort, each with the values that it takes.
fn operations(sort: Sort) -> Vec<Value> {
    let suitable = OPS.iter().filter(|(_, op)| op.suits(sort));
    suitable
        .map(|(name, op)| {
            let mut operation = json!({
                "properties": { "op": { "const": name }, "value": compared_with(sort, *op) },
            });
            // That a field is there is what one asks for.
            if *op != Op::Exists {
                operation["required"] = json!(["value"]);
            }
            operation
        })
        .collect()
}

/// The values that a field of this sort is compared with so, as the reader takes them.
fn compared_with(sort: Sort, op: Op) -> Value {
    let takes = |value: &Value| operand(sort, op, value).is_ok();
    let types = |wrap: fn(Value) -> Value| -> Vec<&'static str> {
        let taken = samples()
            .into_iter()
            .filter(|(_, it)| takes(&wrap(it.clone())));
        taken.map(|(name, _)| name).collect()
    };
    let mut alone: Vec<&str> = types(|it| it);
    let members: Vec<&str> = types(|it| json!([it]));
    let mut schema = json!({});
    // What may be anything may be a list of lists too.
    let is_any = alone.len() == samples().len() && members.len() == samples().len();
    if !members.is_empty() && !is_any {
        alone.push("array");
        schema["items"] = json!({ "type": members });
    }
    if !is_any {
        schema["type"] = json!(alone);
    }
    schema["maxLength"] = json!(match op == Op::Matches {
        true => PATTERN_BYTES_MAX,
        false => CONDITION_VALUE_BYTES_MAX,
    });
    if sort == Sort::Id && op != Op::Exists {
        schema["pattern"] = bonded_kernel::ID_PATTERN.into();
        if let Some(items) = schema.get_mut("items") {
            items["pattern"] = bonded_kernel::ID_PATTERN.into();
        }
    }
    schema
}
