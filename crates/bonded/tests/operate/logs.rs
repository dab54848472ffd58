//! Logs for machines.

use bonded_testkit::place::parse;
use rustix::process::Signal;
use serde_json::Value;

use crate::served::{METRICS_TOKEN, Served, TOKEN};

#[test]
fn every_line_of_a_json_log_is_an_object_with_time_level_and_message() {
    let served = Served::start(&["--log-format", "json", "--trace-llm"]);
    assert_eq!(served.ask().status, 200);
    served.process.line_with("ended as done");
    served.process.end(Signal::TERM).succeeds();
    let lines: Vec<Value> = served
        .process
        .told()
        .iter()
        .map(|line| parse(line))
        .collect();
    for line in &lines {
        for field in ["at", "level", "message"] {
            assert!(line[field].is_string(), "{field} is missing: {line}");
        }
    }
    let level_of = |part: &str| {
        let of_part = |line: &&Value| line["message"].as_str().is_some_and(|it| it.contains(part));
        lines.iter().find(of_part).map(|line| line["level"].clone())
    };
    assert_eq!(level_of("listening on"), Some("info".into()));
    assert_eq!(level_of("trace: to"), Some("debug".into()));
    assert_eq!(level_of("ended as done"), Some("info".into()));
    let all = served.process.told().concat();
    assert!(!all.contains(TOKEN) && !all.contains(METRICS_TOKEN));
}

#[test]
fn a_level_leaves_out_what_is_less_important() {
    let served = Served::start(&["--log-level", "error"]);
    assert_eq!(served.ask().status, 200);
    served.process.end(Signal::TERM).succeeds();
    let told = served.process.told();
    let is_of_run = |line: &String| line.contains("ended as done");
    assert!(!told.iter().any(is_of_run), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("listening on")));
}
