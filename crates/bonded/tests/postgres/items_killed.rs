//! Items whose workers and whose plan's process are killed at any moment.

use std::collections::BTreeMap;
use std::time::Duration;

use bonded_testkit::done::text;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Done, finish, of_kind, start, with};
use bonded_testkit::process::Process;
use bonded_testkit::rng::{Rng, seed, tell};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::yard::{self, Agents, Yard, YardWorker, essences, item, locally, runs, writes};

const LEASE_MS: u64 = 2_000;
const KILLS: usize = 7;
const ITEMS: usize = 4;
const CALLS: usize = 5;

/// Each item leaves a line for each of its calls, in a file of its own; the second level counts them.
fn plan() -> (Agents, Value) {
    let slow = |lines: Vec<Value>| -> Vec<Value> {
        lines
            .into_iter()
            .map(|line| with(line, "delay_ms", 150))
            .collect()
    };
    let lines = |n: usize| {
        let call = |k| runs(&format!("echo {k} >> lines-{n}; sleep 0.1"));
        slow((0..CALLS).map(call).collect())
    };
    let mut agents: Agents = (0..ITEMS).map(lines).collect();
    agents.push(slow(vec![
        runs("cat lines-* > all"),
        writes("last.txt", "last\n"),
    ]));
    let ids: Vec<String> = (0..ITEMS).map(|n| format!("i{n}")).collect();
    let first = ids.iter().enumerate();
    let mut items: Vec<Value> = first.map(|(n, id)| item(id, n, json!({}))).collect();
    let test = format!("test $(wc -l < all) = {}", ITEMS * CALLS);
    let more = json!({ "dependencies": ids, "test_command": test });
    items.push(item("last", ITEMS, more));
    (agents, Value::Array(items))
}

/// The plan, gone on with until it has ended.
fn finish_plan(yard: &Yard) -> Done {
    loop {
        let done = yard.resume();
        match done.error() {
            // Who was killed may have its receipt half written: nothing else may keep the plan from going on.
            "" => return done,
            error => assert_eq!(error, "tree-busy", "{done:?}"),
        }
    }
}

#[test]
fn a_plan_whose_processes_are_killed_comes_to_the_same_and_has_one_receipt_for_each_item() {
    let (agents, plan) = plan();
    let Some(yard) = Yard::new(LEASE_MS, &agents) else {
        return;
    };
    let seed = seed("BONDED_CRASH_SEED");
    tell(&format!("BONDED_CRASH_SEED={seed}"));
    let mut rng = Rng::of(seed, 0);
    let id = "0123456789ab";
    let begin = || yard.worker(&["--concurrent", "2"]);
    let mut workers: Vec<YardWorker> = (0..2).map(|_| begin()).collect();
    let mut command = yard.work_command(&plan, &["--plan-id", id, "--no-progress", "0"]);
    let mut working = Process::begin(&mut command);
    wait_until("an item is queued", || yard.count("bonded.drive") > 0);
    for _ in 0..KILLS {
        // The moment is what is tried.
        std::thread::sleep(Duration::from_millis(rng.between(50, 900)));
        match rng.chance(300) {
            true => {
                drop(working.end(Signal::KILL));
                let words = ["work", "--resume", id, "--json"];
                working = Process::begin(&mut yard.shop.place.command(&words));
            }
            false => {
                let killed = workers.remove(rng.below(workers.len() as u64) as usize);
                drop(killed.process.end(Signal::KILL));
                workers.push(begin());
            }
        }
    }
    drop(working.end(Signal::KILL));
    let done = finish_plan(&yard);
    let found = essences(&done);
    let (expected, tree, _place) = locally(&|_| {}, &agents, &plan);
    yard::check_same(&found, &expected);
    assert_eq!(yard::state_of(&yard.tree()), yard::state_of(&tree));
    check_receipts(&yard, &done);
    for worker in workers {
        worker.process.end(Signal::TERM).succeeds();
    }
}

/// One line in the history for each item, and one run whose log has one end.
fn check_receipts(yard: &Yard, done: &Done) {
    let mut receipts = BTreeMap::new();
    for result in done.json().as_array().expect("several") {
        let path = text(&result["receipt_path"]).to_owned();
        let run = std::fs::read_to_string(&path).expect("it is there");
        let run: Value = serde_json::from_str(&run).expect("it is JSON");
        let run = text(&run["run"]["run_id"]).to_owned();
        yard.shop.place.bonded(&["verify", &run]).succeeds();
        let entries = yard.shop.place.entries(&run);
        assert_eq!(of_kind(&entries, "run_ended").len(), 1);
        receipts.insert(path, run);
    }
    assert_eq!(receipts.len(), ITEMS + 1);
    let listed = yard.shop.place.path(".local/share/bonded/servers");
    let found = std::process::Command::new("find")
        .arg(listed)
        .args(["-name", "RECEIPT.json"])
        .output();
    let found = String::from_utf8(found.expect("it is found").stdout).expect("they are texts");
    assert_eq!(found.lines().count(), ITEMS + 1, "{found}");
}

#[test]
fn a_worker_that_is_killed_is_followed_by_one_that_has_the_copy_as_it_was_after_the_last_call() {
    let lines = vec![
        runs("echo first >> log"),
        runs("echo second >> log; sleep 3"),
        writes("last.txt", "last\n"),
    ];
    let agents = vec![lines];
    let Some(yard) = Yard::new(LEASE_MS, &agents) else {
        return;
    };
    let plan = json!(item(
        "one",
        0,
        json!({ "test_command": "test $(wc -l < log) = 2" })
    ));
    let first = yard.worker(&[]);
    let working = start(&mut yard.work_command(&plan, &["--plan-id", "0123456789ab"]));
    let run = "0123456789ab.one";
    yard.shop.place.wait_for_entry(run, 2, "tool_invoked");
    // The second call has written its line: it sleeps for the rest of its time.
    std::thread::sleep(Duration::from_millis(1_000));
    drop(first.process.end(Signal::KILL));
    let second = yard.worker(&[]);
    let done = finish(working);
    done.succeeds();
    let log = std::fs::read_to_string(yard.tree().join("log")).expect("it is published");
    assert_eq!(log, "first\nsecond\n", "what was half done is gone");
    assert_eq!(yard.count("bonded.run"), 1, "no run was begun again");
    second.process.end(Signal::TERM).succeeds();
}

#[test]
fn a_run_that_is_cancelled_ends_at_its_worker_and_its_item_fails() {
    let agents = vec![vec![runs("echo x > made; sleep 60")]];
    let Some(yard) = Yard::new(LEASE_MS, &agents) else {
        return;
    };
    let plan = json!(item("one", 0, json!({})));
    let worker = yard.worker(&[]);
    let working = start(&mut yard.work_command(&plan, &["--plan-id", "0123456789ab"]));
    let run = "0123456789ab.one";
    yard.shop.place.wait_for_entry(run, 1, "tool_invoked");
    yard.shop.place.bonded(&["cancel", run]).succeeds();
    let done = finish(working);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(done.json()["status"], "failure");
    worker.process.line_with("run 0123456789ab.one: cancelled");
    assert!(!yard.tree().join("made").exists());
    worker.process.end(Signal::TERM).succeeds();
}

#[test]
fn a_call_that_needs_approval_is_approved_anywhere_and_the_plan_resumed() {
    let agents = vec![vec![runs("echo x > made")]];
    let Some(yard) = Yard::new(LEASE_MS, &agents) else {
        return;
    };
    let plan = json!(item("one", 0, json!({})));
    let worker = yard.worker(&[]);
    let flags = ["--plan-id", "0123456789ab", "--ask", "run"];
    let waits = yard.work(&plan, &flags);
    assert_eq!(waits.code, Some(6), "{waits:?}");
    let run = "0123456789ab.one";
    yard.shop.place.approve(run, &[]).succeeds();
    let done = yard.resume();
    done.succeeds();
    assert!(yard.tree().join("made").exists());
    worker.process.end(Signal::TERM).succeeds();
}
