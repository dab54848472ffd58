//! Plans of several items: their order, their parallelism, and what they do to each other.

use serde_json::{Value, json};

use crate::place::with;
use crate::world::{
    SOME_FAILED, World, expect_status, item, receipt, runs, statuses, with_fields, writes,
};

fn after(item: Value, dependencies: &[&str]) -> Value {
    with_fields(item, json!({ "dependencies": dependencies }))
}

#[test]
fn items_run_level_by_level_and_each_level_sees_what_the_one_before_published() {
    let world = World::plain();
    world.agent(1, &[runs("ls | wc -l > count-$(ls | wc -l).txt")]);
    for number in 2..=4 {
        world.agent(number, &[writes(&format!("{number}.txt"), "x")]);
    }
    let sees = |item: Value, files: &str| {
        with_fields(item, json!({ "test_command": format!("cat {files}") }))
    };
    let plan = json!([
        sees(
            after(item("last", 1), &["two", "three", "four"]),
            "2.txt 3.txt 4.txt"
        ),
        sees(after(item("four", 4), &["two", "three"]), "2.txt 3.txt"),
        item("two", 2),
        item("three", 3),
    ]);
    let ended = world.work(&plan, &["--json"]);
    ended.succeeds();
    let results = ended.json();
    let levels: Vec<&Value> = (0..4).map(|at| &results[at]["level"]).collect();
    assert_eq!(levels, [2, 1, 0, 0], "{results}");
    for (level, items) in [(0, 2), (1, 1), (2, 1)] {
        ended.says(&format!("level {level}: {items} item"));
    }
    let plan_id = receipt(&results[2])["plan_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let said = ended.stderr.lines().last().unwrap_or_default().to_owned();
    let dir = said.strip_prefix("receipts are in ").expect(&ended.stderr);
    assert!(dir.ends_with(&plan_id), "{dir}");
    assert!(
        std::path::Path::new(dir)
            .join("items/two/RECEIPT.json")
            .is_file()
    );
    let listed = world.place.bonded(&["runs"]).stdout;
    let beginning = format!("plan {} two: ", &plan_id[..8]);
    assert!(listed.contains(&beginning), "{listed}");
    assert_eq!(
        receipt(&results[2])["before_hash"],
        receipt(&results[3])["before_hash"]
    );
    assert_eq!(
        receipt(&results[1])["before_hash"],
        receipt(&results[2])["tree_after"]
    );
}

/// When the one call of a `run` began and ended.
fn worked(world: &World, result: &Value) -> (u64, u64) {
    let log = world.log_of(result);
    let at = |kind: &str| {
        let entry = log
            .iter()
            .find(|it| it["kind"] == kind && it["data"]["tool"] == "run");
        entry
            .and_then(|it| it["at"].as_u64())
            .expect("the log has both")
    };
    (at("tool_invoked"), at("tool_finished"))
}

#[test]
fn items_of_one_level_run_at_the_same_time_as_far_as_there_are_jobs() {
    for (jobs, overlap) in [("2", true), ("1", false)] {
        let world = World::plain();
        world.agent(1, &[runs("sleep 3; echo 1 > 1.txt")]);
        world.agent(2, &[runs("sleep 3; echo 2 > 2.txt")]);
        let plan = json!([item("one", 1), item("two", 2)]);
        let results = world.results(&plan, &["--jobs", jobs]);
        assert_eq!(statuses(&results), ["success", "success"]);
        let [one, two] = [&results[0], &results[1]].map(|it| worked(&world, it));
        let overlaps = one.0 < two.1 && two.0 < one.1;
        assert_eq!(overlaps, overlap, "{jobs} jobs: {one:?} {two:?}");
    }
}

#[test]
fn of_two_items_that_change_one_path_the_later_id_is_denied_whoever_was_faster() {
    let mut ends = vec![];
    for slow in [1, 2] {
        let world = World::plain();
        for number in [1, 2] {
            let delay = if number == slow { 1500 } else { 0 };
            let text = format!("by {number}");
            let own = writes(&format!("own-{number}.txt"), "own");
            world.agent(
                number,
                &[with(writes("same.txt", &text), "delay_ms", delay), own],
            );
        }
        let plan = json!([item("b-second", 2), item("a-first", 1)]);
        let ended = world.work(&plan, &["--json"]);
        assert_eq!(ended.code, Some(SOME_FAILED), "{ended:?}");
        let results = ended.json();
        expect_status(
            &results[0],
            "denied",
            "Conflict: same.txt changed by another meanwhile",
        );
        assert_eq!(results[1]["status"], "success", "{results}");
        assert_eq!(world.read("same.txt").as_deref(), Some("by 1"));
        assert!(
            !world.path("own-2.txt").exists(),
            "nothing of the denied one"
        );
        ends.push(results[1]["output_hash"].clone());
    }
    assert_eq!(ends[0], ends[1], "the outcome depends on who was faster");
}

/// A file of lines, of which two items change one each.
fn changes_lines(world: &World, first: &str, second: &str) -> Value {
    let lines: Vec<String> = (1..=9).map(|line| format!("line {line}\n")).collect();
    world.write("lines.txt", lines.concat());
    let edit = |line: &str| runs(&format!("sed -i 's/^{line}$/& changed/' lines.txt"));
    world.agent(1, &[edit(first)]);
    world.agent(2, &[edit(second), writes("own-2.txt", "own")]);
    json!([item("a-first", 1), item("b-second", 2)])
}

#[test]
fn two_items_that_change_separate_lines_of_one_file_are_both_published() {
    let world = World::repository();
    let plan = changes_lines(&world, "line 2", "line 8");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "--message", "lines"]);
    let ended = world.work(&plan, &["--json", "--commit"]);
    ended.succeeds();
    let results = ended.json();
    let text = world.read("lines.txt").expect("the file is there");
    assert!(text.contains("line 2 changed\n"), "{text}");
    assert!(text.contains("line 8 changed\n"), "{text}");
    assert_eq!(world.git(&["status", "--short"]), "");
    let [first, second] = [&results[0], &results[1]].map(receipt);
    assert!(first.get("merged").is_none(), "{first}");
    assert_eq!(second["merged"][0]["path"], "lines.txt", "{second}");
    assert_eq!(first["before_hash"], second["before_hash"]);
    // Each is proven by itself, and the last one speaks of the file as it is.
    let file = world.path("lines.txt");
    let hash = &results[1]["artifact_hashes"][file.to_str().expect("a path is text")];
    assert_eq!(*hash, second["merged"][0]["after"]["content"], "{results}");
    for result in [&results[0], &results[1]] {
        let path = result["receipt_path"].as_str().expect("a path is text");
        world.place.bonded(&["verify", path]).succeeds();
        world
            .place
            .bonded(&["replay", "--receipt", path])
            .succeeds();
    }
    let path = results[1]["receipt_path"].as_str().expect("a path is text");
    let tree = world.tree();
    let tree = tree.to_str().expect("a path is text");
    world
        .place
        .bonded(&["verify", path, "--tree", tree])
        .succeeds();
}

#[test]
fn two_items_that_change_lines_side_by_side_are_not_both_published() {
    let world = World::plain();
    let plan = changes_lines(&world, "line 2", "line 3");
    let results = world.results(&plan, &[]);
    assert_eq!(statuses(&results), ["success", "denied"]);
    expect_status(&results[1], "denied", "Conflict: lines.txt");
    assert!(!world.path("own-2.txt").exists(), "nothing of it");
}

#[test]
fn an_item_whose_dependency_did_not_succeed_is_blocked_by_it_and_so_is_what_follows() {
    let world = World::plain();
    world.agent(1, &[writes("a", "a"), writes("b", "b")]);
    world.agent(2, &[writes("c", "c")]);
    let plan = json!([
        with_fields(
            item("first", 1),
            json!({ "constraints": { "max_files": 1 } })
        ),
        after(item("second", 2), &["first"]),
        after(item("third", 2), &["second"]),
        item("free", 2),
    ]);
    let results = world.results(&plan, &[]);
    assert_eq!(
        statuses(&results),
        ["denied", "failure", "failure", "success"]
    );
    expect_status(
        &results[1],
        "failure",
        "Blocked by dependency first: denied",
    );
    expect_status(
        &results[2],
        "failure",
        "Blocked by dependency second: failure",
    );
    assert_eq!(world.runs().len(), 2, "what is blocked does not run");
}

#[test]
fn an_item_may_depend_on_what_an_earlier_plan_on_this_tree_has_done() {
    let world = World::plain();
    world.agent(1, &[writes("base.txt", "base")]);
    world.agent(2, &[runs("cp base.txt copy.txt")]);
    let needs_base = after(item("next", 2), &["base"]);
    let refused = world.work(&needs_base, &["--wait-ms", "0"]);
    refused.fails_with(4, "bad-plan");
    refused.says("\"base\", which is neither in the plan nor done before");
    assert_eq!(world.result(&item("base", 1))["status"], "success");
    assert_eq!(world.result(&needs_base)["status"], "success");
    assert_eq!(world.read("copy.txt").as_deref(), Some("base"));
}
