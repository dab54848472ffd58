//! The envelope of every error.
//!
//! A refusal becomes it in one place, so that no route has an error of its own. The codes in the schema are those of
//! the rules' table that have a status.

use serde::Serialize;
use serde_json::Value;

/// Every error has this shape.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Error"))]
pub(crate) struct ErrorAnswer<'a> {
    #[cfg_attr(test, schemars(schema_with = "codes"))]
    pub(crate) code: &'static str,
    pub(crate) message: &'a str,
    #[cfg_attr(test, schemars(extend("type" = ["object", "null"])))]
    pub(crate) details: &'a Value,
    pub(crate) request_id: &'a str,
}

/// The codes that are met over HTTP, sorted.
#[cfg(test)]
fn codes(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    use std::collections::BTreeSet;

    use bonded_workspace_rules::Code;

    let over_http = Code::ALL.iter().filter(|code| code.status().is_some());
    let codes: BTreeSet<&str> = over_http.map(|code| code.as_str()).collect();
    schemars::json_schema!({ "type": "string", "enum": codes })
}
