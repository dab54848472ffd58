//! What no client should send.

use serde_json::{Value, json};

use crate::place::Place;
use crate::served::{never, report};
use crate::talk::{Talk, question, request};

#[test]
fn nonsense_is_refused_line_by_line_and_the_talk_goes_on() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let rows: [(&[u8], i64); 9] = [
        (b"nonsense", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1", -32700),
        (b"\xff\xfe\x00", -32700),
        (nested.as_bytes(), -32700),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}", -32601),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":7}",
            -32602,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
            -32602,
        ),
    ];
    for (line, code) in rows {
        talk.send(line);
        talk.send(b"\n");
        let reply = talk.next();
        let short = String::from_utf8_lossy(&line[..line.len().min(60)]);
        assert_eq!(reply["error"]["code"], code, "{short}: {reply}");
    }
    talk.send(b"\n\r\n   \n");
    let unasked = json!({ "jsonrpc": "2.0", "id": 5, "result": {} });
    talk.send_line(&unasked);
    talk.send_line(&json!({ "jsonrpc": "2.0", "method": "notifications/no/such" }));
    assert_eq!(talk.call(9, "agent")["isError"], json!(false));
    assert!(talk.told.is_empty(), "{:?}", talk.told);
}

#[test]
fn nothing_is_answered_before_the_greeting_but_a_ping() {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "");
    let mut talk = Talk::start_in(place, &["agent"], &[]);
    for method in ["tools/list", "tools/call", "resources/read"] {
        let reply = talk.ask(1, method, &question("agent"));
        assert_eq!(reply["error"]["code"], -32600, "{method}: {reply}");
    }
    let unsaid = talk.ask(1, "initialize", &json!({ "protocolVersion": 7 }));
    assert_eq!(unsaid["error"]["code"], -32602);
    assert_eq!(talk.ask(1, "ping", &json!({}))["result"], json!({}));
    assert!(talk.statuses().is_empty());
    let mut talk = talk.greeted();
    assert_eq!(talk.call(1, "agent")["isError"], json!(false));
}

#[test]
fn a_line_without_an_end_is_not_kept() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..100 {
        talk.send(&piece);
    }
    talk.send(b"\n");
    let reply = talk.next();
    assert_eq!(reply["error"]["code"], -32600, "{reply}");
    let peak = talk.memory_peak();
    assert!(peak < 100 * 1024 * 1024, "{peak} bytes");
    assert_eq!(talk.call(1, "agent")["isError"], json!(false));
}

#[test]
fn an_id_that_is_under_way_is_not_taken_twice() {
    let mut talk = Talk::start(&[("slow", vec![never()])]);
    talk.send_line(&request(1, "tools/call", &question("slow")));
    talk.wait_for(&["running"]);
    let reply = talk.ask(1, "tools/call", &question("slow"));
    assert_eq!(reply["error"]["code"], -32600, "{reply}");
    assert_eq!(talk.statuses(), ["running"]);
}

#[test]
fn more_calls_than_may_wait_are_told_to_come_back() {
    let place = Place::new();
    place.agent("slow", &[never()], "");
    let mut talk = Talk::start_in(place, &["slow"], &["--concurrency", "1"]).greeted();
    for id in 1..=12 {
        talk.send_line(&request(id, "tools/call", &question("slow")));
    }
    let reply: Value = talk.next();
    assert_eq!(reply["result"]["_meta"]["bonded/code"], "busy", "{reply}");
    assert_eq!(talk.finish(), Some(0));
    // One that waited may begin when the first one ends, before it learns that its client is gone too.
    let statuses = talk.statuses();
    assert!(!statuses.is_empty(), "the first one had begun");
    assert!(
        statuses.iter().all(|it| it == "cancelled"),
        "none goes on: {statuses:?}"
    );
}
