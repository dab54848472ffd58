//! Lines of scripts, as tests write them one by one.

use serde_json::{Value, json};

/// Longer than any test waits: what has this delay hangs.
pub const FOREVER_MS: u64 = 600_000;

/// A reply that calls one tool.
pub fn call(tool: &str, arguments: Value) -> Value {
    let mut line = json!({ "calls": [{ "tool": tool }] });
    line["calls"][0]["arguments"] = arguments;
    line
}

/// The reply that ends a run.
pub fn done(reason: &str) -> Value {
    call("done", json!({ "reason": reason }))
}

/// The reply that delivers an agent's report.
pub fn report(text: &str) -> Value {
    let arguments = json!({ "report_format": "markdown", "report_content": text });
    let line = call("agent__final_report", arguments);
    with(line, "usage", json!({ "input": 11, "output": 7 }))
}

/// A reply that takes so long that nobody waits for it.
pub fn never() -> Value {
    with(report("too late"), "delay_ms", FOREVER_MS)
}

/// Sets a field of a line.
pub fn with(mut line: Value, field: &str, value: impl Into<Value>) -> Value {
    line[field] = value.into();
    line
}
