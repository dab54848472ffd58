//! Runs that are queued, and who takes which.

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, done, finish, report, start};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::shop::Shop;

const LEASE_MS: u64 = 10_000;

fn echo(word: &str) -> Value {
    call("run", json!({ "command": format!("echo {word} >> ran") }))
}

#[test]
fn queued_runs_are_driven_by_two_workers_each_once() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let ids: Vec<String> = (0..8).map(|n| format!("r{n}")).collect();
    for id in &ids {
        shop.queue(id, &[echo(id), done("ok")], &[]);
    }
    assert!(shop.place.statuses().iter().all(|it| it == "queued"));
    let workers: Vec<_> = (0..2)
        .map(|_| {
            start(
                &mut shop
                    .place
                    .command(&["worker", "--once", "--concurrent", "2"]),
            )
        })
        .collect();
    for worker in workers {
        finish(worker).succeeds();
    }
    assert!(shop.place.statuses().iter().all(|it| it == "succeeded"));
    let mut ran = shop.lines("ran");
    ran.sort();
    assert_eq!(ran, ids);
    for id in &ids {
        shop.place.passes_the_audit(id);
    }
}

#[test]
fn a_file_of_goals_is_queued_once_and_another_goal_under_an_id_is_refused() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let script = shop.place.script(&[echo("x"), done("ok")]);
    let goals = "\"one\"\n{\"goal\": \"two\", \"id\": \"second\"}\n";
    let goals = shop.place.write("goals.jsonl", goals);
    let goals = goals.display().to_string();
    let words = ["run", "--detach", "--each", &goals, "--model", &script];
    let queued = shop.place.bonded(&words);
    queued.succeeds();
    assert_eq!(queued.stdout.lines().count(), 2);
    let again = shop.place.bonded(&words);
    assert_eq!(again.stdout, queued.stdout);
    let other = ["run", "--detach", "--id", "second", "--model", &script];
    let other = shop.place.bonded(&[&other[..], &["three"]].concat());
    other.fails_with(4, "id-taken");
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert_eq!(shop.lines("ran"), ["x", "x"]);
    assert_eq!(shop.place.statuses(), ["succeeded", "succeeded"]);
}

#[test]
fn a_file_has_no_queues_and_no_workers() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let agent = place
        .agent("agent", &[done("ok")], "")
        .display()
        .to_string();
    let words: [&[&str]; 6] = [
        &["run", "--detach", "--model", &script, "x"],
        &["serve", "--agent", &agent, "--queue", "web"],
        &["mcp", "--agent", &agent, "--queue", "web"],
        &["worker"],
        &["workers"],
        &["store", "queue"],
    ];
    for words in words {
        let refused = place.bonded(words);
        refused.fails_with(4, "usage");
        refused.says("postgres://");
    }
    assert!(!place.path("store.db").exists());
}

#[test]
fn a_cancelled_run_leaves_the_queue() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    shop.queue("r", &[echo("never"), done("ok")], &[]);
    shop.place.bonded(&["cancel", "r"]).succeeds();
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert_eq!(shop.place.statuses(), ["cancelled"]);
    assert!(shop.lines("ran").is_empty());
    shop.place.passes_the_audit("r");
}

#[test]
fn a_run_waits_for_a_worker_that_has_what_it_needs_and_says_so() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let flags = ["--needs", "gpu", "--queue", "night"];
    shop.queue("r", &[echo("once"), done("ok")], &flags);
    let shown = || shop.place.bonded(&["show", "r"]);
    assert_eq!(shop.waits_for("r"), "a worker of queue night");
    let other = shop.worker(&["--queue", "night", "--label", "big"]);
    assert_eq!(shop.waits_for("r"), "a worker with gpu");
    shown().says("queued: waits for a worker with gpu");
    let once = ["worker", "--once", "--queue", "night"];
    shop.place.bonded(&once).succeeds();
    assert!(shop.lines("ran").is_empty());
    shop.place
        .bonded(&[&once[..], &["--label", "gpu"]].concat())
        .succeeds();
    assert_eq!(shop.lines("ran"), ["once"]);
    other.end(Signal::TERM).succeeds();
}

#[test]
fn a_run_waits_for_a_worker_that_has_its_directory() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let dir = shop.place.path("elsewhere");
    std::fs::create_dir(&dir).expect("a directory can be made");
    let text = dir.display().to_string();
    shop.queue("r", &[done("ok")], &["--dir", &text]);
    let away = shop.place.path("away");
    std::fs::rename(&dir, &away).expect("it can be moved");
    let worker = shop.worker(&[]);
    let expected = format!("a worker that has {text}");
    wait_until("it says so", || shop.waits_for("r") == expected);
    std::fs::rename(&away, &dir).expect("it can be moved");
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert_eq!(shop.place.statuses(), ["succeeded"]);
    worker.end(Signal::TERM).succeeds();
}

/// Marks when it begins and when it ends.
const MARKS: &str = "echo + >> marks; sleep 0.3; echo - >> marks";

/// How many of so many runs were under way at the same moment.
fn most_at_once(shop: &Shop, runs: usize) -> i32 {
    let marks = shop.lines("marks");
    assert_eq!(marks.len(), 2 * runs, "{marks:?}");
    let counts = marks.iter().scan(0, |under_way, mark| {
        *under_way += if mark == "+" { 1 } else { -1 };
        Some(*under_way)
    });
    counts.max().unwrap_or_default()
}

#[test]
fn the_limit_of_an_agent_holds_for_all_workers_together_in_every_queue() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let limit = |count: &str| {
        let words = ["store", "agent", "narrow", "--concurrent", count];
        let said = shop.place.bonded(&words);
        said.says(&format!("agent narrow: at most {count} at once"));
    };
    limit("0");
    let lines = [call("run", json!({ "command": MARKS })), report("ok")];
    let front = "tools: builtin";
    let narrow = shop.place.agent("narrow", &lines, front);
    let narrow = narrow.display().to_string();
    for n in 0..8 {
        let queue = ["default", "other"][n % 2];
        let words = ["run", "--detach", "--agent", &narrow, "--queue", queue];
        shop.place
            .bonded(&[&words[..], &["go"]].concat())
            .succeeds();
    }
    shop.queue("wide", &[done("ok")], &[]);
    let queues = ["--queue", "default", "--queue", "other"];
    let workers: Vec<_> = (0..4).map(|_| shop.worker(&queues)).collect();
    wait_until("the other one has ended", || shop.open() == 8);
    let told = shop.place.bonded(&["runs", "--json"]).stdout;
    let expected = "a place: agent narrow is limited to 0 at once";
    assert_eq!(told.matches(expected).count(), 8, "{told}");
    limit("2");
    wait_until("all have ended", || shop.open() == 0);
    assert_eq!(most_at_once(&shop, 8), 2);
    assert!(shop.place.statuses().iter().all(|it| it == "succeeded"));
    for worker in workers {
        worker.end(Signal::TERM).succeeds();
    }
    let listed = shop.place.bonded(&["store", "agent", "--json"]);
    let expected = json!({ "name": "narrow", "queued": 0, "driven": 0, "concurrent": 2 });
    assert_eq!(listed.json(), expected);
}

#[test]
fn the_limit_of_a_queue_holds_for_all_workers_together() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let limit = ["store", "queue", "narrow", "--concurrent", "2"];
    shop.place.bonded(&limit).succeeds();
    let lines = [call("run", json!({ "command": MARKS })), done("ok")];
    for n in 0..10 {
        shop.queue(&format!("r{n}"), &lines, &["--queue", "narrow"]);
    }
    let workers: Vec<_> = (0..4)
        .map(|_| shop.worker(&["--queue", "narrow"]))
        .collect();
    wait_until("all have ended", || shop.open() == 0);
    assert_eq!(most_at_once(&shop, 10), 2);
    for worker in workers {
        worker.end(Signal::TERM).succeeds();
    }
    let listed = shop.place.bonded(&["store", "queue", "--json"]);
    let expected = json!({ "name": "narrow", "queued": 0, "driven": 0, "concurrent": 2 });
    assert_eq!(listed.json(), expected);
    let free = ["store", "queue", "narrow", "--unlimited"];
    shop.place.bonded(&free).says("no limit");
}

#[test]
fn many_runs_of_one_submitter_do_not_delay_the_one_of_another() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let goals: String = (0..100).map(|n| format!("\"goal {n}\"\n")).collect();
    let goals = shop.place.write("goals.jsonl", goals).display().to_string();
    let script = shop.place.script(&[done("ok")]);
    let words = ["run", "--detach", "--each", &goals, "--model", &script];
    shop.place
        .bonded(&[&words[..], &["--submitter", "ada"]].concat())
        .succeeds();
    shop.queue("bert", &[done("ok")], &["--submitter", "bert"]);
    let worker = shop.worker(&["--concurrent", "1"]);
    let ended = "SELECT state FROM bonded.drive JOIN bonded.run USING (run) WHERE id = 'bert'";
    wait_until("it has ended", || shop.database.sql(ended) == "3");
    let before = "SELECT count(*) FROM bonded.drive WHERE taken < (SELECT taken FROM bonded.drive \
         JOIN bonded.run USING (run) WHERE id = 'bert')";
    let before: usize = shop.database.sql(before).parse().expect("it is a number");
    assert!(before <= 1, "{before} runs were taken before it");
    worker.end(Signal::TERM).succeeds();
}

#[test]
fn a_run_that_waits_for_a_person_is_taken_again_after_the_verdict_alone() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    shop.queue("r", &[echo("approved"), done("ok")], &["--ask", "run"]);
    let worker = shop.worker(&[]);
    worker.line_with("waits for approval");
    let epoch = || shop.database.sql("SELECT epoch FROM bonded.drive");
    let before = epoch();
    assert_eq!(shop.place.statuses(), ["awaiting_review"]);
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert_eq!(epoch(), before, "nobody has taken it meanwhile");
    assert!(shop.lines("ran").is_empty());
    let approved = shop.place.approve("r", &[]);
    approved.succeeds();
    approved.says("queued: a worker resumes run r");
    wait_until("it has ended", || shop.open() == 0);
    assert_eq!(shop.lines("ran"), ["approved"]);
    worker.end(Signal::TERM).succeeds();
    shop.place.passes_the_audit("r");
}

#[test]
fn a_run_whose_agent_waits_for_a_person_is_set_aside_and_taken_again_after_the_verdict() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let ask = json!({ "prompt": "note it", "reason": "a title", "format": "sub-agent" });
    let front = "agents: child.ai\napprovals: {ask: [run]}";
    let lines = [call("agent__child", ask), report("all done")];
    let parent = shop.place.agent("parent", &lines, front);
    let front = "description: Notes things.\ntools: builtin";
    shop.place
        .agent("child", &[echo("noted"), report("noted")], front);
    let agent = parent.display().to_string();
    let words = ["run", "--detach", "--id", "r", "--agent", &agent, "do it"];
    shop.place.bonded(&words).succeeds();
    let worker = shop.worker(&[]);
    worker.line_with("run r: waits for approval");
    let parked = "SELECT state FROM bonded.drive JOIN bonded.run USING (run) WHERE id = 'r'";
    wait_until("it is set aside", || shop.database.sql(parked) == "2");
    assert_eq!(
        shop.place.statuses(),
        ["awaiting_review", "awaiting_review"]
    );
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert!(shop.lines("ran").is_empty());
    let approved = shop.place.approve("r", &[]);
    approved.says("queued: a worker resumes run r");
    wait_until("it has ended", || shop.open() == 0);
    assert_eq!(shop.lines("ran"), ["noted"]);
    assert_eq!(shop.place.statuses(), ["succeeded", "succeeded"]);
    worker.end(Signal::TERM).succeeds();
    shop.place.passes_the_audit("r");
}

#[test]
fn a_run_is_cancelled_from_elsewhere_wherever_it_is_driven() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let long = call("run", json!({ "command": "echo begun >> ran; sleep 600" }));
    shop.queue("r", &[long, done("never")], &[]);
    let worker = shop.worker(&[]);
    wait_until("it is driven", || shop.lines("ran") == ["begun"]);
    shop.place.bonded(&["cancel", "r"]).succeeds();
    worker.line_with("run r: cancelled");
    worker.end(Signal::TERM).succeeds();
    shop.place.passes_the_audit("r");
}

#[test]
fn workers_are_listed_with_what_they_do_and_the_rows_of_dead_ones_are_removed() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let old = "INSERT INTO bonded.worker (name, expires, dead) \
         VALUES ('old', now() - interval '2 days', true), ('new', now() - interval '2 hours', true)";
    shop.database.sql(old);
    let long = call("run", json!({ "command": "echo begun >> ran; sleep 600" }));
    shop.queue("r", &[long, done("never")], &[]);
    let worker = shop.worker(&["--label", "gpu", "--concurrent", "3"]);
    wait_until("it is driven", || shop.lines("ran") == ["begun"]);
    let listed = shop.place.bonded(&["workers", "--json"]).json();
    assert_eq!(listed["runs"], json!(["r"]));
    assert_eq!(listed["queues"], json!(["default"]));
    assert_eq!(listed["labels"], json!(["gpu"]));
    assert_eq!(listed["concurrent"], 3);
    assert_eq!(listed["isAlive"], true);
    let name = format!("process {} on", worker.id());
    assert!(
        listed["name"]
            .as_str()
            .is_some_and(|it| it.starts_with(&name))
    );
    let shown = shop.place.bonded(&["workers"]);
    assert!(shown.stdout.contains(&name), "{shown:?}");
    let names = "SELECT string_agg(name, ',') FROM bonded.worker WHERE dead";
    assert_eq!(shop.database.sql(names), "new");
    shop.place.bonded(&["cancel", "r"]).succeeds();
    worker.end(Signal::TERM).succeeds();
}
