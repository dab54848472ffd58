//! What the model is shown of an answer, and how much of it is read.

use std::io::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bonded_kernel::Outcome;
use bonded_tools::rest::JsonStream;
use serde_json::json;

use crate::rest::{settings, world};
use crate::rest_server::Server;

#[tokio::test]
async fn what_a_server_answers_is_shown_or_described() {
    let rows: [(u16, &str, &[u8], Outcome, &str); 7] = [
        (
            200,
            "content-type: application/json; charset=utf-8\r\n",
            b"[1, 2 ]",
            Outcome::Ok,
            "[1,2]",
        ),
        (
            200,
            "content-type: text/plain\r\n",
            b"a\xffb",
            Outcome::Ok,
            "a\u{fffd}b",
        ),
        (
            200,
            "content-type: image/png\r\n",
            b"\x89PNG",
            Outcome::Ok,
            "[binary answer: image/png, 4 bytes]",
        ),
        (
            200,
            "content-encoding: gzip\r\n",
            b"\x1f\x8b",
            Outcome::Ok,
            "[binary answer: unknown type, compressed as gzip, 2 bytes]",
        ),
        (204, "", b"", Outcome::Ok, "(an empty answer, status 204)"),
        (
            404,
            "",
            b"no such thing",
            Outcome::Failed,
            "(tool failed: http_status: 404 Not Found: no such thing)",
        ),
        (
            503,
            "",
            b"",
            Outcome::Failed,
            "(tool failed: http_status: 503 Service Unavailable: (an empty answer, status 503))",
        ),
    ];
    for (status, headers, body, outcome, text) in rows {
        let server = Server::saying(status, headers, body);
        let output = world(&settings("GET", &server.url("/")))
            .call("rest__x", json!({}))
            .await;
        assert_eq!((output.outcome, output.text.as_str()), (outcome, text));
    }
    let gone = settings("GET", "http://127.0.0.1:1/?api_key=hunter2");
    let output = world(&gone).call("rest__x", json!({})).await;
    assert!(
        output
            .text
            .starts_with("(tool failed: http_unreachable: 127.0.0.1: "),
        "{}",
        output.text
    );
    assert!(!output.text.contains("hunter2"), "{}", output.text);
}

#[tokio::test]
async fn an_endless_answer_is_cut_and_a_slow_one_ends_with_its_time() {
    let endless = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\ncontent-type: text/plain\r\n\r\n")?;
        loop {
            stream.write_all(&[b'x'; 64 << 10])?;
        }
    });
    let output = world(&settings("GET", &endless.url("/")))
        .call("rest__x", json!({}))
        .await;
    assert_eq!(output.outcome, Outcome::Ok);
    assert!(
        output
            .text
            .contains("[CUT] The answer is longer than 10485760 bytes"),
        "{:.200}",
        output.text
    );
    let dripping = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\n\r\n")?;
        loop {
            stream.write_all(b"x")?;
            sleep(Duration::from_millis(20));
        }
    });
    let mut world = world(&settings("GET", &dripping.url("/")));
    world.limits.tool_timeout_ms = 200;
    let began = Instant::now();
    let output = world.call("rest__x", json!({})).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// What a tool makes of this stream.
async fn streamed(settings_of: JsonStream, answer: Server) -> (Outcome, String) {
    let mut described = settings("GET", &answer.url("/"));
    described.streaming = Some(settings_of);
    let output = world(&described).call("rest__x", json!({})).await;
    (output.outcome, output.text)
}

#[tokio::test]
async fn a_stream_of_json_lines_becomes_one_text() {
    let lines = concat!(
        "data: {\"kind\":\"t\",\"text\":\"Hel\"}\n\n",
        "data: {\"kind\":\"t\",\"text\":\"lo\"}\n\n",
        "data: {\"kind\":\"end\"}\n\n",
    );
    let named = || JsonStream {
        line_prefix: "data:".into(),
        discriminator_field: "kind".into(),
        done_value: "end".into(),
        token_value: "t".into(),
        token_field: "text".into(),
        ..JsonStream::default()
    };
    // The connection stays open: the last line alone ends the answer.
    let open = Server::start(move |_, stream| {
        stream.write_all(b"HTTP/1.1 200 X\r\n\r\n")?;
        stream.write_all(lines.as_bytes())?;
        sleep(Duration::from_secs(60));
        Ok(())
    });
    assert_eq!(streamed(named(), open).await, (Outcome::Ok, "Hello".into()));
    let refused = Server::saying(500, "", "data: {\"kind\":\"end\"}\n");
    let (outcome, text) = streamed(named(), refused).await;
    assert_eq!(outcome, Outcome::Failed);
    assert!(text.contains("http_status: 500"), "{text}");
}

#[tokio::test]
async fn a_stream_is_bounded_in_bytes_and_in_time() {
    let endless = || {
        Server::start(|_, stream| {
            stream.write_all(b"HTTP/1.1 200 X\r\n\r\n")?;
            loop {
                stream.write_all(b"{\"type\":\"token\",\"content\":\"x\"}\n")?;
                sleep(Duration::from_millis(1));
            }
        })
    };
    let short = JsonStream {
        bytes_max: 200,
        ..JsonStream::default()
    };
    let (outcome, text) = streamed(short, endless()).await;
    assert_eq!(outcome, Outcome::Ok);
    assert!(
        text.starts_with("[CUT] The answer is longer than 200 bytes"),
        "{text}"
    );
    let brief = JsonStream {
        timeout_ms: Some(100),
        ..JsonStream::default()
    };
    let (outcome, _) = streamed(brief, endless()).await;
    assert_eq!(outcome, Outcome::TimedOut);
}
