//! Others at the same tree: people who edit it, and other plans.

use std::process::Child;

use bonded_testkit::provider::Provider;

use crate::place::{Done, done, finish, start};
use crate::provider::{flags, held};
use crate::world::{World, expect_status, item, receipt, writes};

/// A plan whose one item has written `shared.txt` in its copy and is not done yet.
fn under_way(world: &World) -> (Provider, Child) {
    let provider = held(&[writes("shared.txt", "the item's\n"), done("ok")]);
    let flags = flags(&provider);
    let mut words: Vec<&str> = flags.iter().map(String::as_str).collect();
    words.push("--json");
    let mut command = world.work_command(&item("one", 1), &words);
    let child = start(command.env("HELD_KEY", "sk-held-for-tests"));
    provider.release(1);
    provider.wait_for(2);
    (provider, child)
}

fn end((provider, child): (Provider, Child)) -> Done {
    provider.release(1);
    finish(child)
}

#[test]
fn what_a_person_changes_elsewhere_meanwhile_stays_and_the_item_is_published_beside_it() {
    let world = World::plain();
    let running = under_way(&world);
    assert_eq!(world.read("shared.txt"), None, "the item works in a copy");
    world.write("kept.txt", "edited by a person\n");
    world.write("theirs/new.txt", "theirs\n");
    let result = end(running).json();
    assert_eq!(result["status"], "success", "{result}");
    assert_eq!(
        world.read("kept.txt").as_deref(),
        Some("edited by a person\n")
    );
    assert_eq!(world.read("theirs/new.txt").as_deref(), Some("theirs\n"));
    assert_eq!(world.read("shared.txt").as_deref(), Some("the item's\n"));
    let receipt = receipt(&result);
    assert_ne!(
        receipt["after_hash"], receipt["tree_after"],
        "the tree has theirs too"
    );
}

#[test]
fn what_a_person_changes_at_the_same_path_meanwhile_stays_and_the_item_is_denied() {
    let world = World::plain();
    let running = under_way(&world);
    world.write("shared.txt", "a person's\n");
    let before = world.state();
    let result = end(running).json();
    expect_status(
        &result,
        "denied",
        "Conflict: shared.txt changed by another meanwhile",
    );
    before.expect_same(&world.state(), "a clash");
}

#[test]
fn a_tree_a_part_of_it_and_what_holds_it_are_worked_on_by_one_plan_at_a_time() {
    let world = World::plain();
    world.write("part/file.txt", "x");
    let running = under_way(&world);
    let before = world.state();
    world.agent(1, &[writes("other.txt", "x")]);
    let (tree, part, holder) = (world.tree(), world.path("part"), world.place.path("."));
    for place in [tree, part, holder] {
        let place = place.display().to_string();
        // Another store, so that the one of the first plan does not lie in the tree that is asked for.
        let elsewhere = tempfile::tempdir().expect("a directory can be made");
        let store = elsewhere.path().join("store.db");
        let mut command = world.work_command(&item("two", 1), &["--repo", &place]);
        let refused = finish(start(command.env("BONDED_STORE", store)));
        refused.fails_with(3, "tree-busy");
        before.expect_same(&world.state(), &place);
    }
    let result = end(running).json();
    assert_eq!(result["status"], "success", "{result}");
    assert_eq!(
        world.result(&item("two", 1))["status"],
        "success",
        "afterwards it is free"
    );
}

/// Starts two plans at once, each of which writes a file of its own and one that both write.
fn both_at_once(world: &World, flags: &[&str]) -> [Done; 2] {
    let children = [1, 2].map(|number| {
        let name = format!("{number}.txt");
        world.agent(number, &[writes(&name, "x"), writes("common.txt", &name)]);
        let file = world.place.path(&format!("plan-{number}.json"));
        let plan = item(&format!("item-{number}"), number);
        std::fs::write(&file, plan.to_string()).expect("the plan can be written");
        start(&mut world.work_command_on(&file, flags))
    });
    children.map(finish)
}

#[test]
fn two_plans_that_start_together_are_refused_or_serialised_and_never_mixed() {
    let world = World::plain();
    let ends = both_at_once(&world, &["--json"]);
    let common = world.read("common.txt").expect("one of them was there");
    for (end, number) in ends.iter().zip([1, 2]) {
        let name = format!("{number}.txt");
        let is_done = end.code == Some(0);
        assert_eq!(world.path(&name).exists(), is_done, "{end:?}");
        assert!(is_done || common != name, "{end:?}");
        if !is_done {
            end.fails_with(3, "tree-busy");
        }
    }
}

#[test]
fn a_plan_that_may_wait_works_when_the_other_has_let_go_of_the_tree() {
    let world = World::plain();
    let ends = both_at_once(&world, &["--json", "--wait-ms", "60000"]);
    for end in &ends {
        end.succeeds();
    }
    let befores = ends.map(|end| receipt(&end.json())["tree_before"].clone());
    assert_ne!(befores[0], befores[1], "one after the other");
}
