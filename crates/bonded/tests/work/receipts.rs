//! Receipts as a stranger checks them: with the file alone.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::done::text;
use crate::place::Done;
use crate::world::{World, item, receipt, with_fields, writes};

const BAD: &str = "bad-receipt";

/// The paths of the receipts of three plans, one after the other.
fn three(world: &World) -> Vec<String> {
    let paths = ["one", "two", "three"].map(|name| {
        world.agent(1, &[writes(&format!("{name}.txt"), name)]);
        let result = world.result(&item(name, 1));
        assert_eq!(result["status"], "success", "{result}");
        text(&result["receipt_path"]).to_owned()
    });
    paths.to_vec()
}

/// The key that is beside the store for whoever checks receipts.
fn own_key(world: &World) -> String {
    world.kept("ed25519.pub").display().to_string()
}

/// Without a store and without a home.
fn verify(world: &World, words: &[&str]) -> Done {
    let all: Vec<&str> = std::iter::once("verify")
        .chain(words.iter().copied())
        .collect();
    let mut command = world.place.command(&all);
    command
        .env("BONDED_STORE", "/nowhere/store.db")
        .env("HOME", "/nowhere");
    crate::place::finish(crate::place::start(&mut command))
}

#[test]
fn receipts_of_one_tree_are_a_chain_and_a_missing_or_moved_one_is_found() {
    let world = World::plain();
    let paths = three(&world);
    let [one, two, three] = [0, 1, 2].map(|at| paths[at].as_str());
    let key = own_key(&world);
    let shown = verify(&world, &["--key", &key, one, two, three]);
    shown.succeeds();
    assert_eq!(shown.stdout.lines().count(), 3, "{shown:?}");
    for broken in [&[one, three][..], &[two, one], &[one, one]] {
        verify(&world, broken).fails_with(1, BAD);
    }
}

#[test]
fn any_byte_that_is_changed_is_found() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let result = world.result(&item("one", 1));
    let whole = std::fs::read(text(&result["receipt_path"])).expect("it is there");
    let forged = world.place.path("forged.json");
    let step = whole.len() / 24;
    for at in (0..whole.len()).step_by(step.max(1)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&forged, bytes).expect("it can be written");
        let refused = verify(&world, &[&forged.display().to_string()]);
        assert!(
            matches!(refused.code, Some(1 | 4)),
            "byte {at}: {refused:?}"
        );
        assert_eq!(refused.stdout, "", "byte {at}");
    }
}

/// Writes the key that a receipt names into a file.
fn key_of(world: &World, result: &Value, name: &str) -> String {
    let receipt = receipt(result);
    let path = world.place.path(name);
    std::fs::write(&path, text(&receipt["signed"]["public_key"])).expect("it can be written");
    path.display().to_string()
}

#[test]
fn the_key_that_is_demanded_must_have_signed() {
    let (world, other) = (World::plain(), World::plain());
    let results = [&world, &other].map(|world| {
        world.agent(1, &[writes("new.txt", "x")]);
        world.result(&item("one", 1))
    });
    let path = text(&results[0]["receipt_path"]);
    let own = key_of(&world, &results[0], "own.pem");
    let foreign = key_of(&world, &results[1], "foreign.pem");
    verify(&world, &[path, "--key", &own]).succeeds();
    let shown = world.kept("ed25519.pub");
    assert_eq!(std::fs::read(shown).ok(), std::fs::read(&own).ok());
    verify(&world, &[path, "--key", &foreign]).fails_with(1, BAD);
    verify(&world, &[path, "--key", path]).fails_with(4, "usage");
    let secret = world.kept("keys/ed25519.key");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(secret)
        .expect("a key was made")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn the_receipt_of_a_level_goes_with_those_of_its_items_and_with_no_others() {
    let world = World::plain();
    world.agent(1, &[writes("1.txt", "x")]);
    world.agent(2, &[writes("2.txt", "x")]);
    let denied = with_fields(item("c", 2), json!({ "constraints": { "max_files": 0 } }));
    let results = world.results(&json!([item("b", 2), item("a", 1), denied]), &[]);
    let paths: Vec<&str> = (0..3)
        .map(|at| text(&results[at]["receipt_path"]))
        .collect();
    let level = plan_dir(paths[0]).join("LEVEL-0.RECEIPT.json");
    let level = level.display().to_string();
    let key = own_key(&world);
    verify(&world, &[&level]).fails_with(7, "not-compared");
    verify(
        &world,
        &["--key", &key, &level, paths[0], paths[1], paths[2]],
    )
    .succeeds();
    verify(&world, &[&level, paths[0], paths[1]]).fails_with(1, BAD);
    let other = text(&world.result(&item("other", 1))["receipt_path"]).to_owned();
    verify(&world, &[&level, paths[0], paths[1], &other]).fails_with(1, BAD);
}

fn plan_dir(receipt: &str) -> PathBuf {
    let above = Path::new(receipt).ancestors().nth(3);
    above
        .expect("a receipt lies in its item's directory")
        .to_owned()
}

#[test]
fn a_tree_is_held_against_its_receipt() {
    let world = World::plain();
    let paths = three(&world);
    let tree = world.tree().display().to_string();
    let key = own_key(&world);
    for path in &paths {
        verify(&world, &[path, "--tree", &tree, "--key", &key]).succeeds();
    }
    world.write("two.txt", "edited");
    let refused = verify(&world, &[&paths[1], "--tree", &tree]);
    refused.fails_with(1, BAD);
    refused.says("two.txt");
    verify(&world, &[&paths[2], "--tree", &tree, "--key", &key]).succeeds();
}

#[test]
fn a_receipt_says_everything_that_was_asked_done_and_used() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "new")]);
    let asked = with_fields(item("one", 1), json!({ "test_command": "true" }));
    let receipt = receipt(&world.result(&asked));
    assert_eq!(receipt["work_item"]["constraints"]["timeout_ms"], 300_000);
    assert_eq!(receipt["admission"], json!({ "admitted": true }));
    assert_eq!(receipt["tool_trace"][0]["name"], "write");
    assert_eq!(receipt["tests"]["exit_code"], 0);
    assert_eq!(receipt["artifacts"][0]["path"], "new.txt");
    let hashes = [
        "event_head",
        "prompt_hash",
        "policy_hash",
        "tool_catalog_hash",
        "capsule_hash",
    ];
    for name in hashes {
        assert_eq!(text(&receipt["run"][name]).len(), 64, "{name}");
    }
    assert_eq!(receipt["run"]["sandbox"]["level"], "workspace-write");
    assert_eq!(receipt["chain_index"], 0);
    assert!(receipt["previous_receipt_hash"].is_null());
}
