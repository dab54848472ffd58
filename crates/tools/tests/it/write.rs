//! What `write` and `append` do.

use std::os::unix::fs::PermissionsExt;

use bonded_kernel::{Hash, ToolEffect};
use bonded_tools::BUILTIN;
use serde_json::json;

use crate::world::{World, snapshot};

fn hash(text: &str) -> String {
    Hash::of(text.as_bytes()).to_string()[..16].to_owned()
}

#[tokio::test]
async fn a_file_is_created_with_its_directories_and_then_replaced() {
    let world = World::new();
    let made = world
        .ok("write", json!({ "path": "a/b/c.txt", "content": "one" }))
        .await;
    let expected = json!({
        "path": "a/b/c.txt", "bytes": 3, "hash": hash("one"), "created": true, "unchanged": false
    });
    assert_eq!(made, expected);
    let replaced = world
        .ok("write", json!({ "path": "a/b/c.txt", "content": "two" }))
        .await;
    assert_eq!(
        (&replaced["created"], &replaced["unchanged"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(world.get("a/b/c.txt"), "two");
    assert_eq!(
        snapshot(&world.path("")).len(),
        3,
        "no temporary file is left"
    );
}

#[tokio::test]
async fn writing_twice_is_the_same_as_writing_once() {
    let world = World::new();
    world.put("f", "old");
    for arguments in [
        json!({ "path": "f", "content": "new", "expected_hash": hash("old") }),
        json!({ "path": "g", "content": "new", "must_be_new": true }),
        json!({ "path": "h/i", "content": "" }),
    ] {
        let first = world.ok("write", arguments.clone()).await;
        let after = snapshot(world.outside());
        let second = world.ok("write", arguments).await;
        assert_eq!(
            (&first["unchanged"], &second["unchanged"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(first["hash"], second["hash"]);
        assert_eq!(snapshot(world.outside()), after);
    }
}

#[tokio::test]
async fn a_write_whose_precondition_fails_changes_nothing() {
    let world = World::new();
    world.put("f", "old");
    let before = snapshot(world.outside());
    let table = [
        (
            json!({ "path": "f", "content": "new", "expected_hash": hash("other") }),
            "precondition_failed",
        ),
        (
            json!({ "path": "d/g", "content": "new", "expected_hash": hash("old") }),
            "precondition_failed",
        ),
        (
            json!({ "path": "f", "content": "new", "must_be_new": true }),
            "already_exists",
        ),
    ];
    for (arguments, code) in table {
        assert_eq!(
            world.fault("write", arguments.clone()).await,
            code,
            "{arguments}"
        );
    }
    assert_eq!(snapshot(world.outside()), before);
    let arguments = json!({ "path": "f", "content": "new", "expected_hash": hash("other") });
    let text = world.call("write", arguments).await.text;
    assert!(
        text.contains(&hash("other")) && text.contains(&hash("old")),
        "{text}"
    );
}

#[tokio::test]
async fn a_place_where_no_file_can_be_is_refused() {
    let world = World::new();
    world.put("dir/f", "x");
    world.link("nowhere", "dangling");
    let before = snapshot(world.outside());
    let table = [
        (".", "is_directory"),
        ("dir", "is_directory"),
        ("dir/f/g", "not_a_directory"),
        ("dangling", "not_found"),
        ("dangling/f", "not_found"),
        ("new/../f", "not_found"),
    ];
    for (path, code) in table {
        for tool in ["write", "append"] {
            let fault = world
                .fault(tool, json!({ "path": path, "content": "y" }))
                .await;
            assert_eq!(fault, code, "{tool} on {path}");
        }
    }
    assert_eq!(snapshot(world.outside()), before);
}

#[tokio::test]
async fn the_mode_of_a_file_is_kept_and_a_read_only_one_is_not_replaced() {
    let world = World::new();
    let mode = |mode| std::fs::set_permissions(world.path("f"), PermissionsExt::from_mode(mode));
    let mode_now = || {
        let metadata = std::fs::metadata(world.path("f")).expect("it is there");
        metadata.permissions().mode() & 0o7777
    };
    world.put("f", "old");
    mode(0o751).expect("it can be set");
    world
        .ok("write", json!({ "path": "f", "content": "1" }))
        .await;
    world
        .ok("append", json!({ "path": "f", "content": "2" }))
        .await;
    world
        .ok("edit", json!({ "path": "f", "old": "12", "new": "3" }))
        .await;
    assert_eq!((mode_now(), world.get("f").as_str()), (0o751, "3"));
    mode(0o444).expect("it can be set");
    let fault = world
        .fault("write", json!({ "path": "f", "content": "4" }))
        .await;
    assert_eq!(
        (fault.as_str(), world.get("f").as_str()),
        ("permission_denied", "3")
    );
}

#[tokio::test]
async fn appending_keeps_what_is_there() {
    let world = World::new();
    world.put("bytes", b"\xff\n");
    let added = world
        .ok("append", json!({ "path": "d/f", "content": "one\n" }))
        .await;
    assert_eq!(added["size_bytes"], 4);
    let added = world
        .ok("append", json!({ "path": "d/f", "content": "two\n" }))
        .await;
    let expected = json!({
        "path": "d/f", "bytes_appended": 4, "size_bytes": 8, "hash": hash("one\ntwo\n")
    });
    assert_eq!(added, expected);
    assert_eq!(world.get("d/f"), "one\ntwo\n");
    world
        .ok("append", json!({ "path": "bytes", "content": "x" }))
        .await;
    assert_eq!(
        std::fs::read(world.path("bytes")).expect("it is there"),
        b"\xff\nx"
    );
}

#[test]
fn every_tool_declares_its_effect_and_takes_no_unknown_argument() {
    let world = World::new();
    let effects = [
        ("append", ToolEffect::Write),
        ("done", ToolEffect::Read),
        ("edit", ToolEffect::Write),
        ("list", ToolEffect::Read),
        ("read", ToolEffect::Read),
        ("run", ToolEffect::Write),
        ("search", ToolEffect::Read),
        ("write", ToolEffect::Idempotent),
    ];
    let names: Vec<&str> = effects.iter().map(|(name, _)| *name).collect();
    let built_in: Vec<&str> = names.into_iter().filter(|name| *name != "done").collect();
    assert_eq!(
        BUILTIN[..],
        built_in,
        "the table calls them as they call themselves"
    );
    let specs: Vec<_> = world.registry.catalog().specs().collect();
    let declared: Vec<_> = specs
        .iter()
        .map(|spec| (spec.name.as_str(), spec.effect))
        .collect();
    assert_eq!(declared, effects);
    for spec in specs {
        assert_eq!(spec.schema["additionalProperties"], false, "{}", spec.name);
    }
}
