//! Either all of an item or nothing of it.

use serde_json::{Value, json};

use crate::place::with;
use crate::world::{World, expect_status, item, runs, with_fields};

/// Changes something of every kind.
pub(crate) const EVERYTHING: &str = "echo x >> kept.txt; echo new > new.txt; rm -f untracked.txt; mv src moved; \
     chmod 600 staged.txt; ln -sfn elsewhere link; rm dangling; rmdir empty/below; mkdir full; \
     echo x > ignored/built.o; rm .gitignore";

pub(crate) fn many() -> Value {
    json!({ "max_files": 100, "max_delta_size": 1000 })
}

#[test]
fn what_does_not_succeed_leaves_every_byte_mode_and_link_and_the_whole_repository_as_they_were() {
    let world = World::with_everything();
    let edits = runs(EVERYTHING);
    world.agent(1, std::slice::from_ref(&edits));
    world.agent_without_end(
        2,
        &[edits.clone(), json!({ "fail": "auth", "message": "no" })],
    );
    let late = with(runs("true"), "delay_ms", 600_000);
    world.agent_without_end(3, &[edits, late]);
    let before = world.state();
    let table = [
        (
            "failure",
            "Tests failed",
            json!({ "test_command": "echo y > built; exit 1" }),
            1,
        ),
        (
            "failure",
            "not there",
            json!({ "output_files": ["**", "never.txt"] }),
            1,
        ),
        ("failure", "no", json!({}), 2),
        (
            "denied",
            "Exceeded max files",
            json!({ "constraints": { "max_files": 2, "max_delta_size": 1000 } }),
            1,
        ),
        (
            "timeout",
            "Timed out",
            json!({ "constraints": { "timeout_ms": 2500, "max_files": 100, "max_delta_size": 1000 } }),
            3,
        ),
    ];
    for (status, why, fields, agent) in table {
        let roomy = with_fields(item("one", agent), json!({ "constraints": many() }));
        let result = world.result(&with_fields(roomy, fields));
        expect_status(&result, status, why);
        before.expect_same(&world.state(), why);
    }
}

#[test]
fn what_is_blocked_never_begins_and_changes_nothing() {
    let world = World::with_everything();
    world.agent(1, &[runs(EVERYTHING)]);
    let before = world.state();
    let plan = json!([
        with_fields(
            item("first", 1),
            json!({ "test_command": "false", "constraints": many() })
        ),
        with_fields(item("second", 1), json!({ "dependencies": ["first"] })),
    ]);
    let results = world.results(&plan, &[]);
    expect_status(
        &results[1],
        "failure",
        "Blocked by dependency first: failure",
    );
    before.expect_same(&world.state(), "blocked");
    assert_eq!(world.runs().len(), 1, "only the first ran");
}

#[test]
fn what_succeeds_is_published_whole_and_the_index_head_refs_and_stash_stay() {
    let world = World::with_everything();
    world.agent(1, &[runs(EVERYTHING)]);
    let index = std::fs::read(world.path(".git/index")).expect("there is an index");
    let asked: [&[&str]; 3] = [
        &["rev-parse", "HEAD"],
        &["for-each-ref"],
        &["stash", "list"],
    ];
    let before = asked.map(|words| world.git(words));
    let result = world.result(&with_fields(
        item("one", 1),
        json!({ "constraints": many() }),
    ));
    assert_eq!(result["status"], "success", "{result}");
    let now = std::fs::read(world.path(".git/index")).expect("there is an index");
    assert_eq!(index, now, "the index");
    assert_eq!(before, asked.map(|words| world.git(words)));
    assert_eq!(world.read("new.txt").as_deref(), Some("new\n"));
    assert_eq!(
        world.read("moved/program.sh").as_deref(),
        Some("#!/bin/sh\n")
    );
    let target = std::fs::read_link(world.path("link")).expect("it is a link");
    assert_eq!(target.to_str(), Some("elsewhere"));
    for gone in [
        "untracked.txt",
        "src",
        "dangling",
        "empty/below",
        ".gitignore",
    ] {
        assert!(world.path(gone).symlink_metadata().is_err(), "{gone}");
    }
    assert!(world.path("full").is_dir());
}
