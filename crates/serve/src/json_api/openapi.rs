//! What the OpenAPI documents of all servers share: the schemas of bodies, what each status means, and their files.

mod components;

use std::path::Path;

use serde::Serialize as _;
use serde_json::{Value, json};

pub(crate) use components::{Components, RequestRow, ResponseRow};

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

pub(crate) fn json_of(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

pub(crate) fn meaning(status: u16) -> &'static str {
    let row = STATUSES.iter().find(|(known, _)| *known == status);
    row.unwrap_or_else(|| panic!("no meaning of {status}")).1
}

/// A document as its file has it.
fn text_of(document: &Value) -> String {
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
