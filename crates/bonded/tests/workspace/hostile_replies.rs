//! Replies of a model that would cost a careless reader its time, its memory or its mind.

use std::time::{Duration, Instant};

use bonded_testkit::provider::{self, Provider, Reply};
use serde_json::{Value, json};

use crate::model::{saying, whole};
use crate::server::Server;
use crate::socket::Socket;

/// A run with the largest of these replies, in a build that is not made for speed, on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(40);
/// A reply has 16 MiB at most and is held a few times over while it is read.
const MEMORY_MAX: u64 = 400 << 20;

const UNREADABLE: &str = "XML_PARSE_ERROR";
/// It was read, whatever was dropped, and the one loop that the rule has is over.
const READ: &str = "TURNS_EXHAUSTED";
const NO_ANSWER: &str = "LLM_UNAVAILABLE";

fn text(text: impl AsRef<str>) -> Reply {
    whole(text.as_ref(), "")
}

fn raw(body: impl Into<Vec<u8>>) -> Reply {
    provider::raw(200, "application/json", body)
}

fn rows() -> Vec<(&'static str, Reply, &'static str)> {
    let laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\
        <ram_add><key>k</key><value>&b;&b;&b;</value></ram_add>";
    let add = |value: &str| format!("<ram_add><key>k</key><value>{value}</value></ram_add>");
    vec![
        ("entities of entities", text(laughs), UNREADABLE),
        (
            "elements without an end",
            text("<ram_add>".repeat(500_000)),
            UNREADABLE,
        ),
        (
            "unknown elements without an end",
            text("<a><b>".repeat(500_000)),
            UNREADABLE,
        ),
        (
            "elements in elements",
            text("<a>".repeat(500_000) + &"</a>".repeat(500_000)),
            READ,
        ),
        (
            "attributes",
            text(format!(
                "<ram_add {}><key>k</key></ram_add>",
                "a=\"b\" ".repeat(500_000)
            )),
            READ,
        ),
        ("ends of nothing", text("</a>".repeat(1_000_000)), READ),
        (
            "beginnings of nothing",
            text(add("v") + &"<".repeat(5_000_000)),
            READ,
        ),
        (
            "broken tags",
            text(add("v") + &"<a ".repeat(1_000_000)),
            READ,
        ),
        (
            "sections in sections",
            text("<a><![CDATA[".repeat(300_000)),
            UNREADABLE,
        ),
        (
            "a value of entities",
            text(add(&"&amp;".repeat(1_000_000))),
            READ,
        ),
        (
            "many instructions",
            text(add("v").repeat(100_000)),
            "NO_PROGRESS",
        ),
        ("zeros", text(add("\0") + &"\0".repeat(1_000_000)), READ),
        (
            "more than is taken in",
            raw(vec![b' '; 20 << 20]),
            NO_ANSWER,
        ),
        (
            "bytes that are no text",
            raw(b"{\"choices\": [{\"message\": {\"content\": \"\xff\xfe\"}}]}".to_vec()),
            NO_ANSWER,
        ),
        (
            "an answer in an answer",
            raw("[".repeat(1_000_000)),
            NO_ANSWER,
        ),
    ]
}

/// The code that a run with this model ends with.
fn code_of(server: &Server, socket: &mut Socket, model: &Provider) -> Value {
    let rule = json!({
        "workspace_id": server.workspace(), "trigger": "manual",
        "action_json": {
            "kind": "kjxlkj_agent",
            "provider": { "provider_kind": "lmstudio", "base_url": model.base_url(), "model": "m" },
            "mode": "yolo",
            "loop": { "loop_delay_ms": 1, "idle_delay_ms": 1, "max_iterations": 1 },
        },
    });
    let rule = server.owner.post("/api/automation/rules", &rule).json();
    let rule = rule["rule_id"].as_str().expect("a rule has an id");
    let launched = server
        .owner
        .post(&format!("/api/automation/rules/{rule}/launch"), &json!({}));
    assert_eq!(launched.status, 201, "{launched:?}");
    while !["succeeded", "failed"].contains(&socket.next()["status"].as_str().unwrap_or("")) {}
    let run = launched.json()["run_id"].clone();
    let path = format!("/api/automation/runs/{}", run.as_str().unwrap_or(""));
    server.owner.get(&path).json()["error_code"].clone()
}

#[test]
fn no_reply_costs_more_than_its_bytes_and_each_ends_with_its_code() {
    let rows = rows();
    // Each reply is said as often as it is asked for.
    let models: Vec<Provider> = rows
        .iter()
        .map(|(_, said, _)| saying(vec![said.clone(); 4]))
        .collect();
    let server = Server::asking(&models.iter().collect::<Vec<_>>());
    let mut socket = server.owner.socket();
    socket.follow_workspace(&server.workspace(), None);
    for ((name, _, expected), model) in rows.into_iter().zip(&models) {
        let began = Instant::now();
        assert_eq!(code_of(&server, &mut socket, model), expected, "{name}");
        let took = began.elapsed();
        assert!(took < TIME_MAX, "{name}: {took:?}");
        let peak = server.process.peak_bytes();
        assert!(peak < MEMORY_MAX, "{name}: {} MiB", peak >> 20);
    }
    assert_eq!(server.nobody().get("/healthz").status, 200);
}
