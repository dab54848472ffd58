//! What `edit` does.

use bonded_kernel::Hash;
use serde_json::json;

use crate::world::{World, snapshot};

#[tokio::test]
async fn an_exact_text_is_replaced_as_often_as_expected() {
    let world = World::new();
    world.put("f", "a b a\n");
    let hash = |text: &str| json!(Hash::of(text.as_bytes()).to_string()[..16]);
    let edited = world
        .ok("edit", json!({ "path": "f", "old": "b", "new": "" }))
        .await;
    let expected = json!({
        "path": "f", "matches": 1, "hash_before": hash("a b a\n"), "hash_after": hash("a  a\n")
    });
    assert_eq!(edited, expected);
    let arguments = json!({ "path": "f", "old": "a", "new": "aa", "expected_matches": 2 });
    assert_eq!(world.ok("edit", arguments).await["matches"], 2);
    assert_eq!(world.get("f"), "aa  aa\n");
}

#[tokio::test]
async fn an_edit_that_does_not_fit_changes_nothing() {
    let world = World::new();
    world.put("f", "a b a\n");
    world.put("latin1", b"caf\xe9");
    world.put("dir/f", "a");
    let before = snapshot(world.outside());
    let table = [
        (
            json!({ "path": "f", "old": "a", "new": "x" }),
            "unexpected_match_count",
        ),
        (
            json!({ "path": "f", "old": "c", "new": "x" }),
            "unexpected_match_count",
        ),
        (
            json!({ "path": "f", "old": "b", "new": "x", "expected_matches": 2 }),
            "unexpected_match_count",
        ),
        (
            json!({ "path": "f", "old": "", "new": "x" }),
            "bad_arguments",
        ),
        (
            json!({ "path": "f", "old": "b", "new": "b" }),
            "bad_arguments",
        ),
        (
            json!({ "path": "latin1", "old": "c", "new": "x" }),
            "not_utf8",
        ),
        (
            json!({ "path": "missing", "old": "c", "new": "x" }),
            "not_found",
        ),
        (
            json!({ "path": "dir", "old": "c", "new": "x" }),
            "is_directory",
        ),
    ];
    for (arguments, code) in table {
        assert_eq!(
            world.fault("edit", arguments.clone()).await,
            code,
            "{arguments}"
        );
    }
    assert_eq!(snapshot(world.outside()), before);
    let text = world
        .call("edit", json!({ "path": "f", "old": "a", "new": "x" }))
        .await
        .text;
    assert!(text.contains("2 matches"), "{text}");
}
