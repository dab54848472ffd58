//! One row for each rule: what a tool has, and what is sent.

use bonded_kernel::Dialect::{self, Chat, Gemini, Messages, Responses};
use bonded_transport::dialect::fit;
use serde_json::{Value, json};

use crate::{check_request, checker, dialects, spec};

const OPENAI: &[Dialect] = &[Chat, Responses];
/// Those that there are when this is written: what is said of all may not hold for another one.
const ALL: &[Dialect] = &[Chat, Responses, Messages, Gemini];

/// Those dialects send the second schema for the first; the others send the first.
fn check(changed: &[Dialect], schema: &Value, expected: &Value) {
    for dialect in dialects() {
        let spec = spec("t", schema);
        let fitted = fit(&spec, dialect).expect("it can be made to fit");
        let is_changed = changed.contains(&dialect);
        let expected = if is_changed { expected } else { schema };
        assert_eq!(*fitted.schema, *expected, "{dialect:?}: {schema}");
        let is_borrowed = matches!(fitted.schema, std::borrow::Cow::Borrowed(_));
        assert_eq!(is_borrowed, !is_changed, "{dialect:?}: {schema}");
        checker::check(dialect, &fitted.name, &fitted.schema);
        check_request(dialect, &spec);
    }
}

/// All dialects send it as it is.
fn check_same(schema: &Value) {
    check(&[], schema, schema);
}

fn with(property: &Value) -> Value {
    json!({ "type": "object", "properties": { "a": property } })
}

#[test]
fn what_every_service_takes_is_sent_as_it_is() {
    for property in [
        json!({}),
        json!({ "type": ["string", "null"], "default": null }),
        json!({ "const": 1 }),
        json!({ "enum": ["a", 1, null, true] }),
        json!({ "type": "string", "format": "uri", "pattern": "^a/(?:\\d+|\\.)$" }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "title": "A" }),
        json!({ "oneOf": [{ "type": "string" }, { "not": {} }] }),
        json!({ "allOf": [{ "type": "string" }] }),
        json!({ "type": "object" }),
        json!({ "type": "object", "additionalProperties": { "type": "string" }, "properties": { "a b": {} } }),
        json!({ "type": "array", "items": {}, "uniqueItems": true, "contains": { "type": "string" } }),
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        json!({ "type": "integer", "exclusiveMinimum": 0, "multipleOf": 2 }),
        json!({ "if": { "type": "string" }, "then": { "minLength": 1 } }),
        // Data that only looks like a schema.
        json!({ "const": { "type": "array", "items": [] } }),
        json!({ "enum": [{ "$ref": "#/nowhere" }], "default": { "pattern": "\\p{L}" } }),
    ] {
        check_same(&with(&property));
    }
    check_same(&json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/A", "description": "An A.", "default": null } },
        "$defs": { "A": { "type": "object", "properties": { "next": { "$ref": "#/$defs/A" } } } },
        "required": ["a"],
        "additionalProperties": false,
    }));
}

#[test]
fn the_top_has_properties() {
    check(
        OPENAI,
        &json!({ "type": "object" }),
        &json!({ "type": "object", "properties": {} }),
    );
}

#[test]
fn an_array_says_what_its_items_are() {
    for (part, expected) in [
        (
            json!({ "type": "array" }),
            json!({ "type": "array", "items": {} }),
        ),
        (
            json!({ "type": ["string", "array"] }),
            json!({ "type": ["string", "array"], "items": {} }),
        ),
        (
            json!({ "anyOf": [{ "type": "array", "prefixItems": [{}] }] }),
            json!({ "anyOf": [{ "type": "array", "prefixItems": [{}], "items": {} }] }),
        ),
    ] {
        check(OPENAI, &with(&part), &with(&expected));
    }
    check(
        OPENAI,
        &json!({ "type": "object", "properties": {}, "$defs": { "A": { "type": "array" } } }),
        &json!({ "type": "object", "properties": {}, "$defs": { "A": { "type": "array", "items": {} } } }),
    );
}

#[test]
fn patterns_that_not_every_machine_reads_are_told_in_words() {
    for pattern in [
        r"^\p{L}+$",
        r"(?<year>\d{4})",
        r"(?i)a",
        r"a\z",
        r"(?<=a)b",
        r"\u0041",
    ] {
        check(
            OPENAI,
            &with(&json!({ "type": "string", "pattern": pattern, "description": "A word." })),
            &with(
                &json!({ "type": "string", "description": format!("A word. Pattern: {pattern}") }),
            ),
        );
    }
    check(
        OPENAI,
        &with(&json!({ "type": "object", "additionalProperties": false,
            "patternProperties": { r"^\p{L}$": {}, "^a": {} } })),
        &with(&json!({ "type": "object", "patternProperties": { "^a": {} } })),
    );
}

#[test]
fn a_part_of_a_schema_is_an_object() {
    check(
        &[Chat, Responses, Gemini],
        &json!({ "type": "object", "properties": { "a": true, "b": false }, "additionalProperties": false }),
        &json!({ "type": "object", "properties": { "a": {}, "b": { "not": {} } }, "additionalProperties": false }),
    );
}

#[test]
fn older_drafts_are_written_as_the_newest_one() {
    let draft = |number: &str, part: &Value| {
        let mut schema = with(part);
        schema["$schema"] = format!("http://json-schema.org/{number}/schema#").into();
        schema
    };
    check(
        ALL,
        &draft(
            "draft-07",
            &json!({ "type": "array", "items": [{ "type": "string" }], "additionalItems": { "type": "number" } }),
        ),
        &with(
            &json!({ "type": "array", "prefixItems": [{ "type": "string" }], "items": { "type": "number" } }),
        ),
    );
    check(
        ALL,
        &draft(
            "draft-04",
            &json!({ "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false }),
        ),
        &with(&json!({ "exclusiveMinimum": 0, "maximum": 9 })),
    );
}

#[test]
fn references_point_to_definitions_at_the_top() {
    check(
        ALL,
        &json!({ "type": "object",
            "properties": { "a": { "$ref": "#/definitions/A" }, "b": { "$ref": "#/properties/a" } },
            "definitions": { "A": { "type": "string" }, "B": {} } }),
        &json!({ "type": "object",
            "properties": { "a": { "$ref": "#/$defs/A" }, "b": { "$ref": "#/$defs/a" } },
            "$defs": { "A": { "type": "string" }, "a": { "$ref": "#/$defs/A" } } }),
    );
    check(
        ALL,
        &json!({ "type": "object", "properties": { "next": { "$ref": "#" } } }),
        &json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/whole" } },
            "$defs": { "whole": { "type": "object", "properties": { "next": { "$ref": "#/$defs/whole" } } } } }),
    );
    check(
        ALL,
        &json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/x~1z%20w" } },
            "$defs": { "x/z w": { "type": "string" } } }),
        &json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/x1zw" } },
            "$defs": { "x1zw": { "type": "string" } } }),
    );
}

#[test]
fn a_copy_says_nothing_of_the_whole_document() {
    let next = |to: &str| json!({ "next": { "$ref": to }, "a": { "$ref": "#/$defs/A" } });
    check(
        ALL,
        &json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:tool", "type": "object",
            "properties": next("#"), "$defs": { "A": { "type": "string" } } }),
        &json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:tool", "type": "object",
            "properties": next("#/$defs/whole"), "$defs": {
                "A": { "type": "string" },
                "whole": { "type": "object", "properties": next("#/$defs/whole") } } }),
    );
}

#[test]
fn what_only_an_alternative_allows_is_not_forbidden_with_it_gone() {
    check(
        ALL,
        &json!({ "type": "object", "unevaluatedProperties": false,
            "anyOf": [{ "additionalProperties": true, "required": ["a"] }] }),
        &json!({ "type": "object", "properties": {}, "required": ["a"] }),
    );
    check(
        &[Messages],
        &json!({ "type": "object", "properties": { "a b": {} }, "additionalProperties": false,
            "patternProperties": { "^x": {} } }),
        &json!({ "type": "object", "properties": { "a_b": {} } }),
    );
}

#[test]
fn beside_a_reference_there_are_only_words_for_the_reader() {
    let defs = json!({ "A": { "type": "object", "properties": {} } });
    let schema = |part: &Value| {
        let mut schema = with(part);
        schema["$defs"] = defs.clone();
        schema
    };
    check(
        &[Gemini],
        &schema(&json!({ "$ref": "#/$defs/A", "title": "A", "description": "An A." })),
        &schema(&json!({ "$ref": "#/$defs/A", "description": "An A." })),
    );
    check(
        &[Gemini],
        &schema(&json!({ "$ref": "#/$defs/A", "required": ["x"] })),
        &schema(&json!({ "anyOf": [{ "$ref": "#/$defs/A" }], "required": ["x"] })),
    );
}

#[test]
fn a_circle_has_a_property_that_may_be_absent() {
    let schema = |node: &Value| {
        json!({ "type": "object", "properties": { "tree": { "$ref": "#/$defs/Node" } }, "required": ["tree"],
            "$defs": { "Node": node } })
    };
    let node = |required: &[&str]| {
        json!({ "type": "object", "required": required, "properties": {
            "name": { "type": "string" },
            "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } } })
    };
    check(
        &[Gemini],
        &schema(&node(&["name", "children"])),
        &schema(&node(&["name"])),
    );
    check_same(&schema(&node(&["name"])));
    check(
        &[Gemini],
        &schema(&json!({ "type": "array", "items": { "$ref": "#/$defs/Node" } })),
        &schema(&json!({ "type": "array", "items": {} })),
    );
}

#[test]
fn definitions_that_need_each_other_let_go_of_each_other() {
    let schema = |a: &[&str], b: &[&str]| {
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } }, "$defs": {
            "A": { "type": "object", "required": a, "properties": { "b": { "$ref": "#/$defs/B" }, "end": { "$ref": "#/$defs/End" } } },
            "B": { "type": "object", "required": b, "properties": { "a": { "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }] } } },
            "End": { "type": "string" } } })
    };
    check(
        &[Gemini],
        &schema(&["b", "end"], &["a"]),
        &schema(&["end"], &[]),
    );
    check_same(&schema(&["b", "end"], &[]));
}

#[test]
fn what_allows_more_forbids_no_more() {
    check(
        OPENAI,
        &with(
            &json!({ "oneOf": [{ "type": "string", "pattern": "\\p{L}" }, { "type": "string", "maxLength": 3 }],
            "not": { "const": "x" }, "allOf": [{ "not": {} }] }),
        ),
        &with(
            &json!({ "anyOf": [{ "type": "string", "description": "Pattern: \\p{L}" }, { "type": "string", "maxLength": 3 }],
            "allOf": [{ "not": {} }] }),
        ),
    );
}

#[test]
fn a_union_at_the_top_becomes_one_object() {
    for (schema, expected, told) in [
        (
            json!({ "type": "object", "properties": { "a": {}, "b": {} }, "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            json!({ "type": "object", "properties": { "a": {}, "b": {} } }),
            r#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        ),
        (
            json!({ "type": "object", "oneOf": [
                { "properties": { "kind": { "const": "file" }, "path": { "type": "string" }, "n": { "type": "integer" } },
                    "required": ["kind", "path"], "additionalProperties": false },
                { "properties": { "kind": { "const": "url" }, "url": { "type": "string" }, "n": { "type": "string" } },
                    "required": ["kind", "url"], "additionalProperties": false } ] }),
            json!({ "type": "object", "properties": {
                "kind": { "enum": ["file", "url"] }, "path": { "type": "string" }, "url": { "type": "string" },
                "n": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } },
                "required": ["kind"], "additionalProperties": false }),
            r#"{"oneOf":[{"properties":{"kind":{"const":"file"}},"required":["kind","path"]},{"properties":{"kind":{"const":"url"}},"required":["kind","url"]}]}"#,
        ),
        (
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "allOf": [
                { "$ref": "#/$defs/B" }, { "properties": { "a": { "minLength": 1 } } } ],
                "$defs": { "B": { "properties": { "b": { "type": "number" } }, "required": ["b"] } } }),
            json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": 1 }, "b": { "type": "number" } },
                "required": ["b"],
                "$defs": { "B": { "properties": { "b": { "type": "number" } }, "required": ["b"] } } }),
            "",
        ),
        (
            json!({ "type": "object", "$ref": "#/$defs/B", "$defs": { "B": { "properties": { "b": {} } } } }),
            json!({ "type": "object", "properties": { "b": {} }, "$defs": { "B": { "properties": { "b": {} } } } }),
            "",
        ),
    ] {
        check(ALL, &schema, &expected);
        for dialect in dialects() {
            let spec = spec("t", &schema);
            let description = fit(&spec, dialect)
                .expect("it fits")
                .description
                .into_owned();
            let expected = match told {
                "" => "Does it.".to_owned(),
                told => format!("Does it.\n\nThe arguments must also fit this JSON Schema: {told}"),
            };
            assert_eq!(description, expected, "{dialect:?}");
        }
    }
}

#[test]
fn listed_and_forbidden_arguments_are_told_in_words() {
    for keyword in ["enum", "const", "not"] {
        let value = match keyword {
            "enum" => json!([{ "a": 1 }]),
            "const" => json!({ "a": 1 }),
            _ => json!({ "required": ["a"] }),
        };
        let mut schema = with(&json!({}));
        schema[keyword] = value.clone();
        check(OPENAI, &schema, &with(&json!({})));
        let spec = spec("t", &schema);
        let fitted = fit(&spec, Chat).expect("it fits");
        let told = json!({ keyword: value }).to_string();
        assert!(
            fitted.description.ends_with(&told),
            "{}",
            fitted.description
        );
    }
}

#[test]
fn properties_have_keys_of_few_characters() {
    let long = "x".repeat(70);
    let schema = json!({ "type": "object", "required": ["$top", "plain.key-1"], "properties": {
        "$top": {}, "filter[a]": {}, "filter_a_": {}, "plain.key-1": {}, "": {}, long.clone(): {} } });
    let spec = spec("t", &schema);
    let fitted = fit(&spec, Messages).expect("it fits");
    let keys: Vec<&String> = fitted.schema["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(keys[..2], ["_", "_top"], "{keys:?}");
    assert!(
        keys[2].starts_with("filter_a__") && keys[2].len() == 18 || keys[2] == "filter_a_",
        "{keys:?}"
    );
    assert!(
        keys.iter()
            .any(|key| key.len() == 64 && key.starts_with("xxx")),
        "{keys:?}"
    );
    assert_eq!(keys.len(), 6);
    assert_eq!(fitted.schema["required"], json!(["_top", "plain.key-1"]));
    checker::check(Messages, "t", &fitted.schema);
    let own =
        json!({ "$top": 1, "filter[a]": 2, "filter_a_": 3, long: 4, "plain.key-1": 5, "_top": 6 });
    let sent = fitted
        .swap_keys(&own.to_string())
        .expect("keys that are changed");
    assert!(
        sent.contains(r#""_top":1"#) && sent.contains(r#""$top":6"#),
        "{sent}"
    );
    let back = fitted.swap_keys(&sent).expect("keys that are changed");
    assert_eq!(serde_json::from_str::<Value>(&back).expect("JSON"), own);
    for dialect in [Chat, Responses, Gemini] {
        let fitted = fit(&spec, dialect).expect("it fits");
        assert_eq!(*fitted.schema, schema);
    }
}

#[test]
fn conditions_speak_of_the_keys_that_are_sent() {
    let schema = json!({ "type": "object", "properties": { "a b": {} }, "dependentRequired": { "a b": ["c"] },
        "anyOf": [{ "required": ["a b"] }, { "properties": { "c d": { "const": 1 } } }] });
    let spec = spec("t", &schema);
    let fitted = fit(&spec, Messages).expect("it fits");
    assert_eq!(
        *fitted.schema,
        json!({ "type": "object", "properties": { "a_b": {}, "c_d": { "const": 1 } } })
    );
    let told = r#"{"anyOf":[{"required":["a_b"]},{"properties":{"c_d":{"const":1}}}]}"#;
    assert!(fitted.description.ends_with(told), "{}", fitted.description);
}

#[test]
fn names_begin_with_a_letter_where_they_must() {
    for (name, expected) in [
        ("1st__tool", "_1st__tool"),
        ("-a", "_-a"),
        ("a1", "a1"),
        ("_a", "_a"),
    ] {
        for dialect in dialects() {
            let spec = spec(name, &with(&json!({})));
            let fitted = fit(&spec, dialect).expect("it fits");
            let expected = if dialect == Gemini { expected } else { name };
            assert_eq!(fitted.name, expected, "{dialect:?}");
        }
    }
}

#[test]
fn a_tool_that_cannot_be_made_to_fit_says_why() {
    let no_object = json!({ "type": "string" });
    // Each place that is referred to holds all that come after it.
    let deep = (0..400).fold(json!({ "type": "string" }), |inner, n| {
        json!({ "type": "object", "properties": { "x": inner, "y": { "$ref": format!("#{}", "/properties/x".repeat(n % 100)) } } })
    });
    for (schema, why) in [(no_object, "not an object"), (deep, "too long")] {
        for dialect in dialects() {
            let error = fit(&spec("t", &schema), dialect).expect_err("unfit");
            assert_eq!(error.name, "t");
            assert!(error.why.contains(why), "{dialect:?}: {}", error.why);
        }
    }
}
