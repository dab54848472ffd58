//! A store that does not give back what it was given: it is refused, and named.

use bonded_kernel::Hash;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::start;
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::yard::{Yard, item, writes};

const PLAN: &str = "0123456789ab";

fn yard() -> Option<(Yard, Value)> {
    let agents = vec![
        vec![writes("one.txt", "the first content\n")],
        vec![writes("two.txt", "the second content\n")],
    ];
    let yard = Yard::new(10_000, &agents)?;
    std::fs::write(yard.tree().join("kept.txt"), "kept as it was\n").expect("it is written");
    let plan = json!([item("one", 0, json!({})), item("two", 1, json!({}))]);
    Some((yard, plan))
}

impl Yard {
    /// Queues the items; nobody follows them afterwards.
    fn queue_only(&self, plan: &Value) {
        let working = Process::begin(&mut self.work_command(plan, &["--plan-id", PLAN]));
        wait_until("both are queued", || self.count("bonded.run") == 2);
        drop(working.end(Signal::KILL));
    }

    /// Does what no role of the store may.
    fn forge(&self, sql: &str) {
        let forged = format!("SET session_replication_role = replica; {sql}");
        self.shop.database.sql(&forged);
    }
}

#[test]
fn a_content_of_the_tree_that_was_changed_is_refused_by_workers_and_named() {
    let Some((yard, plan)) = yard() else {
        return;
    };
    yard.queue_only(&plan);
    yard.forge(
        "UPDATE bonded.object SET bytes = 'kept as it was!' WHERE bytes = 'kept as it was\n'",
    );
    let worker = yard.worker(&[]);
    let run = format!("{PLAN}.one");
    let is_named = || {
        let waits = yard.shop.waits_for(&run);
        waits.contains("tampered") && waits.contains("was changed in the store")
    };
    wait_until("it is named", is_named);
    assert_eq!(yard.shop.place.entries(&run).len(), 1, "nothing was driven");
    worker.process.end(Signal::TERM).succeeds();
}

#[test]
fn what_an_item_is_to_do_and_its_tree_are_those_that_its_log_names() {
    for (what, named) in [
        ("bytes LIKE '{\"item\"%'", "was changed in the store"),
        ("bytes LIKE 'bonded tree%'", "was changed in the store"),
    ] {
        let Some((yard, plan)) = yard() else {
            return;
        };
        yard.queue_only(&plan);
        yard.forge(&format!(
            "UPDATE bonded.object SET bytes = bytes || ' ' WHERE {what}"
        ));
        let worker = yard.worker(&[]);
        let run = format!("{PLAN}.one");
        wait_until(named, || yard.shop.waits_for(&run).contains(named));
        worker.process.end(Signal::TERM).succeeds();
    }
}

/// What was forged after the runs had ended, and what the plan says of it.
fn check_refused(forged: &str, named: &str) {
    let Some((yard, plan)) = yard() else {
        return;
    };
    yard.queue_only(&plan);
    let worker = yard.worker(&[]);
    wait_until("both have ended", || yard.shop.open() == 0);
    worker.process.end(Signal::TERM).succeeds();
    yard.forge(forged);
    let before = crate::yard::state_of(&yard.tree());
    let done = yard.resume();
    done.fails_with(1, "tampered");
    done.says(named);
    assert_eq!(crate::yard::state_of(&yard.tree()), before);
}

#[test]
fn a_result_that_was_changed_is_refused_and_nothing_is_published() {
    let content =
        "UPDATE bonded.object SET bytes = 'another\n' WHERE bytes = 'the first content\n'";
    check_refused(content, "was changed in the store");
    let list = "UPDATE bonded.object SET bytes = replace(convert_from(bytes, 'UTF8'), 'one.txt', 'own.txt')::bytea \
         WHERE hash IN (SELECT hash FROM bonded.copy_state)";
    check_refused(list, "was changed in the store");
}

#[test]
fn the_result_of_another_run_is_refused() {
    let swapped = "UPDATE bonded.copy_state SET hash = (SELECT hash FROM bonded.copy_state ORDER BY run LIMIT 1)";
    check_refused(swapped, "is not the state of the copy of run");
}

#[test]
fn a_result_whose_content_is_gone_is_refused() {
    let Some((yard, plan)) = yard() else {
        return;
    };
    yard.queue_only(&plan);
    let worker = yard.worker(&[]);
    wait_until("both have ended", || yard.shop.open() == 0);
    worker.process.end(Signal::TERM).succeeds();
    yard.forge("DELETE FROM bonded.object WHERE bytes = 'the second content\n'");
    let done = yard.resume();
    done.fails_with(3, "tree-failed");
    done.says("the store does not have content");
}

#[test]
fn what_was_sent_for_a_plan_is_removed_by_a_person_only_when_its_runs_have_ended() {
    let Some((yard, plan)) = yard() else {
        return;
    };
    yard.queue_only(&plan);
    let remove = || yard.shop.place.bonded(&["store", "plan", PLAN, "--remove"]);
    remove().fails_with(3, "run-held");
    let listed = yard.shop.place.bonded(&["store", "plan", "--json"]);
    assert_eq!(listed.json()["plan"], PLAN);
    for item in ["one", "two"] {
        let cancelled = start(
            &mut yard
                .shop
                .place
                .command(&["cancel", &format!("{PLAN}.{item}")]),
        );
        bonded_testkit::place::finish(cancelled).succeeds();
    }
    remove().succeeds();
    assert_eq!(yard.count("bonded.object"), 0);
}

/// As a worker would that holds its item to nothing: everything has its hash.
#[test]
fn a_worker_that_sends_what_its_item_may_not_change_is_denied_where_the_tree_is() {
    let agents = vec![vec![writes("one.txt", "the first content\n")]];
    let Some(yard) = Yard::new(10_000, &agents) else {
        return;
    };
    let one = item(
        "one",
        0,
        json!({ "output_files": ["one.txt", "own.txt"], "constraints": { "max_files": 1 } }),
    );
    let working = Process::begin(&mut yard.work_command(&one, &["--plan-id", PLAN]));
    wait_until("it is queued", || yard.count("bonded.run") == 1);
    drop(working.end(Signal::KILL));
    let worker = yard.worker(&[]);
    wait_until("it has ended", || yard.shop.open() == 0);
    worker.process.end(Signal::TERM).succeeds();
    let list = "SELECT convert_from(o.bytes, 'UTF8') FROM bonded.object o JOIN bonded.copy_state s USING (hash)";
    let mut state: Value = serde_json::from_str(&yard.shop.database.sql(list)).expect("it is JSON");
    let mut second = state["seen"]["changes"][0].clone();
    second["path"] = json!("own.txt");
    let changes = state["seen"]["changes"].as_array_mut().expect("a list");
    changes.push(second);
    let forged = state.to_string();
    let hash = format!("decode('{}', 'hex')", Hash::of(forged.as_bytes()));
    let bytes = format!("convert_to('{forged}', 'UTF8')");
    yard.forge(&format!(
        "INSERT INTO bonded.object VALUES ('{PLAN}', {hash}, 0, 1, {bytes}); UPDATE bonded.copy_state SET hash = {hash}"
    ));
    let result = yard.resume().json();
    assert_eq!(result["status"], "denied", "{result}");
    assert_eq!(result["denial_reason"], "Exceeded max files: 2 > 1");
    assert!(!yard.tree().join("one.txt").exists());
}
