//! What is kept of a plan was damaged.

use std::path::{Path, PathBuf};

use crate::done::text;
use crate::place::{finish, start};
use crate::world::{World, item, receipt, runs, script, with_fields, writes};

/// A file of a plan, and what must be gone so that it is read.
const KEPT: [(&str, &[&str]); 4] = [
    ("plan.json", &[]),
    ("LEVEL-0.RECEIPT.json", &[]),
    ("items/one/RESULT.json", &[]),
    ("items/one/outcome.json", &["items/one/RESULT.json"]),
];

fn damage(file: &Path, content: &[u8]) {
    std::fs::write(file, content).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// The directory of a plan that has ended, and its id.
fn ended_plan(world: &World) -> (PathBuf, String) {
    world.agent(1, &[writes("new.txt", "new")]);
    let result = world.result(&item("one", 1));
    assert_eq!(result["status"], "success", "{result}");
    let id = text(&receipt(&result)["plan_id"]).to_owned();
    (world.kept("plans").join(&id), id)
}

#[test]
fn the_doctor_names_a_tree_that_may_be_half_published() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let result = world.result(&item("one", 1));
    let healthy = world.place.bonded(&["doctor"]);
    assert!(
        !healthy.stdout.contains("between two states"),
        "{healthy:?}"
    );
    let plan = receipt(&result)["plan_id"].clone();
    let trees = std::fs::read_dir(world.kept("trees")).expect("a tree is known");
    let tree = trees.flatten().next().expect("one tree").path();
    let journal = serde_json::json!({ "sealed": { "plan": plan } });
    std::fs::write(tree.join("journal.json"), journal.to_string()).expect("it can be written");
    let told = world.place.bonded(&["doctor"]);
    assert_eq!(told.code, Some(3), "{told:?}");
    assert!(told.stdout.contains("between two states"), "{told:?}");
    let plan = plan.as_str().expect("an id is text");
    assert!(
        told.stdout
            .contains(&format!("bonded work --resume {plan}")),
        "{told:?}"
    );
}

#[test]
fn a_damaged_file_of_a_plan_is_named_and_neither_read_nor_passed_over() {
    for (name, hidden_by) in KEPT {
        for content in [&b"{"[..], b"", b"\xff\0", b"[]"] {
            let world = World::plain();
            let (dir, id) = ended_plan(&world);
            for file in hidden_by {
                std::fs::remove_file(dir.join(file)).expect("it was there");
            }
            damage(&dir.join(name), content);
            let before = world.state();
            let resumed = world.place.bonded(&["work", "--resume", &id]);
            assert!(matches!(resumed.code, Some(3 | 4)), "{name}: {resumed:?}");
            resumed.says(&format!("{name}: it is damaged"));
            resumed.says("start the plan again");
            before.expect_same(&world.state(), name);
        }
    }
}

#[test]
fn an_item_that_has_a_receipt_is_not_worked_off_again() {
    let world = World::plain();
    let (dir, id) = ended_plan(&world);
    for file in [
        "LEVEL-0.RECEIPT.json",
        "items/one/RESULT.json",
        "items/one/outcome.json",
    ] {
        std::fs::remove_file(dir.join(file)).expect("it was there");
    }
    let before = world.state();
    let resumed = world.place.bonded(&["work", "--resume", &id]);
    resumed.fails_with(1, "tampered");
    resumed.says("item one already has a receipt");
    before.expect_same(&world.state(), "a receipt");
    assert_eq!(world.runs().len(), 1, "nothing ran");
}

#[test]
fn a_damaged_line_of_a_trees_history_is_named_and_nothing_runs() {
    let world = World::plain();
    ended_plan(&world);
    let trees = std::fs::read_dir(world.kept("trees")).expect("a tree is known");
    let tree = trees.flatten().next().expect("one tree").path();
    let file = tree.join("history.jsonl");
    let mut lines = std::fs::read(&file).expect("there is a receipt");
    lines.extend(b"{\"receipt\n");
    damage(&file, &lines);
    let refused = world.work(&item("two", 1), &[]);
    refused.fails_with(3, "tree-failed");
    refused.says("history.jsonl:2: ");
    assert_eq!(world.runs().len(), 1, "nothing ran");
}

/// Kills a plan while it publishes, as soon as the notice of that is in the tree.
fn killed_while_publishing(world: &World, plan: &serde_json::Value) {
    let notice = world.path(".bonded-publish-UNFINISHED.txt");
    let mut child = start(&mut world.work_command(plan, &[]));
    while !notice.exists() {
        let ended = child.try_wait().expect("it can be waited for");
        if ended.is_some() {
            panic!("it has published unseen: {:?}", finish(child));
        }
        std::hint::spin_loop();
    }
    child.kill().expect("a child can be killed");
    child.wait().expect("a killed child ends");
    assert!(notice.exists(), "it was killed too late");
}

#[test]
fn a_run_in_a_tree_that_was_left_half_published_is_warned_and_after_a_resume_it_is_not() {
    let world = World::plain();
    // So many names that publishing them takes a while.
    let files = "for n in $(seq 300); do echo x > file-$n.txt; done";
    world.agent(1, &[runs(files)]);
    let limits =
        serde_json::json!({ "constraints": { "max_files": 5000, "max_delta_size": 50_000 } });
    killed_while_publishing(&world, &with_fields(item("one", 1), limits));
    let model = script(&world, &[]);
    let ask = || world.place.bonded(&["run", "--model", &model, "look"]);
    let warned = ask();
    assert_eq!(warned.code, Some(0), "{warned:?}");
    warned.says("says that this tree is half published; `bonded work --resume` finishes that");
    let doctor = world.place.bonded(&["doctor"]);
    assert!(doctor.stdout.contains("between two states"), "{doctor:?}");
    let resumed = world.place.bonded(&["work", "--resume"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(world.read("file-300.txt").as_deref(), Some("x\n"));
    assert!(!ask().stderr.contains("half published"));
}
