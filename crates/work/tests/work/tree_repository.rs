//! A repository in the middle of something is not worked on.

use std::fs;
use std::path::Path;
use std::process::Command;

use bonded_work::tree::{TreeError, check_repository};

use crate::tree_world::World;

fn git(dir: &Path, words: &[&str]) -> bool {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args([
            "-c",
            "commit.gpgsign=false",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_EDITOR", "true");
    let output = command.output().expect("git can be started");
    output.status.success()
}

/// Two branches that cannot be merged.
fn divided(dir: &Path) {
    let commit = |text: &str| {
        fs::write(dir.join("file"), text).expect("it can be written");
        assert!(git(dir, &["add", "file"]));
        assert!(git(dir, &["commit", "-qm", text]));
    };
    assert!(git(dir, &["init", "-qb", "main"]));
    commit("base");
    assert!(git(dir, &["checkout", "-qb", "other"]));
    commit("theirs");
    assert!(git(dir, &["checkout", "-q", "main"]));
    commit("ours");
}

#[test]
fn a_repository_in_the_middle_of_something_is_refused_and_told_what() {
    for (words, what) in [
        (&["merge", "other"][..], "merge"),
        (&["rebase", "other"], "rebase"),
        (&["rebase", "--apply", "other"], "rebase"),
        (&["cherry-pick", "other"], "cherry-pick"),
        (&["revert", "HEAD~1"], "revert"),
        (&["bisect", "start"], "bisect"),
    ] {
        let world = World::new();
        divided(&world.root);
        fs::create_dir(world.path("below")).expect("it can be made");
        check_repository(&world.root).expect("nothing is under way");
        git(&world.root, words);
        for dir in [world.root.clone(), world.path("below")] {
            let refused = check_repository(&dir);
            let Err(TreeError::InTheMiddle { what: told, .. }) = refused else {
                panic!("{words:?}: {refused:?}");
            };
            assert_eq!(told, what, "{words:?}");
        }
    }
}

#[test]
fn a_worktree_has_a_state_of_its_own() {
    let world = World::new();
    divided(&world.root);
    let other = world.dir.path().join("worktree");
    let path = other.to_str().expect("it is text");
    assert!(git(&world.root, &["worktree", "add", "-q", path, "other"]));
    git(&other, &["merge", "main"]);
    check_repository(&world.root).expect("nothing is under way here");
    let refused = check_repository(&other);
    assert!(
        matches!(refused, Err(TreeError::InTheMiddle { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_bare_repository_is_refused_and_a_directory_without_git_is_fine() {
    let world = World::new();
    check_repository(&world.root).expect("it has no git");
    assert!(git(&world.root, &["init", "-q", "--bare"]));
    let refused = check_repository(&world.root);
    assert!(
        matches!(refused, Err(TreeError::Bare { .. })),
        "{refused:?}"
    );
}
