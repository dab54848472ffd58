//! Real connections to a server that does what servers do on their worst days.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_kernel::{Catalog, Dialect, Failure, FailureClass, Reply, ToolEffect, ToolSpec};
use bonded_transport::{Providers, Transport};
use common::{Connection, Conversation, GOOD, answer, serve, serve_once};
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;

const KEY: &str = "sk-planted-0123456789abcdef";

fn providers() -> Providers {
    Providers::from_variables(|name| (name == "THE_KEY").then(|| KEY.into()))
}

fn conversation(endpoint: &str) -> Conversation {
    let mut conversation = Conversation::with("local", endpoint);
    conversation.target.key_env = Some("THE_KEY".into());
    conversation
}

async fn send(endpoint: &str, stream: bool) -> Result<Reply, Failure> {
    let mut conversation = conversation(endpoint);
    conversation.target.stream = stream;
    let outcome = providers().send(&conversation.request()).await;
    if let Err(failure) = &outcome {
        assert!(!failure.message.contains("sk-plant"), "{}", failure.message);
        assert!(!failure.message.contains('\n'), "{}", failure.message);
        assert!(
            failure.message.starts_with("local: "),
            "{}",
            failure.message
        );
    }
    outcome
}

async fn fail(bytes: Vec<u8>, stream: bool) -> Failure {
    let (endpoint, _server) = serve_once(bytes).await;
    send(&endpoint, stream).await.expect_err("a failure")
}

#[tokio::test]
async fn a_request_carries_the_key_and_the_body_and_the_reply_carries_the_request_id() {
    let bytes = answer(
        "200 OK",
        "content-type: application/json\r\nx-request-id: req-7\r\n",
        GOOD,
    );
    let (endpoint, server) = serve_once(bytes).await;
    let reply = send(&endpoint, false).await.expect("a reply");
    assert_eq!(
        (reply.text.as_str(), reply.request_id.as_deref()),
        ("ok", Some("req-7"))
    );
    let request = server.await.expect("the request");
    let head = request.to_lowercase();
    assert!(
        head.starts_with("post /v1/chat/completions http/1.1\r\n"),
        "{request}"
    );
    assert!(
        head.contains(&format!("authorization: bearer {KEY}\r\n")),
        "{request}"
    );
    assert!(head.contains(concat!("user-agent: bonded/", env!("CARGO_PKG_VERSION"))));
    assert!(head.contains("content-type: application/json"));
    assert!(request.contains(r#""model":"m-1""#));
}

#[tokio::test]
async fn the_calls_of_a_reply_have_the_keys_of_the_tool() {
    let streamed = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":",
        "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"odd\",\"input\":{}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":",
        "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"_top\\\": 1}\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    let whole = r#"{"type":"message","content":[{"type":"tool_use","id":"c","name":"odd","input":{"_top":1}}],"stop_reason":"tool_use"}"#;
    for (kind, body) in [("text/event-stream", streamed), ("application/json", whole)] {
        let bytes = answer("200 OK", &format!("content-type: {kind}\r\n"), body);
        let (endpoint, server) = serve_once(bytes).await;
        let mut conversation = conversation(&endpoint);
        conversation.target.dialect = Dialect::Messages;
        let properties = serde_json::json!({ "$top": { "type": "integer" } });
        let odd = ToolSpec::closed("odd", ToolEffect::Read, "", &properties, &["$top"]);
        conversation.catalog = Catalog::new([odd]).expect("a catalogue");
        let reply = providers().send(&conversation.request()).await;
        let reply = reply.expect("a reply");
        assert_eq!(reply.calls[0].arguments, r#"{"$top":1}"#, "{kind}");
        let request = server.await.expect("the request");
        assert!(request.contains(r#""required":["_top"]"#), "{request}");
    }
}

#[tokio::test]
async fn every_status_becomes_its_class_and_is_not_billed() {
    use FailureClass::*;
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY}\nreally"}}}}"#);
    let overflow = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
    let cases = [
        ("401 Unauthorized", "", echo.as_str(), Auth, None),
        ("402 Payment Required", "", "{}", Quota, None),
        (
            "429 Too Many Requests",
            "retry-after: 3\r\n",
            "{}",
            RateLimit,
            Some(3_000),
        ),
        (
            "429 Too Many Requests",
            "x-ratelimit-reset-tokens: 6m0s\r\n",
            "",
            RateLimit,
            Some(360_000),
        ),
        (
            "503 Service Unavailable",
            "retry-after-ms: 250\r\n",
            "",
            Model,
            Some(250),
        ),
        (
            "529 Overloaded",
            "retry-after: 1\r\n",
            "",
            Model,
            Some(1_000),
        ),
        (
            "500 Internal Server Error",
            "x-ratelimit-reset-tokens: 9s\r\n",
            "",
            Model,
            None,
        ),
        ("504 Gateway Timeout", "", "", Timeout, None),
        ("400 Bad Request", "", overflow, Overflow, None),
        (
            "404 Not Found",
            "",
            r#"{"error":"no such model"}"#,
            Model,
            None,
        ),
    ];
    for (status, headers, body, class, retry_after_ms) in cases {
        let headers = format!("request-id: r-1\r\n{headers}");
        let failure = fail(answer(status, &headers, body), false).await;
        assert_eq!(failure.class, class, "{status}");
        assert_eq!(failure.retry_after_ms, retry_after_ms, "{status}");
        assert_eq!(
            failure.status.map(|s| s.to_string()).as_deref(),
            Some(&status[..3])
        );
        assert_eq!(failure.request_id.as_deref(), Some("r-1"), "{status}");
        assert!(!failure.billable, "{status}");
        assert!(
            failure.message.contains(&status[..3]),
            "{}",
            failure.message
        );
    }
}

#[tokio::test]
async fn a_refused_request_without_a_key_says_which_variable_is_missing() {
    let (endpoint, server) = serve_once(answer("401 Unauthorized", "", "")).await;
    let mut conversation = conversation(&endpoint);
    conversation.target.key_env = Some("OTHER_KEY".into());
    let failure = providers()
        .send(&conversation.request())
        .await
        .expect_err("refused");
    assert!(
        failure.message.contains("OTHER_KEY is not set"),
        "{}",
        failure.message
    );
    let request = server.await.expect("the request").to_lowercase();
    assert!(!request.contains("authorization"));
}

#[tokio::test]
async fn a_connection_that_is_cut_in_the_body_is_a_network_failure_that_may_be_billed() {
    let event = r#"data: {"choices":[{"delta":{"content":"half"}}]}"#;
    let event = format!("{event}\n\n");
    let size = event.len();
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{event}\r\n"
    );
    let no_length = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{event}");
    let cases = [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{\"choices\":".to_owned(),
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"cho".to_owned(),
            false,
        ),
        (chunked, true),
        (no_length, true),
        (String::new(), false),
    ];
    for (bytes, stream) in cases {
        let failure = fail(bytes.clone().into_bytes(), stream).await;
        assert_eq!(
            failure.class,
            FailureClass::Network,
            "{bytes} {}",
            failure.message
        );
        assert!(failure.billable, "{bytes}");
    }
}

#[tokio::test]
async fn a_server_that_nobody_listens_at_is_a_network_failure_that_costs_nothing() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let endpoints = [
        format!("http://{address}/v1"),
        format!("ftp://user:{KEY}@127.0.0.1/v1"),
        "no url".into(),
    ];
    let refused = send(&endpoints[0], false).await.expect_err("nobody there");
    let expected = format!("local: cannot connect to http://{address}: ");
    assert!(
        refused.message.starts_with(&expected),
        "{}",
        refused.message
    );
    for endpoint in endpoints {
        let failure = send(&endpoint, false).await.expect_err("nobody there");
        assert_eq!(failure.class, FailureClass::Network, "{}", failure.message);
        assert!(!failure.billable, "{}", failure.message);
    }
}

/// Says this much, then waits until the client leaves; gives whether it left.
async fn stall(bytes: &'static str) -> (String, tokio::task::JoinHandle<bool>) {
    serve(move |mut connection: Connection| async move {
        connection.request().await?;
        connection.say(bytes).await;
        let left = connection.stream.read(&mut [0; 16]).await;
        Some(matches!(left, Ok(0) | Err(_)))
    })
    .await
}

#[tokio::test]
async fn a_server_that_is_too_slow_is_left_with_a_timeout_that_may_be_billed() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let begun = concat!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n"
    );
    for bytes in [
        "",
        head,
        begun,
        "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{",
    ] {
        let (endpoint, server) = stall(bytes).await;
        let mut conversation = conversation(&endpoint);
        conversation.target.timeout_ms = 150;
        conversation.target.stream = true;
        let failure = providers()
            .send(&conversation.request())
            .await
            .expect_err("late");
        assert_eq!(failure.class, FailureClass::Timeout, "{bytes}");
        assert!(failure.billable && failure.latency_ms >= 150, "{bytes}");
        assert!(failure.message.contains("150 ms"), "{}", failure.message);
        assert!(
            server.await.expect("the server ends"),
            "the connection was closed"
        );
    }
}

#[tokio::test]
async fn an_error_status_is_kept_even_if_its_body_never_ends() {
    let (endpoint, _server) = stall("HTTP/1.1 429 Slow\r\ncontent-length: 99\r\n\r\n{").await;
    let mut conversation = conversation(&endpoint);
    conversation.target.timeout_ms = 150;
    let failure = providers()
        .send(&conversation.request())
        .await
        .expect_err("limited");
    assert_eq!(
        (failure.class, failure.status),
        (FailureClass::RateLimit, Some(429))
    );
    assert!(failure.latency_ms < 4_000, "{} ms", failure.latency_ms);
}

#[tokio::test]
async fn dropping_the_future_closes_the_connection() {
    let asked = Arc::new(Notify::new());
    let tell = Arc::clone(&asked);
    let (endpoint, server) = serve(move |mut connection: Connection| {
        let tell = Arc::clone(&tell);
        async move {
            connection.request().await?;
            tell.notify_one();
            let left = connection.stream.read(&mut [0; 16]).await;
            Some(matches!(left, Ok(0) | Err(_)))
        }
    })
    .await;
    let conversation = conversation(&endpoint);
    let providers = providers();
    let sending = providers.send(&conversation.request());
    tokio::select! {
        outcome = sending => panic!("the server never answers: {outcome:?}"),
        () = asked.notified() => {}
    }
    assert!(server.await.expect("the server ends"));
}

#[tokio::test]
async fn a_reply_of_twenty_mebibytes_is_given_up_whether_or_not_it_says_so() {
    const MIB: usize = 1024 * 1024;
    let heads = [
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20971520\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ",
    ];
    for head in heads {
        let (endpoint, server) = serve(move |mut connection: Connection| async move {
            connection.request().await?;
            connection.say(head).await;
            let mut written = 0;
            while written < 20 && connection.say(vec![b'x'; MIB]).await {
                written += 1;
            }
            Some(written)
        })
        .await;
        let failure = send(&endpoint, true).await.expect_err("too large");
        assert_eq!(failure.class, FailureClass::Malformed, "{head}");
        assert!(
            failure.message.contains("larger than 16777216 bytes"),
            "{}",
            failure.message
        );
        assert!(failure.billable);
        let written = server.await.expect("the server ends");
        assert!(written <= 20, "{head}");
        if head.contains("content-length") {
            assert!(written < 16, "given up before it was read: {written}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_message_says_where_it_goes() {
    for status in [
        "301 Moved Permanently",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let (elsewhere, other) = serve_once(answer("200 OK", "", GOOD)).await;
        let headers = format!("location: {elsewhere}/chat/completions\r\n");
        let failure = fail(answer(status, &headers, ""), false).await;
        assert_eq!(failure.class, FailureClass::Model, "{status}");
        assert!(failure.message.contains(&elsewhere), "{}", failure.message);
        assert!(!other.is_finished(), "the other host was asked");
        other.abort();
    }
}

#[tokio::test]
async fn whole_and_streamed_requests_share_one_connection() {
    let events = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let size = events.len();
    let streamed = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{events}\r\n0\r\n\r\n"
    );
    let answers = [
        answer("200 OK", "", GOOD),
        streamed.into_bytes(),
        answer("429 Slow", "", "{}"),
        answer("200 OK", "", GOOD),
    ];
    let count = answers.len();
    let (endpoint, server) = serve(move |mut connection: Connection| {
        let answers = answers.clone();
        async move {
            for answer in &answers {
                connection.request().await?;
                connection.say(answer).await;
            }
            Some(())
        }
    })
    .await;
    let providers = providers();
    let mut conversation = conversation(&endpoint);
    for nth in 0..count {
        conversation.target.stream = nth == 1;
        let outcome = providers.send(&conversation.request()).await;
        assert_eq!(outcome.is_ok(), nth != 2, "{outcome:?}");
    }
    server.await.expect("one connection served them all");
}

#[tokio::test]
async fn a_server_that_keeps_the_body_open_after_the_last_event_is_not_waited_for() {
    let (endpoint, _server) = stall(concat!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
    ))
    .await;
    let begun = Instant::now();
    let reply = send(&endpoint, true).await.expect("a reply");
    assert_eq!(reply.text, "ok");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "well before the timeout"
    );
}

#[tokio::test]
async fn a_whole_reply_to_a_streaming_request_and_events_to_a_plain_one_are_understood() {
    let whole = answer("200 OK", "content-type: application/json\r\n", GOOD);
    let events = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let streamed = answer(
        "200 OK",
        "content-type: text/event-stream; charset=utf-8\r\n",
        events,
    );
    for (bytes, stream) in [(whole, true), (streamed, false)] {
        let (endpoint, _server) = serve_once(bytes).await;
        let reply = send(&endpoint, stream).await;
        assert_eq!(reply.map(|reply| reply.text), Ok("ok".into()));
    }
}

#[tokio::test]
async fn a_key_that_a_server_echoes_never_reaches_a_message() {
    let padding = "x".repeat(190);
    let cases = [
        answer(
            "200 OK",
            "content-type: application/json\r\n",
            &format!("not json {KEY}"),
        ),
        answer(
            "200 OK",
            "content-type: application/json\r\n",
            &format!("{padding}{KEY}"),
        ),
        answer(
            "200 OK",
            "content-type: application/json\r\n",
            &format!(r#"{{"error":"{KEY}"}}"#),
        ),
        answer(
            "200 OK",
            "content-type: text/event-stream\r\n",
            &format!("event: error\ndata: {KEY}\n\n"),
        ),
        answer(
            "200 OK",
            "content-type: text/event-stream\r\n",
            &format!("data: {{{KEY}\n\n"),
        ),
        answer("403 Forbidden", "", KEY),
        answer("500 Oh", "", &format!("{}{KEY}", "y".repeat(490))),
        answer(
            "302 Found",
            &format!("location: http://example.org/?key={KEY}\r\n"),
            "",
        ),
    ];
    for bytes in cases {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let failure = fail(bytes, true).await;
        assert!(
            failure.message.contains("***"),
            "{shown}\n{}",
            failure.message
        );
    }
    let header = format!("x-request-id: {KEY}\r\n");
    let failure = fail(answer("500 Oh", &header, ""), false).await;
    assert_eq!(failure.request_id.as_deref(), Some("***"));
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_is_not_sent_and_not_shown() {
    let providers = Providers::from_variables(|_| Some("sk-plant\u{7}ed".into()));
    let conversation = conversation("http://127.0.0.1:9/v1");
    let failure = providers
        .send(&conversation.request())
        .await
        .expect_err("unusable");
    assert_eq!(
        (failure.class, failure.billable),
        (FailureClass::Auth, false)
    );
    assert!(!failure.message.contains("sk-plant"));
}
