//! `--commit`: one commit for each item.

use serde_json::json;

use crate::done::text;
use crate::world::{SOME_FAILED, World, item, receipt, with_fields, writes};

#[test]
fn each_item_becomes_one_commit_that_names_its_receipt_and_what_was_staged_stays_staged() {
    let world = World::repository();
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("kept.txt", "changed, not staged\n");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "prepare-commit-msg",
        "reference-transaction",
    ] {
        world.write(
            &format!(".git/hooks/{hook}"),
            "#!/bin/sh\ntouch hooked\nexit 1\n",
        );
        make_executable(&world.path(&format!(".git/hooks/{hook}")));
    }
    for number in [1, 2] {
        world.agent(number, &[writes(&format!("{number}.txt"), "x\n")]);
    }
    world.agent(3, &[writes("3.txt", "x\n")]);
    let failing = with_fields(item("c", 3), json!({ "test_command": "false" }));
    let ended = world.work(
        &json!([item("a", 1), item("b", 2), failing]),
        &["--json", "--commit"],
    );
    assert_eq!(ended.code, Some(SOME_FAILED), "{ended:?}");
    let results = ended.json();
    let log = world.git(&[
        "log",
        "--format=%s|%(trailers:key=Bonded-Receipt,valueonly,separator=%x2C)",
    ]);
    let receipts = [0, 1].map(|at| text(&receipt(&results[at])["receipt_hash"]).to_owned());
    let expected = format!(
        "the work of b|{}\nthe work of a|{}\nfirst|\n",
        receipts[1], receipts[0]
    );
    assert_eq!(log, expected);
    assert_eq!(
        world.git(&["show", "--format=", "--name-only", "HEAD"]),
        "2.txt\n"
    );
    assert_eq!(
        world.git(&["diff", "--cached", "--name-only"]),
        "staged.txt\n"
    );
    assert_eq!(world.git(&["diff", "--name-only"]), "kept.txt\n");
    assert!(!world.path("hooked").exists(), "a hook was run");
}

#[test]
fn lines_that_were_not_committed_stay_so_and_what_meets_them_is_told() {
    let world = World::repository();
    let lines = "1\n2\n3\n4\n5\n";
    for name in ["apart.txt", "meets.txt"] {
        world.write(name, lines);
    }
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "--message", "lines"]);
    world.write("apart.txt", lines.replace('1', "mine"));
    world.write("meets.txt", lines.replace('5', "mine"));
    let edit = crate::world::runs(
        "sed -i 's/^\\(5\\|mine\\)$/item/' meets.txt; sed -i 's/^5$/item/' apart.txt",
    );
    world.agent(1, &[edit]);
    let ended = world.work(&item("a", 1), &["--commit"]);
    ended.succeeds();
    ended.says("meets.txt is published and not committed: what you have not committed of it meets");
    let committed = world.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(committed, "apart.txt\n");
    assert_eq!(
        world.git(&["show", "HEAD:apart.txt"]),
        lines.replace('5', "item")
    );
    assert_eq!(
        world.read("apart.txt").as_deref(),
        Some("mine\n2\n3\n4\nitem\n")
    );
    assert_eq!(
        world.git(&["diff", "--name-only"]),
        "apart.txt\nmeets.txt\n"
    );
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("a mode can be set");
}

#[test]
fn commits_are_refused_before_anything_runs_where_there_is_no_repository() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let before = world.state();
    let refused = world.work(&item("one", 1), &["--commit"]);
    refused.fails_with(3, "tree-failed");
    refused.says("is not the work tree of a git repository");
    assert!(world.runs().is_empty(), "nothing ran");
    before.expect_same(&world.state(), "no repository");
}

#[test]
fn without_the_flag_nothing_is_committed() {
    let world = World::repository();
    world.agent(1, &[writes("new.txt", "x")]);
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(world.result(&item("one", 1))["status"], "success");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.git(&["status", "--short"]), "?? new.txt\n");
}
