//! Providers that answer with anything: each answer is a failed attempt in words, the run goes on or ends
//! with a result, and its log is whole.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::reply::{Reply, raw, report};
use crate::world::World;

fn sse(body: impl Into<Vec<u8>>) -> Reply {
    raw(200, "text/event-stream", body)
}

#[test]
fn an_answer_that_is_no_reply_is_a_failed_attempt_and_the_next_is_heard() {
    let nested = "[".repeat(200_000);
    let rows = [
        (
            "HTML",
            raw(200, "text/html", "<html><body>Bad gateway</body></html>"),
        ),
        (
            "half a JSON",
            raw(200, "application/json", "{\"choices\": [{\"mess"),
        ),
        ("nothing", raw(200, "application/json", "")),
        ("a number", raw(200, "application/json", "7")),
        (
            "no choices",
            raw(200, "application/json", "{\"choices\": []}"),
        ),
        (
            "an error with 200",
            raw(
                200,
                "application/json",
                "{\"error\": {\"message\": \"overloaded\"}}",
            ),
        ),
        (
            "bytes",
            raw(200, "application/json", vec![0xff, 0xfe, 0x00, 0x80]),
        ),
        ("deep JSON", raw(200, "application/json", nested)),
        (
            "HTML with 502",
            raw(502, "text/html", "<html>Bad gateway</html>"),
        ),
        ("an empty 503", raw(503, "text/plain", "")),
        (
            "a redirect",
            raw(302, "text/plain", "").header("location", "http://127.0.0.1:9/"),
        ),
        (
            "large headers",
            report("never").header("x-filler", &"f".repeat(1_000_000)),
        ),
    ];
    for (case, reply) in rows {
        let world = World::new().says([reply, report("done")]);
        let outcome = world.run(&[], "try");
        assert_eq!(outcome.code, Some(0), "{case}: {}", outcome.stderr);
        assert_eq!(
            outcome.account_fields("llm", "status"),
            ["failed", "ok"],
            "{case}"
        );
        let error = outcome.account_fields("llm", "error")[0];
        assert!(error.len() > 8 && error.len() < 1500, "{case}: {error}");
        assert_eq!(
            world.bonded(&["verify", outcome.run_id()]).code,
            Some(7),
            "{case}"
        );
    }
}

#[test]
fn a_stream_that_is_broken_is_a_failed_attempt_and_the_next_is_heard() {
    let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"la \"}}]}\n\n";
    let rows = [
        (
            "bad UTF-8",
            sse(
                b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\ndata: [DON"
                    .to_vec(),
            ),
        ),
        ("no JSON", sse("data: nonsense\n\n")),
        (
            "an error event",
            sse("data: {\"error\":{\"message\":\"overloaded\"}}\n\n"),
        ),
        (
            "no end",
            sse("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n").cut(),
        ),
        ("no event", sse("")),
        ("endless events", sse(event.repeat(1000)).endless()),
        ("an endless line", sse("x".repeat(65_536)).endless()),
    ];
    for (case, reply) in rows {
        let done = json!({ "choices": [{ "index": 0, "delta": { "content": crate::reply::report_tag("pipe", "done") } }] });
        let finish = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        let good = sse(format!(
            "data: {done}\n\ndata: {finish}\n\ndata: [DONE]\n\n"
        ));
        let world = World::new().says([reply, good]);
        let began = Instant::now();
        let outcome = world.run(&["--stream"], "try");
        assert_eq!(outcome.code, Some(0), "{case}: {}", outcome.stderr);
        assert_eq!(
            outcome.account_fields("llm", "status"),
            ["failed", "ok"],
            "{case}"
        );
        assert!(began.elapsed() < Duration::from_secs(60), "{case}");
    }
}

#[test]
fn a_provider_that_never_says_anything_sensible_leaves_a_whole_log() {
    let world = World::new().then_always(raw(200, "text/html", "<html>"));
    let outcome = world.run(&["--max-retries", "2"], "try").failed();
    assert_eq!(outcome.requests.len(), 2);
    let log = world.log(outcome.run_id());
    assert_eq!(
        log.last().map(|entry| &entry["kind"]),
        Some(&json!("run_ended"))
    );
    assert_eq!(world.bonded(&["replay", outcome.run_id()]).code, Some(0));
}
