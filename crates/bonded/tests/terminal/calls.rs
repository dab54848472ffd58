//! Several calls of one reply: each has a row while it is under way or waits for its turn.

use serde_json::{Value, json};

use crate::place::{Place, done, report};
use crate::screen::{at, check, without_durations, without_spinner};
use crate::terminal::{Size, Terminal};
use crate::tool_server;

#[test]
fn serves_tools_where_it_is_asked_to() {
    tool_server::serve_where_it_is_asked_to();
}

/// A reply with these calls.
fn calls(calls: &[(&str, Value)]) -> Value {
    let call = |(tool, arguments): &(&str, Value)| json!({ "tool": tool, "arguments": arguments });
    json!({ "calls": calls.iter().map(call).collect::<Vec<_>>() })
}

fn command(line: &str) -> (&'static str, Value) {
    ("run", json!({ "command": line }))
}

fn slow(ms: u64) -> (&'static str, Value) {
    ("test__slow", json!({ "ms": ms }))
}

/// An agent whose tools are a server's, and which plays these lines.
fn served(place: &Place, lines: &[Value], size: Size) -> Terminal {
    let agent = place.agent("agent", lines, "tools: test, run");
    let server =
        tool_server::of_this_program("calls::serves_tools_where_it_is_asked_to", &json!({}));
    let config = json!({ "mcpServers": { "test": server } });
    let config = place.write("config.json", config.to_string());
    let (agent, config) = (agent.display().to_string(), config.display().to_string());
    let words = [
        "run", "--id", "calls", "--trust", "--config", &config, "--agent", &agent, "go",
    ];
    at(place, &words, size)
}

/// The live rows have their times in the middle.
fn check_live(name: &str, terminal: &Terminal) {
    let screen = without_spinner(&terminal.coloured());
    let row = |row: &str| match [" of 5 min", "ended after", "running"]
        .iter()
        .any(|it| row.contains(it))
    {
        true => without_durations(row),
        false => row.to_owned(),
    };
    let rows: Vec<String> = screen.lines().map(row).collect();
    check(name, &rows.join("\n"));
}

#[test]
fn a_call_that_waits_for_the_one_before_it_is_queued() {
    let lines = [
        calls(&[
            ("read", json!({ "path": "notes" })),
            command("echo compiling; exec sleep 600"),
            command("cargo clippy --workspace --all-targets -- -D warnings"),
        ]),
        done("ok"),
    ];
    for columns in [80, 60, 39] {
        let place = Place::new();
        place.write("work/notes", "one\ntwo\n");
        let script = place.script(&lines);
        let words = ["run", "--id", "calls", "--model", &script, "go"];
        let terminal = at(&place, &words, Size(columns, 20));
        terminal.wait_for(" 2 s");
        check_live(&format!("queued-{columns}"), &terminal);
    }
}

#[test]
fn calls_beside_one_another_have_a_row_each_in_the_order_of_the_reply() {
    let lines = [
        calls(&[slow(600_000), slow(1), command("exec sleep 600")]),
        report("ok"),
    ];
    let place = Place::new();
    let terminal = served(&place, &lines, Size::USUAL);
    terminal.wait_until("the calls", |screen| {
        screen.matches(" 2 s of ").count() == 2 && screen.contains("ended after")
    });
    check_live("beside", &terminal);
}

#[test]
fn what_came_of_the_calls_is_told_in_the_order_of_the_reply_and_no_row_is_left() {
    let lines = [
        calls(&[slow(700), slow(1), command("echo fine")]),
        report("The three calls are over."),
    ];
    let place = Place::new();
    let mut terminal = served(&place, &lines, Size::USUAL);
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    check("beside-over", &terminal.coloured());
}

#[test]
fn a_command_that_is_silent_says_since_when() {
    let place = Place::new();
    let rows = [
        ("exec sleep 600", false),
        ("echo compiling >&2; exec sleep 600", true),
    ];
    for (line, has_spoken) in rows {
        let script = place.script(&[calls(&[command(line)])]);
        let terminal = at(&place, &["run", "--model", &script, "go"], Size(120, 20));
        let screen = terminal.wait_for(" 3 s of 5 min");
        let live = screen.lines().last().unwrap_or_default();
        let spoken = live.contains("last output 2 s ago") || live.contains("last output 3 s ago");
        assert_eq!(spoken, has_spoken, "{live}");
        assert_eq!(live.contains("last output"), has_spoken, "{live}");
    }
}

#[test]
fn a_low_window_has_fewer_rows_and_keeps_what_was_told() {
    let mut all = vec![command("exec sleep 600")];
    all.extend((0..9).map(|at| command(&format!("echo {at}"))));
    let place = Place::new();
    let script = place.script(&[calls(&all)]);
    let terminal = at(&place, &["run", "--model", &script, "go"], Size(80, 8));
    let screen = terminal.wait_for(" 2 s of 5 min");
    assert!(screen.contains("7 more calls"), "{screen}");
    assert_eq!(screen.matches("exec sleep").count(), 1, "{screen}");
    assert_eq!(screen.lines().count(), 5, "{screen}");
}
