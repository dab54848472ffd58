//! What is left in the user's repository: nothing of ours.

use serde_json::{Value, json};

use crate::state::State;
use crate::world::{World, item, runs, script, statuses, with_fields, writes};

const PLANS: usize = 5;
const ITEMS: usize = 100;

#[test]
fn five_hundred_items_that_fail_leave_not_an_object_not_a_ref_and_not_a_file() {
    let world = World::with_everything();
    let model = script(&world, &[writes("new.txt", "never published")]);
    let asked: [&[&str]; 5] = [
        &["count-objects", "-v"],
        &["fsck", "--full", "--no-progress"],
        &["for-each-ref"],
        &["worktree", "list"],
        &["stash", "list"],
    ];
    let said = asked.map(|words| world.git(words));
    let before = world.state();
    for plan in 0..PLANS {
        let items = (0..ITEMS).map(|at| {
            let outputs = json!({ "output_files": ["new.txt", "never.txt"] });
            with_fields(item(&format!("item-{plan}-{at}"), 1), outputs)
        });
        let results = world.results(&items.collect(), &["--model", &model, "--quiet"]);
        let failed = statuses(&results).into_iter().filter(|it| *it == "failure");
        assert_eq!(failed.count(), ITEMS);
    }
    before.expect_same(&world.state(), "500 items that failed");
    assert_eq!(said, asked.map(|words| world.git(words)));
}

#[test]
fn what_was_published_is_all_that_is_new_and_the_copies_are_gone() {
    let world = World::repository();
    world.agent(1, &[runs("mkdir -p deep; echo x > deep/new.txt")]);
    let git_before = State::of(&world.path(".git"));
    let results: Value = world.results(&json!([item("one", 1), item("two", 1)]), &[]);
    assert_eq!(statuses(&results), ["success", "denied"]);
    git_before.expect_same(&State::of(&world.path(".git")), "the repository");
    let mut names: Vec<_> = std::fs::read_dir(world.tree())
        .expect("it can be listed")
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "deep", "kept.txt"]);
    let copies = std::fs::read_dir(world.kept("copies")).map_or(0, Iterator::count);
    assert_eq!(copies, 0, "copies are removed");
}
