//! Nothing leads out of the working directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::world::{World, snapshot};

fn world() -> World {
    let world = World::new();
    world.put("inside.txt", "inside");
    world.put("a/b.txt", "b");
    for name in ["secret.txt", "dir-evil/secret.txt", "out/secret.txt"] {
        let path = world.outside().join(name);
        std::fs::create_dir_all(path.parent().expect("it has a parent")).expect("it can be made");
        std::fs::write(path, "secret").expect("it can be written");
    }
    world.link("../secret.txt", "to_file");
    world.link("../out", "to_dir");
    world.link("/etc", "etc");
    world.link("chain2", "chain1");
    world.link("to_dir", "chain2");
    world.link("loop2", "loop1");
    world.link("loop1", "loop2");
    world.link("../new.txt", "dangling_out");
    world
}

/// Every tool that takes a path, with arguments that would do something if the path were let through.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({ "path": path })),
        ("list", json!({ "path": path })),
        ("search", json!({ "path": path, "pattern": "." })),
        ("write", json!({ "path": path, "content": "evil" })),
        ("append", json!({ "path": path, "content": "evil" })),
        (
            "edit",
            json!({ "path": path, "old": "secret", "new": "evil" }),
        ),
        ("run", json!({ "command": "touch evil", "cwd": path })),
    ]
}

#[tokio::test]
async fn a_path_that_leads_out_is_refused_by_every_tool_and_nothing_is_touched() {
    let world = world();
    let before = snapshot(world.outside());
    let evil_twin = format!(
        "{}-evil/secret.txt",
        world.path("").display().to_string().trim_end_matches('/')
    );
    let climbing = format!("{}/../secret.txt", world.path("").display());
    let paths = [
        "..",
        "../secret.txt",
        "../new.txt",
        "a/../../secret.txt",
        "./../dir-evil/secret.txt",
        "/etc/passwd",
        "/",
        &evil_twin,
        &climbing,
        "to_file",
        "to_dir",
        "to_dir/secret.txt",
        "to_dir/new.txt",
        "to_dir/new/er.txt",
        "etc/passwd",
        "chain1",
        "chain1/secret.txt",
        "a/../to_dir/secret.txt",
        "dangling_out",
    ];
    for path in paths {
        for (tool, arguments) in calls(path) {
            let code = world.fault(tool, arguments).await;
            assert_eq!(code, "outside_directory", "{tool} on {path:?}");
        }
    }
    assert_eq!(snapshot(world.outside()), before);
}

#[tokio::test]
async fn a_path_that_names_nothing_usable_is_refused_by_every_tool() {
    let world = world();
    let before = snapshot(world.outside());
    let long_name = "x".repeat(300);
    let long_path = "y/".repeat(4000);
    for path in [
        "",
        "a\0b",
        "loop1",
        "loop1/x",
        "inside.txt/x",
        &long_name,
        &long_path,
    ] {
        for (tool, arguments) in calls(path) {
            let code = world.fault(tool, arguments).await;
            let usable = ["bad_path", "io", "not_a_directory"].contains(&code.as_str());
            assert!(usable, "{tool} on {path:?} gave {code}");
        }
    }
    assert_eq!(snapshot(world.outside()), before);
}

#[tokio::test]
async fn a_link_that_stays_inside_is_followed_and_kept() {
    let world = world();
    world.link("a/b.txt", "to_b");
    world.link("a", "to_a");
    assert_eq!(
        world.ok("read", json!({ "path": "to_a/b.txt" })).await["content"],
        "b"
    );
    let written = world
        .ok("write", json!({ "path": "to_b", "content": "new" }))
        .await;
    assert_eq!(written["path"], "a/b.txt");
    world
        .ok("append", json!({ "path": "to_a/b.txt", "content": "er" }))
        .await;
    assert_eq!(world.get("a/b.txt"), "newer");
    let link = std::fs::read_link(world.path("to_b")).expect("it is still a link");
    assert_eq!(link, std::path::Path::new("a/b.txt"));
    let ran = world
        .ran(json!({ "command": "cat b.txt", "cwd": "to_a" }))
        .await;
    assert_eq!(ran["stdout"], "newer");
}

#[tokio::test]
async fn an_absolute_path_inside_the_directory_is_taken() {
    let world = world();
    let path = world.path("a/b.txt").display().to_string();
    let read = world.ok("read", json!({ "path": path })).await;
    assert_eq!(read["content"], "b");
}

#[tokio::test]
async fn searching_and_listing_do_not_follow_links_out() {
    let world = world();
    let found = world.ok("search", json!({ "pattern": "secret" })).await;
    assert_eq!(found["matches"], json!([]));
    let listed = world.ok("list", json!({ "depth": 10 })).await.to_string();
    assert!(
        listed.contains("to_dir") && !listed.contains("secret.txt"),
        "{listed}"
    );
}

#[tokio::test]
async fn a_directory_that_is_swapped_for_a_link_at_any_moment_never_leads_out() {
    let world = world();
    world.put("swap/secret.txt", "harmless");
    world.link("../out", "evil");
    let stop = Arc::new(AtomicBool::new(false));
    let (swap, evil, seen) = (world.path("swap"), world.path("evil"), Arc::clone(&stop));
    let swapper = std::thread::spawn(move || {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        while !seen.load(Ordering::Relaxed) {
            renameat_with(CWD, &swap, CWD, &evil, RenameFlags::EXCHANGE).expect("both exist");
        }
    });
    for _ in 0..300 {
        for (tool, arguments) in [
            ("read", json!({ "path": "swap/secret.txt" })),
            ("search", json!({ "path": "swap", "pattern": "." })),
            (
                "run",
                json!({ "command": "cat", "args": ["secret.txt"], "cwd": "swap" }),
            ),
        ] {
            let output = world.call(tool, arguments).await;
            let leaked = output.text.contains("secret\"") || output.text.contains("secret\\n");
            assert!(!leaked, "{tool}: {}", output.text);
        }
        world
            .call(
                "write",
                json!({ "path": "swap/secret.txt", "content": "harmless" }),
            )
            .await;
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().expect("it only renames");
    let secret = std::fs::read_to_string(world.outside().join("out/secret.txt"));
    assert_eq!(secret.expect("it is there"), "secret");
}

#[tokio::test]
async fn git_internals_can_be_read_and_not_changed() {
    let world = World::new();
    world.put(".git/config", "[core]");
    world.put("sub/.git/config", "[core]");
    world.link(".git", "way_in");
    world.put("elsewhere/config", "[core]");
    world.put("linked/f", "");
    world.link("../elsewhere", "linked/.git");
    let before = snapshot(world.outside());
    let paths = [
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "sub/.git/config",
        "way_in/config",
        "linked/.git/config",
        ".git",
    ];
    for path in paths {
        for (tool, arguments) in calls(path) {
            if ["write", "append", "edit"].contains(&tool) {
                assert_eq!(
                    world.fault(tool, arguments).await,
                    "protected",
                    "{tool} on {path}"
                );
            }
        }
    }
    assert_eq!(snapshot(world.outside()), before);
    assert_eq!(
        world.ok("read", json!({ "path": ".git/config" })).await["content"],
        "[core]"
    );
    world
        .ok(
            "write",
            json!({ "path": ".gitignore", "content": "target" }),
        )
        .await;
}
