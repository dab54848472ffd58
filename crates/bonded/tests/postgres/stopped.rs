//! Drivers that are stopped for longer than their lease, and go on.

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done, of_kind, with};
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::shop::Shop;

const LEASE_MS: u64 = 4000;

/// Starts a run, and stops its driver for good when this file is there or this turn has begun.
fn stopped(shop: &Shop, lines: &[Value], is_time: impl FnMut() -> bool) -> Process {
    let script = shop.place.script(lines);
    let words = ["run", "--id", "run", "--model", &script, "the goal"];
    let driver = Process::begin(&mut shop.place.command(&words));
    wait_until("the moment has come", is_time);
    driver.signal(Signal::STOP);
    driver
}

fn echo(word: &str) -> Value {
    call("run", json!({ "command": format!("echo {word} >> ran") }))
}

#[test]
fn a_driver_that_was_stopped_beyond_its_lease_does_nothing_more() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    // The model answers while the driver is stopped: what it says is at hand when the driver goes on.
    let second = with(echo("second"), "delay_ms", 3000);
    let lines = [echo("first"), second, done("ok")];
    let driver = stopped(&shop, &lines, || {
        let shown = shop.place.bonded(&["show", "run", "--json"]);
        shown.stdout.contains(r#""kind":"attempt_started","#)
            && shown.stdout.contains(r#""turn":2"#)
    });
    shop.finish().succeeds();
    let log = shop.place.log("run");
    assert_eq!(shop.lines("ran"), ["first", "second"]);
    let ended = driver.end(Signal::CONT);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ["lease-lost", "taken-over"].contains(&ended.error()),
        "{ended:?}"
    );
    assert_eq!(
        shop.lines("ran"),
        ["first", "second"],
        "a call was made twice"
    );
    assert_eq!(
        shop.place.log("run"),
        log,
        "it wrote to a log that was not its own"
    );
    shop.place.passes_the_audit("run");
}

#[test]
fn what_a_stopped_driver_had_under_way_is_an_interrupted_call_and_is_not_made_again() {
    let Some(shop) = Shop::new(LEASE_MS) else {
        return;
    };
    let long = "echo begun >> ran; sleep 600; echo never >> ran";
    let lines = [call("run", json!({ "command": long })), done("ok")];
    let driver = stopped(&shop, &lines, || shop.lines("ran") == ["begun"]);
    shop.finish().succeeds();
    let entries = shop.place.entries("run");
    let finished = of_kind(&entries, "tool_finished");
    let calls: Vec<_> = finished.iter().filter(|it| it["tool"] == "run").collect();
    assert_eq!(calls.len(), 1, "{finished:?}");
    assert_eq!(calls[0]["outcome"], "interrupted", "{finished:?}");
    let ended = driver.end(Signal::CONT);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(shop.lines("ran"), ["begun"]);
}
