//! Idempotency keys: the same question is one run, whoever repeats it and whatever happens between.

use serde_json::json;

use crate::http;
use crate::served::{Served, never, question, question_with, report};

const CHAT: &str = "/v1/chat/completions";
const KEY: &str = "\r\nIdempotency-Key: k1";

#[test]
fn the_same_key_and_body_are_one_run_and_another_body_is_refused() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &[]);
    let first = served.post_with(CHAT, KEY, &question("agent"));
    let again = served.post_with(CHAT, KEY, &question("agent"));
    let run = first.header("x-bonded-run").expect("the run is named");
    assert_eq!(again.header("x-bonded-run"), Some(run));
    assert_eq!(again.json()["choices"], first.json()["choices"]);
    assert_eq!(again.json()["usage"], first.json()["usage"]);

    let streamed = question_with("agent", "stream", true);
    let streamed = served.post_with(CHAT, KEY, &streamed);
    assert_eq!(streamed.header("x-bonded-run"), Some(run));

    let other = served.post_with(CHAT, KEY, &question_with("agent", "user", "me"));
    assert_eq!(
        (other.status, other.code().as_str()),
        (409, "idempotency_key_reused")
    );
    assert_eq!(other.header("x-should-retry"), Some("false"));
    assert_eq!(served.place.statuses(), ["succeeded"]);

    let other_key = "\r\nIdempotency-Key: k2";
    let third = served.post_with(CHAT, other_key, &question("agent"));
    assert_ne!(third.header("x-bonded-run"), Some(run));
    let long = format!("\r\nIdempotency-Key: {}", "k".repeat(256));
    let reply = served.post_with(CHAT, &long, &question("agent"));
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (400, "bad_idempotency_key")
    );
}

#[test]
fn two_clients_share_one_run_and_it_goes_on_while_one_of_them_waits() {
    let mut slow = report("Because.");
    slow["delay_ms"] = 3_000.into();
    let served = Served::start(&[("agent", vec![slow])], &[]);
    let first = served.begin(CHAT, KEY, &question("agent"));
    served.place.wait_for(&["running"]);
    let second = served.begin(CHAT, KEY, &question("agent"));
    let other = served.post_with(CHAT, KEY, &question_with("agent", "user", "me"));
    assert_eq!(other.status, 409);
    // Nothing tells from outside that the second has joined; a run that nobody waits for is cancelled.
    std::thread::sleep(std::time::Duration::from_millis(1_000));
    drop(first);
    let reply = http::receive(second);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(served.place.statuses(), ["succeeded"]);
}

#[test]
fn a_client_that_comes_back_after_a_crash_gets_the_result_of_its_run() {
    let mut slow = report("Because.");
    slow["delay_ms"] = 1_500.into();
    let lines = vec![crate::place::call("nothing", json!({})), slow];
    let served = Served::start(&[("agent", lines)], &[]);
    let waiting = served.begin(CHAT, KEY, &question("agent"));
    served.place.wait_for(&["running"]);
    let place = served.crash();
    drop(waiting);

    let served = Served::start_in(place, &["agent"], &[]);
    served.place.wait_for(&["interrupted"]);
    let reply = served.post_with(CHAT, KEY, &question("agent"));
    assert_eq!(
        reply.json()["choices"][0]["message"]["content"],
        "Because.",
        "{reply:?}"
    );
    assert_eq!(served.place.statuses(), ["succeeded"]);
    let run = reply.header("x-bonded-run").expect("the run is named");
    assert_eq!(served.place.bonded(&["replay", run]).code, Some(0));
}

#[test]
fn a_key_whose_run_was_cancelled_begins_another_one() {
    let served = Served::start(&[("agent", vec![never()])], &["--concurrency", "2"]);
    let gone = served.begin(CHAT, KEY, &question("agent"));
    served.place.wait_for(&["running"]);
    drop(gone);
    served.place.wait_for(&["cancelled"]);
    let _back = served.begin(CHAT, KEY, &question("agent"));
    served.place.wait_for(&["running", "cancelled"]);
}
