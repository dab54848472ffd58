//! What the provider answers to an agent, as small values.

use serde_json::json;

pub(crate) use bonded_testkit::provider::{
    Reply, call, calls, message, raw, reasoning, refusal, streamed_text, text, written_calls,
};

/// A call of the echoing tool, which also knows some words of its own.
pub(crate) fn echo(said: &str) -> Reply {
    call("test__test", json!({ "text": said }))
}

/// The final report as a native call.
pub(crate) fn report_call(content: &str) -> Reply {
    let arguments = json!({ "report_format": "pipe", "report_content": content });
    call("agent__final_report", arguments)
}

/// A tag of the run, closed.
pub(crate) fn tag(slot: &str, attributes: &str, payload: &str) -> String {
    format!("<ai-agent-NONCE-{slot} {attributes}>{payload}</ai-agent-NONCE-{slot}>")
}

/// A tag that calls the echoing tool.
pub(crate) fn echo_tag(slot: &str, said: &str) -> String {
    tag(
        slot,
        "tool=\"test__test\"",
        &json!({ "text": said }).to_string(),
    )
}

/// The final report as a tag.
pub(crate) fn report_tag(format: &str, payload: &str) -> String {
    let attributes = format!("tool=\"agent__final_report\" format=\"{format}\"");
    tag("FINAL", &attributes, payload)
}

/// The reply that ends most runs: a final report as a tag, in the format of programs.
pub(crate) fn report(content: &str) -> Reply {
    text(&report_tag("pipe", content))
}
