//! A plan whose process died, taken up again.

use std::process::Child;

use bonded_testkit::provider::Provider;
use serde_json::{Value, json};

use crate::done::{kill, text};
use crate::outcomes::one_of_each;
use crate::place::{Done, done, finish, start};
use crate::provider::{flags, held};
use crate::world::{SOME_FAILED, World, item, receipt, runs, statuses, with_fields, writes};

fn two_levels() -> Value {
    let later = with_fields(item("later", 2), json!({ "dependencies": ["first"] }));
    json!([item("first", 1), later])
}

/// The calls of both items, with those that are asked for twice because nobody was there to hear them.
fn calls(heard_by_nobody: usize) -> Vec<Value> {
    let mut calls = vec![
        writes("first.txt", "first"),
        done("ok"),
        writes("later.txt", "later"),
        done("ok"),
    ];
    for _ in 0..heard_by_nobody {
        calls.insert(2, writes("later.txt", "unheard"));
    }
    calls
}

fn start_plan(world: &World, provider: &Provider) -> Child {
    let words = flags(provider);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = world.work_command(&two_levels(), &words);
    start(command.env("HELD_KEY", "sk-held-for-tests"))
}

fn resume(world: &World, named: &[&str]) -> Done {
    let mut words = vec!["work", "--json", "--resume"];
    words.extend(named);
    let mut command = world.place.command(&words);
    finish(start(command.env("HELD_KEY", "sk-held-for-tests")))
}

fn plan_of(result: &Value) -> String {
    text(&receipt(result)["plan_id"]).to_owned()
}

#[test]
fn a_plan_that_was_killed_goes_on_and_repeats_no_item_that_had_ended() {
    let world = World::plain();
    let provider = held(&calls(1));
    let child = start_plan(&world, &provider);
    provider.release(2);
    provider.wait_for(3);
    kill(child);
    assert_eq!(world.read("first.txt").as_deref(), Some("first"));
    let before = world.state();
    provider.release(3);
    let resumed = resume(&world, &[]);
    resumed.succeeds();
    let results = resumed.json();
    assert_eq!(statuses(&results), ["success", "success"]);
    let asked = |id: &str| {
        let goal = format!("the work of {id}");
        let all = provider.asked();
        all.iter().filter(|it| it.text.contains(&goal)).count()
    };
    assert_eq!((asked("first"), asked("later")), (2, 3));
    assert_ne!(before, world.state());
    assert_eq!(world.read("later.txt").as_deref(), Some("later"));
    let chained = receipt(&results[1])["previous_receipt_hash"].clone();
    assert_eq!(chained, receipt(&results[0])["receipt_hash"]);
}

#[test]
fn a_plan_can_be_killed_again_and_again_and_is_resumed_by_its_id() {
    let world = World::plain();
    let provider = held(&calls(2));
    let mut child = start_plan(&world, &provider);
    provider.release(2);
    provider.wait_for(3);
    let plans = std::fs::read_dir(world.kept("plans")).expect("a plan was begun");
    let name = plans.flatten().next().expect("one plan").file_name();
    let id = name.to_str().expect("an id is text").to_owned();
    for requests in [4, 5] {
        kill(child);
        // By itself an item's run does not go on: its copy of the tree is its plan's.
        let run = format!("{id}.later");
        let alone = world.place.bonded(&["resume", run.as_str()]);
        alone.fails_with(3, "run-held");
        alone.says(&format!("bonded work --resume {id}"));
        let shown = world.place.bonded(&["show", run.as_str()]);
        assert!(
            shown
                .stdout
                .contains(&format!("resume   bonded work --resume {id}")),
            "{shown:?}"
        );
        let forked = world.place.bonded(&["fork", run.as_str(), "--turn", "1"]);
        forked.fails_with(3, "run-held");
        forked.says(&format!("bonded work --resume {id}"));
        world
            .place
            .bonded(&["resume", "--all"])
            .says("no run is interrupted");
        provider.release(1);
        let mut command = world.place.command(&["work", "--resume", id.as_str()]);
        child = start(command.env("HELD_KEY", "sk-held-for-tests"));
        provider.wait_for(requests);
    }
    provider.release(2);
    let ended = finish(child);
    ended.succeeds();
    assert_eq!(world.read("later.txt").as_deref(), Some("later"));
}

/// Waits until a command in an item's copy has made a file.
fn wait_for_file(world: &World, name: &str) {
    let began = std::time::Instant::now();
    let is_there = || {
        let mut left = vec![world.kept("copies")];
        while let Some(dir) = left.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.file_name() == name {
                    return true;
                }
                if entry.file_type().is_ok_and(|it| it.is_dir()) {
                    left.push(entry.path());
                }
            }
        }
        false
    };
    while !is_there() {
        assert!(began.elapsed().as_secs() < 60, "{name} is never made");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_call_that_was_killed_is_made_again_on_what_was_there_before_it() {
    let world = World::plain();
    let before = runs("echo before >> count.txt; printf 2 > changed.txt");
    let killed = runs(
        "echo once >> count.txt; rm changed.txt; mkdir half; touch half/done; sleep 2; rmdir half 2>/dev/null; rm -r half; echo end >> count.txt",
    );
    world.agent(1, &[before, killed]);
    let child = start(&mut world.work_command(&item("one", 1), &[]));
    wait_for_file(&world, "half");
    kill(child);
    let resumed = resume(&world, &[]);
    resumed.succeeds();
    let result = resumed.json();
    assert_eq!(result["status"], "success", "{result}");
    let count = world.read("count.txt");
    assert_eq!(count.as_deref(), Some("before\nonce\nend\n"));
    assert!(!world.path("half").exists() && !world.path("changed.txt").exists());
    assert_eq!(result["metrics"]["tool_ops_count"], 2, "{result}");
    let path = text(&result["receipt_path"]);
    world
        .place
        .bonded(&["replay", "--receipt", path])
        .succeeds();
}

#[test]
fn the_time_inside_a_call_that_was_killed_counts() {
    let world = World::plain();
    world.agent(1, &[runs("sleep 3; echo done > done.txt")]);
    let asked = with_fields(
        item("one", 1),
        json!({ "constraints": { "timeout_ms": 4000 } }),
    );
    let child = start(&mut world.work_command(&asked, &[]));
    let began = std::time::Instant::now();
    let spent_ms = || {
        let plans = std::fs::read_dir(world.kept("plans")).into_iter().flatten();
        let noted = |it: std::fs::DirEntry| it.path().join("items/one/spent.json");
        let texts = plans.flatten().map(|it| std::fs::read_to_string(noted(it)));
        let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::Null);
        let spent = texts.flatten().map(|it| value(it)["spent_ms"].as_u64());
        spent.flatten().max().unwrap_or(0)
    };
    while spent_ms() < 1500 {
        assert!(began.elapsed().as_secs() < 60, "time is noted");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill(child);
    let result = resume(&world, &[]).json();
    assert_eq!(result["status"], "timeout", "{result}");
    assert!(
        result["metrics"]["execution_time_ms"].as_u64() > Some(4000),
        "{result}"
    );
    assert!(!world.path("done.txt").exists());
}

#[test]
fn an_item_that_fails_is_begun_again_as_often_as_it_may_be() {
    for (retries, second, status, attempts) in [
        (2, "right", "success", 1),
        (1, "wrong", "failure", 1),
        (0, "right", "failure", 0),
    ] {
        let world = World::plain();
        let provider = held(&[
            writes("a.txt", "wrong"),
            done("ok"),
            writes("a.txt", second),
            done("ok"),
        ]);
        provider.release(4);
        let asked = with_fields(
            item("one", 1),
            json!({ "retries": retries, "test_command": "echo looking; grep right a.txt" }),
        );
        let words = flags(&provider);
        let words: Vec<&str> = ["--json"]
            .into_iter()
            .chain(words.iter().map(String::as_str))
            .collect();
        let mut command = world.work_command(&asked, &words);
        let ended = finish(start(command.env("HELD_KEY", "sk-held-for-tests")));
        let result = ended.json();
        assert_eq!(result["status"], status, "{ended:?}");
        let earlier = receipt(&result)["earlier_attempts"].clone();
        let earlier = earlier.as_array().cloned().unwrap_or_default();
        assert_eq!(earlier.len(), attempts, "{ended:?}");
        assert_eq!(world.runs().len(), attempts + 1);
        if attempts > 0 {
            assert_eq!(earlier[0]["status"], "failure");
            assert!(earlier[0]["run_id"].is_string(), "{earlier:?}");
            ended.says("begins again after attempt 1 of");
            // Whoever tries again is told why.
            let last = provider.asked().pop().expect("it was asked").text;
            assert!(
                last.contains("This was tried before") && last.contains("looking"),
                "{last}"
            );
        }
        let path = text(&result["receipt_path"]);
        world.place.bonded(&["verify", path]).succeeds();
    }
}

#[test]
fn a_plan_that_has_ended_is_told_again_and_one_that_never_was_is_unknown() {
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let result = world.result(&item("one", 1));
    let again = resume(&world, &[&plan_of(&result)[..5]]);
    again.succeeds();
    assert_eq!(again.json(), result, "the same result");
    assert_eq!(world.runs().len(), 1, "nothing ran again");
    for unknown in [&["0123456789ab"][..], &["nonsense"], &["../../etc"], &[]] {
        resume(&world, unknown).fails_with(4, "unknown-plan");
    }
}

#[test]
fn what_has_ended_stays_so_when_the_plan_is_resumed() {
    let world = World::plain();
    let mut plan = one_of_each(&world);
    let items = plan.as_array_mut().expect("a plan of several items");
    items.push(with_fields(
        item("is-blocked", 1),
        json!({ "dependencies": ["fails"] }),
    ));
    let results = world.results(&plan, &[]);
    assert_eq!(
        statuses(&results),
        ["success", "failure", "denied", "timeout", "failure"]
    );
    let (state, runs) = (world.state(), world.runs().len());
    let id = plan_of(&results[0]);
    for round in 1..=2 {
        let again = resume(&world, &[&id]);
        assert_eq!(again.code, Some(SOME_FAILED), "{again:?}");
        assert_eq!(again.json(), results, "resumed {round} times");
        assert_eq!(world.runs().len(), runs, "nothing runs again");
        state.expect_same(&world.state(), "a plan that had ended");
    }
}

#[test]
fn a_plan_goes_on_after_a_machine_went_down() {
    use rustix::process::{Pid, Signal, kill_process};
    for (sent, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let world = World::plain();
        let provider = held(&calls(1));
        let child = start_plan(&world, &provider);
        provider.release(2);
        provider.wait_for(3);
        let pid = Pid::from_child(&child);
        kill_process(pid, sent).expect("a signal can be sent");
        let ended = finish(child);
        ended.fails_with(code, "interrupted");
        provider.release(3);
        let resumed = resume(&world, &[]);
        resumed.succeeds();
        assert_eq!(statuses(&resumed.json()), ["success", "success"]);
        assert_eq!(world.read("later.txt").as_deref(), Some("later"));
    }
}

#[test]
fn tests_that_were_under_way_when_a_machine_went_down_begin_again() {
    use rustix::process::{Pid, Signal, kill_process};
    let world = World::plain();
    world.agent(1, &[writes("new.txt", "x")]);
    let asked = with_fields(item("one", 1), json!({ "test_command": "sleep 2" }));
    let child = start(&mut world.work_command(&asked, &[]));
    let patience = std::time::Instant::now();
    let has_begun = || {
        let plans = std::fs::read_dir(world.kept("plans")).into_iter().flatten();
        let attempt = |it: std::fs::DirEntry| it.path().join("items/one/attempt.json");
        plans.flatten().any(|plan| attempt(plan).exists())
    };
    while !has_begun() {
        assert!(patience.elapsed().as_secs() < 60, "the tests have begun");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal can be sent");
    finish(child).fails_with(143, "interrupted");
    assert!(!world.path("new.txt").exists());
    let resumed = world.place.bonded(&["work", "--resume", "--json"]);
    resumed.succeeds();
    assert_eq!(resumed.json()["status"], "success");
}
