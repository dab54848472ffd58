use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A node that every branch of `anyOf` looks into again.
fn branching() -> Value {
    let branch = |tag: u32| {
        json!({
            "type": "object",
            "properties": { "child": { "$ref": "#/$defs/node" }, "tag": { "const": tag } },
            "required": ["tag"],
        })
    };
    json!({
        "$ref": "#/$defs/node",
        "$defs": { "node": { "anyOf": [branch(1), branch(2), { "type": "string", "minLength": 9 }] } },
    })
}

fn nested(levels: usize, innermost: Value) -> Value {
    (0..levels).fold(innermost, |child, _| json!({ "tag": 2, "child": child }))
}

fn check(schema: &Value, value: &Value) -> Result<(), Misfit> {
    let schema = Schema::new(schema).expect("it is a schema");
    schema.check(value)
}

#[test]
fn branches_that_meet_again_are_looked_at_once() {
    for levels in [1, 5, 14, 60, 120] {
        assert_eq!(
            check(&branching(), &nested(levels, json!("long enough"))),
            Ok(())
        );
        let misfit = check(&branching(), &nested(levels, json!("short"))).expect_err("it is bad");
        assert!(!misfit.why.is_empty(), "{levels}");
    }
}

#[test]
fn what_cannot_be_checked_within_the_bound_is_refused_and_says_so() {
    // All refer to all: there are more ways through them than steps.
    let names: Vec<String> = (0..14).map(|number| format!("#/$defs/n{number}")).collect();
    let all: Vec<Value> = names.iter().map(|name| json!({ "$ref": name })).collect();
    let definitions: serde_json::Map<String, Value> = (0..14)
        .map(|number| (format!("n{number}"), json!({ "allOf": all })))
        .collect();
    let schema = json!({ "$ref": "#/$defs/n0", "$defs": definitions });
    let misfit = check(&schema, &json!("x")).expect_err("it takes too long");
    assert!(misfit.why.contains("steps"), "{misfit:?}");

    // The same without a circle: each refers twice to the next.
    let mut definitions: serde_json::Map<String, Value> = (0..40)
        .map(|number| {
            let next = json!({ "$ref": format!("#/$defs/n{}", number + 1) });
            (format!("n{number}"), json!({ "allOf": [next, next] }))
        })
        .collect();
    definitions.insert("n40".into(), json!({ "type": "string" }));
    let schema = json!({ "$ref": "#/$defs/n0", "$defs": definitions });
    assert_eq!(check(&schema, &json!("x")), Ok(()));
    assert!(check(&schema, &json!(1)).is_err());
}

#[test]
fn branches_without_a_circle_and_keywords_that_repeat_them_are_counted() {
    let deep = (0..60).fold(
        json!({ "properties": { "a": {} } }),
        |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }),
    );
    assert!(
        check(&deep, &json!({ "a": 1 })).is_err(),
        "it takes too long"
    );
    let shallow =
        json!({ "allOf": [{ "properties": { "a": {} } }], "unevaluatedProperties": false });
    assert_eq!(check(&shallow, &json!({ "a": 1 })), Ok(()));
    assert!(check(&shallow, &json!({ "b": 1 })).is_err());
}

#[test]
fn a_schema_that_is_a_book_or_a_heap_of_patterns_is_refused() {
    let book = json!({ "description": "x".repeat(10 * 1024 * 1024) });
    assert!(
        Schema::new(&book)
            .expect_err("it is too long")
            .contains("bytes")
    );
    let patterns: serde_json::Map<String, Value> = (0..2000)
        .map(|number| {
            (
                format!("p{number}"),
                json!({ "pattern": format!("\\w{{250}}{number}") }),
            )
        })
        .collect();
    let heap = json!({ "properties": patterns });
    assert!(
        Schema::new(&heap)
            .expect_err("they are too many")
            .contains("patterns")
    );
    assert!(Schema::new(&json!({ "pattern": "^[\\w-]{1,255}$" })).is_ok());
}

#[test]
fn a_chain_of_references_is_followed_only_so_far() {
    // Whichever end is looked at first.
    let name = |number: usize, forwards: bool| match forwards {
        true => format!("n{number:05}"),
        false => format!("n{:05}", 20_000 - number),
    };
    for forwards in [true, false] {
        let chain = |links: usize| {
            let mut definitions: serde_json::Map<String, Value> = (0..links)
                .map(|number| {
                    let next = format!("#/$defs/{}", name(number + 1, forwards));
                    (name(number, forwards), json!({ "$ref": next }))
                })
                .collect();
            definitions.insert(name(links, forwards), json!({ "type": "string" }));
            json!({ "$ref": format!("#/$defs/{}", name(0, forwards)), "$defs": definitions })
        };
        assert_eq!(check(&chain(100), &json!("x")), Ok(()));
        assert!(check(&chain(100), &json!(1)).is_err());
        assert!(Schema::new(&chain(9000)).is_err());
    }
}

#[test]
fn a_pattern_that_goes_back_over_its_text_comes_to_an_end() {
    let schema = json!({ "items": { "pattern": "^(?=(a+)+$)(a|aa)+$" } });
    let texts: Vec<Value> = (0..3000)
        .map(|_| json!(format!("{}!", "a".repeat(60))))
        .collect();
    assert!(check(&schema, &json!(texts)).is_err());
}

#[test]
fn long_values_of_usual_schemas_are_checked() {
    let row = json!({
        "type": "object",
        "properties": { "id": { "type": "integer" }, "name": { "type": "string", "pattern": "^[a-z]+$" } },
        "required": ["id"],
        "additionalProperties": false,
    });
    let schema = json!({ "type": "array", "items": row });
    let rows: Vec<Value> = (0..20_000)
        .map(|id| json!({ "id": id, "name": "abc" }))
        .collect();
    let mut rows = json!(rows);
    assert_eq!(check(&schema, &rows), Ok(()));
    rows[777]["id"] = json!("x");
    let misfit = check(&schema, &rows).expect_err("one is wrong");
    assert_eq!(misfit.place, "/777/id");
}

/// Schemas of the keywords that both evaluations know.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(true),
        json!(false),
        json!({}),
        json!({ "type": "integer" }),
        json!({ "type": ["string", "null"] }),
        json!({ "const": 1.0 }),
        json!({ "enum": ["a", 2, [1]] }),
        json!({ "minimum": 1, "exclusiveMaximum": 2.5 }),
        json!({ "maxLength": 1 }),
        json!({ "required": ["a"] }),
        json!({ "minItems": 1 }),
        json!({ "maxProperties": 1 }),
        json!({ "$ref": "#/$defs/one" }),
        json!({ "$ref": "#/$defs/two" }),
        json!({ "$ref": "#" }),
    ]);
    leaf.prop_recursive(3, 24, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            some().prop_map(|all| json!({ "anyOf": all })),
            some().prop_map(|all| json!({ "oneOf": all })),
            some().prop_map(|all| json!({ "allOf": all })),
            some().prop_map(|all| json!({ "prefixItems": all, "items": false })),
            inner.clone().prop_map(|one| json!({ "items": one })),
            inner
                .clone()
                .prop_map(|one| json!({ "properties": { "a": one }, "required": ["a"] })),
            inner
                .clone()
                .prop_map(|one| json!({ "properties": { "b": {} }, "additionalProperties": one })),
            (inner.clone(), inner.clone())
                .prop_map(|(one, two)| json!({ "if": one, "then": two, "else": false })),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(null),
        json!(1),
        json!(1.0),
        json!(2),
        json!("a"),
        json!("ab"),
    ]);
    leaf.prop_recursive(3, 16, 3, |inner| {
        let name = prop::sample::select(vec!["a", "b", "c"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..3).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn both_evaluations_come_to_the_same(
        root in any_schema(), one in any_schema(), two in any_schema(), value in any_value(),
    ) {
        let mut schema = match root.is_object() {
            true => root,
            false => json!({ "allOf": [root] }),
        };
        schema["$defs"] = json!({ "one": one, "two": two });
        let compiled = Schema::compile(&schema).expect("it is a schema");
        // Where a circle meets itself the order of looking matters, and neither is right.
        let mut walk = Walk::of(&schema);
        walk.at_root(&value);
        if !walk.has_circle() {
            let ours = evaluate::fits(&schema, &value, 1_000_000);
            prop_assert_eq!(ours, Some(compiled.validator().is_valid(&value)), "{} {}", schema, value);
        }
        prop_assert_eq!(compiled.check(&value).is_ok(), compiled.fits(&value));
    }
}

#[test]
fn a_call_that_fits_a_plain_schema_needs_no_validator() {
    let schema = Schema::new(&json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 1, "description": "a path" },
            "lines": { "type": ["integer", "null"], "minimum": 1 },
            "names": { "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 2 },
        },
        "required": ["path"],
        "additionalProperties": false,
    }));
    let schema = schema.expect("it is a schema");
    for good in [
        json!({ "path": "a" }),
        json!({ "path": "a", "lines": 3, "names": ["b", "a"] }),
        json!({ "path": "a", "lines": null }),
    ] {
        assert_eq!(schema.check(&good), Ok(()), "{good}");
        assert!(schema.fits(&good), "{good}");
    }
    assert!(schema.validator.get().is_none());
    for bad in [
        json!({}),
        json!({ "path": "" }),
        json!({ "path": "a", "lines": 0 }),
        json!({ "path": "a", "names": ["c"] }),
        json!({ "path": "a", "more": 1 }),
    ] {
        let misfit = schema.check(&bad).expect_err("it does not fit");
        assert!(!misfit.why.is_empty(), "{bad}");
        assert!(!schema.fits(&bad), "{bad}");
    }
}

/// Schemas of keywords that are plain, each with something that it may say.
fn plain_schema() -> impl Strategy<Value = Value> {
    let keyword = prop::sample::select(vec![
        ("type", json!("string")),
        ("type", json!("integer")),
        ("type", json!("number")),
        ("type", json!(["array", "null"])),
        ("type", json!("object")),
        ("minLength", json!(2)),
        ("maxLength", json!(1)),
        ("minimum", json!(2)),
        ("maximum", json!(1)),
        ("exclusiveMinimum", json!(1)),
        ("exclusiveMaximum", json!(1.5)),
        ("minItems", json!(1)),
        ("maxItems", json!(1)),
        ("uniqueItems", json!(true)),
        ("uniqueItems", json!(false)),
        ("minProperties", json!(1)),
        ("maxProperties", json!(1)),
        ("required", json!(["a"])),
        ("const", json!(1)),
        ("const", json!({ "a": 1 })),
        ("enum", json!([1, "a", null])),
        ("default", json!(0)),
        ("readOnly", json!(true)),
        ("$comment", json!("said")),
    ]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::collection::vec(keyword.clone(), 0..3).prop_map(Value::from_iter),
    ];
    leaf.prop_recursive(3, 24, 3, move |inner| {
        let name = prop::sample::select(vec!["a", "b"]);
        let named = prop::collection::btree_map(name, inner.clone(), 0..3);
        let part = prop_oneof![
            named.prop_map(|named| ("properties", json!(named))),
            inner.clone().prop_map(|it| ("additionalProperties", it)),
            inner.clone().prop_map(|it| ("items", it)),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|it| ("anyOf", it.into())),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|it| ("allOf", it.into())),
            prop::collection::vec(inner, 1..3).prop_map(|it| ("oneOf", it.into())),
            keyword.clone(),
        ];
        prop::collection::vec(part, 0..4).prop_map(Value::from_iter)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn what_is_seen_to_fit_fits(schema in plain_schema(), value in any_value()) {
        let prepared = Schema::new(&schema).expect("what is plain is a schema");
        prop_assert!(prepared.is_plain, "{}", schema);
        let validator = prepared.validator();
        prop_assert!(jsonschema::meta::is_valid(&schema), "{}", schema);
        if glance::fits(&schema, &value) {
            prop_assert!(validator.is_valid(&value), "{} {}", schema, value);
        }
    }
}
