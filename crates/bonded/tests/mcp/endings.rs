//! Clients that cancel, and clients that are gone.

use rustix::process::Signal;
use serde_json::json;

use crate::served::{never, report};
use crate::talk::{Talk, question, request};

#[test]
fn a_call_that_is_cancelled_ends_its_run_and_no_other() {
    let agents = [("slow", vec![never()]), ("quick", vec![report("Because.")])];
    let mut talk = Talk::start(&agents);
    talk.send_line(&request(1, "tools/call", &question("slow")));
    talk.wait_for(&["running"]);
    for params in [
        json!({}),
        json!({ "requestId": 99 }),
        json!({ "requestId": "1" }),
    ] {
        let line =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        talk.send_line(&line);
    }
    assert_eq!(talk.call(2, "quick")["isError"], json!(false));
    assert_eq!(talk.statuses(), ["succeeded", "running"]);
    let params = json!({ "requestId": 1, "reason": "enough" });
    let line = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    talk.send_line(&line);
    talk.wait_for(&["succeeded", "cancelled"]);
    // The id is free again, and the call that was cancelled is not answered.
    assert_eq!(talk.call(1, "quick")["isError"], json!(false));
    assert!(talk.told.is_empty(), "{:?}", talk.told);
}

#[test]
fn a_client_that_closes_the_stream_is_gone_and_its_runs_are_cancelled() {
    let mut talk = Talk::start(&[("slow", vec![never()])]);
    talk.send_line(&request(1, "tools/call", &question("slow")));
    talk.wait_for(&["running"]);
    assert_eq!(talk.finish(), Some(0));
    assert_eq!(talk.statuses(), ["cancelled"]);
}

#[test]
fn what_was_asked_before_the_stream_was_closed_is_answered() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    talk.send_line(&request(1, "tools/list", &json!({})));
    talk.close();
    let reply = talk.reply(1);
    assert_eq!(reply["result"]["tools"][0]["name"], "agent");
    assert_eq!(talk.finish(), Some(0));
}

#[test]
fn a_signal_lets_go_of_the_runs_and_ends_the_program() {
    let mut talk = Talk::start(&[("slow", vec![never()])]);
    talk.send_line(&request(1, "tools/call", &question("slow")));
    talk.wait_for(&["running"]);
    talk.signal(Signal::TERM);
    assert_eq!(talk.finish(), Some(0));
    assert_eq!(talk.statuses(), ["interrupted"]);
}

#[test]
fn a_kill_in_the_middle_leaves_a_run_that_its_key_finds_again() {
    let mut slow = report("Because.");
    slow["delay_ms"] = 3_000.into();
    let mut talk = Talk::start(&[("slow", vec![slow])]);
    let mut params = question("slow");
    params["_meta"] = json!({ "bonded/idempotencyKey": "k" });
    talk.send_line(&request(1, "tools/call", &params));
    talk.wait_for(&["running"]);
    talk.signal(Signal::KILL);
    talk.finish();
    assert_eq!(talk.statuses(), ["interrupted"]);
    let place = std::mem::replace(&mut talk.place, crate::place::Place::new());
    let mut again = Talk::start_in(place, &["slow"], &[]).greeted();
    let result = again.ask(1, "tools/call", &params)["result"].clone();
    assert_eq!(result["content"][0]["text"], "Because.", "{result}");
    assert_eq!(again.statuses(), ["succeeded"]);
}
