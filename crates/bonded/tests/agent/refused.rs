//! Runs that were refused before their first step: the exit code of the refusal, and on record.

use serde_json::{Value, json};

use crate::reply::report;
use crate::world::{World, start};

fn listed(world: &World) -> Vec<Value> {
    let outcome = world.bonded(&["runs", "--json"]);
    let lines = outcome.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a listed run is JSON"))
        .collect()
}

/// A world in which nothing can begin, its exit code, and what its reason says.
fn rows() -> Vec<(World, i32, [&'static str; 2])> {
    let no_server = json!({ "mcpServers": { "gone": { "command": "/nowhere/at-all" } } });
    let no_key = json!({ "providers": { "first": { "apiKey": "${NOT_SET_ANYWHERE}" } } });
    let off = json!({ "mcpServers": { "off": { "command": "x", "enabled": false } } });
    let input = "input: { format: json, schema: { type: object, required: [city] } }";
    vec![
        (
            World::new().config(&no_key),
            4,
            ["config", "NOT_SET_ANYWHERE"],
        ),
        (
            World::new().front("tools: off").config(&off),
            4,
            ["unknown-tool", "is disabled"],
        ),
        (
            World::new().front("tools: gone").config(&no_server),
            3,
            ["tool-server", "gone"],
        ),
        (World::new().front(input), 5, ["schema", "city"]),
    ]
}

#[test]
fn a_run_that_was_refused_is_listed_with_its_reason_and_keeps_its_exit_code() {
    for (world, code, said) in rows() {
        let outcome = world.run(&[], "{}").refused(code, &["bonded show"]);
        let listed = listed(&world);
        let [run] = listed.as_slice() else {
            panic!("{code}: one run is listed: {listed:?}");
        };
        let reason = run["termination"]["reason"].as_str().unwrap_or_default();
        for part in said {
            assert!(reason.contains(part), "{part} in {reason}");
        }
        assert_eq!(
            (&run["status"], &run["turns"]),
            (&json!("failed"), &json!(0))
        );
        assert_eq!(run["termination"]["kind"], "fatal");
        assert_eq!(outcome.result["runId"], run["runId"], "--json has a result");
        assert_eq!(outcome.result["success"], false);
        let id = run["runId"].as_str().expect("a run has an id");
        for (command, code) in [("verify", 7), ("replay", 0), ("show", 0)] {
            assert_eq!(world.bonded(&[command, id]).code, Some(code), "{command}");
        }
    }
}

#[test]
fn a_chosen_id_stays_free_for_the_run_that_can_begin() {
    let no_key = json!({ "providers": { "first": { "apiKey": "${NOT_SET_ANYWHERE}" } } });
    let world = World::new().config(&no_key).says([report("done")]);
    for _ in 0..2 {
        world
            .run(&["--id", "mine"], "do it")
            .refused(4, &["mine-refused-"]);
    }
    let fixed = json!({ "providers": { "first": { "apiKey": "key-1", "type": "openai", "baseUrl": world.base_url() } } });
    let world = world.file(".ai-agent.json", fixed.to_string());
    world.run(&["--id", "mine"], "do it").good();
    let mut ids: Vec<String> = listed(&world)
        .iter()
        .map(|run| run["runId"].as_str().unwrap_or_default().to_owned())
        .collect();
    ids.sort();
    assert_eq!(ids, ["mine", "mine-refused-1", "mine-refused-2"]);
}

#[test]
fn a_mistake_in_the_arguments_is_no_run() {
    let world = World::new();
    for flags in [["--max-turns", "many"], ["--override", "nonsense"]] {
        world.run(&flags, "do it").refused(4, &["error["]);
    }
    assert_eq!(listed(&world), Vec::<Value>::new());
}

#[test]
fn no_secret_enters_the_record_of_a_refused_run() {
    let off = json!({ "mcpServers": { "off": { "command": "x", "enabled": false } } });
    let world = World::new().front("tools: off").config(&off);
    let secret = "tok-9xQ2wL7mZk4";
    let mut command = world.run_command(&[], &format!("use {secret}"));
    let outcome = world.finish(start(command.env("MY_TOKEN", secret)));
    let outcome = outcome.refused(4, &["bonded show"]);
    let id = outcome.run_id();
    let log = world.bonded(&["show", id, "--json"]);
    assert!(
        log.stdout.contains("use ") && !log.stdout.contains(secret),
        "{}",
        log.stdout
    );
    assert!(!outcome.stdout.contains(secret), "{}", outcome.stdout);
}
