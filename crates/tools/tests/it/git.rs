//! A command cannot make a repository of the working directory, and what keeps it from that is gone afterwards.

use std::path::Path;
use std::process::Command;

use bonded_kernel::{Mask, Outcome};
use bonded_tools::sandbox::{SandboxLevel, SandboxPolicy};
use serde_json::json;

use crate::scene::{Means, has_bubblewrap};
use crate::world::World;

/// Each makes a `.git` where nothing prevents it.
const ATTEMPTS: [&str; 6] = [
    "git init -q .",
    "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
    "echo evil > .git || echo evil > .git/config",
    "rmdir .git 2>&-; mkdir sub; echo evil > sub/config; mv sub .git || mv sub .git/",
    "mkdir -p elsewhere; ln -s elsewhere .git",
    "rm -rf .git; mv .git old; mkdir -p .git; chmod 777 .git; echo evil > .git/config",
];

fn world(level: SandboxLevel, means: Means) -> World {
    World::laid_out(|place| {
        let policy = SandboxPolicy {
            level,
            ..SandboxPolicy::default()
        };
        (policy, means.launcher(place))
    })
}

fn has_git(world: &World) -> bool {
    world.path(".git").symlink_metadata().is_ok()
}

#[tokio::test]
async fn a_repository_that_is_not_there_cannot_be_made_by_a_command() {
    for means in [Means::Everything, Means::Bubblewrap] {
        if means == Means::Bubblewrap && !has_bubblewrap() {
            continue;
        }
        for command in ATTEMPTS {
            let world = world(SandboxLevel::WorkspaceWrite, means);
            let ran = world.ran(json!({ "command": command })).await;
            assert!(!has_git(&world), "{command} with {means:?}: {ran}");
        }
    }
    for command in ATTEMPTS {
        let world = world(SandboxLevel::Full, Means::Everything);
        world.ran(json!({ "command": command })).await;
        assert!(has_git(&world), "{command} is no attempt");
    }
}

#[tokio::test]
async fn nothing_is_left_of_commands_that_are_ended() {
    let world = world(SandboxLevel::WorkspaceWrite, Means::Everything);
    let arguments = json!({ "command": "sleep 1000", "timeout_ms": 300 });
    let output = world.call("run", arguments.clone()).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert!(!has_git(&world));
    let call = world.invocation("run", &json!({ "command": "sleep 1000" }));
    let (mask, wait) = (Mask::default(), std::time::Duration::from_millis(300));
    let dropped = tokio::time::timeout(wait, world.registry.invoke(&call, &mask)).await;
    assert!(dropped.is_err(), "it does not end by itself");
    assert!(!has_git(&world));
}

#[tokio::test]
async fn a_command_that_ends_first_does_not_uncover_the_others() {
    let mut world = world(SandboxLevel::WorkspaceWrite, Means::Everything);
    world.limits.tool_timeout_ms = 60_000;
    let attempt = "until [ -e go ]; do sleep 0.01; done; mkdir -p .git/hooks";
    let long = world.ran(json!({ "command": attempt }));
    let short = async {
        let quick = json!({ "command": "until [ -d .git ]; do sleep 0.01; done" });
        world.ran(quick).await;
        world.put("go", "");
    };
    let (ran, ()) = tokio::join!(long, short);
    assert_ne!(ran["exit"], 0, "{ran}");
    assert!(!has_git(&world));
}

#[tokio::test]
async fn git_finds_the_repository_around_the_directory_as_if_nothing_stood_in() {
    let world = world(SandboxLevel::WorkspaceWrite, Means::Everything);
    let made = Command::new("git")
        .arg("init")
        .arg("-q")
        .arg(world.outside())
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let ran = world
        .ran(json!({ "command": "git rev-parse --show-toplevel" }))
        .await;
    let top = world.outside().canonicalize().expect("it is there");
    let told = ran["stdout"].as_str().expect("a text").trim();
    assert_eq!(Path::new(told), top, "{ran}");
}
