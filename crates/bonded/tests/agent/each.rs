//! Many goals for one agent.

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::reply::{echo, report};
use crate::world::World;

const JSON_INPUT: &str = "input: { format: json, schema: { type: object, required: [city], properties: { city: { type: string } } } }";

fn each(world: &World, flags: &[&str]) -> Outcome {
    world.write();
    let fixed = ["run", "--agent", "agent.ai", "--each", "goals.jsonl"];
    world.bonded(&[&fixed[..], flags].concat())
}

/// The results by run.
fn results(outcome: &Outcome) -> Vec<(String, Value)> {
    let lines = outcome.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a result is JSON");
        (line["runId"].as_str().unwrap_or_default().to_owned(), line)
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    lines
}

fn goals(goals: &[(&str, &str)]) -> String {
    let lines = goals
        .iter()
        .map(|(id, goal)| json!({ "id": id, "goal": goal }).to_string());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_goal_that_the_agent_does_not_take_is_that_lines_result_and_the_others_run() {
    let lines = goals(&[
        ("a", "no JSON"),
        ("b", r#"{"city":"Ulm"}"#),
        ("c", r#"{"town":"Ulm"}"#),
        ("d", r#"{"city":"Bonn"}"#),
    ]);
    let world = World::new()
        .front(JSON_INPUT)
        .file("goals.jsonl", lines)
        .then_always(report("done"));
    let outcome = each(&world, &[]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(outcome.requests.len(), 2);
    assert!(
        outcome.stderr.contains("2 of 4 goals succeeded"),
        "{}",
        outcome.stderr
    );
    let results = results(&outcome);
    let seen: Vec<_> = results
        .iter()
        .map(|(id, line)| {
            (
                id.as_str(),
                line["success"] == true,
                line["error"]["code"].as_str(),
            )
        })
        .collect();
    let expected = [
        ("a", false, Some("bad-goal")),
        ("b", true, None),
        ("c", false, Some("schema")),
        ("d", true, None),
    ];
    assert_eq!(seen, expected);
    let message = results[2].1["error"]["message"]
        .as_str()
        .unwrap_or_default();
    assert!(message.contains("city"), "{message}");
    let listed = world.bonded(&["runs", "--json"]).stdout;
    for refused in ["a-refused-1", "c-refused-1"] {
        assert!(listed.contains(refused), "{listed}");
    }
}

#[test]
fn a_file_none_of_whose_goals_fits_runs_nothing() {
    let world = World::new()
        .front(JSON_INPUT)
        .file("goals.jsonl", goals(&[("a", "no JSON")]));
    let outcome = each(&world, &[]);
    assert_eq!(
        (outcome.code, outcome.requests.len()),
        (Some(1), 0),
        "{outcome:?}"
    );
    assert_eq!(results(&outcome)[0].1["error"]["code"], "bad-goal");
}

#[test]
fn all_runs_are_booked_and_kept_and_the_same_file_again_adds_nothing() {
    let lines = goals(&[("a", "one"), ("b", "two"), ("c", "three")]);
    let world = World::with_tools()
        .file("goals.jsonl", lines)
        .says([echo("x"), echo("y"), echo("z")])
        .then_always(report("done"));
    let flags = [
        "--billing-file",
        "ledger.jsonl",
        "--sessions-dir",
        "kept",
        "--jobs",
        "3",
    ];
    for _ in 0..2 {
        let outcome = each(&world, &flags);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let ledger = world.ledger("ledger.jsonl");
        for id in ["a", "b", "c"] {
            let own = ledger.iter().filter(|line| line["txnId"] == id);
            let kinds: Vec<&str> = own.filter_map(|line| line["type"].as_str()).collect();
            assert_eq!(kinds, ["llm", "tool", "llm", "tool"], "{id}");
            assert!(world.path(&format!("kept/{id}.json.gz")).is_file());
        }
        assert_eq!(ledger.len(), 12);
    }
}
