//! A call of an agent: from the arguments to the run, and from the run to the result.

use bonded_kernel::Hash;
use serde_json::{Map, Value, json};

use super::layer::{Asked, Fault, Peer};
use super::tools;
use crate::serve::{
    self, Answer, Caller, Client, Ended, Follower, Key, Model, Refusal, Role, Said, Server,
    Streaming, named_wish,
};

/// The same key with the same arguments is the same run. It is what our own client sends.
const KEY: &str = "bonded/idempotencyKey";
const RUN: &str = "bonded/run";
const CODE: &str = "bonded/code";

/// Calls an agent. What goes wrong from here on is a result too, so that a model can read it.
pub(super) async fn call(server: &Server, asked: &Asked, peer: &Peer) -> Result<Value, Fault> {
    let name = asked.text("name")?;
    let model = server.models.all().iter().find(|model| model.id == name);
    let model = model.ok_or_else(|| {
        let short: String = name.chars().take(64).collect();
        let message = format!("there is no tool {short:?}; `tools/list` says which there are");
        Fault::invalid_params(message)
    })?;
    let arguments = match asked.params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(Fault::invalid_params("arguments is an object")),
    };
    let begun = begin(server, model, asked, arguments, peer.wants_progress()).await;
    let mut client = match begun {
        Ok(client) => client,
        Err(refusal) => return Ok(failed(&refusal, &Map::new())),
    };
    let ended = wait(server, &mut client, peer).await;
    let mut meta = Map::new();
    meta.insert(RUN.into(), client.run.as_str().into());
    Ok(match ended {
        Ok(answer) => succeeded(model, &answer, meta),
        Err(refusal) => failed(&refusal, &meta),
    })
}

async fn begin(
    server: &Server,
    model: &Model,
    asked: &Asked,
    arguments: Map<String, Value>,
    wants_progress: bool,
) -> Result<Client, Refusal> {
    // The fields of an object are in order, so the same call has the same text.
    let digest = Hash::of(json!([model.id, arguments]).to_string().as_bytes());
    let key = match asked.meta(KEY) {
        None => None,
        Some(Value::String(key)) => Some(Key::said(key.as_bytes(), Caller(asked.caller), digest)?),
        Some(_) => {
            let message = format!("{KEY} in _meta must be a text");
            return Err(Refusal::bad_request("bad_idempotency_key", None, message));
        }
    };
    let question = question(model, arguments, wants_progress, digest)?;
    let goal = model.goal(&question, &server.limits)?;
    server.runs.begin(key, goal).await
}

/// The question that the arguments are.
fn question(
    model: &Model,
    mut arguments: Map<String, Value>,
    wants_progress: bool,
    digest: Hash,
) -> Result<serve::Asked, Refusal> {
    let (text, wish) = if tools::own_schema(model).is_some() {
        (Value::Object(arguments).to_string(), None)
    } else {
        let prompt = text(&mut arguments, "prompt")?;
        let prompt = prompt.ok_or_else(|| bad_arguments("the argument prompt is missing"))?;
        let format = text(&mut arguments, "format")?;
        if let Some(unknown) = arguments.keys().next() {
            let message =
                format!("there is no argument {unknown:?}; the arguments are prompt and format");
            return Err(bad_arguments(&message));
        }
        (prompt, format.as_deref().map(named_wish).transpose()?)
    };
    let said = Said {
        role: Role::User,
        text,
    };
    let stream = Streaming {
        usage: false,
        progress: wants_progress,
    };
    Ok(serve::Asked {
        model: model.id.clone(),
        said: vec![said],
        said_in: "arguments",
        wish,
        stream: Some(stream),
        digest,
    })
}

fn text(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match arguments.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad_arguments(&format!(
            "the argument {name} must be a text"
        ))),
    }
}

fn bad_arguments(message: &str) -> Refusal {
    Refusal::bad_request("bad_arguments", Some("arguments"), message)
}

/// Waits for the end of the run, and tells what its log says on the way.
async fn wait(server: &Server, client: &mut Client, peer: &Peer) -> Ended {
    let mut follower = peer
        .wants_progress()
        .then(|| Follower::new(server.runs.store(), client.run.clone()));
    let mut told = 0;
    loop {
        let lines = async {
            match &mut follower {
                Some(follower) => follower.next().await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            biased;
            lines = lines => match lines {
                Ok(lines) => {
                    tell(peer, &mut told, &lines).await;
                    continue;
                }
                // The answer matters more than the progress towards it.
                Err(_) => {
                    follower = None;
                    continue;
                }
            },
            ended = client.ended() => ended,
        };
        if let Some(follower) = &mut follower
            && let Ok(lines) = follower.catch_up().await
        {
            tell(peer, &mut told, &lines).await;
        }
        return ended;
    }
}

async fn tell(peer: &Peer, told: &mut u64, lines: &[String]) {
    for line in lines {
        *told += 1;
        peer.progress(*told, None, line).await;
    }
}

fn succeeded(model: &Model, answer: &Answer, mut meta: Map<String, Value>) -> Value {
    let usage = &answer.usage;
    let used = json!({ "inputTokens": usage.input, "outputTokens": usage.output });
    meta.insert("bonded/usage".into(), used);
    let structured = answer.json.as_ref().filter(|json| json.is_object());
    // A tool that promises an object must not succeed without one.
    let is_error = structured.is_none() && tools::output_schema(model).is_some();
    let mut result = json!({
        "content": [{ "type": "text", "text": answer.content }],
        "isError": is_error,
        "_meta": meta,
    });
    if let Some(structured) = structured {
        result["structuredContent"] = structured.clone();
    }
    result
}

fn failed(refusal: &Refusal, meta: &Map<String, Value>) -> Value {
    let mut meta = meta.clone();
    meta.insert(CODE.into(), refusal.code.into());
    json!({
        "content": [{ "type": "text", "text": refusal.message }],
        "isError": true,
        "_meta": meta,
    })
}
