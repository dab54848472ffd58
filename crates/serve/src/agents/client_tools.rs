//! The tools that a client sends with its request, to be executed on its side.
//!
//! They come from strangers, so they are bounded before anything is made of them: how many, how long, and what a schema
//! may cost. Tools that a provider would execute itself are passed over: the agent has its own. A name that is the
//! kernel's is refused, because a call of it would not reach the client.

use std::sync::Arc;

use bonded_host::HostError;
use bonded_host::agent::AgentError;
use bonded_kernel::{BadCatalog, Catalog, ClientTools, ToolEffect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::refusal::AgentRefusal;

/// As many as OpenAI takes.
const TOOLS_MAX: usize = 128;
/// Of all of them together, as JSON: they are part of every request to the model.
const TOOLS_BYTES_MAX: usize = 1024 * 1024;

/// What is done with tools that clients send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientToolsMode {
    /// The agent may call them; their calls go to the client.
    #[default]
    Call,
    /// They are passed over.
    Ignore,
}

/// As a request has them.
#[derive(Debug, Default)]
pub(crate) struct GivenTools {
    /// In the form of either interface.
    pub(super) tools: Vec<Value>,
    /// `tool_choice`.
    pub(super) choice: Option<Value>,
    /// Whether the client takes several calls at once.
    pub(super) parallel: bool,
}

/// A tool of a chat, whose function is a part of it, or of a response, which is flat.
#[derive(Debug, Deserialize)]
struct GivenTool {
    #[serde(rename = "type")]
    kind: String,
    function: Option<GivenFunction>,
    #[serde(flatten)]
    flat: GivenFunction,
}

/// What a function is called by.
#[derive(Debug, Default, Deserialize)]
struct GivenFunction {
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Value>,
}

impl GivenTools {
    /// Whether there is anything to read.
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The tools that the agent may call; none where the client wants no calls.
    pub(super) fn read(&self) -> Result<Option<ClientTools>, AgentRefusal> {
        if self.tools.is_empty() || !self.wants_calls()? {
            return Ok(None);
        }
        if self.tools.len() > TOOLS_MAX {
            let message = format!(
                "there are {} tools; send at most {TOOLS_MAX}",
                self.tools.len()
            );
            return Err(refused("too_many_tools", message));
        }
        let mut specs = vec![];
        for (at, tool) in self.tools.iter().enumerate() {
            specs.extend(spec(at, tool)?);
        }
        let bytes: usize = specs.iter().map(size_of).sum();
        if bytes > TOOLS_BYTES_MAX {
            let message =
                format!("the tools have {bytes} bytes together; send at most {TOOLS_BYTES_MAX}");
            return Err(refused("tools_too_large", message));
        }
        if specs.is_empty() {
            return Ok(None);
        }
        Catalog::new(specs.iter().cloned()).map_err(|bad| unusable(&bad))?;
        Ok(Some(ClientTools::new(specs, self.parallel)))
    }

    /// An agent decides itself what it calls: a client that would force a call is told so.
    fn wants_calls(&self) -> Result<bool, AgentRefusal> {
        match self.choice.as_ref() {
            None | Some(Value::Null) => Ok(true),
            Some(Value::String(choice)) if choice == "auto" => Ok(true),
            Some(Value::String(choice)) if choice == "none" => Ok(false),
            Some(_) => {
                let message = "an agent decides itself which tools it calls; send auto or none";
                let code = "tool_choice_not_supported";
                Err(AgentRefusal::bad_request(
                    code,
                    Some("tool_choice"),
                    message,
                ))
            }
        }
    }
}

/// What is no function is executed by a provider, or has a form of its own that no agent writes.
fn spec(at: usize, tool: &Value) -> Result<Option<ToolSpec>, AgentRefusal> {
    let given = GivenTool::deserialize(tool)
        .map_err(|error| refused("bad_tool", format!("tool {at} cannot be read: {error}")))?;
    if given.kind != "function" {
        return Ok(None);
    }
    let function = given.function.unwrap_or(given.flat);
    let Some(name) = function.name else {
        return Err(refused("bad_tool", format!("tool {at} has no name")));
    };
    if ClientTools::is_reserved(&name) {
        return Err(name_taken(&name));
    }
    Ok(Some(ToolSpec {
        name,
        description: function.description.unwrap_or_default(),
        schema: schema(function.parameters),
        effect: ToolEffect::Write,
        sandbox: None,
        resource: None,
        deferred: false,
    }))
}

/// A tool without parameters takes an object without fields, and a schema without a type is that of an object.
fn schema(parameters: Option<Value>) -> Value {
    match parameters {
        None | Some(Value::Null) => json!({ "type": "object", "properties": {} }),
        Some(Value::Object(mut fields)) => {
            fields.entry("type").or_insert_with(|| "object".into());
            Value::Object(fields)
        }
        Some(other) => other,
    }
}

fn size_of(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.schema.to_string().len()
}

/// Whether a run could not begin because a tool of the client's has the name of one of the agent's.
pub(super) fn taken(error: &HostError, offered: &[Arc<str>]) -> Option<AgentRefusal> {
    let bad = match error {
        HostError::Catalog { source } => source,
        HostError::Agent(error) => match &**error {
            AgentError::Catalog(bad) => bad,
            _ => return None,
        },
        _ => return None,
    };
    match bad {
        BadCatalog::DuplicateName { name } if offered.iter().any(|it| **it == **name) => {
            Some(name_taken(name))
        }
        _ => None,
    }
}

/// A call of that name would go to the agent's own tool.
fn name_taken(name: &str) -> AgentRefusal {
    let short: String = name.chars().take(64).collect();
    let message = format!(
        "the agent has a tool {short:?} of its own; rename the client's tool, serve an agent without it, or start the \
         server with --client-tools ignore"
    );
    refused("tool_name_taken", message)
}

/// Whoever drives the run elsewhere knows nothing of its client.
pub(super) fn queued() -> AgentRefusal {
    let message =
        "this server queues its runs for workers, which cannot wait for a client: send no tools";
    refused("tools_not_supported", message.into())
}

fn unusable(bad: &BadCatalog) -> AgentRefusal {
    let mut message = bad.to_string();
    message.truncate(message.floor_char_boundary(1_000));
    refused("bad_tool", message)
}

fn refused(code: &'static str, message: String) -> AgentRefusal {
    AgentRefusal::bad_request(code, Some("tools"), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(tools: Vec<Value>, choice: Value) -> GivenTools {
        GivenTools {
            tools,
            choice: Some(choice),
            parallel: true,
        }
    }

    fn function(name: &str, parameters: &Value) -> Value {
        json!({ "type": "function", "function": { "name": name, "parameters": parameters } })
    }

    /// The names that are taken, or the code of the refusal.
    fn names(given: &GivenTools) -> Result<Vec<String>, &'static str> {
        let read = given.read().map_err(|refusal| refusal.code)?;
        let names = read.map_or_else(Vec::new, |it| it.names);
        Ok(names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn functions_of_both_forms_are_taken_and_what_a_provider_executes_is_passed_over() {
        let flat = json!({ "type": "function", "name": "b", "description": "B.", "strict": true });
        let tools = vec![
            function("a", &json!({ "properties": {} })),
            flat,
            json!({ "type": "web_search" }),
            json!({ "type": "custom", "name": "patch", "format": { "type": "grammar" } }),
        ];
        assert_eq!(
            names(&given(tools.clone(), "auto".into())),
            Ok(vec!["a".into(), "b".into()])
        );
        assert_eq!(
            names(&given(tools.clone(), Value::Null)),
            Ok(vec!["a".into(), "b".into()])
        );
        assert_eq!(names(&given(tools.clone(), "none".into())), Ok(vec![]));
        for forced in [
            json!("required"),
            json!({ "type": "function", "name": "a" }),
        ] {
            assert_eq!(
                names(&given(tools.clone(), forced)),
                Err("tool_choice_not_supported")
            );
        }
    }

    #[test]
    fn tools_of_strangers_are_bounded_and_refused_by_name() {
        let many = |count| {
            (0..count)
                .map(|n| function(&format!("t{n}"), &Value::Null))
                .collect()
        };
        let deep = (0..60).fold(
            json!({}),
            |inner, _| json!({ "properties": { "a": inner } }),
        );
        let long = "x".repeat(TOOLS_BYTES_MAX);
        let rows: [(Vec<Value>, Option<&str>); 11] = [
            (many(128), None),
            (many(1_000), Some("too_many_tools")),
            (vec![json!(7)], Some("bad_tool")),
            (vec![json!({ "type": "function" })], Some("bad_tool")),
            (vec![function("a b", &Value::Null)], Some("bad_tool")),
            (vec![function("a", &json!("text"))], Some("bad_tool")),
            (
                vec![function("a", &json!({ "type": "array" }))],
                Some("bad_tool"),
            ),
            (
                vec![function("a", &Value::Null), function("a", &Value::Null)],
                Some("bad_tool"),
            ),
            (
                vec![function("done", &Value::Null)],
                Some("tool_name_taken"),
            ),
            (
                vec![function("agent__final_report", &deep)],
                Some("tool_name_taken"),
            ),
            (
                vec![json!({ "type": "function", "name": "a", "description": long })],
                Some("tools_too_large"),
            ),
        ];
        for (tools, expected) in rows {
            let shown: String = format!("{tools:?}").chars().take(80).collect();
            assert_eq!(
                names(&given(tools, "auto".into())).err(),
                expected,
                "{shown}"
            );
        }
    }
}
