//! What the path, the query and the headers of a request may hold.
//!
//! A name that is new in the table must be described here, or the test panics.

use bonded_kernel::RUN_ID_BYTES_MAX;
use bonded_workspace_rules::{ATTACHMENT_NAME_CHARS_MAX, RunStatus};
use serde_json::{Value, json};

use crate::workspace::api::{notes, search};
use crate::workspace::ask::KEY_CHARS_MAX;
use crate::workspace::route::Route;

pub(super) fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "required": true,
        "description": "A value chosen by the client; send the same one to repeat the request.",
        "schema": { "type": "string", "minLength": 1, "maxLength": KEY_CHARS_MAX, "pattern": "^[!-~]+$" },
    })
}

/// The parameters of a route: those of its path, those of its query, and its key.
pub(super) fn of(route: &Route) -> Vec<Value> {
    let path = names_in(route.path).map(
        |name| json!({ "name": name, "in": "path", "required": true, "schema": in_path(name) }),
    );
    let query = route.query.iter().map(|name| in_query(route, name));
    let mut parameters: Vec<Value> = path.chain(query).collect();
    if route.is_keyed {
        parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
    }
    parameters
}

fn names_in(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn in_path(name: &str) -> Value {
    match name {
        "user_id" | "workspace_id" | "note_id" | "rule_id" | "issue_id" | "attachment_id" => {
            json!({ "type": "string", "format": "uuid" })
        }
        "token_id" | "session_id" | "hook_id" => json!({ "type": "string" }),
        "run_id" => json!({ "type": "string", "minLength": 1, "maxLength": RUN_ID_BYTES_MAX }),
        "version" => json!({ "type": "integer", "minimum": 0 }),
        "key" => json!({ "type": "string", "pattern": "^[a-z][a-z0-9._-]{0,63}$" }),
        unknown => panic!("what is {unknown} in a path?"),
    }
}

fn in_query(route: &Route, name: &str) -> Value {
    let is_search = route.description.operation_id == "search";
    let (limit, limit_max) = match is_search {
        true => (search::LIMIT, search::LIMIT_MAX),
        false => (notes::LIMIT, notes::LIMIT_MAX),
    };
    let sorts: &[&str] = match is_search {
        true => &["relevance", "updated_at"],
        false => &["updated_at", "created_at", "title"],
    };
    let schema = match name {
        "workspace_id" | "rule_id" => json!({ "type": "string", "format": "uuid" }),
        "note_kind" | "keyword" | "folder" => json!({ "type": "string" }),
        "name" => {
            json!({ "type": "string", "minLength": 1, "maxLength": ATTACHMENT_NAME_CHARS_MAX })
        }
        "from" | "to" => json!({ "type": "integer", "minimum": 0 }),
        "state" => json!({ "type": "string", "enum": ["all", "open", "closed"], "default": "all" }),
        "include_deleted" | "unread" => json!({ "type": "boolean", "default": false }),
        "sort" => json!({ "type": "string", "enum": sorts, "default": sorts[0] }),
        "limit" => {
            json!({ "type": "integer", "minimum": 1, "maximum": limit_max, "default": limit })
        }
        "offset" => json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX, "default": 0 }),
        "base_version" => json!({ "type": "integer", "minimum": 0 }),
        "after" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 0 }),
        "q" => json!({ "type": "string", "minLength": 1, "maxLength": search::QUERY_CHARS_MAX }),
        "mode" => {
            json!({ "type": "string", "enum": ["hybrid", "lexical", "semantic"], "default": "hybrid" })
        }
        "status" => json!({ "type": "string", "enum": RunStatus::ALL.map(RunStatus::as_str) }),
        unknown => panic!("what is {unknown} in a query?"),
    };
    let is_required = ["workspace_id", "q", "name", "from", "to"].contains(&name);
    let mut parameter =
        json!({ "name": name, "in": "query", "required": is_required, "schema": schema });
    if let Some(description) = description(name) {
        parameter["description"] = description.into();
    }
    parameter
}

fn description(name: &str) -> Option<&'static str> {
    match name {
        "base_version" => Some(
            "The version that the change was made for; without it the change is made unconditionally.",
        ),
        "q" => Some("Words to search for; one that ends in * matches every word with that prefix."),
        _ => None,
    }
}
