//! What a server offers, made into specs.
//!
//! A list is checked tool by tool, and a tool that cannot be used is left out with a warning: one bad schema
//! must not take the others with it. Two tools that would have the same name for a model are an error, because
//! leaving out either would be a guess. All bounds are there against servers that list without end.

use std::collections::BTreeMap;

use bonded_kernel::{Catalog, Schema, ToolEffect, ToolSpec};
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use rmcp::service::ServiceError;
use serde_json::Value;

use super::error::McpError;
use super::http::HttpFault;
use super::link::Link;
use super::settings::{McpServer, is_all};
use crate::tool_name::shown_name;

/// Far more than any model can choose from.
const TOOLS_MAX: usize = 1000;
/// Against pages that lead to each other.
const PAGES_MAX: usize = 1000;
/// Of all tools together, as JSON.
const LIST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What is longer is cut at a character, not refused.
const DESCRIPTION_BYTES_MAX: usize = 32 * 1024;
/// A model is shown it in every request.
const SCHEMA_BYTES_MAX: usize = 256 * 1024;

/// A tool that may be used: its name at the server, and its spec.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Offered {
    pub(super) tool: String,
    pub(super) spec: ToolSpec,
}

/// Asks for every page. The error is the end of a sentence about the server.
pub(super) async fn list(link: &Link) -> Result<Vec<Value>, String> {
    let (mut tools, mut bytes, mut cursor) = (vec![], 0, None);
    for _ in 0..PAGES_MAX {
        let mut page = page(link, cursor.take()).await?;
        let listed = page.get_mut("tools").map(Value::take);
        let Some(Value::Array(listed)) = listed else {
            return Err("answered `tools/list` without a list of tools".into());
        };
        bytes += listed
            .iter()
            .map(|tool| tool.to_string().len())
            .sum::<usize>();
        tools.extend(listed);
        if tools.len() > TOOLS_MAX || bytes > LIST_BYTES_MAX {
            return Err(format!(
                "lists more than {TOOLS_MAX} tools, or tools of more than {LIST_BYTES_MAX} bytes"
            ));
        }
        cursor = page
            .get("nextCursor")
            .and_then(Value::as_str)
            .filter(|cursor| !cursor.is_empty())
            .map(str::to_owned);
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err("lists its tools on pages without an end".into())
}

async fn page(link: &Link, cursor: Option<String>) -> Result<Value, String> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ClientRequest::ListToolsRequest(ListToolsRequest {
        params: Some(params),
        ..ListToolsRequest::default()
    });
    match link.ask(request).await {
        Ok(page) => Ok(page),
        Err(ServiceError::McpError(error)) => Err(format!(
            "refused `tools/list`: {}{}",
            error.message,
            link.remarks()
        )),
        Err(ServiceError::TransportSend(error)) if error.error.is::<HttpFault>() => {
            Err(error.error.to_string())
        }
        Err(_) => {
            let last_words = link.last_words().await;
            Err(format!("ended before it listed its tools: it {last_words}"))
        }
    }
}

/// The specs of the listed tools that may be used, and warnings about those that cannot be.
pub(super) fn offered(
    server: &McpServer,
    listed: &[Value],
) -> Result<(Vec<Offered>, Vec<String>), McpError> {
    let mut warnings = unknown_names(server, listed);
    let mut by_name: BTreeMap<String, Offered> = BTreeMap::new();
    for tool in listed {
        let Some(name) = name_of(tool) else {
            warnings.push(warning(server, "a tool", "it has no name"));
            continue;
        };
        if !server.lets_through(name) {
            continue;
        }
        let spec = match spec_of(server, name, tool) {
            Ok(spec) => spec,
            Err(why) => {
                warnings.push(warning(server, &format!("the tool {name:?}"), &why));
                continue;
            }
        };
        let tool = name.to_owned();
        let shown = spec.name.clone();
        let new = Offered { tool, spec };
        if let Some(first) = by_name.get(&shown) {
            return Err(McpError::SameName {
                name: shown,
                first: format!("{:?} of {:?}", first.tool, server.name),
                second: format!("{:?} of {:?}", new.tool, server.name),
            });
        }
        by_name.insert(shown, new);
    }
    Ok((by_name.into_values().collect(), warnings))
}

fn name_of(tool: &Value) -> Option<&str> {
    tool.get("name")?.as_str().filter(|name| !name.is_empty())
}

fn warning(server: &McpServer, what: &str, why: &str) -> String {
    format!(
        "{what} of the MCP server {:?} is left out: {why}",
        server.name
    )
}

/// A name that is allowed or denied and that the server does not have is a mistake of spelling.
fn unknown_names(server: &McpServer, listed: &[Value]) -> Vec<String> {
    let is_known = |name: &&String| {
        let is_it = |tool: &str| tool.to_lowercase() == name.to_lowercase();
        is_all(name) || listed.iter().filter_map(name_of).any(is_it)
    };
    let named = server.tools_allowed.iter().chain(&server.tools_denied);
    let unknown = named.filter(|name| !is_known(name));
    let warn = |name| format!("the MCP server {:?} has no tool {name:?}", server.name);
    unknown.map(warn).collect()
}

/// The kernel is asked about each spec by itself, so that its rules need not be known here.
fn spec_of(server: &McpServer, name: &str, tool: &Value) -> Result<ToolSpec, String> {
    let text = |field| tool.get(field).and_then(Value::as_str);
    let description = text("description").or(text("title")).unwrap_or_default();
    let end = description.floor_char_boundary(DESCRIPTION_BYTES_MAX);
    let spec = ToolSpec {
        name: shown_name(&server.name, name),
        description: description[..end].into(),
        schema: schema_of(tool)?,
        effect: effect_of(tool),
        sandbox: server.sandbox().map(|sandbox| sandbox.level()),
        resource: is_ordered(tool).then(|| server.name.as_str().into()),
        deferred: false,
    };
    // The kernel would refuse a catalogue as a whole.
    match Catalog::new([spec.clone()]) {
        Ok(_) => Ok(spec),
        Err(error) => Err(error.to_string()),
    }
}

/// A schema without a type is one of an object, as servers leave it out. It is compiled once here, so that a
/// call never fails for a schema that cannot be used.
fn schema_of(tool: &Value) -> Result<Value, String> {
    let Some(Value::Object(schema)) = tool.get("inputSchema") else {
        return Err("its input schema is not an object".into());
    };
    let mut schema = schema.clone();
    let kind = schema.entry("type").or_insert_with(|| "object".into());
    if kind != "object" {
        return Err(format!(
            "its input schema is of type {kind}, not \"object\""
        ));
    }
    let schema = Value::Object(schema);
    let bytes = schema.to_string().len();
    if bytes > SCHEMA_BYTES_MAX {
        return Err(format!(
            "its input schema has {bytes} bytes, more than the {SCHEMA_BYTES_MAX} that a model is shown"
        ));
    }
    match Schema::new(&schema) {
        Ok(_) => Ok(schema),
        Err(why) => Err(format!("its input schema is not usable: {why}")),
    }
}

/// A server's hints are believed only as far as they say that less can go wrong on a repetition; one that says
/// nothing writes.
fn effect_of(tool: &Value) -> ToolEffect {
    let hint = |name| {
        let hint = tool.get("annotations").and_then(|hints| hints.get(name));
        hint.and_then(Value::as_bool).unwrap_or_default()
    };
    if hint("readOnlyHint") {
        ToolEffect::Read
    } else if hint("idempotentHint") {
        ToolEffect::Idempotent
    } else {
        ToolEffect::Write
    }
}

/// Whether the server says of a tool that it reads or writes. Calls of one that says nothing, and those that may be
/// repeated, are bound by their queue alone.
fn is_ordered(tool: &Value) -> bool {
    let hints = tool.get("annotations");
    let hint = |name| hints?.get(name)?.as_bool();
    let has_hint = hint("readOnlyHint").is_some() || hint("destructiveHint") == Some(true);
    has_hint && effect_of(tool) != ToolEffect::Idempotent
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::settings::StdioCommand;

    fn server() -> McpServer {
        McpServer::stdio("s", StdioCommand::default())
    }

    fn tool(name: &str, schema: &Value) -> Value {
        json!({ "name": name, "inputSchema": schema })
    }

    #[test]
    fn annotations_say_what_a_tool_does() {
        for (annotations, effect) in [
            (json!(null), ToolEffect::Write),
            (json!({}), ToolEffect::Write),
            (json!({ "readOnlyHint": false }), ToolEffect::Write),
            (json!({ "readOnlyHint": "true" }), ToolEffect::Write),
            (json!({ "readOnlyHint": true }), ToolEffect::Read),
            (json!({ "idempotentHint": true }), ToolEffect::Idempotent),
            (
                json!({ "readOnlyHint": true, "idempotentHint": true }),
                ToolEffect::Read,
            ),
        ] {
            let tool = json!({ "annotations": annotations });
            assert_eq!(effect_of(&tool), effect, "{annotations}");
        }
    }

    #[test]
    fn a_tool_with_an_unusable_schema_is_left_out_alone() {
        let good = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": { "a": { "type": "string", "x-unusual": 1 } } });
        for bad in [
            json!(null),
            json!(true),
            json!([]),
            json!({ "type": "string" }),
            json!({ "type": 7 }),
            json!({ "type": "object", "properties": 3 }),
            json!({ "type": "object", "properties": { "a": { "$ref": "#/nowhere" } } }),
            json!({ "type": "object", "properties": { "a": { "$ref": "http://127.0.0.1:9/x" } } }),
            json!({ "type": "object", "properties": { "a": { "pattern": "(" } } }),
            json!({ "type": "object", "$schema": "https://nowhere.invalid/unknown" }),
        ] {
            let listed = [tool("bad", &bad), tool("good", &good), json!({}), json!(3)];
            let (offered, warnings) = offered(&server(), &listed).expect("the server is usable");
            assert_eq!(offered.len(), 1, "{bad}: {warnings:?}");
            assert_eq!(offered[0].spec.schema, good);
            assert_eq!(warnings.len(), 3, "{bad}: {warnings:?}");
            assert!(warnings[0].contains("\"bad\""), "{warnings:?}");
        }
    }

    #[test]
    fn a_schema_without_a_type_is_one_of_an_object() {
        let (offered, _) = offered(&server(), &[tool("t", &json!({}))]).expect("it is usable");
        assert_eq!(offered[0].spec.schema, json!({ "type": "object" }));
    }

    #[test]
    fn tools_whose_shown_names_are_equal_are_refused_unless_one_is_denied() {
        let listed = [tool("a.b", &json!({})), tool("a_b", &json!({}))];
        let error = offered(&server(), &listed)
            .expect_err("the names collide")
            .to_string();
        for part in ["a.b", "a_b", "s__a_b", "toolsDenied"] {
            assert!(error.contains(part), "{part} in {error}");
        }
        let mut server = server();
        server.tools_denied = vec!["A.B".into()];
        let (offered, warnings) = offered(&server, &listed).expect("one is left");
        assert_eq!((offered[0].tool.as_str(), warnings.len()), ("a_b", 0));
    }

    #[test]
    fn a_name_that_the_server_does_not_have_is_warned_of() {
        let mut server = server();
        server.tools_allowed = vec!["T".into(), "gone".into()];
        let (offered, warnings) = offered(&server, &[tool("t", &json!({}))]).expect("it is usable");
        assert_eq!((offered.len(), warnings.len()), (1, 1));
        assert!(warnings[0].contains("\"gone\""), "{warnings:?}");
    }
}
