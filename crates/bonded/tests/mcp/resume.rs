//! Connections that break, and clients that come back.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{self, Reply};
use crate::served::{Served, never, report};
use crate::talk::{hello, question, request};

const BOTH: &str = "\r\nAccept: application/json, text/event-stream";

fn session(served: &Served, version: &str) -> String {
    let greeting = request(0, "initialize", &hello(version));
    let reply = served.post_with("/mcp", BOTH, &greeting);
    let id = reply.header("mcp-session-id").expect("there is a session");
    format!("\r\nMcp-Session-Id: {id}")
}

fn begin(served: &Served, session: &str, agent: &str) -> TcpStream {
    let call = request(1, "tools/call", &question(agent));
    served.begin("/mcp", &format!("{BOTH}{session}"), &call)
}

fn take_up(served: &Served, session: &str, last: &str) -> Reply {
    let headers = format!("\r\nAccept: text/event-stream\r\nLast-Event-ID: {last}{session}");
    let head = served.head("GET /mcp", &headers);
    http::receive(http::send(&served.address, &head, b""))
}

/// Reads until this was said.
fn read_until(stream: &mut TcpStream, said: &str) {
    let (mut heard, mut piece) = (String::new(), [0; 4096]);
    while !heard.contains(said) {
        let length = stream.read(&mut piece).expect("the stream goes on");
        assert!(length > 0, "the stream ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
}

fn slow() -> Value {
    let mut slow = report("Because.");
    slow["delay_ms"] = 2_000.into();
    slow
}

#[test]
fn a_client_whose_connection_broke_comes_back_for_the_result_of_the_same_run() {
    let served = Served::start(&[("slow", vec![slow()])], &["--mcp"]);
    let own = session(&served, "2025-11-25");
    let other = session(&served, "2025-11-25");
    let mut calling = begin(&served, &own, "slow");
    read_until(&mut calling, "id: 1-0\nretry: 1000\ndata:\n\n");
    drop(calling);
    served.place.wait_for(&["running"]);
    assert_eq!(
        take_up(&served, &other, "1-0").status,
        400,
        "it is not theirs"
    );
    let events = take_up(&served, &own, "1-0").events();
    let result = events.last().map(|event| &event["result"]);
    let text = result.map(|result| result["content"][0]["text"].clone());
    assert_eq!(text, Some("Because.".into()), "{events:?}");
    assert!(
        take_up(&served, &own, "1-1").events().is_empty(),
        "it has all"
    );
    assert_eq!(take_up(&served, &own, "2-0").status, 400);
    assert_eq!(served.place.statuses(), ["succeeded"]);
}

#[test]
fn a_client_of_a_version_that_cannot_come_back_has_cancelled_its_run_when_it_hangs_up() {
    let agents = [("slow", vec![never()]), ("quick", vec![report("Because.")])];
    let served = Served::start(&agents, &["--mcp"]);
    let session = session(&served, "2025-06-18");
    let calling = begin(&served, &session, "slow");
    served.place.wait_for(&["running"]);
    drop(calling);
    served.place.wait_for(&["cancelled"]);
    // It is told no place to come back to.
    let answer = http::receive(begin(&served, &session, "quick"));
    assert!(answer.body.starts_with("event: message\n"), "{answer:?}");
    assert_eq!(take_up(&served, &session, "1-0").status, 400);
}

#[test]
fn a_connection_that_may_not_last_is_closed_and_the_client_comes_back() {
    let mut slower = slow();
    slower["delay_ms"] = 5_000.into();
    let served = Served::start(
        &[("slow", vec![slower])],
        &["--mcp", "--mcp-stream-max", "1"],
    );
    let session = session(&served, "2025-11-25");
    let began = Instant::now();
    let first = http::receive(begin(&served, &session, "slow"));
    assert!(began.elapsed() >= Duration::from_millis(900), "{first:?}");
    assert!(first.events().is_empty(), "{first:?}");
    assert!(first.body.contains("id: 1-0"), "{first:?}");
    let mut comings = 0;
    loop {
        let events = take_up(&served, &session, "1-0").events();
        if let Some(last) = events.last() {
            assert_eq!(last["result"]["content"][0]["text"], "Because.");
            break;
        }
        comings += 1;
        assert!(comings < 60, "the answer never comes");
    }
    assert!(
        comings >= 2,
        "the connections of those who come back do not last either"
    );
    assert_eq!(served.place.statuses(), ["succeeded"]);
}

#[test]
fn a_connection_lasts_as_long_as_its_call_where_nothing_else_is_said() {
    let served = Served::start(&[("slow", vec![slow()])], &["--mcp"]);
    let session = session(&served, "2025-11-25");
    let events = http::receive(begin(&served, &session, "slow")).events();
    let text = events
        .last()
        .map(|it| it["result"]["content"][0]["text"].clone());
    assert_eq!(text, Some("Because.".into()), "{events:?}");
}
