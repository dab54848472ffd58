//! Agents that change nothing: what their files say, tools of servers and of the network, and agents that they call.

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::provider::Provider;
use crate::reply::{call, calls, raw, report};
use crate::world::World;

fn note() -> (&'static str, Value) {
    ("write", json!({ "path": "note", "content": "x" }))
}

fn offered(outcome: &Outcome, request: usize) -> Vec<String> {
    let mut tools = outcome.requests[request].tools();
    tools.sort_unstable();
    tools.into_iter().map(str::to_owned).collect()
}

#[test]
fn an_agents_file_says_that_it_changes_nothing_and_a_person_may_say_otherwise() {
    let world = || {
        World::new()
            .front("tools: builtin\nreadOnly: true")
            .says([calls(&[note()]), report("done")])
    };
    let held = world();
    let outcome = held.run(&[], "do it").good();
    let expected = ["list", "read", "run", "search", "tool_output"];
    assert_eq!(offered(&outcome, 0), expected);
    assert!(!held.path("note").exists());
    let told = outcome.tool_texts()[0];
    assert!(told.contains("this run changes nothing: "), "{told}");
    held.sound_log(outcome.run_id());
    let freed = world();
    freed.run(&["--no-read-only"], "do it").good();
    assert!(freed.path("note").exists());
}

#[test]
fn agents_that_are_called_change_nothing_either_whatever_their_files_say() {
    let child =
        "---\ndescription: Writes.\ntools: builtin\nreadOnly: false\n---\nYou are the child.";
    let world = World::new()
        .front("agents: child.ai")
        .file("child.ai", child)
        .says([
            call(
                "agent__child",
                json!({ "prompt": "write it", "reason": "a title", "format": "sub-agent" }),
            ),
            calls(&[
                note(),
                (
                    "run",
                    json!({ "command": "echo x > note; echo x > $HOME/left" }),
                ),
            ]),
            report("tried"),
            report("done"),
        ]);
    let flags = ["--read-only", "--override", "sandbox=full"];
    let outcome = world.run(&flags, "do it").good();
    assert_eq!(offered(&outcome, 0), ["agent__child", "tool_output"]);
    assert_eq!(
        offered(&outcome, 1),
        ["list", "read", "run", "search", "tool_output"]
    );
    assert!(!world.path("note").exists());
    let child = outcome.accounts("llm")[1]["txnId"].as_str();
    let log = world.sound_log(child.expect("a run has an id"));
    let config = &log[0]["data"]["config"];
    assert_eq!(config["sandbox"]["level"], "read-only");
    assert_eq!(config["policy"]["above"]["reads_only"], true);
}

/// An agent with the tool server of the tests, which appends to a file in some of its calls.
fn served(front: &str, more: &Value) -> World {
    let world = World::with_tools().front(front);
    let file = world.path("counted").display().to_string();
    let server = world.tool_server(&json!({ "COUNT_FILE": file }));
    let world = world.config(&json!({ "mcpServers": { "test": server } }));
    world.config(&json!({ "mcpServers": { "test": more } }))
}

#[test]
fn tools_of_a_server_are_offered_where_it_declares_them_as_reading_and_it_can_write_nothing() {
    // It says of `note` that it reads.
    let world = served("readOnly: true", &json!({})).says([
        calls(&[
            ("test__note", json!({ "text": "evil" })),
            ("test__count", json!({})),
        ]),
        report("done"),
    ]);
    let outcome = world.run(&[], "do it").good();
    let tools = offered(&outcome, 0);
    assert!(tools.contains(&"test__note".to_owned()), "{tools:?}");
    for writes in ["test__count", "test__test-summary"] {
        assert!(!tools.contains(&writes.to_owned()), "{tools:?}");
    }
    let told = outcome.tool_texts();
    assert!(told[0].starts_with("(tool failed: "), "{}", told[0]);
    assert!(
        told[1].contains("this run changes nothing: "),
        "{}",
        told[1]
    );
    assert!(!world.path("counted").exists());
    // The same server writes where the run may.
    let free = served("", &json!({})).says([
        call("test__note", json!({ "text": "good" })),
        report("done"),
    ]);
    free.run(&[], "do it").good();
    assert!(free.path("counted").exists());
}

#[test]
fn an_untrusted_server_that_reaches_the_network_is_not_believed_that_it_reads() {
    let reads = "test__test".to_owned();
    for (front, more, is_offered) in [
        ("readOnly: true", json!({ "sandboxNetwork": true }), true),
        (
            "readOnly: true\nuntrusted: test__*",
            json!({ "sandboxNetwork": true }),
            false,
        ),
        // What it cannot do, it need not be believed.
        ("readOnly: true\nuntrusted: test__*", json!({}), true),
        (
            "untrusted: test__*",
            json!({ "sandboxNetwork": true }),
            true,
        ),
    ] {
        let world = served(front, &more).says([report("done")]);
        let outcome = world.run(&[], "do it").good();
        let tools = offered(&outcome, 0);
        assert_eq!(tools.contains(&reads), is_offered, "{front} {more}");
    }
}

#[test]
fn of_requests_over_http_those_that_read_are_offered() {
    let server = Provider::serving(|_| raw(200, "application/json", "{}"));
    let tool = |method: &str| json!({ "description": "A tool.", "method": method, "url": server.origin() });
    let tools = json!({ "look": tool("GET"), "send": tool("POST"), "drop": tool("DELETE") });
    let world = World::new()
        .front("tools: look, send, drop\nreadOnly: true")
        .config(&json!({ "restTools": tools }))
        .says([call("rest__send", json!({})), report("done")]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(offered(&outcome, 0), ["rest__look", "tool_output"]);
    assert_eq!(server.heard().len(), 0);
}
