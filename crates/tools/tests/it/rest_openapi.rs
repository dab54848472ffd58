//! OpenAPI documents: which tools they make, and what those send.

use std::sync::Arc;

use bonded_kernel::ToolEffect;
use bonded_tools::Queues;
use bonded_tools::rest::{OpenapiDocument, OpenapiTools, RestEndpoints, RestError, system_lookup};
use serde_json::{Value, json};

use crate::rest_server::Server;
use crate::world::World;

pub(crate) fn read(document: &OpenapiDocument) -> Result<OpenapiTools, RestError> {
    let queues = Queues::new([]).expect("the default queue is usable");
    RestEndpoints::new(Arc::new(queues), system_lookup()).openapi(document)
}

/// A document with these paths and components.
pub(crate) fn document(paths: &Value, components: &Value) -> OpenapiDocument {
    let document = json!({
        "openapi": "3.0.3",
        "servers": [{ "url": "http://{host}/v1", "variables": { "host": { "default": "api.example" } } }],
        "paths": paths,
        "components": components,
    });
    OpenapiDocument::new("shop", document)
}

pub(crate) fn tools(paths: &Value, components: &Value) -> OpenapiTools {
    read(&document(paths, components)).expect("the document is good")
}

pub(crate) fn names(read: &OpenapiTools) -> Vec<&str> {
    read.tools
        .iter()
        .map(|tool| tool.spec().name.as_str())
        .collect()
}

fn pets() -> Value {
    json!({
        "/pets/{petId}": {
            "parameters": [{ "name": "petId", "in": "path", "required": true, "schema": { "type": "string" } }],
            "get": {
                "operationId": "getPet", "tags": ["pets"], "summary": "One pet.",
                "parameters": [
                    { "name": "fields", "in": "query", "schema": { "type": "array", "items": { "type": "string" } } },
                    { "name": "filter[age]", "in": "query", "schema": { "type": "integer" } },
                    { "name": "X-Trace", "in": "header", "schema": { "type": "string" } },
                    { "name": "Authorization", "in": "header", "schema": { "type": "string" } },
                    { "name": "X-Team", "in": "header", "schema": { "type": "string" } },
                ],
            },
            "put": {
                "tags": ["pets", "admin"],
                "requestBody": { "$ref": "#/components/requestBodies/Pet" },
            },
            "delete": { "operationId": "deletePet" },
        },
    })
}

fn pet() -> Value {
    json!({
        "requestBodies": { "Pet": { "required": true, "content": {
            "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } } },
        "schemas": { "Pet": {
            "type": "object", "required": ["id", "name"],
            "properties": {
                "id": { "type": "integer", "readOnly": true },
                "name": { "type": "string", "nullable": true, "example": "Rex" },
                "age": { "type": "integer", "minimum": 0, "exclusiveMinimum": true },
                "example": { "$ref": "#/components/schemas/Word" },
            } },
            "Word": { "type": "string", "x-note": "a word" } },
    })
}

#[tokio::test]
async fn an_operation_is_a_tool_that_sends_what_the_document_says() {
    let server = Server::saying(200, "content-type: application/json\r\n", "{}");
    let mut described = document(&pets(), &pet());
    described.base_url = Some(server.url("/base/"));
    described.headers.insert("X-Team".into(), "blue".into());
    let read = read(&described).expect("the document is good");
    let expected = [
        "openapi__shop__getPet",
        "openapi__shop__put_pets_petId",
        "openapi__shop__deletePet",
    ];
    assert_eq!(names(&read), expected);
    assert_eq!(read.warnings, Vec::<String>::new());
    let world = World::of(read.tools);
    let arguments = json!({ "petId": "a/../b", "fields": ["x", "y&z"] });
    assert_eq!(world.fault(expected[0], arguments).await, "bad_arguments");
    let arguments =
        json!({ "petId": "a b", "fields": ["x", "y&z"], "filter_age_": 3, "X-Trace": "t" });
    assert_eq!(world.ok(expected[0], arguments).await, json!({}));
    let arguments = json!({ "petId": "7", "body": { "name": "Rex", "age": 1 } });
    assert_eq!(world.ok(expected[1], arguments).await, json!({}));
    let [get, put] = <[_; 2]>::try_from(server.seen()).expect("two requests came");
    assert_eq!(
        get.target,
        "/base/pets/a%20b?fields=x&fields=y%26z&filter%5Bage%5D=3"
    );
    let header = |name: &str| get.headers.get(name).map(String::as_str);
    assert_eq!(
        (header("x-trace"), header("x-team"), header("authorization")),
        (Some("t"), Some("blue"), None)
    );
    assert_eq!(
        (put.method.as_str(), put.target.as_str()),
        ("PUT", "/base/pets/7")
    );
    assert_eq!(put.body, r#"{"age":1,"name":"Rex"}"#);
}

#[test]
fn a_schema_is_written_as_json_schema_and_without_what_only_answers_hold() {
    let read = tools(&pets(), &pet());
    let put = read.tools[1].spec();
    assert_eq!(put.effect, ToolEffect::Idempotent);
    let body = json!({
        "type": "object", "required": ["name"],
        "properties": {
            "name": { "type": ["string", "null"] },
            "age": { "type": "integer", "exclusiveMinimum": 0 },
            "example": { "type": "string" },
        },
    });
    let expected = json!({
        "type": "object", "required": ["petId", "body"], "additionalProperties": false,
        "properties": { "petId": { "type": "string" }, "body": body },
    });
    assert_eq!(put.schema, expected);
}

#[test]
fn methods_and_tags_choose_operations() {
    let rows: [(&[&str], &[&str], &[&str]); 4] = [
        (&["GET"], &[], &["openapi__shop__getPet"]),
        (
            &["get", "Delete"],
            &[],
            &["openapi__shop__getPet", "openapi__shop__deletePet"],
        ),
        (&[], &["admin"], &["openapi__shop__put_pets_petId"]),
        (&["GET"], &["pets", "other"], &["openapi__shop__getPet"]),
    ];
    for (methods, tags, expected) in rows {
        let mut described = document(&pets(), &pet());
        described.include_methods = methods.iter().map(|it| (*it).into()).collect();
        described.tag_filter = tags.iter().map(|it| (*it).into()).collect();
        assert_eq!(names(&read(&described).expect("it is good")), expected);
    }
}

#[test]
fn a_schema_that_holds_itself_keeps_a_definition() {
    let tree = json!({ "type": "object", "properties": {
        "name": { "$ref": "#/components/schemas/Word" },
        "children": { "type": "array", "items": { "$ref": "#/components/schemas/Tree" } } } });
    let body = json!({ "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Tree" } } } });
    let read = tools(
        &json!({ "/t": { "post": { "requestBody": body } } }),
        &json!({ "schemas": { "Tree": tree, "Word": { "type": "string" } } }),
    );
    let schema = &read.tools[0].spec().schema;
    assert_eq!(
        schema["properties"]["body"],
        json!({ "$ref": "#/$defs/Tree_0" })
    );
    let defined = &schema["$defs"]["Tree_0"]["properties"];
    assert_eq!(
        defined["children"]["items"],
        json!({ "$ref": "#/$defs/Tree_0" })
    );
    assert_eq!(defined["name"], json!({ "type": "string" }));
    let catalog = World::of(read.tools).registry.catalog().clone();
    let name = "openapi__shop__post_t";
    let good = json!({ "body": { "children": [{ "name": "x", "children": [] }] } });
    let bad = json!({ "body": { "children": [{ "children": [{ "name": 5 }] }] } });
    assert_eq!(catalog.check_arguments(name, &good), Ok(()));
    assert!(catalog.check_arguments(name, &bad).is_err());
}

#[test]
fn what_is_not_supported_is_left_out_and_named() {
    let text = json!({ "type": "string" });
    let cookie =
        |required| json!([{ "name": "c", "in": "cookie", "required": required, "schema": text }]);
    let upload =
        |required| json!({ "required": required, "content": { "multipart/form-data": {} } });
    let paths = json!({
        "/a": { "get": { "parameters": cookie(true) } },
        "/b": { "get": { "parameters": cookie(false) } },
        "/c": { "post": { "requestBody": upload(true) } },
        "/d": { "post": { "requestBody": upload(false) } },
        "/e": { "get": { "parameters": [{ "$ref": "other.yaml#/x" }] } },
        "/f/{id}": { "get": {} },
        "/g": { "get": { "parameters": [{ "name": "x", "in": "query", "schema": { "type": "odd" } }] } },
        "/h": { "get": { "parameters": [{ "name": "Host", "in": "header", "schema": text }] } },
        "/i/../j": { "get": {} },
    });
    let read = tools(&paths, &json!({}));
    assert_eq!(
        names(&read),
        ["openapi__shop__get_b", "openapi__shop__post_d"]
    );
    for (warning, expected) in read.warnings.iter().zip([
        ("GET /a is left out", "cookie"),
        ("GET /b:", "cookie"),
        ("POST /c is left out", "multipart/form-data"),
        ("POST /d:", "multipart/form-data"),
        ("GET /e is left out", "another document"),
        ("GET /f/{id} is left out", "does not declare"),
        ("GET /g is left out", "schema"),
        ("GET /h is left out", "Host"),
        ("GET /i/../j is left out", "segment"),
    ]) {
        assert!(
            warning.contains(expected.0) && warning.contains(expected.1),
            "{warning}"
        );
    }
    assert_eq!(read.warnings.len(), 9);
}

type Spoil = fn(&mut OpenapiDocument);

#[test]
fn a_document_that_cannot_be_used_is_refused_with_the_key() {
    let paths = json!({ "/a": { "get": {} } });
    let good = || document(&paths, &json!({}));
    let rows: [(&str, Spoil); 9] = [
        ("", |it| it.name = "a/b".into()),
        ("spec", |it| it.document = json!({ "swagger": "2.0" })),
        ("spec", |it| it.document = json!("text")),
        ("spec", |it| it.document["paths"] = json!({})),
        ("spec", |it| it.tag_filter = vec!["none".into()]),
        ("includeMethods", |it| {
            it.include_methods = vec!["FETCH".into()];
        }),
        ("baseUrl", |it| {
            it.document["servers"] = json!([{ "url": "/v1" }]);
        }),
        ("baseUrl", |it| it.base_url = Some("http://h/?key=1".into())),
        ("headers.x", |it| {
            drop(it.headers.insert("X".into(), "${parameters.a}".into()));
        }),
    ];
    assert_eq!(good().check(), Ok(()));
    for (key, spoil) in rows {
        let mut document = good();
        spoil(&mut document);
        let error = document.check().expect_err("it is bad");
        assert_eq!(error.key(), key, "{error}");
    }
}

#[test]
fn arguments_are_checked_against_the_document() {
    let read = tools(&pets(), &pet());
    let world = World::of(read.tools);
    let catalog = world.registry.catalog();
    for (arguments, fits) in [
        (json!({ "petId": "x" }), true),
        (json!({}), false),
        (json!({ "petId": 5 }), false),
        (json!({ "petId": "x", "unknown": 1 }), false),
    ] {
        let checked = catalog.check_arguments("openapi__shop__getPet", &arguments);
        assert_eq!(checked.is_ok(), fits, "{arguments}");
    }
}
