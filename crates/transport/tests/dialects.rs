//! What differs between dialects on a real connection: the address, the headers, and how a server is asked
//! for its models.

mod common;

use bonded_kernel::{Dialect, FailureClass, Target};
use bonded_transport::{Credentials, Providers, Transport, offered};
use common::{Conversation, DIALECTS, answer, serve_once};

const KEY: &str = "sk-planted-0123456789abcdef";

/// A reply that says `ok`, whole and streamed.
fn good(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::Chat => (
            common::GOOD,
            r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#,
        ),
        Dialect::Responses => (
            r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}}"#,
        ),
        Dialect::Messages => (
            r#"{"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}"#,
            concat!(
                "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"ok\"}}",
                "\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}"
            ),
        ),
        Dialect::Gemini => (
            r#"{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}"#,
        ),
    }
}

fn conversation(dialect: Dialect, endpoint: &str, stream: bool) -> Conversation {
    let mut conversation = Conversation::with("local", endpoint);
    conversation.target.dialect = dialect;
    conversation.target.stream = stream;
    conversation
}

#[tokio::test]
async fn each_dialect_is_asked_at_its_own_address_with_its_own_headers() {
    for (dialect, name) in DIALECTS {
        for stream in [false, true] {
            let (whole, event) = good(dialect);
            let bytes = if stream {
                let kind = "content-type: text/event-stream\r\n";
                answer("200 OK", kind, &format!("data: {event}\n\n"))
            } else {
                answer("200 OK", "content-type: application/json\r\n", whole)
            };
            let (endpoint, server) = serve_once(bytes).await;
            let providers = Providers::new(|_| Credentials::with_key(KEY));
            let conversation = conversation(dialect, &endpoint, stream);
            let reply = providers.send(&conversation.request()).await;
            assert_eq!(
                reply.map(|reply| reply.text),
                Ok("ok".into()),
                "{name} {stream}"
            );

            let request = server.await.expect("the request").to_lowercase();
            let (path, header) = match (dialect, stream) {
                (Dialect::Chat, _) => (
                    "/v1/chat/completions",
                    format!("authorization: bearer {KEY}"),
                ),
                (Dialect::Responses, _) => {
                    ("/v1/responses", format!("authorization: bearer {KEY}"))
                }
                (Dialect::Messages, _) => ("/v1/messages", format!("x-api-key: {KEY}")),
                (Dialect::Gemini, false) => (
                    "/v1/models/m-1:generatecontent",
                    format!("x-goog-api-key: {KEY}"),
                ),
                (Dialect::Gemini, true) => (
                    "/v1/models/m-1:streamgeneratecontent?alt=sse",
                    format!("x-goog-api-key: {KEY}"),
                ),
            };
            assert!(
                request.starts_with(&format!("post {path} http/1.1\r\n")),
                "{request}"
            );
            assert!(request.contains(&format!("{header}\r\n")), "{request}");
            let has_version = request.contains("anthropic-version: 2023-06-01\r\n");
            assert_eq!(has_version, dialect == Dialect::Messages, "{request}");
            assert_eq!(
                request.matches(KEY).count(),
                1,
                "only in its header: {request}"
            );
        }
    }
}

#[tokio::test]
async fn headers_of_the_user_are_sent_and_never_reach_a_message() {
    let token = "tok-very-secret-0001";
    let credentials = move |_: &Target| Credentials {
        headers: vec![
            ("Authorization".into(), format!("Bearer {token}")),
            ("X-Team".into(), "blue".into()),
        ],
        missing: Some("set KEY_VARIABLE".into()),
        ..Credentials::default()
    };
    for (dialect, name) in DIALECTS {
        let echo = format!(r#"{{"error":{{"message":"bad token {token} of team blue"}}}}"#);
        let (endpoint, server) = serve_once(answer("401 Unauthorized", "", &echo)).await;
        let providers = Providers::new(credentials);
        let conversation = conversation(dialect, &endpoint, false);
        let failure = providers
            .send(&conversation.request())
            .await
            .expect_err("refused");
        let expected = "local: status 401: bad token *** of team blue";
        assert_eq!(
            (failure.class, failure.message.as_str()),
            (FailureClass::Auth, expected),
            "{name}"
        );
        let request = server.await.expect("the request").to_lowercase();
        assert!(
            request.contains(&format!("authorization: bearer {token}\r\n")),
            "{request}"
        );
        assert!(request.contains("x-team: blue\r\n"), "{request}");
    }
}

#[tokio::test]
async fn a_refusal_without_any_credentials_says_what_is_missing() {
    for (dialect, name) in DIALECTS {
        let (endpoint, _server) = serve_once(answer("401 Unauthorized", "", "")).await;
        let providers = Providers::new(|_| Credentials {
            missing: Some("set KEY_VARIABLE or providers.local.apiKey".into()),
            ..Credentials::default()
        });
        let conversation = conversation(dialect, &endpoint, false);
        let failure = providers
            .send(&conversation.request())
            .await
            .expect_err("refused");
        assert!(
            failure
                .message
                .contains("(set KEY_VARIABLE or providers.local.apiKey)"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_header_that_is_none_is_named_and_nothing_is_sent() {
    let providers = Providers::new(|_| Credentials {
        headers: vec![("X-Team".into(), "secret\u{1}value".into())],
        ..Credentials::default()
    });
    let conversation = conversation(Dialect::Chat, "http://127.0.0.1:9/v1", false);
    let failure = providers
        .send(&conversation.request())
        .await
        .expect_err("no header");
    assert_eq!(
        (failure.class, failure.billable),
        (FailureClass::Auth, false)
    );
    assert!(failure.message.contains("X-Team") && !failure.message.contains("secret"));
}

#[tokio::test]
async fn a_wait_that_only_the_body_names_is_kept() {
    let body = r#"{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34s"}]}}"#;
    let (endpoint, _server) = serve_once(answer("429 Slow", "retry-after: 2\r\n", body)).await;
    let providers = Providers::new(|_| Credentials::default());
    let conversation = conversation(Dialect::Gemini, &endpoint, false);
    let failure = providers
        .send(&conversation.request())
        .await
        .expect_err("limited");
    assert_eq!(
        (failure.class, failure.retry_after_ms),
        (FailureClass::RateLimit, Some(34_000))
    );
}

#[tokio::test]
async fn a_list_has_the_models_of_every_dialect_and_fails_like_a_request() {
    let openai = r#"{"object":"list","data":[{"id":"one"},{"id":"two"}]}"#;
    let google = r#"{"models":[{"name":"models/one"},{"name":"models/two"}]}"#;
    for (dialect, name) in DIALECTS {
        let list = if dialect == Dialect::Gemini {
            google
        } else {
            openai
        };
        let (endpoint, server) = serve_once(answer("200 OK", "", list)).await;
        let target = conversation(dialect, &format!("{endpoint}/"), false).target;
        let models = offered(&target, Credentials::with_key(KEY)).await;
        let models = models.expect("it answers").expect("it has a list");
        let ids: Vec<&str> = models.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["one", "two"], "{name}");
        let request = server.await.expect("the request").to_lowercase();
        let path = request.split(['?', ' ']).nth(1);
        assert_eq!(path, Some("/v1/models"), "{request}");
        assert!(request.contains(KEY));

        let (endpoint, _server) = serve_once(answer("401 Unauthorized", "", KEY)).await;
        let target = conversation(dialect, &endpoint, false).target;
        let failure = offered(&target, Credentials::with_key(KEY))
            .await
            .expect_err("refused");
        assert_eq!(
            (failure.class, failure.billable),
            (FailureClass::Auth, false)
        );
        assert!(!failure.message.contains(KEY));
    }
}
