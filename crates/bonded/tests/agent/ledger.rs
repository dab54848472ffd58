//! The ledger: written as accounts happen, each line once, whatever happens to the program meanwhile.

use std::time::Duration;

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::reply::{Reply, call, calls, echo, report, text};
use crate::world::{World, start};

const FILE: &str = "books/ledger.jsonl";
const FLAGS: [&str; 4] = ["--billing-file", FILE, "--id", "booked"];

/// Lines in an order that does not depend on who was faster.
fn sorted(lines: &[Value]) -> Vec<String> {
    let mut lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.sort();
    lines
}

/// The ledger has the accounts of the result, each once.
#[track_caller]
fn assert_booked(world: &World, outcome: &Outcome) {
    let accounts = outcome.result["accounting"].as_array();
    let accounts = accounts.expect("a result has accounts");
    assert_eq!(sorted(&world.ledger(FILE)), sorted(accounts));
}

fn wait_for_lines(world: &World, count: usize) {
    let began = std::time::Instant::now();
    while world.ledger(FILE).len() < count {
        assert!(began.elapsed() < Duration::from_secs(60), "{count} lines");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn late() -> Reply {
    text("late").delayed_ms(600_000)
}

#[test]
fn accounts_are_booked_while_the_run_goes_on_and_a_resume_completes_them() {
    let world = World::with_tools().says([echo("a"), late(), report("done")]);
    let mut child = start(&mut world.run_command(&FLAGS, "do it"));
    world.wait_for_requests(2);
    wait_for_lines(&world, 2);
    assert_eq!(world.ledger(FILE)[0]["type"], "llm");
    assert_eq!(world.ledger(FILE)[1]["command"], "test__test");
    child.kill().expect("a process can be killed");
    child.wait().expect("a killed process ends");
    let outcome = world.bonded(&["resume", "booked", "--json"]).good();
    assert_eq!(world.ledger(FILE).len(), 5);
    assert_booked(&world, &outcome);
    let again = world.run(&FLAGS, "do it").good();
    assert_booked(&world, &again);
}

fn with_child() -> World {
    let child = "---\ndescription: Knows things.\ntools: test\n---\nYou are the child.";
    World::with_tools()
        .front("agents: child.ai")
        .file("child.ai", child)
}

fn ask_child() -> Reply {
    let arguments = json!({ "prompt": "find", "reason": "a title", "format": "sub-agent" });
    call("agent__child", arguments)
}

#[test]
fn an_agent_that_is_called_is_booked_while_its_caller_waits_for_it() {
    let world = with_child().says([
        ask_child(),
        echo("b"),
        late(),
        report("found"),
        report("done"),
    ]);
    let mut child = start(&mut world.run_command(&FLAGS, "do it"));
    world.wait_for_requests(3);
    wait_for_lines(&world, 3);
    let paths: Vec<Value> = world
        .ledger(FILE)
        .iter()
        .map(|it| it["callPath"].clone())
        .collect();
    assert_eq!(paths, ["agent", "agent:child", "agent:child"]);
    child.kill().expect("a process can be killed");
    child.wait().expect("a killed process ends");
    let outcome = world.bonded(&["resume", "booked", "--json"]).good();
    assert_booked(&world, &outcome);
}

#[test]
fn a_line_that_a_kill_cut_short_is_written_again_on_a_line_of_its_own() {
    let unknown = ("nothing__here", json!({}));
    let twice_refused = calls(&[unknown.clone(), unknown]);
    let world = World::with_tools().says([twice_refused, echo("a"), report("done")]);
    let outcome = world.run(&FLAGS, "do it").good();
    assert_booked(&world, &outcome);
    let whole = std::fs::read_to_string(world.path(FILE)).expect("it was written");
    for cut in [1, 2, 40, whole.len() / 2, whole.len() - 10, whole.len()] {
        let left = &whole[..whole.len() - cut];
        std::fs::write(world.path(FILE), left).expect("a file can be written");
        let resumed = world.bonded(&["resume", "booked", "--json"]).good();
        assert_booked(&world, &resumed);
        let now = std::fs::read_to_string(world.path(FILE)).expect("it is there");
        assert!(now.starts_with(left), "what was there stays: cut {cut}");
        assert!(now.ends_with('\n'), "cut {cut}");
    }
}

#[test]
fn what_others_wrote_into_the_ledger_stays_and_is_in_nobodys_way() {
    let strange = "not JSON\n\n{\"txnId\": 7}\n\u{0}\u{1}\n[]";
    let world = World::new().file(FILE, strange).says([report("done")]);
    let outcome = world.run(&FLAGS, "do it").good();
    let text = std::fs::read_to_string(world.path(FILE)).expect("it is there");
    assert!(text.starts_with(&format!("{strange}\n")), "{text}");
    let booked = world
        .ledger(FILE)
        .into_iter()
        .filter(|it| it["type"].is_string());
    let accounts = outcome.result["accounting"].as_array().expect("a list");
    assert_eq!(&booked.collect::<Vec<_>>(), accounts);
}

#[test]
fn a_ledger_that_cannot_be_written_refuses_the_run_before_it_costs_anything() {
    let world = World::new().file("taken", "a file is in the way");
    let flags = ["--billing-file", "taken/ledger.jsonl"];
    world
        .run(&flags, "do it")
        .refused(4, &["cannot write the ledger", "taken/ledger.jsonl"]);
}

#[test]
fn a_fork_is_not_billed_for_what_it_took_over() {
    let world = World::with_tools().says([echo("a"), report("one"), report("two")]);
    let first = world.run(&FLAGS, "do it").good();
    let forked = world.bonded(&["fork", "booked", "--turn", "2", "--id", "forked"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    world.bonded(&["resume", "forked", "--json"]).good();
    let of = |run: &str| {
        let lines = world.ledger(FILE).into_iter();
        lines.filter(|line| line["txnId"] == run).count()
    };
    let accounts = first.result["accounting"].as_array().map(Vec::len);
    assert_eq!(Some(of("booked")), accounts);
    assert_eq!(of("forked"), 2, "one request and its report");
}

#[test]
fn two_programs_share_a_ledger_and_lose_no_line() {
    let world = World::with_tools().then_always(report("done"));
    let flags = |id| ["--billing-file", FILE, "--id", id];
    let ids = ["p1", "p2", "p3", "p4"];
    let children = ids.map(|id| start(&mut world.run_command(&flags(id), "do it")));
    for child in children {
        world.finish(child).good();
    }
    let lines = world.ledger(FILE);
    for id in ids {
        let own = lines.iter().filter(|line| line["txnId"] == id);
        assert_eq!(own.count(), 2, "{id} in {lines:#?}");
    }
}

#[test]
fn a_resume_books_and_keeps_where_it_is_told_to() {
    let world = World::new().says([report("done")]);
    world.run(&["--id", "plain"], "do it").good();
    assert!(!world.path(FILE).exists());
    let flags = ["--billing-file", FILE, "--sessions-dir", "kept"];
    let arguments = [&["resume", "plain", "--json"], &flags[..]].concat();
    let outcome = world.bonded(&arguments).good();
    assert_booked(&world, &outcome);
    assert!(world.path("kept/plain.json.gz").is_file());
}
