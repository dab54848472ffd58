//! Runs that come to no answer.

use serde_json::{Value, json};

use crate::place::call;
use crate::served::{Served, never, question, report};

#[test]
fn a_run_that_fails_is_told_by_why_it_ended_and_is_not_to_be_asked_again() {
    let nothing = || vec![call("nothing", json!({}))];
    let fail = |class: &str| vec![json!({ "fail": class, "message": "no" })];
    let rows: [(Vec<Value>, &[&str], u16, &str); 6] = [
        (fail("auth"), &[], 502, "provider_auth"),
        (fail("quota"), &[], 502, "provider_quota"),
        (
            fail("model"),
            &["--max-retries", "1"],
            502,
            "provider_failed",
        ),
        (
            nothing(),
            &["--max-turns", "1", "--max-retries", "1"],
            500,
            "turns_exhausted",
        ),
        (nothing(), &["--max-tokens", "1"], 402, "budget_exhausted"),
        (vec![never()], &["--max-time", "1"], 504, "timed_out"),
    ];
    for (lines, flags, status, code) in rows {
        let served = Served::start(&[("agent", lines)], flags);
        let reply = served.chat(&question("agent"));
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{reply:?}"
        );
        assert_eq!(reply.header("x-should-retry"), Some("false"), "{reply:?}");
        assert!(reply.header("x-bonded-run").is_some(), "{reply:?}");
        assert!(!reply.body.contains("choices"), "{reply:?}");
    }
}

#[test]
fn a_run_that_somebody_cancels_is_told_as_cancelled() {
    let served = Served::start(&[("agent", vec![never()])], &[]);
    let waiting = served.begin("/v1/chat/completions", "", &question("agent"));
    served.place.wait_for(&["running"]);
    let listed = served.place.bonded(&["runs", "--json"]);
    let run = crate::place::parse(&listed.stdout)["runId"].clone();
    let run = run.as_str().expect("the run has an id").to_owned();
    assert_eq!(served.place.bonded(&["cancel", &run]).code, Some(0));
    let reply = crate::http::receive(waiting);
    assert_eq!((reply.status, reply.code().as_str()), (500, "cancelled"));
    assert_eq!(reply.header("x-bonded-run"), Some(run.as_str()));
}

#[test]
fn a_run_that_waits_for_a_person_is_told_with_its_name_and_answers_once_it_is_approved() {
    let place = crate::place::Place::new();
    let write = call("write", json!({ "path": "a", "content": "x" }));
    let front = "tools: builtin\napprovals: {ask: [write]}";
    place.agent("agent", &[write, report("written")], front);
    let served = Served::start_in(place, &["agent"], &[]);
    let key = "\r\nIdempotency-Key: one";
    let ask = || served.post_with("/v1/chat/completions", key, &question("agent"));
    let waits = ask();
    assert_eq!(
        (waits.status, waits.code().as_str()),
        (409, "awaiting_review"),
        "{waits:?}"
    );
    let run = waits
        .header("x-bonded-run")
        .expect("the run is named")
        .to_owned();
    assert!(
        waits.body.contains(&format!("bonded approve {run}")),
        "{waits:?}"
    );
    assert_eq!(served.place.approve(&run, &[]).code, Some(0));
    let answered = ask();
    assert_eq!(answered.status, 200, "{answered:?}");
    assert!(answered.body.contains("written"), "{answered:?}");
}

#[test]
fn a_store_that_fails_is_told_without_where_it_lies() {
    let served = Served::start(&[("agent", vec![report("never")])], &[]);
    served.process.set_disk_full(true);
    let reply = served.chat(&question("agent"));
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (500, "internal"),
        "{reply:?}"
    );
    for part in [".db", "/bonded", "os error"] {
        assert!(!reply.body.contains(part), "{part}: {reply:?}");
    }
    served.process.wait_until_told("error: ");
}
