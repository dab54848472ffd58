//! The tools of the conformance suite that ask the client something.

use std::time::Duration;

use serde_json::{Value, json};

use bonded_mcp::{ClientRequest, RequestClient, RpcFault};

const PATIENCE: Duration = Duration::from_secs(30);
const ELICIT: &str = "elicitation/create";

pub(crate) const TOOLS: [&str; 4] = [
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
];

pub(crate) async fn called(
    name: &str,
    asked: &ClientRequest,
    peer: &RequestClient,
) -> Result<String, RpcFault> {
    let said = |name: &str| asked.params["arguments"][name].clone();
    match name {
        "test_sampling" => {
            let content = json!({ "type": "text", "text": said("prompt") });
            let message = json!({ "role": "user", "content": content });
            let params = json!({ "messages": [message], "maxTokens": 100 });
            let sampled = peer
                .ask("sampling/createMessage", &params, PATIENCE)
                .await?;
            Ok(format!("LLM response: {}", sampled["content"]["text"]))
        }
        "test_elicitation" => {
            let text = |what: &str| json!({ "type": "string", "description": what });
            let fields = json!({ "username": text("User's response"), "email": text("User's email address") });
            let answer = form(peer, &said("message"), &fields, &["username", "email"]).await?;
            Ok(format!("User response: {answer}"))
        }
        "test_elicitation_sep1034_defaults" => completed(peer, &with_defaults()).await,
        "test_elicitation_sep1330_enums" => completed(peer, &choices()).await,
        _ => Err(RpcFault::invalid_params("there is no such tool")),
    }
}

async fn completed(peer: &RequestClient, fields: &Value) -> Result<String, RpcFault> {
    let answer = form(peer, &json!("Please fill this in"), fields, &[]).await?;
    let (action, content) = (&answer["action"], &answer["content"]);
    Ok(format!(
        "Elicitation completed: action={action}, content={content}"
    ))
}

async fn form(
    peer: &RequestClient,
    message: &Value,
    fields: &Value,
    required: &[&str],
) -> Result<Value, RpcFault> {
    let schema = json!({ "type": "object", "properties": fields, "required": required });
    let params = json!({ "message": message, "requestedSchema": schema });
    peer.ask(ELICIT, &params, PATIENCE).await
}

fn with_defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = |word: &str| {
        let numbers = [
            ("value1", "First"),
            ("value2", "Second"),
            ("value3", "Third"),
        ];
        numbers
            .map(|(value, number)| json!({ "const": value, "title": format!("{number} {word}") }))
    };
    json!({
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}
