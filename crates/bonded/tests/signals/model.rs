//! A model of the test's own behind HTTP: it wants something counted three times, and then reports.

use bonded_testkit::provider::{Asked, Provider, Reply, call_to};
use serde_json::json;

/// The tool that must not be called twice.
pub(crate) const TOOL: &str = "test__count";

pub(crate) const ANSWER: &str = "counted";

const CALLS: usize = 3;

/// Time for a signal to fall into a request.
const THINKS_MS: u64 = 15;

/// Serves until the process ends; says where.
pub(crate) fn serve() -> String {
    Provider::answering(reply).keeping_connections().base_url()
}

fn reply(asked: &Asked) -> Reply {
    let report = json!({ "report_format": "markdown", "report_content": ANSWER });
    let reply = match asked.outputs() {
        ..CALLS => call_to(asked, TOOL, &json!({})),
        _ => call_to(asked, "agent__final_report", &report),
    };
    reply.delayed_ms(THINKS_MS)
}
