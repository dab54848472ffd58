//! What a plan waits for: other plans, and people.

use serde_json::{Value, json};

use crate::done::text;
use crate::place::{finish, start};
use crate::world::{SOME_FAILED, World, expect_status, item, with_fields, writes};

const WAITS: i32 = 6;

fn waiting_item() -> Value {
    with_fields(item("next", 2), json!({ "dependencies": ["later"] }))
}

#[test]
fn a_dependency_that_is_not_ready_in_time_blocks_the_item() {
    let world = World::plain();
    world.agent(2, &[writes("next.txt", "x")]);
    let before = world.state();
    let ended = world.work(&waiting_item(), &["--json", "--wait-ms", "300"]);
    assert_eq!(ended.code, Some(SOME_FAILED), "{ended:?}");
    expect_status(
        &ended.json(),
        "failure",
        "Blocked by dependency later: not ready in time",
    );
    before.expect_same(&world.state(), "blocked");
}

#[test]
fn a_dependency_that_another_plan_does_meanwhile_is_waited_for() {
    let world = World::plain();
    world.agent(1, &[writes("later.txt", "x")]);
    world.agent(2, &[writes("next.txt", "x")]);
    let file = world.place.path("waiting.json");
    std::fs::write(&file, waiting_item().to_string()).expect("the plan can be written");
    let flags = ["--json", "--wait-ms", "60000"];
    let waiting = start(&mut world.work_command_on(&file, &flags));
    assert_eq!(world.result(&item("later", 1))["status"], "success");
    let ended = finish(waiting);
    ended.succeeds();
    assert_eq!(ended.json()["status"], "success", "{ended:?}");
}

#[test]
fn a_dependency_that_nobody_has_done_is_waited_for_and_that_is_told() {
    use std::io::{BufRead as _, BufReader};
    let world = World::plain();
    world.agent(1, &[writes("later.txt", "x")]);
    world.agent(2, &[writes("next.txt", "x")]);
    let file = world.place.path("waiting.json");
    std::fs::write(&file, waiting_item().to_string()).expect("the plan can be written");
    let mut waiting = start(&mut world.work_command_on(&file, &["--json"]));
    let mut told = String::new();
    let mut stderr = BufReader::new(waiting.stderr.take().expect("it is piped"));
    stderr.read_line(&mut told).expect("it says something");
    assert!(told.contains("waiting for dependency later"), "{told}");
    assert!(told.contains("at most 5 min"), "{told}");
    assert_eq!(world.result(&item("later", 1))["status"], "success");
    waiting.stderr = Some(stderr.into_inner());
    let ended = finish(waiting);
    assert_eq!(ended.json()["status"], "success", "{ended:?}");
}

#[test]
fn whoever_waits_for_a_dependency_can_give_up() {
    use std::io::{BufRead as _, BufReader};
    let world = World::plain();
    world.agent(2, &[writes("next.txt", "x")]);
    let mut waiting = start(&mut world.work_command(&waiting_item(), &[]));
    let mut told = String::new();
    let mut stderr = BufReader::new(waiting.stderr.take().expect("it is piped"));
    stderr.read_line(&mut told).expect("it says something");
    let pid = rustix::process::Pid::from_child(&waiting);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it can be sent");
    waiting.stderr = Some(stderr.into_inner());
    let ended = finish(waiting);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(world.runs().is_empty(), "nothing ran");
}

/// A plan of one item whose `write` a person is asked about.
fn asked(world: &World) -> (String, crate::state::State) {
    world.agent(1, &[writes("new.txt", "new")]);
    let before = world.state();
    let paused = world.work(&item("one", 1), &["--ask", "write", "--json"]);
    assert_eq!(paused.code, Some(WAITS), "{paused:?}");
    paused.says("needs approval");
    paused.says("bonded work --resume");
    before.expect_same(&world.state(), "while a person is asked");
    let runs = world.runs();
    (text(&runs[0]["runId"]).to_owned(), before)
}

#[test]
fn a_call_that_a_person_approves_is_made_when_the_plan_is_resumed() {
    let world = World::plain();
    let (run, _) = asked(&world);
    world.place.approve(&run, &[]).succeeds();
    let resumed = world.place.bonded(&["work", "--resume"]);
    resumed.succeeds();
    assert_eq!(world.read("new.txt").as_deref(), Some("new"), "{resumed:?}");
    let none_left = world.place.bonded(&["work", "--resume"]);
    none_left.fails_with(4, "unknown-plan");
}

#[test]
fn a_call_that_a_person_denies_is_not_made() {
    let world = World::plain();
    let (run, before) = asked(&world);
    world
        .place
        .bonded(&["deny", &run, "--no-resume"])
        .succeeds();
    let resumed = world.place.bonded(&["work", "--resume"]);
    assert!(
        resumed.code.is_some_and(|code| code != WAITS),
        "{resumed:?}"
    );
    before.expect_same(&world.state(), "denied by a person");
}
