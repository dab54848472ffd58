//! Receipts, the logs that they sign, and the histories of trees: each shows what is missing of the others.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::Value;

use crate::done::text;
use crate::place::parse;
use crate::world::{World, item, receipt, writes};

fn worked(world: &World, name: &str) -> Value {
    world.agent(1, &[writes(&format!("{name}.txt"), name)]);
    let result = world.result(&item(name, 1));
    assert_eq!(result["status"], "success", "{result}");
    result
}

fn run_of(result: &Value) -> String {
    text(&receipt(result)["run"]["run_id"]).to_owned()
}

/// Changes the store past its triggers.
fn tamper(world: &World, sql: &str) {
    let store = Connection::open(world.place.path("store.db")).expect("the store can be opened");
    let named = "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'";
    let drops: String = store
        .query_row(named, [], |row| row.get(0))
        .expect("there are triggers");
    store
        .execute_batch(&drops)
        .expect("triggers can be dropped");
    store.execute_batch(sql).expect("the change can be made");
}

/// Takes the last step of the first run away.
fn cut(world: &World) {
    let ends = "SELECT id FROM entry WHERE id >> 24 = 1 AND hash IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET 1";
    tamper(
        world,
        &format!("DELETE FROM entry WHERE id >> 24 = 1 AND id > ({ends})"),
    );
}

fn history(world: &World) -> PathBuf {
    let trees = fs::read_dir(world.kept("trees")).expect("a tree is known");
    let tree = trees.flatten().next().expect("one tree").path();
    tree.join("history.jsonl")
}

#[test]
fn the_head_that_a_receipt_signs_is_compared_with_the_log() {
    let world = World::plain();
    let result = worked(&world, "one");
    let (run, path) = (run_of(&result), text(&result["receipt_path"]));
    let whole = world.place.bonded(&["verify", &run]);
    whole.succeeds();
    let key = text(&receipt(&result)["signed"]["signatures"][0]["keyid"]).to_owned();
    let named = format!("signed by the known key {key}");
    assert!(whole.stdout.contains(&named), "{whole:?}");
    let shown = world.place.bonded(&["verify", &run, "--json"]).stdout;
    let compared = &parse(&shown)["comparedWith"][0];
    assert_eq!(text(&compared["signer"]), key);
    assert_eq!(compared["signerIsKnown"], true);
    world.place.bonded(&["verify", "--all"]).succeeds();
    world.place.bonded(&["verify", path]).succeeds();
    cut(&world);
    for words in [
        &["verify", &run][..],
        &["verify", "--all"],
        &["verify", path],
    ] {
        let refused = world.place.bonded(words);
        refused.fails_with(1, "tampered");
        refused.says("cut off");
    }
}

#[test]
fn a_run_that_is_gone_is_noticed_where_a_receipt_names_it() {
    let world = World::plain();
    let results = ["one", "two"].map(|name| worked(&world, name));
    world.place.bonded(&["verify", "--all"]).succeeds();
    let run = run_of(&results[0]);
    tamper(
        &world,
        &format!("DELETE FROM entry WHERE id >> 24 = 1; DELETE FROM run WHERE id = '{run}'"),
    );
    let gone = world.place.bonded(&["verify", "--all"]);
    gone.fails_with(1, "tampered");
    assert!(
        gone.stdout.contains(&format!("run {run}: MISSING")),
        "{gone:?}"
    );
    let path = text(&results[0]["receipt_path"]);
    world
        .place
        .bonded(&["verify", path])
        .fails_with(1, "tampered");
}

#[test]
fn a_strangers_signature_is_named_as_that_of_a_stranger() {
    let (world, other) = (World::plain(), World::plain());
    worked(&world, "own");
    let foreign = worked(&other, "foreign");
    let path = text(&foreign["receipt_path"]);
    let key = text(&receipt(&foreign)["signed"]["signatures"][0]["keyid"]).to_owned();
    let shown = world.place.bonded(&["verify", path]);
    shown.fails_with(7, "not-compared");
    let named = format!("signed by key {key}, which is UNKNOWN here");
    assert!(shown.stdout.contains(&named), "{shown:?}");
    let json = world.place.bonded(&["verify", path, "--json"]).json();
    assert_eq!(json["verified"], false);
    assert_eq!(json["signer_is_known"], false);
    let vouched = other.kept("ed25519.pub").display().to_string();
    world
        .place
        .bonded(&["verify", path, "--key", &vouched])
        .succeeds();
}

fn chain_indices(paths: &[&str]) -> Vec<u64> {
    let read = |path: &&str| parse(&fs::read_to_string(path).expect("a receipt is there"));
    let index = |path| read(path)["chain_index"].as_u64().unwrap_or(99);
    paths.iter().map(index).collect()
}

/// Takes lines of the history away in a way of its own.
type Cut = fn(&Path);

#[test]
fn a_history_that_was_removed_or_cut_is_noticed_and_the_chain_goes_on() {
    let ways: [Cut; 3] = [
        |file| fs::remove_file(file).expect("it can be removed"),
        |file| {
            let lines = fs::read_to_string(file).expect("it can be read");
            let first = lines.lines().next().expect("there is a line");
            fs::write(file, format!("{first}\n")).expect("it can be written");
        },
        |file| {
            let tree = file.parent().expect("it lies in a directory");
            fs::remove_dir_all(tree).expect("it can be removed");
        },
    ];
    for cut in ways {
        let world = World::plain();
        let results = ["one", "two"].map(|name| worked(&world, name));
        let paths = results.each_ref().map(|it| text(&it["receipt_path"]));
        cut(&history(&world));
        let noticed = world.place.bonded(&["verify", "--all"]);
        noticed.fails_with(1, "tampered");
        assert!(
            noticed.stdout.contains("the history was cut"),
            "{noticed:?}"
        );
        world.agent(1, &[writes("three.txt", "three")]);
        let third = world.work(&item("three", 1), &["--json"]);
        third.succeeds();
        third.says("brought back from them");
        let third = third.json();
        let all = [paths[0], paths[1], text(&third["receipt_path"])];
        assert_eq!(chain_indices(&all), [0, 1, 2]);
        world.place.bonded(&["verify", "--all"]).succeeds();
    }
}

#[test]
fn a_chain_that_cannot_be_brought_back_does_not_begin_again() {
    let world = World::plain();
    let result = worked(&world, "one");
    fs::remove_file(history(&world)).expect("it can be removed");
    fs::remove_file(text(&result["receipt_path"])).expect("it can be removed");
    world.agent(1, &[writes("two.txt", "two")]);
    let refused = world.work(&item("two", 1), &[]);
    refused.fails_with(3, "tree-failed");
    refused.says("the history of the tree is incomplete");
    assert_eq!(world.runs().len(), 1, "nothing ran");
}
