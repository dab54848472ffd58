//! The document of the pages' API, written from the table of routes and from the types of its handlers.
//!
//! It is compiled for tests alone: the test below holds `docs/openapi-pages.json` to what the table and the types say.
//! `BLESS=1 cargo test -p bonded-serve --lib openapi` writes it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::refusal::ErrorDto;
use super::routes::{ConsoleRoute, ROUTES};
use crate::json_api::openapi::{Components, check, json_of, meaning};

const INTRODUCTION: &str = "What the pages of bonded ask: runs, their logs, the calls that wait for a person, and plans of work items. It is served by bonded ui, bonded serve --agent and bonded serve --data. Every error has the envelope Error. docs/pages.md describes the doors, who may see what, and the lines of the stream.";

/// What the document says of a route beside what the table says.
#[derive(Clone, Copy)]
pub(super) struct Description {
    pub(super) operation_id: &'static str,
    pub(super) summary: &'static str,
    pub(super) request: Option<fn(&mut Components) -> Value>,
    pub(super) answer: Answered,
}

#[derive(Clone, Copy)]
pub(super) enum Answered {
    Json(fn(&mut Components) -> Value),
    /// Of this media type.
    Raw(&'static str),
}

fn document() -> Value {
    let mut components = Components::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES.iter() {
        let method = route.method.as_str().to_lowercase();
        let path = paths.entry(route.path).or_default();
        path.insert(method, operation(route, &mut components));
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "bonded pages", "version": "1", "description": INTRODUCTION },
        "security": [{ "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": crate::json_api::SESSION_COOKIE },
            },
            "schemas": components.into_schemas(),
        },
    })
}

fn operation(route: &ConsoleRoute, components: &mut Components) -> Value {
    let description = &route.description;
    let mut operation = json!({
        "operationId": description.operation_id,
        "summary": description.summary,
        "responses": responses(route, components),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(request) = description.request {
        let schema = request(components);
        operation["requestBody"] = json!({ "required": true, "content": json_of(&schema) });
    }
    if route.is_open {
        operation["security"] = json!([]);
    }
    operation
}

fn responses(route: &ConsoleRoute, components: &mut Components) -> BTreeMap<String, Value> {
    let content = match route.description.answer {
        Answered::Json(schema) => json_of(&schema(components)),
        Answered::Raw(media_type) => json!({ media_type: {} }),
    };
    let answered = json!({ "description": meaning(200), "content": content });
    let error = json_of(&components.answer::<ErrorDto<'_>>());
    let refused = refusals(route).into_iter().map(|status| {
        let refusal = json!({ "description": meaning(status), "content": error });
        (status.to_string(), refusal)
    });
    let mut responses: BTreeMap<String, Value> = refused.collect();
    responses.insert("200".into(), answered);
    responses
}

/// The statuses by which a request may be refused.
fn refusals(route: &ConsoleRoute) -> BTreeSet<u16> {
    let mut statuses: BTreeSet<u16> = [400, 403, 500].into();
    if !route.is_open || route.changes() {
        statuses.insert(401);
    }
    if route.path.contains('{') || route.query.contains(&"run") {
        statuses.insert(404);
    }
    if route.changes() {
        statuses.extend([408, 409, 413, 415, 422, 429]);
    }
    statuses
}

/// A name that is new in the table must be described here, or the test panics.
fn parameters(route: &ConsoleRoute) -> Vec<Value> {
    let parts = route.path.split('/');
    let names = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": schema(route, name) })
    });
    let in_query = route.query.iter().map(|name| {
        let required = *name == "at";
        json!({ "name": name, "in": "query", "required": required, "schema": schema(route, name) })
    });
    in_path.chain(in_query).collect()
}

fn schema(route: &ConsoleRoute, name: &str) -> Value {
    let whole = json!({ "type": "integer", "minimum": 0 });
    match name {
        "seq" | "turn" | "after" | "since" | "from" => whole,
        "limit" if route.path == "/api/runs" => {
            json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 })
        }
        "limit" if route.path.ends_with("/saw/{turn}") => {
            json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 200 })
        }
        "limit" => json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 500 }),
        "state" => json!({ "type": "string", "enum": super::rows::STATES }),
        "untrusted" | "whole" => json!({ "type": "boolean" }),
        "run_id" | "plan_id" | "item_id" | "run" | "before" | "q" | "agent" | "at" | "find"
        | "download" => json!({ "type": "string" }),
        unknown => panic!("what is {unknown}?"),
    }
}

#[test]
fn the_document_of_the_pages_is_what_the_table_and_the_types_say() {
    check(&document(), "openapi-pages.json");
}
