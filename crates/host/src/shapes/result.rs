//! The result of a run as one object: what came of it, what was said, and what it cost.
//!
//! The ledger's lines and the accounts of a result are the same, so that whoever reads one reads the
//! other.

use crate::RunResult;
use crate::accounting::{AccountKind, Booked, ModelAccount, ToolAccount};
use bonded_kernel::{Image, Message, Millis, Report, Run, TerminationKind};
use serde_json::{Map, Value, json};

use super::json;

/// The whole result. Its names are those that users of agents know.
pub fn whole(run: &Run, result: &RunResult, ended_at: Millis, booked: &[Booked]) -> String {
    let mut object = json::result_value(result);
    let fields = object.as_object_mut().expect("a result is an object");
    if let Some(error) = error_of(result) {
        fields.insert("error".into(), error.into());
    }
    if let Some(report) = run.report() {
        fields.insert("finalReport".into(), report_value(&report, ended_at));
    }
    fields.insert("conversation".into(), conversation(run));
    let accounting = booked.iter().map(account_value).collect::<Vec<_>>();
    fields.insert("accounting".into(), accounting.into());
    object.to_string()
}

/// Why there is no success, in a few words.
pub fn error_of(result: &RunResult) -> Option<String> {
    match result.termination {
        TerminationKind::Done => None,
        TerminationKind::Cancelled => Some("canceled".into()),
        TerminationKind::Blocked
        | TerminationKind::Fatal
        | TerminationKind::TurnsExhausted
        | TerminationKind::TimedOut
        | TerminationKind::BudgetExhausted
        | TerminationKind::NoProgress
        | TerminationKind::Denied => Some(result.reason.clone()),
    }
}

/// Parts that the report does not have are left out.
fn report_value(report: &Report, ts: Millis) -> Value {
    let mut value = json!({
        "status": report.status.as_str(),
        "format": report.format.as_str(),
        "source": report.source.as_str(),
        "ts": ts.0,
    });
    let fields = value.as_object_mut().expect("made as an object just now");
    let mut put = |name: &str, part: Option<Value>| {
        if let Some(part) = part {
            fields.insert(name.into(), part);
        }
    };
    put(
        "content",
        report.content.as_ref().map(|it| it.as_str().into()),
    );
    put("content_json", report.content_json.clone());
    put("messages", report.messages.clone());
    put("metadata", report.metadata.clone());
    value
}

/// With the system text first, as the model was told.
fn conversation(run: &Run) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": run.system().as_str() })];
    messages.extend(run.messages().iter().map(message_value));
    messages.into()
}

/// Arguments of calls that are no JSON become null.
pub fn message_value(message: &Message) -> Value {
    match message {
        Message::User { text, images } => {
            let value = json!({ "role": "user", "content": text.as_str() });
            with_images(value, images)
        }
        Message::Tool {
            call_id,
            text,
            images,
        } => {
            let value =
                json!({ "role": "tool", "toolCallId": &**call_id, "content": text.as_str() });
            with_images(value, images)
        }
        Message::Assistant {
            text,
            reasoning,
            calls,
            ..
        } => {
            let mut value = json!({ "role": "assistant", "content": text.as_str() });
            let fields = value.as_object_mut().expect("made as an object just now");
            if !reasoning.is_empty() {
                fields.insert("reasoning".into(), reasoning.as_str().into());
            }
            if !calls.is_empty() {
                let calls = calls.iter().map(|call| {
                    let parameters: Value =
                        serde_json::from_str(&call.arguments).unwrap_or_default();
                    json!({ "id": &*call.id, "name": &*call.tool, "parameters": parameters })
                });
                fields.insert("toolCalls".into(), calls.collect());
            }
            value
        }
    }
}

/// What goes with a message; nothing where nothing does.
fn with_images(mut value: Value, images: &[Image]) -> Value {
    if !images.is_empty() {
        value["images"] = images.iter().map(image_value).collect();
    }
    value
}

/// What is told of an image: what it is, and never its bytes.
pub fn image_value(image: &Image) -> Value {
    json!({
        "type": image.format().as_str(),
        "width": image.width(),
        "height": image.height(),
        "bytes": image.blob().bytes,
        "hash": image.blob().hash,
    })
}

/// One account as a line of the ledger has it.
pub fn account_value(booked: &Booked) -> Value {
    let account = &booked.account;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.into(), value));
    put("timestamp", account.at.0.into());
    put(
        "status",
        if account.error.is_none() {
            "ok"
        } else {
            "failed"
        }
        .into(),
    );
    put("latency", account.latency_ms.into());
    if let Some(error) = &account.error {
        put("error", error.as_str().into());
    }
    put("txnId", booked.run.as_str().into());
    put("seq", account.seq.into());
    put("entryHash", booked.hash.to_string().into());
    let config = &booked.config;
    let own = config
        .agent
        .as_ref()
        .map_or("agent", |agent| agent.name.as_str());
    put("agentId", own.into());
    let parent = config.parent.as_ref();
    put(
        "callPath",
        parent.map_or(own, |parent| parent.path.as_str()).into(),
    );
    let origin = parent.map_or(&booked.run, |parent| &parent.origin);
    put("originTxnId", origin.as_str().into());
    if let Some(parent) = parent {
        put("parentTxnId", parent.run.as_str().into());
    }
    match &account.kind {
        AccountKind::Model(model) => model_fields(model, &mut put),
        AccountKind::Tool(tool) => tool_fields(tool, &mut put),
    }
    fields.into()
}

/// The tokens are always there, and zero where the provider counted none; the rest is left out where it
/// is not known.
fn model_fields(model: &ModelAccount, put: &mut impl FnMut(&str, Value)) {
    put("type", "llm".into());
    put("provider", model.provider.as_str().into());
    put("model", model.model.as_str().into());
    let mut tokens = json!({
        "inputTokens": model.usage.input,
        "outputTokens": model.usage.output,
        "totalTokens": model.usage.total(),
    });
    if model.usage.cached > 0 {
        tokens["cachedTokens"] = model.usage.cached.into();
        tokens["cacheReadInputTokens"] = model.usage.cached.into();
    }
    if model.usage.written > 0 {
        tokens["cacheWriteInputTokens"] = model.usage.written.into();
    }
    put("tokens", tokens);
    if let Some(cost) = model.cost {
        put("costUsd", cost.dollars().into());
    }
    for (name, value) in [
        ("actualProvider", &model.actual_provider),
        ("actualModel", &model.actual_model),
        ("stopReason", &model.stop_reason),
    ] {
        if let Some(value) = value {
            put(name, (**value).into());
        }
    }
    if let Some(most) = &model.unsettled {
        let most = json!({
            "inputTokensMax": most.input,
            "outputTokensMax": most.output,
            "costUsdMax": most.cost.dollars(),
        });
        put("unsettled", most);
    }
}

/// What was left of the window before the output is worked out from what would have been.
fn tool_fields(tool: &ToolAccount, put: &mut impl FnMut(&str, Value)) {
    put("type", "tool".into());
    put("mcpServer", tool.server.as_str().into());
    put("command", tool.command.as_str().into());
    put("charactersIn", tool.characters_in.into());
    put("charactersOut", tool.characters_out.into());
    if tool.is_tag {
        put("source", "xml".into());
    }
    if let Some(dropped) = &tool.dropped {
        put("originalTokens", dropped.original.into());
        put("replacementTokens", dropped.replacement.into());
        put("projectedTokens", dropped.projected.into());
        put("limitTokens", dropped.limit.into());
        let before = dropped.projected.saturating_sub(dropped.original);
        let remaining = dropped
            .limit
            .saturating_sub(i64::try_from(before).unwrap_or(i64::MAX));
        put("remainingTokens", remaining.max(0).into());
    }
    if let Some(child) = &tool.child {
        put("childTxnId", child.as_str().into());
    }
}
