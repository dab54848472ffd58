use bonded_kernel::ToolEffect;
use serde_json::{Map, json};

use super::steps::STEPS_MAX;
use super::*;
use crate::dialect::DIALECTS;

fn spec(schema: Value) -> ToolSpec {
    ToolSpec {
        name: "t".into(),
        description: String::new(),
        schema,
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
        deferred: false,
    }
}

/// An object of members that are made by their numbers.
fn numbered(count: usize, member: impl Fn(usize) -> (String, Value)) -> Value {
    Value::Object((0..count).map(member).collect::<Map<_, _>>())
}

fn closed(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Alternatives that share no key.
fn many_keys(n: usize) -> Value {
    let alternative = |at: usize| closed(&numbered(20, |key| (format!("k{at}_{key}"), json!({}))));
    json!({ "type": "object", "anyOf": (0..n).map(alternative).collect::<Vec<_>>() })
}

/// Alternatives that say each something else of one key.
fn many_schemas(n: usize) -> Value {
    let alternative = |at: usize| {
        closed(&json!({ "a": { "type": "string", "title": "A word", "maxLength": at } }))
    };
    json!({ "type": "object", "oneOf": (0..n).map(alternative).collect::<Vec<_>>() })
}

/// One definition with many properties that is meant many times.
fn many_copies(n: usize) -> Value {
    let wide = numbered(n, |key| (format!("k{key}"), json!({ "type": "string" })));
    let parts = vec![json!({ "$ref": "#/$defs/A" }); n];
    json!({ "type": "object", "allOf": parts, "$defs": { "A": { "properties": wide, "enum": vec![0; n] } } })
}

/// Definitions that refer to one another in pairs, each with the last part of its place in common.
fn many_names(n: usize) -> Value {
    let property = |at: usize| (format!("p{at}"), json!({ "$ref": format!("#/x/{at}/a") }));
    let place = |at: usize| {
        let next = format!("#/x/{}/a", at ^ 1);
        (
            at.to_string(),
            json!({ "a": { "properties": { "b": { "$ref": next } } } }),
        )
    };
    json!({ "type": "object", "properties": numbered(n, property), "x": numbered(n, place) })
}

/// One long text that many spellings of one place mean.
fn many_texts(n: usize) -> Value {
    let spelled = |at: usize| {
        let letter = |bit: usize| if at >> bit & 1 == 1 { "%61" } else { "a" };
        (0..12).map(letter).collect::<String>()
    };
    let properties = numbered(n, |at| {
        (
            format!("p{at}"),
            json!({ "$ref": format!("#/{}", spelled(at)) }),
        )
    });
    json!({ "type": "object", "properties": properties, "aaaaaaaaaaaa": { "description": "x".repeat(100 * n) } })
}

/// Keys that are not taken, all of them demanded.
fn many_odd_keys(n: usize) -> Value {
    let keys: Vec<String> = (0..n).map(|at| format!("key {at}")).collect();
    let properties = numbered(n, |at| (keys[at].clone(), json!({})));
    json!({ "type": "object", "properties": properties, "required": keys })
}

/// Parts within parts that all hold.
fn deep(n: usize) -> Value {
    let mut schema = json!({ "type": "object" });
    for at in 0..n.min(100) {
        let properties = numbered(n / 100 + 1, |key| {
            (format!("k{at}_{key}"), json!({ "enum": [at] }))
        });
        schema = json!({ "type": "object", "properties": properties, "anyOf": [schema, true] });
    }
    schema
}

/// The steps that it takes, and why it was left out.
fn steps_of(schema: Value, dialect: Dialect) -> (u64, Option<Unfit>) {
    let spec = spec(schema);
    let mut steps = Steps::new();
    let fitted = fit_within(&spec, dialect, &mut steps);
    (steps.taken(), fitted.err())
}

#[test]
fn whatever_a_schema_is_it_takes_as_many_steps_as_it_has_parts_or_is_left_out() {
    type Made = fn(usize) -> Value;
    // What is put together in place costs as much more as there is more of it; what has to be copied is bounded.
    let cases: [(&str, Made, bool); 7] = [
        ("keys", many_keys, true),
        ("schemas", many_schemas, true),
        ("names", many_names, true),
        ("odd keys", many_odd_keys, true),
        ("deep", deep, true),
        ("copies", many_copies, false),
        ("texts", many_texts, false),
    ];
    for (name, made, is_linear) in cases {
        for (dialect, _) in DIALECTS {
            let (small, small_unfit) = steps_of(made(200), dialect);
            let (large, large_unfit) = steps_of(made(800), dialect);
            assert!(large <= 2 * STEPS_MAX, "{name} {dialect:?}: {large}");
            if is_linear {
                assert_eq!(
                    (small_unfit, large_unfit),
                    (None, None),
                    "{name} {dialect:?}"
                );
                assert!(
                    large <= 5 * small,
                    "{name} {dialect:?}: {small}, then {large}"
                );
            }
        }
    }
}

#[test]
fn a_tool_that_takes_too_many_steps_is_left_out_and_named() {
    for made in [many_copies, many_texts] {
        let spec = spec(made(4_000));
        for (dialect, _) in DIALECTS {
            let why = fit(&spec, dialect).expect_err("too many steps").to_string();
            assert!(why.starts_with("the tool \"t\" is left out: it"), "{why}");
        }
    }
}
