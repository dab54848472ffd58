//! The OpenAPI document, written from the table of routes and from the types of its handlers.
//!
//! It is compiled for tests alone: the program has the text in `docs/openapi.json`, and the test below holds that text to
//! what the table and the types say. `BLESS=1 cargo test -p bonded-serve --lib openapi` writes it.

mod components;
mod parameters;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use axum::http::Method;
use serde::Serialize as _;
use serde_json::{Map, Value, json};

use super::access::SESSION_COOKIE;
use super::dto::ErrorAnswer;
use super::route::{Door, RawBody, Route};
use super::routes::{ROUTES, RoutedHandler};

pub(crate) use components::{Components, RequestRow, ResponseRow};

const INTRODUCTION: &str = "Notes, automation rules and runs. Every error has the envelope Error. GET /ws is a WebSocket; docs/workspace.md describes its messages.";

/// What each status means, wherever it is met.
const STATUSES: [(u16, &str); 16] = [
    (200, "The answer"),
    (201, "The answer"),
    (202, "Taken in"),
    (204, "Done"),
    (400, "The request is invalid"),
    (401, "Authentication is missing or invalid"),
    (403, "The caller may not do this"),
    (404, "Not found"),
    (408, "The body did not arrive in time"),
    (409, "Conflict with the current state"),
    (413, "Too large"),
    (415, "The body is not JSON"),
    (422, "The content is not acceptable"),
    (429, "Too many requests; Retry-After says when to retry"),
    (500, "The server failed"),
    (503, "Unavailable; Retry-After says when to retry"),
];

fn document() -> Value {
    let mut components = Components::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for served in ROUTES.iter() {
        let method = served.route.method.as_str().to_lowercase();
        let path = paths.entry(served.route.path).or_default();
        path.insert(method, operation(served, &mut components));
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "bonded workspace", "version": "1", "description": INTRODUCTION },
        "security": [{ "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": SESSION_COOKIE },
            },
            "parameters": { "IdempotencyKey": parameters::idempotency_key() },
            "schemas": components.into_schemas(),
        },
    })
}

fn operation(served: &RoutedHandler, components: &mut Components) -> Value {
    let route = &served.route;
    let mut operation = json!({
        "operationId": route.description.operation_id,
        "summary": route.description.summary,
        "responses": responses(served, components),
    });
    let parameters = parameters::of(route);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some((is_required, schema)) = (served.request)(components) {
        operation["requestBody"] = json!({ "required": is_required, "content": json_of(&schema) });
    }
    match route.raw {
        Some(RawBody::Hook) => {
            operation["requestBody"] = json!({ "required": true, "content": json_of(&json!({})) });
        }
        Some(RawBody::Attachment) => {
            let content = json!({ "application/octet-stream": { "schema": {} } });
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        None => {}
    }
    if route.door == Door::Open {
        operation["security"] = json!([]);
    }
    operation
}

fn responses(served: &RoutedHandler, components: &mut Components) -> BTreeMap<String, Value> {
    let answers = (served.answers)(components);
    let error = components.answer::<ErrorAnswer<'_>>();
    let refusals = refusals(&served.route).into_iter();
    let refusals = refusals.map(|status| (status, Some(error.clone())));
    let rows = answers.into_iter().chain(refusals).map(|(status, schema)| {
        let mut response = json!({ "description": meaning(status) });
        if let Some(schema) = schema {
            response["content"] = match schema["format"] == "binary" {
                true => json!({ "application/octet-stream": { "schema": schema } }),
                false => json_of(&schema),
            };
        }
        (status.to_string(), response)
    });
    rows.collect()
}

pub(crate) fn json_of(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

pub(crate) fn meaning(status: u16) -> &'static str {
    let row = STATUSES.iter().find(|(known, _)| *known == status);
    row.unwrap_or_else(|| panic!("no meaning of {status}")).1
}

/// The statuses by which a request may be refused.
fn refusals(route: &Route) -> BTreeSet<u16> {
    let mut statuses: BTreeSet<u16> = [400, 500, 503].into();
    if route.door == Door::Known {
        statuses.extend([401, 403]);
    }
    if route.takes_body {
        statuses.extend([408, 413]);
    }
    if route.takes_body && route.raw.is_none() {
        statuses.insert(415);
    }
    if route.changes() {
        statuses.insert(429);
    }
    if route.path.contains('{') || route.query.contains(&"workspace_id") {
        statuses.insert(404);
    }
    statuses.extend(route.description.refusals);
    statuses
}

/// A document as its file has it.
pub(crate) fn text_of(document: &Value) -> String {
    let mut bytes = vec![];
    let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, format);
    let written = document.serialize(&mut serializer);
    written.expect("all keys are strings");
    let mut text = String::from_utf8(bytes).expect("JSON is UTF-8");
    text.push('\n');
    text
}

/// Holds a document of `docs` to what its table and its types say, or writes it.
pub(crate) fn check(document: &Value, name: &str) {
    let text = text_of(document);
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, text).expect("the document can be written");
        return;
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let first = text.lines().zip(written.lines()).position(|(a, b)| a != b);
    assert!(
        text == written,
        "docs/{name} differs from line {first:?} on: BLESS=1 cargo test -p bonded-serve --lib openapi writes it"
    );
}

#[test]
fn the_document_is_what_the_table_and_the_types_say() {
    check(&document(), "openapi.json");
}

#[test]
fn a_route_that_takes_no_body_has_a_handler_that_takes_none() {
    let mut components = Components::new();
    for served in ROUTES.iter() {
        let takes = (served.request)(&mut components).is_some();
        assert!(!takes || served.route.takes_body, "{}", served.route);
        assert!(
            !takes || served.route.method != Method::GET,
            "{}",
            served.route
        );
    }
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let names = ROUTES.iter().map(|it| it.route.description.operation_id);
    let distinct: BTreeSet<&str> = names.collect();
    assert_eq!(distinct.len(), ROUTES.len());
}
