//! What may be published, and where a run that passes a limit is stopped.

use serde_json::{Value, json};

use crate::done::text;
use crate::world::{World, expect_status, item, runs, with_fields, writes};

#[test]
fn a_run_that_passes_a_limit_is_stopped_there_and_denied_with_both_figures() {
    let [a, b, c] = ["a", "b", "c"].map(|name| writes(name, name));
    let table = [
        (
            json!({ "max_files": 1 }),
            vec![a.clone(), b, c.clone()],
            "Exceeded max files: 2 > 1",
            2,
        ),
        (
            json!({ "max_tool_ops": 1 }),
            vec![a.clone(), a, c.clone()],
            "Exceeded max tool ops: 2 > 1",
            2,
        ),
        (
            json!({ "max_delta_size": 1 }),
            vec![runs("mkdir d e"), c],
            "Exceeded max delta size: 2 > 1",
            1,
        ),
    ];
    for (constraints, lines, reason, turns) in table {
        let world = World::plain();
        world.agent(1, &lines);
        let before = world.state();
        let result = world.result(&with_fields(
            item("one", 1),
            json!({ "constraints": constraints }),
        ));
        expect_status(&result, "denied", reason);
        before.expect_same(&world.state(), reason);
        let log = world.log_of(&result);
        let last = log
            .iter()
            .filter(|it| it["kind"] == "decision_made")
            .count();
        assert_eq!(
            last, turns,
            "{reason}: nothing is asked for after the limit"
        );
    }
}

#[test]
fn what_is_at_the_bound_is_within_it() {
    let world = World::plain();
    world.agent(1, &[writes("a", "a"), writes("b", "b")]);
    let limits = json!({ "max_files": 2, "max_tool_ops": 2, "max_delta_size": 2 });
    let result = world.result(&with_fields(
        item("one", 1),
        json!({ "constraints": limits }),
    ));
    assert_eq!(result["status"], "success", "{result}");
    let shown = world.work(&item("two", 1), &["--limits-of", "strict", "--dry-run"]);
    let row: Vec<&str> = shown
        .stdout
        .lines()
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    assert_eq!(row[3..6], ["5", "10", "50"], "{shown:?}");
}

#[test]
fn the_same_change_to_the_same_state_is_admitted_once_unless_it_is_asked_for_again() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "new")]);
    let first = world.result(&item("one", 1));
    assert_eq!(first["status"], "success", "{first}");
    std::fs::remove_file(world.path("new.txt")).expect("it was published");
    let before = world.state();
    let second = world.result(&item("two", 1));
    let reason = format!(
        "was admitted before (receipt {})",
        text(&first["receipt_id"])
    );
    expect_status(&second, "denied", &reason);
    expect_status(&second, "denied", "Duplicate run: content hash ");
    before.expect_same(&world.state(), "a duplicate");
    let third = world.results(&item("three", 1), &["--again"]);
    assert_eq!(third["status"], "success", "{third}");
}

#[test]
fn what_belongs_to_git_and_what_cannot_be_kept_is_no_items_to_change() {
    let table = [
        (
            "mkdir -p sub/.git; echo x > sub/.git/config",
            "Invariant nothing_inert violated: sub/inert-git.1",
        ),
        (
            "echo x > helper.ai",
            "Invariant nothing_inert violated: inert-helper.ai.1",
        ),
        ("mkfifo pipe", "Invariant no_special_file violated: pipe"),
        (
            r"touch $(printf 'no\377text')",
            "Invariant paths_are_text violated",
        ),
    ];
    for (command, reason) in table {
        let world = World::repository();
        world.agent(1, &[runs(command)]);
        let before = world.state();
        let result = world.result(&item("one", 1));
        expect_status(&result, "denied", reason);
        before.expect_same(&world.state(), command);
    }
}

#[test]
fn the_repository_of_the_tree_itself_cannot_be_written_at_all() {
    let world = World::repository();
    world.agent(
        1,
        &[
            writes(".git/hooks/post-checkout", "#!/bin/sh"),
            runs("echo x >> .git/config; rm -rf .git"),
        ],
    );
    let before = world.state();
    let result = world.result(&item("one", 1));
    before.expect_same(&world.state(), "writes to .git");
    assert_eq!(result["metrics"]["delta_size"], 0, "{result}");
}

#[test]
fn only_declared_outputs_may_change_and_each_plain_one_must_be_there() {
    let table: [(Value, &str, &str); 4] = [
        (
            json!(["a.txt"]),
            "denied",
            "Undeclared output: b.txt not among output_files",
        ),
        (
            json!(["a.txt", "b.txt", "c.txt"]),
            "failure",
            "Missing output: c.txt not there",
        ),
        (json!(["*.txt"]), "success", ""),
        (json!(["/a.txt", "b.txt", "other/"]), "success", ""),
    ];
    for (outputs, status, why) in table {
        let world = World::plain();
        world.agent(1, &[runs("echo a > a.txt; echo b > b.txt")]);
        let result = world.result(&with_fields(
            item("one", 1),
            json!({ "output_files": outputs }),
        ));
        expect_status(&result, status, why);
        assert_eq!(
            world.read("a.txt").is_some(),
            status == "success",
            "{result}"
        );
    }
}

#[test]
fn an_item_whose_inputs_are_not_there_never_begins() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "new")]);
    let needs = |path: &str| with_fields(item("one", 1), json!({ "input_files": [path] }));
    expect_status(
        &world.result(&needs("nowhere.txt")),
        "failure",
        "Missing input: nowhere.txt not there",
    );
    assert!(world.runs().is_empty(), "nothing ran");
    assert_eq!(world.result(&needs("kept.txt"))["status"], "success");
}

#[test]
fn the_same_change_to_the_same_state_is_admitted_once_whatever_the_tree() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "new")]);
    let copy = world.place.path("copy");
    let made = std::process::Command::new("cp")
        .arg("-a")
        .args([world.tree(), copy.clone()])
        .status();
    assert!(made.is_ok_and(|status| status.success()), "a copy");
    let there = copy.to_str().expect("a path is text");
    assert_eq!(world.result(&item("one", 1))["status"], "success");
    let again = world.results(&item("one", 1), &["--repo", there]);
    expect_status(&again, "denied", "Duplicate run: content hash");
    expect_status(
        &again,
        "denied",
        world.tree().to_str().expect("a path is text"),
    );
    assert!(!copy.join("new.txt").exists());
    let again = world.results(&item("one", 1), &["--repo", there, "--again"]);
    assert_eq!(again["status"], "success", "{again}");
    assert!(copy.join("new.txt").exists());
}

#[test]
fn items_are_never_worked_on_without_a_sandbox() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let before = world.state();
    let refused = world.work(&item("one", 1), &["--sandbox", "full"]);
    refused.fails_with(4, "usage");
    refused.says("bonded work needs a sandbox");
    before.expect_same(&world.state(), "no sandbox");
}
