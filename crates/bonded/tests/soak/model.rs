//! A model of the test's own behind HTTP, as unreliable as services are. What it says follows from what it is asked:
//! the number of the question comes back in the answer, and so does what a tool gave.

use std::sync::atomic::{AtomicU64, Ordering};

use bonded_testkit::provider::{Asked, Provider, Reply, raw, refusal, said_to};
use serde_json::{Value, json};

use crate::rng::Rng;

/// What lies in the file that an agent is to read.
pub(crate) const PAGE: &str = "the page says forty-two";

/// The question, in every request that belongs to it.
pub(crate) fn question(ticket: u64) -> String {
    format!("ticket-{ticket}-end")
}

fn plain_answer(ticket: u64) -> String {
    format!("answer {ticket}")
}

/// The name of an agent, and what is due as its answer.
type Agent = (&'static str, fn(u64) -> String);

/// The agents, and what is due as the answer of each: at once, after a look into a file, and after a call to a server
/// of tools.
pub(crate) const AGENTS: [Agent; 3] = [
    ("plain", plain_answer),
    ("reader", |ticket| format!("answer {ticket}: {PAGE}")),
    ("caller", |ticket| format!("answer {ticket}: echo {ticket}")),
];

/// Serves until the process ends; says where.
pub(crate) fn serve(seed: u64) -> String {
    let requests = AtomicU64::new(1_000_000);
    let provider = Provider::answering(move |asked| {
        let rng = Rng::of(seed, requests.fetch_add(1, Ordering::Relaxed));
        answer(asked, rng)
    });
    provider.forgetting().keeping_connections().base_url()
}

/// Some eight in a hundred requests go wrong.
fn answer(asked: &Asked, mut rng: Rng) -> Reply {
    let good = || said_to(asked, &reply(asked));
    match rng.below(100) {
        0 => refusal(500, "not now"),
        1 => refusal(503, "not now"),
        2 => refusal(429, "not now"),
        3 => good().cut(),
        4 => raw(200, "text/html", "<html>a gateway speaks</html>"),
        5..8 => good().delayed_ms(200 + rng.below(1_300)),
        _ => good(),
    }
}

/// What the model says: the fields of a message.
fn reply(asked: &Asked) -> Value {
    if let Some(run) = asked.memory("run_id") {
        return json!({ "role": "assistant", "content": looped(&run) });
    }
    let texts = asked.texts();
    let ticket = texts.iter().find_map(|text| {
        let (_, rest) = text.split_once("ticket-")?;
        rest.split_once("-end")?.0.parse::<u64>().ok()
    });
    let Some(ticket) = ticket else {
        return json!({ "role": "assistant", "content": "nobody asked anything" });
    };
    let tools = asked.tools();
    let output = asked.messages().iter().rposition(|it| it["role"] == "tool");
    match output {
        Some(output) => report(&format!("answer {ticket}: {}", shown(&texts[output]))),
        None if tools.contains(&"read") => called("read", &json!({ "path": "page.txt" })),
        None if tools.contains(&"test__test") => {
            called("test__test", &json!({ "text": format!("echo {ticket}") }))
        }
        None => report(&plain_answer(ticket)),
    }
}

/// What a tool gave: the contents of a file, or a text as it is.
fn shown(output: &str) -> String {
    let file: Value = serde_json::from_str(output).unwrap_or_default();
    file["content"].as_str().unwrap_or(output).trim().to_owned()
}

fn report(text: &str) -> Value {
    let arguments = json!({ "report_format": "markdown", "report_content": text });
    called("agent__final_report", &arguments)
}

fn called(tool: &str, arguments: &Value) -> Value {
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
    json!({ "role": "assistant", "content": null, "tool_calls": [call] })
}

/// An agent that works in loops makes one note, which names its run, and is at its end.
fn looped(run: &Value) -> String {
    let run = run.as_str().unwrap_or_default();
    let note = json!({ "title": format!("agent {run}"), "markdown": "made" });
    format!(
        "<record_add><keywords>soak</keywords><value>{note}</value></record_add>\
         <state_add><state>idle</state></state_add>"
    )
}
