//! `replay.sh`: the same state, the same replies, the real tools, and the same end.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::done::text;
use crate::place::{Done, finish, start};
use crate::world::{World, item, receipt, runs, writes};

fn success(world: &World, lines: &[Value]) -> Value {
    world.agent(1, lines);
    let result = world.result(&item("one", 1));
    assert_eq!(result["status"], "success", "{result}");
    result
}

/// Runs the script of a result, with nothing of the tester's environment but the path.
fn replay(world: &World, result: &Value, flags: &[&str]) -> Done {
    let mut script = Command::new(text(&result["proof_script"]));
    script
        .args(flags)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.place.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    finish(start(&mut script))
}

#[test]
fn a_replay_ends_in_the_same_state_and_touches_neither_the_tree_nor_the_store() {
    let world = World::with_everything();
    let edits = runs(
        "echo more >> kept.txt; chmod 700 staged.txt; ln -s x y; rm untracked.txt; mkdir void",
    );
    let result = success(&world, &[writes("new.txt", "new"), edits]);
    world.write("kept.txt", "the tree has moved on\n");
    let (before, count) = (world.state(), world.runs().len());
    let replayed = replay(&world, &result, &["--json"]);
    replayed.succeeds();
    let told = replayed.json();
    assert_eq!(
        (&told["equal"], &told["output_hash"]),
        (&true.into(), &result["output_hash"])
    );
    before.expect_same(&world.state(), "a replay");
    assert_eq!(world.runs().len(), count);
    assert!(
        is_empty(&world.kept("scratch")),
        "the scratch directory is gone"
    );
}

fn is_empty(dir: &std::path::Path) -> bool {
    std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn a_replay_that_ends_otherwise_exits_with_1_and_names_what_differs() {
    let world = World::plain();
    let result = success(&world, &[runs("date +%s.%N > now.txt")]);
    let differs = replay(&world, &result, &[]);
    differs.fails_with(1, "replay-differs");
    differs.says("now.txt");
}

#[test]
fn a_replay_from_a_state_or_a_receipt_that_was_tampered_with_fails() {
    let world = World::plain();
    let result = success(&world, &[runs("cat kept.txt > copy.txt")]);
    replay(&world, &result, &[]).succeeds();
    let path = text(&result["receipt_path"]).to_owned();
    let whole = std::fs::read_to_string(&path).expect("it is there");
    let forged = whole.replacen("\"status\":\"success\"", "\"status\":\"failure\"", 1);
    std::fs::write(&path, forged).expect("it can be written");
    replay(&world, &result, &[]).fails_with(1, "bad-receipt");
    std::fs::write(&path, whole).expect("it can be written");
    for name in ["objects", "level"] {
        let file = match name {
            "objects" => world.kept("objects/1.pack"),
            _ => {
                let plan = text(&receipt(&result)["plan_id"]).to_owned();
                world.kept(&format!("plans/{plan}/level-0.tree"))
            }
        };
        let kept = std::fs::read(&file).expect("it is kept");
        let changed: Vec<u8> = kept.iter().map(|byte| byte ^ 1).collect();
        std::fs::write(&file, changed).expect("it can be written");
        let refused = replay(&world, &result, &[]);
        assert!(
            refused.code.is_some_and(|code| code != 0),
            "{name}: {refused:?}"
        );
        assert_eq!(refused.stdout, "", "{name}");
        std::fs::write(&file, kept).expect("it can be written");
    }
    replay(&world, &result, &[]).succeeds();
}

#[test]
fn a_live_replay_asks_the_model_anew() {
    let world = World::plain();
    let result = success(&world, &[writes("new.txt", "new")]);
    replay(&world, &result, &["--live"]).succeeds();
    world.agent(1, &[writes("new.txt", "something else")]);
    replay(&world, &result, &["--live"]).fails_with(1, "replay-differs");
    replay(&world, &result, &[]).succeeds();
}

#[test]
fn equal_trees_and_equal_replies_give_the_equal_output_hash() {
    let hashes = [World::plain(), World::plain()].map(|world| {
        let result = success(
            &world,
            &[
                writes("a/b.txt", "x"),
                runs("chmod 600 kept.txt; ln -s a c"),
            ],
        );
        (
            result["output_hash"].clone(),
            receipt(&result)["content_hash"].clone(),
        )
    });
    assert_eq!(hashes[0], hashes[1]);
}
