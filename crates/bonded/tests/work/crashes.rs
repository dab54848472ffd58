//! The process is killed at any moment, and the next command on the tree puts it right.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::atomic::{EVERYTHING, many};
use crate::place::start;
use crate::state::State;
use crate::world::{World, item, runs, with_fields};

/// How often the process is killed; this variable makes it more.
const ROUNDS: u32 = 12;
const ROUNDS_VARIABLE: &str = "BONDED_WORK_CRASHES";

/// What the last of [`EVERYTHING`] leaves: a command that was killed in its middle has not come so far.
const LAST_IS_DONE: &str = "test -d full && test ! -e .gitignore";

/// An item that changes something of every kind, and one that changes nothing.
fn plan(world: &World) -> Value {
    world.agent(1, &[runs(EVERYTHING)]);
    world.agent(2, &[runs("true")]);
    with_fields(
        item("one", 1),
        json!({ "constraints": many(), "test_command": LAST_IS_DONE }),
    )
}

/// The tree as it is when the item has happened.
fn expected(world: &World) -> State {
    let copy = world.place.path("expected");
    let line = format!("cp -a work expected && cd expected && {EVERYTHING}");
    let mut shell = Command::new("sh");
    let made = shell
        .args(["-c", &line])
        .current_dir(world.place.path("."))
        .status();
    assert!(made.is_ok_and(|status| status.success()), "{line}");
    State::of(&copy)
}

/// Kills the plan after a time, and expects the tree before or after, never between.
fn crash_after(moment: Duration) {
    let world = World::with_everything();
    let plan = plan(&world);
    let (before, after) = (world.state(), expected(&world));
    let mut child = start(&mut world.work_command(&plan, &["--json"]));
    thread::sleep(moment);
    child.kill().expect("a child can be killed");
    child.wait().expect("a killed process ends");
    let other = world.work(&item("other", 2), &[]);
    other.succeeds();
    let found = world.state();
    if found != before {
        after.expect_same(&found, &format!("killed after {moment:?}"));
    }
    let resumed = world.place.bonded(&["work", "--resume"]);
    let when = format!("resumed after {moment:?}: {resumed:?}");
    match resumed.code {
        Some(0) => after.expect_same(&world.state(), &when),
        _ => {
            resumed.fails_with(4, "unknown-plan");
            found.expect_same(&world.state(), &when);
        }
    }
}

#[test]
fn after_a_kill_at_any_moment_the_tree_is_wholly_before_or_wholly_after_and_the_plan_goes_on() {
    let world = World::with_everything();
    let plan = plan(&world);
    let began = Instant::now();
    assert_eq!(world.result(&plan)["status"], "success");
    let whole = began.elapsed();
    let said = std::env::var(ROUNDS_VARIABLE).ok();
    let rounds = said.and_then(|said| said.parse().ok()).unwrap_or(ROUNDS);
    for round in 0..rounds {
        crash_after(whole * round / rounds);
    }
}
