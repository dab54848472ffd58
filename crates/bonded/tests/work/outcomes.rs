//! What comes back: one result for every item, whatever became of it.

use serde_json::{Value, json};

use crate::done::text;
use crate::place::with;
use crate::world::{
    SOME_FAILED, World, expect_status, item, receipt, runs, statuses, with_fields, writes,
};

/// A plan whose four items end in the four ways that there are.
pub(crate) fn one_of_each(world: &World) -> Value {
    world.agent(1, &[writes("new.txt", "new\n")]);
    world.agent(2, &[writes("a.txt", "a"), writes("b.txt", "b")]);
    let late = with(runs("true"), "delay_ms", 600_000);
    world.agent(3, &[late]);
    world.agent(4, &[writes("c.txt", "c")]);
    json!([
        with_fields(item("works", 1), json!({ "test_command": "cat new.txt" })),
        with_fields(
            item("fails", 4),
            json!({ "test_command": "echo no; exit 3" })
        ),
        with_fields(
            item("is-denied", 2),
            json!({ "constraints": { "max_files": 1 } })
        ),
        with_fields(
            item("is-late", 3),
            json!({ "constraints": { "timeout_ms": 1500 } })
        ),
    ])
}

#[test]
fn every_outcome_has_every_field_and_a_receipt_that_verifies() {
    let world = World::plain();
    let plan = one_of_each(&world);
    let ended = world.work(&plan, &["--json"]);
    assert_eq!(ended.code, Some(SOME_FAILED), "{ended:?}");
    let results = ended.json();
    assert_eq!(
        statuses(&results),
        ["success", "failure", "denied", "timeout"]
    );
    for result in results.as_array().expect("an array") {
        expect_every_field(result);
        world
            .place
            .bonded(&["verify", text(&result["receipt_path"])])
            .succeeds();
    }
    expect_status(
        &results[1],
        "failure",
        "Tests failed: echo no; exit 3 exited with 3",
    );
    expect_status(&results[2], "denied", "Exceeded max files: 2 > 1");
    expect_status(&results[3], "timeout", "Timed out");
    assert_eq!(results[0]["test_output"], "new\n");
    assert_eq!(results[1]["test_output"], "no\n");
}

#[track_caller]
fn expect_every_field(result: &Value) {
    let is_hash = |value: &Value| text(value).len() == 64;
    assert_eq!(text(&result["receipt_id"]).len(), 36, "{result}");
    assert!(is_hash(&result["output_hash"]), "{result}");
    for list in ["modified_files", "created_files", "deleted_files"] {
        assert!(result[list].is_array(), "{list}: {result}");
    }
    let hashes = result["artifact_hashes"].as_object();
    assert!(
        hashes.is_some_and(|all| all.values().all(is_hash)),
        "{result}"
    );
    let measured = [
        "execution_time_ms",
        "tool_ops_count",
        "delta_size",
        "files_touched",
    ];
    for name in measured {
        assert!(result["metrics"][name].is_u64(), "{name}: {result}");
    }
    let status = text(&result["status"]);
    for (field, of) in [
        ("proof_script", &["success"][..]),
        ("denial_reason", &["denied"][..]),
        ("error", &["failure", "timeout"][..]),
    ] {
        assert_eq!(
            result.get(field).is_some(),
            of.contains(&status),
            "{field}: {result}"
        );
    }
    assert_eq!(receipt(result)["receipt_id"], result["receipt_id"]);
}

#[test]
fn a_success_names_what_it_did_by_absolute_paths() {
    let world = World::plain();
    world.write("old.txt", "old");
    let script = "echo more >> kept.txt; rm old.txt; mkdir -p deep/er; echo new > deep/er/new.txt";
    world.agent(1, &[runs(script)]);
    let result = world.result(&item("one", 1));
    let path = |name: &str| json!([world.path(name).canonicalize().unwrap_or(world.path(name))]);
    assert_eq!(result["modified_files"], path("kept.txt"));
    assert_eq!(result["created_files"], path("deep/er/new.txt"));
    let deleted = text(&result["deleted_files"][0]);
    assert!(
        deleted.starts_with('/') && deleted.ends_with("/old.txt"),
        "{result}"
    );
    assert_eq!(result["metrics"]["files_touched"], 3);
    assert_eq!(
        result["artifact_hashes"].as_object().map(|it| it.len()),
        Some(2)
    );
    assert_eq!(world.read("kept.txt").as_deref(), Some("kept\nmore\n"));
    assert_eq!(world.read("deep/er/new.txt").as_deref(), Some("new\n"));
    assert_eq!(world.read("old.txt"), None);
}

#[test]
fn results_have_the_shape_of_the_plan() {
    let world = World::plain();
    world.agent(1, &[runs("true")]);
    type Shape = fn(&Value) -> bool;
    let table: [(Value, Shape); 3] = [
        (item("one", 1), Value::is_object),
        (json!([item("one", 1)]), Value::is_array),
        (json!([item("one", 1), item("two", 1)]), Value::is_array),
    ];
    for (plan, has_shape) in table {
        let ended = world.work(&plan, &["--json"]);
        ended.succeeds();
        assert!(has_shape(&ended.json()), "{plan}: {ended:?}");
    }
}

#[test]
fn people_get_a_line_for_each_item_while_it_runs_and_a_table_at_the_end() {
    let world = World::plain();
    let plan = one_of_each(&world);
    let ended = world.work(&plan, &[]);
    assert_eq!(ended.code, Some(SOME_FAILED), "{ended:?}");
    let rows = [
        ("works", "success"),
        ("fails", "failure"),
        ("is-denied", "denied"),
        ("is-late", "timeout"),
    ];
    let table: Vec<&str> = ended.stdout.lines().collect();
    assert!(
        table[0].starts_with("ITEM") && table.len() == 5,
        "{ended:?}"
    );
    for (line, (id, status)) in table[1..].iter().zip(rows) {
        let mut words = line.split_whitespace();
        assert_eq!(
            (words.next(), words.next()),
            (Some(id), Some(status)),
            "{line}"
        );
        ended.says(&format!("  {id}  begins"));
        ended.says(&format!("  {id}  {status}"));
    }
    assert!(table[3].ends_with("Exceeded max files: 2 > 1"), "{ended:?}");
}

#[test]
fn a_dry_run_shows_levels_and_limits_and_runs_nothing() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "new")]);
    let before = world.state();
    let plan = json!([
        with_fields(
            item("later", 1),
            json!({ "dependencies": ["first"], "test_command": "make" })
        ),
        with_fields(
            item("first", 1),
            json!({ "constraints": { "max_files": 3 } })
        ),
    ]);
    let shown = world.work(&plan, &["--dry-run"]);
    shown.succeeds();
    let lines: Vec<Vec<&str>> = shown
        .stdout
        .lines()
        .map(|it| it.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[1][..6],
        ["0", "first", "agent-1", "3", "50", "100"],
        "{shown:?}"
    );
    assert_eq!(lines[2][..3], ["1", "later", "agent-1"], "{shown:?}");
    before.expect_same(&world.state(), "a dry run");
    assert!(!world.kept("plans").exists(), "a dry run leaves no plan");
}
