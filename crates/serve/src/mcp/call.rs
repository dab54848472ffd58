//! A call of an agent: from the arguments to the run, and from the run to the result.
//!
//! Only a call that names no tool, or has no arguments, is an error of the protocol. Everything else, a refusal or a
//! run that failed, is a result that says so: the model at the client should read it and go on.

use bonded_host::Goal;
use bonded_kernel::{Hash, Served};
use serde_json::{Map, Value, json};

use super::progress_sender::ProgressSender;
use super::{review, tools};
use crate::agents::{
    self, AWAITING_REVIEW, AgentRefusal, AgentServer, Caller, Client, Ended, GivenTools, Model,
    Role, RunAnswer, RunKey, Streaming, Utterance, named_wish,
};
use bonded_mcp::{ClientRequest, RequestClient, RpcFault};

/// The same key with the same arguments is the same run. It is what our own client sends.
const KEY: &str = "bonded/idempotencyKey";
/// Names the run in a result.
const RUN: &str = "bonded/run";
/// The stable name of why it failed.
const CODE: &str = "bonded/code";

/// Calls an agent. What goes wrong from here on is a result too, so that a model can read it.
pub(super) async fn call(
    server: &AgentServer,
    asked: &ClientRequest,
    peer: &RequestClient,
) -> Result<Value, RpcFault> {
    let name = asked.text("name")?;
    let model = server.models.all().iter().find(|model| model.id == name);
    let model = model.ok_or_else(|| {
        let short: String = name.chars().take(64).collect();
        let message = format!("there is no tool {short:?}; `tools/list` says which there are");
        RpcFault::invalid_params(message)
    })?;
    let arguments = match asked.params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(RpcFault::invalid_params("arguments is an object")),
    };
    let begun = begin(server, model, asked, arguments, peer.wants_progress()).await;
    let (goal, client) = match begun {
        Ok(begun) => begun,
        Err(refusal) => return Ok(failed(&refusal, &Map::new())),
    };
    let mut meta = Map::new();
    meta.insert(RUN.into(), client.run.as_str().into());
    let caller = Caller(asked.caller);
    Ok(match ended(server, caller, goal, client, peer).await {
        Ok(answer) => succeeded(model, &answer, meta),
        Err(refusal) => failed(&refusal, &meta),
    })
}

/// The key is the client's own, from `_meta`; without it every call is a new run.
async fn begin(
    server: &AgentServer,
    model: &Model,
    asked: &ClientRequest,
    arguments: Map<String, Value>,
    wants_progress: bool,
) -> Result<(Goal, Client), AgentRefusal> {
    // The fields of an object are in order, so the same call has the same text.
    let digest = Hash::of(json!([model.id, arguments]).to_string().as_bytes());
    let key = match asked.meta(KEY) {
        None => None,
        Some(Value::String(key)) => Some(RunKey::of_value(
            key.as_bytes(),
            Caller(asked.caller),
            digest,
        )?),
        Some(_) => {
            let message = format!("{KEY} in _meta must be a text");
            return Err(AgentRefusal::bad_request(
                "bad_idempotency_key",
                None,
                message,
            ));
        }
    };
    let question = question(model, arguments, wants_progress, digest)?;
    let caller = Caller(asked.caller);
    let own = server.apart.own(caller);
    let goal = model.goal(&question, &server.limits, own.as_ref(), Served::Mcp)?;
    let runs = &server.runs;
    let client = runs.begin(caller, own.as_ref(), key, goal.clone()).await?;
    Ok((goal, client))
}

/// Waits for the end of the run. Where it waits for a person, the one at the client is asked if that is wanted.
async fn ended(
    server: &AgentServer,
    caller: Caller,
    goal: Goal,
    mut client: Client,
    peer: &RequestClient,
) -> Ended {
    let asks = server.asks_clients && peer.can_be_asked(review::METHOD);
    let mut telling = ProgressSender::new(server, &client, peer);
    loop {
        let ended = telling.wait(&mut client).await;
        let waits = matches!(&ended, Err(refusal) if refusal.code == AWAITING_REVIEW);
        if !waits || !asks || !review::is_judged(&server.runs, &client.run, peer).await {
            return ended;
        }
        client = server
            .runs
            .go_on(caller, client.run.clone(), goal.clone())?;
    }
}

/// The question that the arguments are.
/// An agent with a schema of its own takes the arguments as they are. All others take a prompt and a format, and
/// nothing else: a misspelt argument must not be left aside.
fn question(
    model: &Model,
    mut arguments: Map<String, Value>,
    wants_progress: bool,
    digest: Hash,
) -> Result<agents::AgentRequest, AgentRefusal> {
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
    let utterance = Utterance::said(Role::User, text);
    let stream = Streaming {
        usage: false,
        progress: wants_progress,
    };
    Ok(agents::AgentRequest {
        model: model.id.clone(),
        utterances: vec![utterance],
        param: "arguments",
        wish,
        stream: Some(stream),
        tools: GivenTools::default(),
        previous: None,
        digest,
    })
}

/// Takes the argument out, so that what is left is unknown.
fn text(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<String>, AgentRefusal> {
    match arguments.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad_arguments(&format!(
            "the argument {name} must be a text"
        ))),
    }
}

/// As a refusal of the agents has it.
fn bad_arguments(message: &str) -> AgentRefusal {
    AgentRefusal::bad_request("bad_arguments", Some("arguments"), message)
}

/// JSON comes twice: as text for models, and as an object for programs.
fn succeeded(model: &Model, answer: &RunAnswer, mut meta: Map<String, Value>) -> Value {
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

/// As a result, with the code beside the sentence.
fn failed(refusal: &AgentRefusal, meta: &Map<String, Value>) -> Value {
    let mut meta = meta.clone();
    meta.insert(CODE.into(), refusal.code.into());
    json!({
        "content": [{ "type": "text", "text": refusal.message }],
        "isError": true,
        "_meta": meta,
    })
}
