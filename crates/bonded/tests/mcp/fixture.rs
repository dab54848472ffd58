//! What the conformance suite wants a server to offer.

use std::time::Duration;

use bonded_kernel::Hash;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::asking;
use bonded_mcp::{About, ClientRequest, RequestClient, RpcFault, Served};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
/// How long a connection to the fixture is left open.
pub(crate) const CONNECTION_MAX: Duration = Duration::from_millis(500);
const TEMPLATE: &str = "test://template/";

pub(crate) struct Fixture;

impl Served for Fixture {
    fn about(&self) -> About {
        About {
            name: "fixture",
            version: "1",
            instructions: String::new(),
            capabilities: json!({
                "tools": {}, "resources": { "subscribe": true }, "prompts": {}, "logging": {},
                "completions": {},
            }),
        }
    }

    fn answer<'a>(
        &'a self,
        asked: &'a ClientRequest,
        peer: RequestClient,
    ) -> BoxFuture<'a, Result<Value, RpcFault>> {
        Box::pin(async move {
            match asked.method.as_str() {
                "tools/list" => Ok(json!({ "tools": tools() })),
                "tools/call" => called(asked, &peer).await,
                "resources/list" => Ok(json!({ "resources": resources() })),
                "resources/templates/list" => Ok(json!({ "resourceTemplates": templates() })),
                "resources/read" => read(asked.text("uri")?),
                "prompts/list" => Ok(json!({ "prompts": prompts() })),
                "prompts/get" => {
                    let arguments = asked.params.get("arguments");
                    prompt(asked.text("name")?, arguments.unwrap_or(&Value::Null))
                }
                "logging/setLevel" => Ok(json!({})),
                "completion/complete" => Ok(json!({
                    "completion": { "values": ["paris", "park"], "total": 2, "hasMore": false }
                })),
                method => Err(RpcFault::unknown_method(method)),
            }
        })
    }

    fn mark<'a>(&'a self, _: Hash, _: &'a str) -> BoxFuture<'a, Result<u64, RpcFault>> {
        Box::pin(async { Ok(0) })
    }

    fn changed<'a>(&'a self, _: &'a str, _: u64) -> BoxFuture<'a, Result<Option<u64>, RpcFault>> {
        Box::pin(std::future::pending())
    }
}

fn tools() -> Vec<Value> {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_error_handling",
        "test_tool_with_progress",
        "test_reconnection",
    ];
    let asking = asking::TOOLS;
    let plain = plain.into_iter().chain(asking).map(|name| {
        json!({ "name": name, "description": "A test.", "inputSchema": { "type": "object" } })
    });
    let address = json!({
        "type": "object",
        "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
    });
    let with_schema = json!({
        "name": "json_schema_2020_12_tool",
        "description": "Tool with JSON Schema 2020-12 features",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": address },
            "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
            "additionalProperties": false,
        },
    });
    plain.chain([with_schema]).collect()
}

async fn called(asked: &ClientRequest, peer: &RequestClient) -> Result<Value, RpcFault> {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    let content = match asked.text("name")? {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]),
        "test_embedded_resource" => json!([resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content."
        )]),
        "test_multiple_content_types" => json!([
            text("Multiple content types test:"),
            image,
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#
            ),
        ]),
        "test_tool_with_logging" => {
            for line in ["started", "processing data", "completed"] {
                let params = json!({ "level": "info", "data": format!("Tool {line}") });
                peer.notify("notifications/message", &params).await;
                pause().await;
            }
            json!([text("logged")])
        }
        "test_tool_with_progress" => {
            for progress in [0, 50, 100] {
                peer.progress(progress, Some(100), "").await;
                pause().await;
            }
            json!([text("progressed")])
        }
        "test_error_handling" => {
            let why = text("This tool intentionally returns an error for testing");
            return Ok(json!({ "isError": true, "content": [why] }));
        }
        // Longer than a connection to the fixture is left open.
        "test_reconnection" => {
            tokio::time::sleep(CONNECTION_MAX * 2).await;
            json!([text("reconnected")])
        }
        name => json!([text(&asking::called(name, asked, peer).await?)]),
    };
    Ok(json!({ "content": content }))
}

/// The suite wants to see that messages come one by one.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

fn resource(uri: &str, kind: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } })
}

fn resources() -> Vec<Value> {
    let named = |uri: &str, kind: &str| json!({ "uri": uri, "name": uri, "description": "A test.", "mimeType": kind });
    vec![
        named("test://static-text", "text/plain"),
        named("test://static-binary", "image/png"),
        named("test://watched-resource", "text/plain"),
    ]
}

fn templates() -> Value {
    json!([{ "uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json" }])
}

fn read(uri: &str) -> Result<Value, RpcFault> {
    let contents = match uri {
        "test://static-text" => json!({
            "mimeType": "text/plain", "text": "This is the content of the static text resource.",
        }),
        "test://static-binary" => json!({ "mimeType": "image/png", "blob": PNG }),
        "test://watched-resource" => json!({ "mimeType": "text/plain", "text": "watched" }),
        _ => {
            let id = uri.strip_prefix(TEMPLATE);
            let id = id.and_then(|rest| rest.strip_suffix("/data"));
            let id = id.ok_or_else(|| RpcFault::unknown_resource(uri))?;
            let text =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "mimeType": "application/json", "text": text.to_string() })
        }
    };
    let mut contents = contents;
    contents["uri"] = uri.into();
    Ok(json!({ "contents": [contents] }))
}

fn prompts() -> Vec<Value> {
    let argument = |name: &str| json!({ "name": name, "description": "A test.", "required": true });
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments: Vec<Value> = arguments.iter().map(|name| argument(name)).collect();
        json!({ "name": name, "description": "A test.", "arguments": arguments })
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
    ]
}

fn prompt(name: &str, arguments: &Value) -> Result<Value, RpcFault> {
    let said = |name: &str| arguments[name].as_str().unwrap_or_default();
    let text = |text: &str| json!({ "type": "text", "text": text });
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![text(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            said("arg1"),
            said("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            resource(
                said("resourceUri"),
                "text/plain",
                "Embedded resource content for testing.",
            ),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
            text("Please analyze the image above."),
        ],
        _ => return Err(RpcFault::invalid_params("there is no such prompt")),
    };
    let messages: Vec<Value> = contents
        .into_iter()
        .map(|content| json!({ "role": "user", "content": content }))
        .collect();
    Ok(json!({ "messages": messages }))
}
