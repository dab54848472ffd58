//! Clients that wait, that are too many, and that go away.

use std::io::Read as _;
use std::net::TcpStream;

use serde_json::Value;

use crate::http;
use crate::served::{Served, never, question, question_with, report};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn a_client_that_vanishes_cancels_its_run_and_the_end_is_kept() {
    let rows = [question("agent"), question_with("agent", "stream", true)];
    for asked in rows {
        let served = Served::start(&[("agent", vec![never()])], &[]);
        let waiting = served.begin(CHAT, "", &asked);
        served.place.wait_for(&["running"]);
        drop(waiting);
        served.place.wait_for(&["cancelled"]);
        assert_eq!(served.get("/health").status, 200);
    }
}

#[test]
fn a_client_that_vanishes_while_it_waits_for_its_turn_leaves_no_run() {
    let served = Served::start(&[("agent", vec![never()])], &["--concurrency", "1"]);
    let first = served.begin(CHAT, "", &question("agent"));
    served.place.wait_for(&["running"]);
    let streamed = question_with("agent", "stream", true);
    let mut second = served.begin(CHAT, "", &streamed);
    // Its stream has begun, so it stands in line.
    second.read_exact(&mut [0; 16]).expect("the stream begins");
    drop(second);
    drop(first);
    served.place.wait_for(&["cancelled"]);
    let _third = served.begin(CHAT, "", &question("agent"));
    served.place.wait_for(&["running", "cancelled"]);
}

#[test]
fn requests_beyond_those_that_run_wait_and_requests_beyond_those_are_sent_away() {
    let served = Served::start(&[("agent", vec![never()])], &["--concurrency", "1"]);
    let asked = question_with("agent", "stream", true);
    let in_line: Vec<TcpStream> = (0..11).map(|_| begun(&served, &asked)).collect();
    served.place.wait_for(&["running"]);
    let reply = served.chat(&question("agent"));
    assert_eq!((reply.status, reply.code().as_str()), (429, "busy"));
    assert_eq!(reply.header("retry-after"), Some("5"));
    drop(in_line);
}

/// A stream whose answer has begun.
fn begun(served: &Served, asked: &Value) -> TcpStream {
    let mut stream = served.begin(CHAT, "", asked);
    stream.read_exact(&mut [0; 16]).expect("the stream begins");
    stream
}

#[test]
fn many_clients_are_all_answered_however_few_run_at_once() {
    let served = Served::start(
        &[("agent", vec![report("Because.")])],
        &["--concurrency", "1"],
    );
    let asked: Vec<TcpStream> = (0..8)
        .map(|_| served.begin(CHAT, "", &question("agent")))
        .collect();
    for stream in asked {
        let reply = http::receive(stream);
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    assert_eq!(served.place.statuses(), ["succeeded"; 8]);
}

#[test]
fn one_connection_can_ask_again_and_again() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &[]);
    let mut stream = http::connect(&served.address);
    let body = question("agent").to_string();
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for _ in 0..3 {
        std::io::Write::write_all(&mut stream, request.as_bytes()).expect("the server reads");
        let mut text = String::new();
        while !text.contains("total_tokens") || !text.ends_with("}}") {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).expect("the server answers");
            assert!(count > 0, "the connection was closed after {text:?}");
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
}
