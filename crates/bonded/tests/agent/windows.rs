//! Windows that nobody configured: the server says how large they are, or its refusal does.

use serde_json::{Value, json};

use crate::reply::{echo, report};
use crate::world::World;

/// A server whose model has a window of so much, as it says.
fn saying(tokens: &Value) -> Value {
    json!({ "data": [{ "id": "one", "max_model_len": tokens }, { "id": "other", "max_model_len": 1 }] })
}

/// What the log keeps of the first target.
fn target(world: &World, run: &str) -> Value {
    world.log(run)[0]["data"]["config"]["targets"][0].clone()
}

#[test]
fn a_server_is_asked_for_the_window_once_and_the_log_keeps_what_it_said() {
    let world = World::with_tools().lists(&saying(&json!(40_000)));
    let world = world.says([echo("a"), report("done")]);
    let outcome = world.run(&[], "work").good();
    let kept = target(&world, outcome.run_id());
    assert_eq!(kept["window"]["tokens"], 40_000, "{kept}");
    assert_eq!(kept["window_source"], "asked", "{kept}");
    assert_eq!(world.looks(), ["/v1/models"]);
    // What the log has is what holds: neither a replay nor whoever takes the run up asks again.
    let run = outcome.run_id();
    for command in [&["replay", run][..], &["resume", run], &["show", run]] {
        let done = world.bonded(command);
        assert_eq!(done.code, Some(0), "{command:?}: {done:?}");
    }
    assert_eq!(world.looks().len(), 1);
}

#[test]
fn a_run_that_is_taken_up_again_keeps_its_window_and_asks_nobody() {
    let world = World::with_tools().lists(&saying(&json!(40_000)));
    let world = world.says([report("never").delayed_ms(3_600_000), report("done")]);
    let mut child = world.run_command(&["--id", "killed"], "work");
    let mut child = child.spawn().expect("it starts");
    world.wait_for_requests(1);
    child.kill().expect("it is there");
    child.wait().expect("it is there");
    let resumed = world.bonded(&["resume", "killed"]);
    assert_eq!(world.looks().len(), 1, "{resumed:?}");
    assert_eq!(target(&world, "killed")["window"]["tokens"], 40_000);
}

#[test]
fn who_is_told_the_window_or_gets_no_answer_takes_what_is_there() {
    let window = json!({ "providers": { "first": { "contextWindow": 50_000 } } });
    let cases: [(Option<Value>, bool, u64, &str, usize); 6] = [
        (Some(saying(&json!(40_000))), true, 50_000, "configured", 0),
        (None, false, 131_072, "assumed", 1),
        (
            Some(json!({ "data": "rubbish" })),
            false,
            131_072,
            "assumed",
            1,
        ),
        (Some(saying(&json!(0))), false, 131_072, "assumed", 1),
        (Some(saying(&json!(-5))), false, 131_072, "assumed", 1),
        (Some(saying(&json!("40000"))), false, 131_072, "assumed", 1),
    ];
    for (lists, is_configured, tokens, source, looks) in cases {
        let mut world = World::new().says([report("done")]);
        if let Some(lists) = lists.clone() {
            world = world.lists(&lists);
        }
        if is_configured {
            world = world.config(&window);
        }
        let outcome = world.run(&[], "work").good();
        let kept = target(&world, outcome.run_id());
        assert_eq!(kept["window"]["tokens"], tokens, "{lists:?} {kept}");
        assert_eq!(kept["window_source"], source, "{lists:?} {kept}");
        assert_eq!(world.looks().len(), looks, "{lists:?}");
    }
}

#[test]
fn a_run_without_an_agent_is_guarded_where_the_server_says_its_window() {
    let world = World::new().lists(&saying(&json!(16_384)));
    let done = json!({ "reason": "42" });
    let world = world.says([crate::reply::calls(&[("done", done)])]);
    let url = world.base_url();
    let outcome = world.bonded(&[
        "run",
        "--json",
        "--base-url",
        &url,
        "--model",
        "one",
        "a goal",
    ]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let kept = target(&world, outcome.run_id());
    assert_eq!(kept["window"]["tokens"], 16_384, "{kept}");
    assert_eq!(kept["window_source"], "asked", "{kept}");
}

#[test]
fn doctor_says_the_window_of_every_model_that_is_named_and_whose_word_it_is() {
    let world = World::new().lists(&saying(&json!(40_000)));
    let world = world.config(&json!({ "providers": {
        "first": { "models": { "one": {}, "two": {}, "three": { "contextWindow": 9_000 } } },
    } }));
    world.write();
    let config = std::fs::read_to_string(world.path(".ai-agent.json")).expect("it was written");
    // The person's own configuration needs no trust.
    let world = world.file("../home/.ai-agent/ai-agent.json", config);
    std::fs::remove_file(world.path(".ai-agent.json")).expect("it is there");
    let shown = world.bonded(&["doctor"]).stdout;
    for line in [
        "first/one: 40,000 tokens, as the server says (asked)",
        "first/three: 9,000 tokens, as the configuration says (configured)",
        "first/two: the context window is not known",
    ] {
        assert!(shown.contains(line), "{line:?} in {shown}");
    }
    assert!(!shown.contains("key-1"), "{shown}");
}
