//! With `--commit`: killed at random while it is published, an item is one commit in the end.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::SEED;
use crate::boundary::Boundary;
use crate::place::finish;
use crate::plans::{furnish, git, one_item, script};
use crate::rng::{Rng, number, seed, tell};
use crate::world::{Kill, World};

const KILLS_DEFAULT: u64 = 8;
/// About as long as it takes to publish and commit.
const PUBLISH_MS: u64 = 150;

/// What git says of a repository, without what depends on the time.
fn told(root: &Path) -> Vec<String> {
    let questions: [&[&str]; 8] = [
        &["status", "--porcelain"],
        &["ls-files", "-s"],
        &["ls-tree", "-r", "HEAD"],
        &["rev-list", "--count", "--all"],
        &["for-each-ref", "--format=%(refname)"],
        &["rev-parse", "HEAD^", "other", "stash"],
        &["fsck", "--strict", "--unreachable"],
        &["count-objects"],
    ];
    questions.iter().map(|asked| git(root, asked)).collect()
}

fn world(template: &Path) -> World {
    World::new(template, &script(), &one_item()).options(&["--commit"])
}

/// The commit names the receipt that is kept.
fn check_trailer(world: &World) {
    let receipt = world.read("store.db.work/plans/*/items/a/RECEIPT.json");
    let receipt: Value = serde_json::from_str(&receipt).expect("it is JSON");
    let hash = receipt["receipt_hash"].as_str().unwrap_or_default();
    let message = git(&world.root(), &["log", "-1", "--format=%B"]);
    let trailer = format!("Bonded-Receipt: {hash}");
    assert!(message.contains(&trailer), "{message}");
}

#[test]
fn an_item_that_is_committed_is_one_commit_whenever_it_was_killed() {
    let template = tempfile::tempdir().expect("a temporary directory can be made");
    furnish(template.path());
    let undisturbed = world(template.path());
    let done = finish(undisturbed.begin());
    let end = undisturbed.end(&done);
    let wanted = told(&undisturbed.root());
    check_trailer(&undisturbed);
    let kills = number("BONDED_WORK_CRASH_KILLS").map_or(KILLS_DEFAULT, |kills| kills / 4);
    let seed = seed(SEED);
    tell(&format!("BONDED_WORK_CRASH_SEED={seed}"));
    let mut rng = Rng::of(seed, 0);
    let journal = Boundary::There("store.db.work/trees/*/journal.json".into());
    for _ in 0..kills {
        let world = world(template.path());
        let after = Duration::from_micros(rng.below(PUBLISH_MS * 1000));
        let _ = world.kill(world.begin(), &Kill::Past(&journal, after));
        let done = finish(world.begin_again());
        assert_eq!(world.end(&done), end, "{done:?}");
        assert_eq!(told(&world.root()), wanted);
        check_trailer(&world);
        world.check_receipts();
        world.check_nothing_left();
    }
}
