//! The live line: what is under way, since when, and what is left.

use serde_json::{Value, json};

use crate::place::{Place, done};
use crate::provider::{self, Provider};
use crate::screen::{asking, at, check, without_spinner};
use crate::terminal::Size;

/// A streamed reply that stops after these pieces of its message and says no more.
fn unfinished(deltas: &[Value]) -> provider::Reply {
    let chunk = |delta: &Value| {
        let choice = json!({ "index": 0, "delta": delta });
        let chunk = json!({ "object": "chat.completion.chunk", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let body: String = deltas.iter().map(chunk).collect();
    provider::raw(200, "text/event-stream", body).hanging()
}

fn writing_call(arguments: &str) -> Value {
    let function = json!({ "name": "edit", "arguments": arguments });
    json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] })
}

#[test]
fn the_live_line_says_what_is_under_way_and_what_is_left() {
    let priced = ["--price", "1,2", "--max-cost", "2.00", "--max-turns", "9"];
    let rows: [(&str, provider::Reply, &str); 4] = [
        ("slow-model", provider::silence(), "waiting for small"),
        (
            "writing-call",
            unfinished(&[writing_call(&"x".repeat(1200))]),
            "writing a call of edit",
        ),
        (
            "thinking",
            unfinished(&[json!({ "reasoning_content": "hm" })]),
            "thinking",
        ),
        (
            "answering",
            unfinished(&[json!({ "content": "A leap year has" })]),
            "answering",
        ),
    ];
    for (name, reply, doing) in rows {
        let (place, provider) = (Place::new(), Provider::start());
        provider.say([reply]);
        let terminal = asking(&place, &provider, &priced, Size(100, 20));
        // It is there for more than a second, so that all figures are.
        terminal.wait_until("a live line", |screen| {
            let line = screen.lines().last().unwrap_or_default();
            line.contains(doing) && line.contains(" 2 s · turn 1 of 9 · $0.00 of $2.00")
        });
        check(name, &without_spinner(&terminal.coloured()));
    }
}

#[test]
fn the_live_line_loses_fields_where_it_is_narrow_and_is_none_below_twenty_columns() {
    for (columns, name) in [
        (60, "live-60"),
        (40, "live-40"),
        (39, "live-39"),
        (20, "live-20"),
    ] {
        let (place, provider) = (Place::new(), Provider::start());
        provider.say([provider::silence()]);
        let terminal = asking(&place, &provider, &[], Size(columns, 20));
        terminal.wait_for(" 1 s");
        check(name, &without_spinner(&terminal.coloured()));
    }
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::text("no call").delayed_ms(1500)]);
    provider.then_always(provider::call("done", json!({ "reason": "366 days" })));
    let terminal = asking(&place, &provider, &[], Size(19, 40));
    terminal.wait_for("366 days");
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!bytes.contains("waiting"), "{bytes:?}");
    assert!(
        !bytes.contains("\u{1b}[J"),
        "nothing is drawn again: {bytes:?}"
    );
}

#[test]
fn the_live_line_moves_while_nothing_else_happens() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::silence()]);
    let terminal = asking(&place, &provider, &[], Size::USUAL);
    terminal.wait_for("waiting for small · 2 s");
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    let spinners: std::collections::BTreeSet<char> = bytes
        .chars()
        .filter(|it| ('\u{2801}'..='\u{28ff}').contains(it))
        .collect();
    assert!(spinners.len() >= 8, "{spinners:?}");
    for second in ["0 s", "1 s", "2 s"] {
        assert!(
            bytes.contains(&format!("waiting for small · {second}")),
            "{second}"
        );
    }
    // Each drawing is one write that a terminal shows at once, and nothing clears the screen or leaves it.
    assert_eq!(
        bytes.matches("\u{1b}[?2026h").count(),
        bytes.matches("\u{1b}[?2026l").count()
    );
    for banned in [
        "\u{1b}[?1049",
        "\u{1b}[2J",
        "\u{1b}[3J",
        "\u{1b}[?25l",
        "\u{1b}[?100",
    ] {
        assert!(!bytes.contains(banned), "{banned:?}");
    }
}

#[test]
fn servers_that_start_are_named() {
    let place = Place::new();
    let agent = place.agent("agent", &[done("ok")], "tools: wiki, fs");
    let slow = json!({ "type": "stdio", "command": "sleep", "args": ["600"] });
    let config = json!({ "mcpServers": { "wiki": slow, "fs": slow } });
    let config = place.write("config.json", config.to_string());
    let (agent, config) = (agent.display().to_string(), config.display().to_string());
    let words = [
        "run", "--trust", "--config", &config, "--agent", &agent, "go",
    ];
    let terminal = at(&place, &words, Size::USUAL);
    let screen = terminal.wait_for("starting servers: 0 of 2 ready, waiting for ");
    assert!(screen.contains("wiki") && screen.contains("fs"), "{screen}");
}
