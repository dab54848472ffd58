//! Commands of a run are confined as it says, and the log tells it.

use serde_json::{Value, json};

use crate::place::{Place, call, done};
use crate::watch::of_kind;

/// What a command of one run printed, with what the log says of its sandbox: demanded, and in force; and what is in a
/// file outside afterwards.
fn told(flags: &[&str], command: &str) -> (String, Value, String, String) {
    let place = Place::new();
    std::fs::write(place.path("outside"), "outside").expect("it can be written");
    let lines = [call("run", json!({ "command": command })), done("ok")];
    let result = place.result(flags, &lines);
    assert_eq!(result["success"], true, "{result}");
    let entries = place.entries("run");
    let finished = of_kind(&entries, "tool_finished")[0];
    let output = finished["output"].as_str().expect("a text").to_owned();
    let demanded = of_kind(&entries, "tool_invoked")[0]["sandbox"].clone();
    let in_force = finished["sandbox"].as_str().unwrap_or_default().to_owned();
    place.passes_the_audit("run");
    let outside = std::fs::read_to_string(place.path("outside")).expect("it is there");
    (output, demanded, in_force, outside)
}

#[test]
fn an_attempt_to_leave_is_refused_and_the_attempt_and_what_refused_it_are_in_the_log() {
    let attempt = "echo evil > ../outside; cat ../outside; cat ../store.db | head -c 15";
    for (flags, level) in [
        (&[][..], "workspace-write"),
        (&["--sandbox", "read-only"], "read-only"),
    ] {
        // What is around the directory is the home, and the command has one of its own.
        let (output, demanded, in_force, outside) = told(flags, attempt);
        assert_eq!(outside, "outside", "{output}");
        assert!(!output.contains("SQLite format"), "{output}");
        assert_eq!(demanded, level);
        assert!(in_force.starts_with(&format!("{level}: ")), "{in_force}");
        assert!(in_force.contains("seccomp"), "{in_force}");
    }
    let (output, demanded, in_force, outside) = told(&["--sandbox", "full"], attempt);
    assert_eq!(outside, "evil\n", "{output}");
    assert!(output.contains("evil\\nSQLite format"), "{output}");
    assert_eq!(
        (demanded, in_force.as_str()),
        (json!("full"), "full: limits")
    );
}

#[test]
fn a_tool_that_starts_nothing_says_nothing_of_a_sandbox() {
    let place = Place::new();
    place.result(&[], &[call("list", json!({})), done("ok")]);
    let entries = place.entries("run");
    for kind in ["tool_invoked", "tool_finished"] {
        assert_eq!(of_kind(&entries, kind)[0]["sandbox"], Value::Null, "{kind}");
    }
}

#[test]
fn a_limit_of_processes_that_is_none_is_refused_and_named_before_anything_starts() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    for (flag, values) in [
        ("--sandbox-cpu", ["0", "-1", "soon"]),
        ("--sandbox-memory", ["0", "1000", "all"]),
        ("--sandbox-processes", ["0", "1", "many"]),
        ("--sandbox-file-size", ["0", "1", "1e400"]),
    ] {
        for value in values {
            let words = ["run", "--model", &script, flag, value, "the goal"];
            let refused = place.bonded(&words);
            assert_eq!(refused.code, Some(4), "{flag} {value}: {refused:?}");
            assert!(refused.stderr.contains(flag), "{}", refused.stderr);
        }
    }
}

#[test]
fn the_limits_of_processes_are_in_the_log_and_shown_by_doctor() {
    let place = Place::new();
    let flags = ["--sandbox-cpu", "7s", "--sandbox-processes", "300"];
    place.result(&flags, &[done("ok")]);
    let entries = place.entries("run");
    let limits = &entries[0]["data"]["config"]["sandbox"]["limits"];
    assert_eq!(
        (&limits["cpu_s"], &limits["processes"]),
        (&json!(7), &json!(300))
    );
    let shown = place.bonded(&["doctor"]).stdout;
    let line = "limits per process: 1 h 00 min CPU, 16 GiB memory, 8 GiB per file; 4096 processes at a time";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn where_the_sandbox_is_required_and_whole_the_run_goes_on() {
    let (output, ..) = told(&["--sandbox-required"], "echo fine");
    assert!(output.contains("fine"), "{output}");
}

#[test]
fn the_keys_of_providers_do_not_reach_a_command() {
    let place = Place::new();
    let lines = [call("run", json!({ "command": "env" })), done("ok")];
    let script = place.script(&lines);
    let mut command = place.command(&["run", "--id", "run", "--model", &script, "the goal"]);
    command
        .env("OPENAI_API_KEY", "sk-hidden")
        .env("DATABASE_URL", "hidden-too")
        .env("LC_TIME", "shown");
    crate::place::finish(crate::place::start(&mut command)).succeeds();
    let entries = place.entries("run");
    let output = of_kind(&entries, "tool_finished")[0]["output"].to_string();
    assert!(
        output.contains("LC_TIME=shown") && output.contains("BONDED_CALL="),
        "{output}"
    );
    assert!(!output.contains("hidden"), "{output}");
}
