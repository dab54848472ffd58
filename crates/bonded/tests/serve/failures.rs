//! Runs that come to no answer.

use serde_json::{Value, json};

use crate::place::call;
use crate::served::{Served, never, question};

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
        (nothing(), &["--max-turns", "1"], 500, "turns_exhausted"),
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
    served.wait_for(&["running"]);
    let listed = served.place.bonded(&["runs", "--json"]);
    let run = crate::place::parse(&listed.stdout)["runId"].clone();
    let run = run.as_str().expect("the run has an id").to_owned();
    assert_eq!(served.place.bonded(&["cancel", &run]).code, Some(0));
    let reply = crate::http::receive(waiting);
    assert_eq!((reply.status, reply.code().as_str()), (500, "cancelled"));
    assert_eq!(reply.header("x-bonded-run"), Some(run.as_str()));
}
