//! Tools made to fit: each service's rules, and the way back.

mod checker;
#[path = "../common/mod.rs"]
mod common;
mod properties;
mod rules;
mod way;

use bonded_kernel::{Catalog, Dialect, ToolEffect, ToolSpec};
use common::{Conversation, DIALECTS, encoded};
use serde_json::Value;

/// All of them.
pub(crate) fn dialects() -> impl Iterator<Item = Dialect> {
    DIALECTS.into_iter().map(|(dialect, _)| dialect)
}

pub(crate) fn spec(name: &str, schema: &Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Does it.".into(),
        schema: schema.clone(),
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
        deferred: false,
    }
}

/// A request with this tool has the type that the official SDK gives it.
pub(crate) fn check_request(dialect: Dialect, spec: &ToolSpec) {
    // What is no tool of any run is in no request.
    let Ok(catalog) = Catalog::new([spec.clone()]) else {
        return;
    };
    let mut conversation = Conversation::with("local", "http://localhost/v1");
    conversation.target.dialect = dialect;
    conversation.catalog = catalog;
    let body = encoded(&conversation).to_string();
    assert!(body.contains(&spec.description), "{dialect:?}: {body}");
}
