//! The official Python client against the real program, over both transports and by both ways to begin, and our own.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::installed::installed;
use crate::place::{Place, call, parse};
use crate::served::{Served, report};

/// Runs the client's script with a server's address or command; `None` where it is not installed.
fn client(arguments: &[&str], place: &Place) -> Option<(bool, String)> {
    run("client.py", arguments, place)
}

pub(crate) fn run(script: &str, arguments: &[&str], place: &Place) -> Option<(bool, String)> {
    let python = installed("BONDED_MCP_PYTHON")?.join("python");
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp");
    let script = format!("{scripts}/{script}");
    let output = Command::new(python)
        .args(["-I", &script])
        .args(arguments)
        .env("BONDED_STORE", place.path("store.db"))
        .current_dir(place.work())
        .stdin(Stdio::null())
        .output()
        .expect("the interpreter can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), said))
}

#[test]
fn the_official_client_lists_calls_and_reads_over_stdio() {
    for mode in ["legacy", "auto"] {
        let place = Place::new();
        place.agent("agent", &[report("Because.")], "description: Tests.");
        let agent = place.path("agent.ai").display().to_string();
        let program = env!("CARGO_BIN_EXE_bonded");
        let flags = ["mcp", "--tooling-transport", "native", "--agent", &agent];
        let arguments: Vec<&str> = [mode, program].into_iter().chain(flags).collect();
        if let Some((succeeded, said)) = client(&arguments, &place) {
            assert!(succeeded, "{mode}: {said}");
        }
    }
}

#[test]
fn the_official_client_lists_calls_and_reads_over_http() {
    for mode in ["legacy", "auto"] {
        let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
        let url = format!("http://{}/mcp", served.address);
        if let Some((succeeded, said)) = client(&[mode, &url], &served.place) {
            assert!(succeeded, "{mode}: {said}");
        }
    }
}

#[test]
fn an_agent_calls_the_agents_of_another_bonded_as_tools() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let place = Place::new();
    let url = format!("http://{}/mcp", served.address);
    let config = json!({ "mcpServers": { "others": { "type": "http", "url": url } } });
    std::fs::write(place.work().join(".ai-agent.json"), config.to_string()).expect("it is written");
    let asks = call("others__agent", json!({ "prompt": "why?" }));
    place.agent("caller", &[asks, report("Heard.")], "tools: others");
    let file = place.path("caller.ai").display().to_string();
    let flags = ["--trust", "--tooling-transport", "native", "--json"];
    let arguments: Vec<&str> = ["run", "--agent", &file, "ask"]
        .into_iter()
        .chain(flags)
        .collect();
    let done = place.bonded(&arguments);
    assert_eq!(done.code, Some(0), "{done:?}");
    let result = parse(done.stdout.trim());
    let log = place.log(result["runId"].as_str().unwrap_or_default());
    let heard = log.iter().find(|line| line.contains("tool_finished"));
    assert!(
        heard.is_some_and(|line| line.contains("Because.")),
        "{log:?}"
    );
    // Its client has sent a key, so the other's run has a name that follows from it.
    let runs = served.place.bonded(&["runs", "--json"]).stdout;
    let run = parse(runs.trim())["runId"].clone();
    assert!(
        run.as_str().is_some_and(|id| id.starts_with("key-")),
        "{run}"
    );
}
