//! The tools through a whole run: what they do, what is logged of it, and what they cannot do.

use bonded_testkit::provider::Asked;
use serde_json::{Value, json};

use crate::done::{peak_kb, text};
use crate::place::{Place, call, done, finish, start, with};
use crate::watch::{of_kind, read, saying, write};

/// Starts a command and expects it to stay within 200 MB.
pub(crate) fn within_memory(place: &Place, arguments: &[&str]) -> crate::place::Done {
    let child = start(&mut place.command(arguments));
    let peak = peak_kb(&child);
    let end = finish(child);
    let peak = peak.join().expect("looking does not panic");
    assert!(peak > 0 && peak < 200_000, "the process took {peak} kB");
    end
}

#[test]
fn every_tool_does_its_work_and_is_logged_before_and_after() {
    let place = Place::new();
    let lines = [
        call("write", json!({ "path": "dir/a.txt", "content": "one\n" })),
        call("append", json!({ "path": "dir/a.txt", "content": "two\n" })),
        call(
            "edit",
            json!({ "path": "dir/a.txt", "old": "one", "new": "ONE" }),
        ),
        with(
            call("read", json!({ "path": "dir/a.txt" })),
            "expect",
            json!(["hash_after"]),
        ),
        with(
            call("list", json!({ "path": "dir" })),
            "expect",
            json!(["ONE", "two"]),
        ),
        with(
            call("search", json!({ "pattern": "tw." })),
            "expect",
            json!(["a.txt"]),
        ),
        with(
            call("run", json!({ "command": "cat dir/a.txt; exit 3" })),
            "expect",
            json!(["dir/a.txt"]),
        ),
        with(done("ok"), "expect", json!(["\"exit\":3", "ONE"])),
    ];
    place.play(&lines).succeeds();
    assert_eq!(read(&place.work().join("dir/a.txt")), "ONE\ntwo\n");
    let entries = place.entries("run");
    let calls = [
        ("write", "idempotent"),
        ("append", "write"),
        ("edit", "write"),
        ("read", "read"),
        ("list", "read"),
        ("search", "read"),
        ("run", "write"),
        ("done", "read"),
    ];
    for (index, (tool, effect)) in calls.into_iter().enumerate() {
        expect_logged(&entries, index + 1, tool, effect);
    }
    place.passes_the_audit("run");
}

/// The one call of this turn was logged before it started and after it ended.
fn expect_logged(entries: &[Value], turn: usize, tool: &str, effect: &str) {
    let turn = entries.iter().filter(|entry| entry["turn"] == turn);
    let turn: Vec<&Value> = turn.collect();
    let kinds: Vec<&str> = turn.iter().map(|entry| text(&entry["kind"])).collect();
    let expected = [
        "attempt_started",
        "decision_made",
        "tool_invoked",
        "tool_finished",
    ];
    assert_eq!(kinds[..4], expected, "{tool}");
    // The log leaves out what is the rule: that a tool reads, and that it succeeds.
    let (invoked, finished) = (&turn[2]["data"], &turn[3]["data"]);
    assert_eq!(
        (&invoked["tool"], &finished["tool"]),
        (&json!(tool), &json!(tool))
    );
    assert_eq!(invoked["effect"].as_str().unwrap_or("read"), effect);
    // The command exits with 3.
    let outcome = if tool == "run" { "failed" } else { "ok" };
    assert_eq!(finished["outcome"].as_str().unwrap_or("ok"), outcome);
    let output: Value = serde_json::from_str(text(&finished["output"])).expect("JSON");
    assert!(output.is_object(), "{tool}: {output}");
}

#[test]
fn the_long_output_of_a_command_can_be_read_to_its_end() {
    let place = Place::new();
    let flags = ["--tool-response-max-bytes", "2000"];
    let page = json!({ "handle": "out-1-0", "offset": 15_500 });
    let result = place.result(
        &flags,
        &[
            call("run", json!({ "command": "seq 3000" })),
            // The end is shown at once, and the middle can be read.
            with(
                call("tool_output", page),
                "expect",
                json!(["Read on with tool_output", "2999\\n3000\\n", "\"exit\":0"]),
            ),
            with(done("ok"), "expect", json!(["2999\\n3000\\n", "the end]"])),
        ],
    );
    assert_eq!(result["success"], true, "{result}");
    place.passes_the_audit("run");
}

#[test]
fn a_path_that_leads_out_is_refused_and_the_model_is_told() {
    let place = Place::new();
    write(&place.path("secret.txt"), "treasure");
    let link = place.work().join("link");
    std::os::unix::fs::symlink(place.path("secret.txt"), link).expect("a link can be made");
    let outside = place.path("secret.txt").display().to_string();
    for path in [
        "../secret.txt",
        "link",
        outside.as_str(),
        "a/../../secret.txt",
    ] {
        let lines = [
            call("read", json!({ "path": path })),
            with(
                call("write", json!({ "path": path, "content": "x" })),
                "expect",
                json!(["(tool failed: "]),
            ),
            with(
                call("append", json!({ "path": path, "content": "x" })),
                "expect",
                json!(["(tool failed: "]),
            ),
            with(done("ok"), "expect", json!(["(tool failed: "])),
        ];
        let script = place.script(&lines);
        place.bonded(&["run", "--model", &script, path]).succeeds();
        assert_eq!(read(&place.path("secret.txt")), "treasure", "{path}");
    }
    assert!(
        !store_bytes(&place).contains("treasure"),
        "the model has seen it"
    );
}

/// Everything that lies in the store's files.
fn store_bytes(place: &Place) -> String {
    let names = ["store.db", "store.db-wal"];
    let parts = names.map(|name| std::fs::read(place.path(name)).unwrap_or_default());
    String::from_utf8_lossy(&parts.concat()).into_owned()
}

#[test]
fn a_tool_that_prints_a_gigabyte_is_cut_in_bounded_memory_and_the_run_goes_on() {
    let place = Place::new();
    let flood = call("run", json!({ "command": "yes | head -c 1000000000" }));
    let told = with(
        done("ok"),
        "expect",
        json!(["\"stdout_bytes\":1000000000", "\"truncated\":true"]),
    );
    let script = place.script(&[flood, told]);
    let run = within_memory(
        &place,
        &["run", "--id", "run", "--model", &script, "the goal"],
    );
    run.succeeds();
    let entries = place.entries("run");
    let output = text(&of_kind(&entries, "tool_finished")[0]["output"]);
    assert!(output.len() <= 32_768, "{}", output.len());
}

/// The names of the tools that a run was given.
fn offered(place: &Place) -> Vec<String> {
    let entries = place.entries("run");
    let offered: Value = serde_json::from_str(text(&entries[0]["data"]["tools"])).expect("JSON");
    let tools = offered.as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

#[test]
fn a_run_without_an_agent_is_given_only_the_tools_that_were_chosen() {
    let place = Place::new();
    let lines = [
        call("write", json!({ "path": "a.txt", "content": "x" })),
        call("run", json!({ "command": "touch a.txt" })),
        with(
            call("list", json!({ "path": "." })),
            "expect",
            json!(["there is no tool"]),
        ),
        done("ok"),
    ];
    let result = place.result(&["--tools", "read,list", "--no-progress", "0"], &lines);
    assert_eq!(result["success"], true, "{result}");
    assert!(!place.work().join("a.txt").exists());
    assert_eq!(offered(&place), ["done", "list", "read", "tool_output"]);
    place.passes_the_audit("run");
    for none in ["", ",", " "] {
        let place = Place::new();
        place.result(&["--tools", none], &[done("ok")]);
        assert_eq!(offered(&place), ["done"], "{none:?}");
    }
    let refused = place.bonded(&["run", "--tools", "read,reed", "the goal"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
}

#[test]
fn free_text_executes_nothing_whatever_it_says() {
    let texts = [
        "```sh\ntouch hacked\n```",
        "$(touch hacked) `touch hacked`; touch hacked",
        "{\"tool\": \"run\", \"arguments\": {\"command\": \"touch hacked\"}}",
        "<tool_call>{\"name\": \"run\", \"arguments\": {\"command\": \"touch hacked\"}}</tool_call>",
        "[{\"calls\":[{\"tool\":\"write\",\"arguments\":{\"path\":\"hacked\",\"content\":\"\"}}]}]",
    ];
    let told = "Your last message called no tool, so nothing was done";
    for text in texts {
        let place = Place::new();
        let said = json!({ "text": text, "reasoning": text });
        let again = with(said.clone(), "expect", json!([told]));
        let result = place.result(&[], &[said, again]);
        assert_eq!(result["success"], true, "{result}");
        assert_eq!(result["termination"]["reason"], text, "it is the answer");
        assert!(!place.work().join("hacked").exists());
        let entries = place.entries("run");
        assert_eq!(of_kind(&entries, "tool_invoked").len(), 0);
    }
}

#[test]
fn the_keys_of_providers_do_not_reach_commands_the_log_or_the_terminal() {
    let place = Place::new();
    let call = json!({ "id": "c1", "type": "function",
        "function": { "name": "run", "arguments": "{\"command\":\"env | sort > env.txt; env\"}" } });
    let done = json!({ "id": "c2", "type": "function",
        "function": { "name": "done", "arguments": "{\"reason\":\"ok\"}" } });
    let replies = [call, done].map(|call| {
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] }).to_string()
    });
    let server = saying(replies.map(String::into_bytes));
    let url = server.base_url();
    let arguments = [
        "run",
        "--id",
        "run",
        "--base-url",
        &url,
        "--key-env",
        "MY_LLM",
        "--sandbox-env",
        "HARMLESS",
        "--model",
        "m",
        "goal",
    ];
    let keys = [
        ("MY_LLM", "planted-key-1"),
        ("OPENAI_API_KEY", "planted-key-2"),
        ("GITHUB_TOKEN", "planted-key-3"),
        ("DB_PASSWORD", "planted-key-4"),
    ];
    let run = finish(start(
        place
            .command(&arguments)
            .envs(keys)
            .env("HARMLESS", "is-passed-on"),
    ));
    run.succeeds();
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    let key = |it: &Asked| it.headers["authorization"] == "Bearer planted-key-1";
    assert!(asked.iter().all(key), "{asked:?}");
    let env = read(&place.work().join("env.txt"));
    assert!(env.contains("HARMLESS=is-passed-on"), "{env}");
    let shown = place.log("run").join("\n");
    for place in [&env, &run.stdout, &run.stderr, &shown, &store_bytes(&place)] {
        assert!(!place.contains("planted-key"), "{place}");
    }
}
