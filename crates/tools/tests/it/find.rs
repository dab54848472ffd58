//! What `search` finds.

use serde_json::{Value, json};

use crate::world::World;

fn world() -> World {
    let world = World::new();
    world.put(".gitignore", "target/\n*.log\n!keep.log\n");
    world.put("src/main.rs", "fn main() {\n    needle();\n}\n");
    world.put("src/lib.rs", "// NEEDLE\r\nneedle\r\n");
    world.put("src/.gitignore", "generated.rs\n");
    world.put("src/generated.rs", "needle");
    world.put("generated.rs", "needle");
    world.put("target/out.rs", "needle");
    world.put("debug.log", "needle");
    world.put("keep.log", "needle");
    world.put(".hidden/x.rs", "needle");
    world.put(".git/HEAD", "needle");
    world.put("binary", b"needle\0");
    world.link("src/main.rs", "link.rs");
    world
}

fn lines(found: &Value) -> Vec<String> {
    let matches = found["matches"].as_array().expect("a list");
    let place = |m: &Value| format!("{}:{}", m["path"].as_str().expect("a path"), m["line"]);
    matches.iter().map(place).collect()
}

#[tokio::test]
async fn lines_are_found_in_order_and_what_git_ignores_is_skipped() {
    let world = world();
    let found = world.ok("search", json!({ "pattern": "needle" })).await;
    let expected = [
        ".hidden/x.rs:1",
        "generated.rs:1",
        "keep.log:1",
        "src/lib.rs:2",
        "src/main.rs:2",
    ];
    assert_eq!(lines(&found), expected);
    assert_eq!(found["matches"][4]["text"], "    needle();");
    assert_eq!(found["truncated"], false);
    assert_eq!(found["files_skipped"], 1);
}

#[tokio::test]
async fn a_search_can_be_narrowed() {
    let world = world();
    let table = [
        (
            json!({ "pattern": "^needle$", "path": "src" }),
            vec!["src/lib.rs:2"],
        ),
        (
            json!({ "pattern": "needle", "glob": "main.*" }),
            vec!["src/main.rs:2"],
        ),
        (
            json!({ "pattern": "needle", "glob": "src/*.rs", "limit": 1 }),
            vec!["src/lib.rs:2"],
        ),
        (
            json!({ "pattern": "needle", "path": "src/lib.rs", "case_insensitive": true }),
            vec!["src/lib.rs:1", "src/lib.rs:2"],
        ),
        // An ignored directory is searched when it is asked for by name.
        (
            json!({ "pattern": "needle", "path": "target" }),
            vec!["target/out.rs:1"],
        ),
        (json!({ "pattern": "absent" }), vec![]),
    ];
    for (arguments, expected) in table {
        let found = world.ok("search", arguments.clone()).await;
        assert_eq!(lines(&found), expected, "{arguments}");
    }
}

#[tokio::test]
async fn files_are_found_by_name() {
    let world = world();
    let table = [
        (
            json!({ "glob": "*.rs" }),
            json!([
                ".hidden/x.rs",
                "generated.rs",
                "link.rs",
                "src/lib.rs",
                "src/main.rs"
            ]),
        ),
        (
            json!({ "glob": "src/**" }),
            json!(["src/.gitignore", "src/lib.rs", "src/main.rs"]),
        ),
        (json!({ "glob": "*.log" }), json!(["keep.log"])),
        (
            json!({ "glob": "*.RS", "path": "src", "case_insensitive": true }),
            json!(["src/lib.rs", "src/main.rs"]),
        ),
    ];
    for (arguments, expected) in table {
        let found = world.ok("search", arguments.clone()).await;
        assert_eq!(found["files"], expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_search_with_many_results_says_that_there_are_more_and_fits_the_cap() {
    let mut world = World::new();
    world.put("many", "needle\n".repeat(1000));
    let found = world.ok("search", json!({ "pattern": "needle" })).await;
    assert_eq!(
        (lines(&found).len(), &found["truncated"]),
        (100, &json!(true))
    );
    world.limits.tool_output_bytes_max = 1000;
    let found = world
        .ok("search", json!({ "pattern": "needle", "limit": 10000 }))
        .await;
    assert_eq!(found["truncated"], true);
    assert!(lines(&found).len() > 5);
}

#[tokio::test]
async fn a_search_that_cannot_be_done_is_a_fault() {
    let world = world();
    for (arguments, code) in [
        (json!({}), "bad_arguments"),
        (json!({ "pattern": "(" }), "bad_arguments"),
        (json!({ "glob": "[" }), "bad_arguments"),
        (json!({ "pattern": "x", "path": "missing" }), "not_found"),
    ] {
        assert_eq!(
            world.fault("search", arguments.clone()).await,
            code,
            "{arguments}"
        );
    }
}
