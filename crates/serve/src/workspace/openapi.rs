//! The OpenAPI document, written from the table of routes and from the types of its handlers.
//!
//! It is compiled for tests alone: the program has the text in `docs/openapi.json`, and the test below holds that text to
//! what the table and the types say. `BLESS=1 cargo test -p bonded-serve --lib openapi` writes it.

mod parameters;

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::route::{Door, RawBody, Route};
use super::routes::{ROUTES, RoutedHandler};
use crate::json_api::SESSION_COOKIE;
use crate::json_api::error_answer::ErrorAnswer;
use crate::json_api::openapi::{Components, check, json_of, meaning};

const INTRODUCTION: &str = "Notes, automation rules and runs. Every error has the envelope Error. GET /ws is a WebSocket; docs/workspace.md describes its messages.";

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
