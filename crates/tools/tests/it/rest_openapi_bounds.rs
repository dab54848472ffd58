//! OpenAPI documents that are large, crooked or both.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::rest_openapi::{document, names, read, tools};
use crate::world::World;

#[test]
fn names_are_short_and_all_different() {
    let mut paths = Map::new();
    for at in 0..50 {
        let get = json!({ "operationId": "the/same id", "responses": {} });
        paths.insert(format!("/{at}"), json!({ "get": get }));
        paths.insert(format!("/{}/{at}", "long".repeat(50)), json!({ "get": {} }));
    }
    let read = tools(&Value::Object(paths), &json!({}));
    let mut names = names(&read);
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 100);
}

#[test]
fn a_document_that_grows_when_it_is_written_out_is_bounded() {
    // Each schema holds the next one ten times.
    let mut schemas = Map::new();
    for at in 0..30 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", at + 1) });
        let properties: Map<String, Value> =
            (0..10).map(|n| (format!("p{n}"), next.clone())).collect();
        schemas.insert(
            format!("S{at}"),
            json!({ "type": "object", "properties": properties }),
        );
    }
    schemas.insert("S30".into(), json!({ "type": "string" }));
    let schema = json!({ "$ref": "#/components/schemas/S0" });
    let body = json!({ "content": { "application/json": { "schema": schema } } });
    let mut paths = Map::new();
    for at in 0..200 {
        paths.insert(
            format!("/p{at}"),
            json!({ "post": { "requestBody": body } }),
        );
    }
    let began = Instant::now();
    let read = tools(&Value::Object(paths), &json!({ "schemas": schemas }));
    assert_eq!(read.tools.len(), 200);
    let defined = read.tools[0].spec().schema["$defs"]
        .as_object()
        .map(Map::len);
    assert_eq!(defined, Some(31));
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    let many: Map<String, Value> = (0..2_001)
        .map(|at| (format!("/{at}"), json!({ "get": {} })))
        .collect();
    let error = document(&Value::Object(many), &json!({}))
        .check()
        .expect_err("too many");
    assert!(error.to_string().contains("2001 operations"), "{error}");
}

/// Any JSON, made of the words of OpenAPI more often than not.
fn crooked() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("$ref"),
        Just("#/paths"),
        Just("#/paths/~1a"),
        Just("#"),
        Just("get"),
        Just("parameters"),
        Just("requestBody"),
        Just("content"),
        Just("application/json"),
        Just("schema"),
        Just("properties"),
        Just("items"),
        Just("in"),
        Just("path"),
        Just("query"),
        Just("name"),
        Just("type"),
        Just("object"),
    ];
    let leaf = prop_oneof![
        word.clone().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let fields =
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner.clone(), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn a_crooked_document_is_read_or_refused(a in crooked(), b in crooked()) {
        let crooked = document(&json!({ "/a": a, "/b/{x}": { "get": b } }), &b);
        if let Ok(read) = read(&crooked) {
            World::of(read.tools);
        }
    }
}
