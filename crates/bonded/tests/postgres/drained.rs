//! Workers that are told to stop.

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done, of_kind};
use rustix::process::Signal;
use serde_json::json;

use crate::shop::Shop;

#[test]
fn a_worker_that_is_told_to_stop_finishes_its_step_and_hands_its_run_on() {
    let Some(shop) = Shop::new(60_000) else {
        return;
    };
    let command = "echo begun >> ran; while [ ! -e go ]; do sleep 0.05; done; echo ended >> ran";
    let second = call("run", json!({ "command": "echo second >> ran" }));
    let lines = [
        call("run", json!({ "command": command })),
        second,
        done("ok"),
    ];
    shop.queue("r", &lines, &[]);
    shop.queue("later", &[done("ok")], &["--submitter", "another"]);
    let worker = shop.worker(&["--concurrent", "1"]);
    wait_until("the call is under way", || shop.lines("ran") == ["begun"]);
    worker.signal(Signal::TERM);
    worker.wait_until_told("stopping");
    shop.place.write("work/go", "");
    worker.finish().succeeds();
    assert_eq!(shop.lines("ran"), ["begun", "ended"]);
    let left = shop.place.status("r");
    assert_eq!(
        left.as_deref(),
        Some("queued"),
        "it took no more, and let go of what it had"
    );
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert_eq!(shop.lines("ran"), ["begun", "ended", "second"]);
    let finished = shop.place.entries("r");
    let finished = of_kind(&finished, "tool_finished");
    assert!(
        finished.iter().all(|call| call["outcome"] == "ok"),
        "{finished:?}"
    );
    assert_eq!(shop.place.statuses(), ["succeeded", "succeeded"]);
    shop.place.passes_the_audit("r");
}

#[test]
fn a_step_that_takes_longer_than_the_deadline_is_interrupted_and_a_second_signal_ends_at_once() {
    let Some(shop) = Shop::new(60_000) else {
        return;
    };
    let long = "echo begun >> ran; sleep 600; echo never >> ran";
    let lines = [call("run", json!({ "command": long })), done("ok")];
    shop.queue("r", &lines, &[]);
    let worker = shop.worker(&["--drain", "2s"]);
    wait_until("the call is under way", || shop.lines("ran") == ["begun"]);
    worker.end(Signal::TERM).succeeds();
    assert_eq!(
        shop.place.statuses(),
        ["queued"],
        "its lease was not waited for"
    );
    shop.place.bonded(&["worker", "--once"]).succeeds();
    assert_eq!(shop.place.statuses(), ["succeeded"]);
    assert_eq!(shop.lines("ran"), ["begun"]);
    shop.queue("s", &lines, &[]);
    let worker = shop.worker(&["--drain", "600s"]);
    wait_until("the call is under way", || shop.lines("ran").len() == 2);
    worker.signal(Signal::TERM);
    worker.wait_until_told("stopping");
    assert_eq!(worker.end(Signal::TERM).code, Some(143));
}
