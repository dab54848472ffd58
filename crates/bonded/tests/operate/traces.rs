//! What receivers of traces are sent.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use bonded_testkit::installed::{SDK_PYTHON, installed};
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, done, finish, report, start, with};
use serde_json::{Value, json};

use crate::sink::{Collector, Sink};

/// Nothing of this may be in a trace.
const CONTENTS: [&str; 4] = [
    "geheime-frage",
    "geheimes-argument",
    "geheime-antwort",
    "geheimer-schluessel",
];

fn traced(place: &Place, words: &[&str], endpoint: &str) -> Command {
    let mut command = place.command(words);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20geheimer-schluessel",
        )
        .env("OTEL_SERVICE_NAME", "the-service");
    command
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

#[track_caller]
fn one<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    match named(spans, name).as_slice() {
        [span] => span,
        others => panic!("{} spans {name:?} among {spans:#?}", others.len()),
    }
}

#[test]
fn a_real_collector_takes_the_spans_of_an_agent_and_of_the_agents_that_it_calls() {
    let (place, sink) = (Place::new(), Sink::start());
    let Some(collector) = Collector::start(&place, &sink) else {
        return;
    };
    place.agent(
        "child",
        &[report("geheime-antwort")],
        "description: Knows things.",
    );
    let ask = json!({ "prompt": "geheimes-argument", "reason": "a title", "format": "sub-agent" });
    let usage = json!({ "input": 11, "output": 7, "cached": 3 });
    let lines = [
        json!({ "fail": "rate_limit", "status": 429, "retry_after_ms": 1 }),
        with(call("agent__child", ask), "usage", usage),
        report("geheime-antwort"),
    ];
    let agent = place.agent("lead", &lines, "agents: child.ai");
    let agent = agent.display().to_string();
    let words = [
        "run",
        "--id",
        "r",
        "--agent",
        &agent,
        "--tooling-transport",
        "native",
        "geheime-frage",
    ];
    let ended = finish(start(&mut traced(&place, &words, &collector.address)));
    ended.succeeds();
    let is_whole = || {
        let spans = sink.spans(&place);
        !named(&spans, "invoke_agent lead").is_empty()
    };
    wait_until("the collector hands the run on", is_whole);
    let spans = sink.spans(&place);
    let (run, child) = (
        one(&spans, "invoke_agent lead"),
        one(&spans, "invoke_agent child"),
    );
    assert_eq!(run["parentSpanId"], "");
    assert!(
        spans.iter().all(|span| span["traceId"] == run["traceId"]),
        "one trace: {spans:#?}"
    );
    let called = one(&spans, "execute_tool agent__child");
    assert_eq!(
        child["parentSpanId"], called["spanId"],
        "it stands below the call"
    );
    let turn = named(&spans, "turn 1");
    assert!(
        turn.iter()
            .any(|turn| turn["spanId"] == called["parentSpanId"])
    );
    assert!(
        turn.iter()
            .any(|turn| turn["parentSpanId"] == run["spanId"])
    );
    assert_eq!(run["attributes"]["gen_ai.operation.name"], "invoke_agent");
    assert_eq!(run["attributes"]["gen_ai.agent.name"], "lead");
    assert_eq!(run["attributes"]["gen_ai.conversation.id"], "r");
    assert_eq!(run["attributes"]["bonded.termination"], "done");
    assert_eq!(run["resource"]["service.name"], "the-service");
    assert_eq!(
        called["attributes"]["gen_ai.operation.name"],
        "execute_tool"
    );
    assert_eq!(called["attributes"]["gen_ai.tool.name"], "agent__child");
    assert_eq!(called["kind"], "SPAN_KIND_INTERNAL");
    let requests: Vec<&Value> = named(&spans, "chat script");
    assert_eq!(requests.len(), 4, "{spans:#?}");
    let failed = requests
        .iter()
        .find(|it| it["attributes"]["error.type"] == "rate_limit");
    let failed = failed.expect("the failure is a span");
    assert_eq!(failed["status"]["code"], "STATUS_CODE_ERROR");
    assert_eq!(failed["attributes"]["http.response.status_code"], 429);
    let counted = requests
        .iter()
        .find(|it| it["attributes"]["gen_ai.usage.input_tokens"] == 11);
    let counted = counted.expect("the usage is told");
    assert_eq!(counted["kind"], "SPAN_KIND_CLIENT");
    let expected = json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "script",
        "gen_ai.request.model": "script", "gen_ai.response.model": "script",
        "gen_ai.response.finish_reasons": ["tool_calls"], "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 3,
    });
    for (name, value) in expected.as_object().expect("it is an object") {
        assert_eq!(&counted["attributes"][name], value, "{name}");
    }
    let text = json!(spans).to_string();
    let found: Vec<&&str> = CONTENTS.iter().filter(|it| text.contains(**it)).collect();
    assert!(found.is_empty(), "{found:?} is in a trace");
}

#[test]
fn a_run_that_is_resumed_continues_its_trace() {
    if installed(SDK_PYTHON).is_none() {
        return;
    }
    let (place, sink) = (Place::new(), Sink::start());
    let lines = [
        call("run", json!({ "command": "true" })),
        with(done("ok"), "delay_ms", 600_000),
    ];
    let script = place.script(&lines);
    let words = ["run", "--id", "r", "--model", &script, "the goal"];
    let mut first = traced(&place, &words, &sink.address());
    let mut first = start(first.env("OTEL_BSP_SCHEDULE_DELAY", "1"));
    wait_until("the first turn was sent", || {
        !named(&sink.spans(&place), "turn 1").is_empty()
    });
    first.kill().expect("it can be killed");
    first.wait().expect("it ends");
    place.script(&[call("run", json!({ "command": "true" })), done("ok")]);
    let resumed = finish(start(&mut traced(
        &place,
        &["resume", "r"],
        &sink.address(),
    )));
    resumed.succeeds();
    let spans = sink.spans(&place);
    let run = one(&spans, "invoke_agent");
    for name in ["turn 1", "turn 2"] {
        let turn = one(&spans, name);
        assert_eq!(turn["traceId"], run["traceId"], "{name}");
        assert_eq!(turn["parentSpanId"], run["spanId"], "{name}");
    }
    let processes: Vec<&Value> = ["turn 1", "turn 2"]
        .map(|name| &one(&spans, name)["resource"]["process.pid"])
        .into();
    assert_ne!(processes[0], processes[1], "two processes drove it");
    let head = &sink.received()[0].head;
    assert!(
        head.contains("authorization: Bearer geheimer-schluessel"),
        "{head}"
    );
    assert!(head.starts_with("POST /v1/traces "), "{head}");
}

#[test]
fn a_receiver_that_is_away_or_silent_neither_fails_nor_holds_a_run() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let silent = silent
        .local_addr()
        .map(|it| (silent, it))
        .expect("it has an address");
    let endpoints = [
        "http://127.0.0.1:9".to_owned(),
        format!("http://{}", silent.1),
    ];
    for endpoint in endpoints {
        let place = Place::new();
        let script = place.script(&[call("run", json!({ "command": "true" })), done("fine")]);
        let words = ["run", "--model", &script, "the goal"];
        let began = Instant::now();
        let ended = finish(start(&mut traced(&place, &words, &endpoint)));
        ended.succeeds();
        assert_eq!(ended.stdout.trim(), "fine");
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "{:?}",
            began.elapsed()
        );
        assert!(
            !ended.stderr.contains("geheimer-schluessel"),
            "{}",
            ended.stderr
        );
    }
    drop(silent.0);
}

#[test]
fn what_is_wrong_with_a_variable_is_reported_and_the_run_goes_its_way() {
    let place = Place::new();
    let script = place.script(&[done("fine")]);
    let words = ["run", "--model", &script, "the goal"];
    let mut command = traced(&place, &words, "http://127.0.0.1:9");
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let ended = finish(start(&mut command));
    ended.succeeds();
    let expected = "no traces are sent: OTEL_EXPORTER_OTLP_PROTOCOL is not `http/protobuf`";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}
