use FailureClass::*;

use super::*;

#[test]
fn a_status_and_what_the_server_says_give_the_class() {
    let quota = r#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let llama = r#"{"error":{"code":400,"message":"the request is larger than what is available","type":"exceed_context_size_error"}}"#;
    let vllm = r#"{"object":"error","message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","code":400}"#;
    let tokens_a_minute = r#"{"error":{"message":"Request too large: tokens per minute","type":"tokens","code":"rate_limit_exceeded"}}"#;
    let xai = r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}"#;
    let groq = r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages"}}"#;
    let larger_than_a_minute = r#"{"error":{"message":"Request too large for model `llama-3.3-70b-versatile` in organization `org_0` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#;
    let cases = [
        (400, xai, Overflow),
        (400, groq, Overflow),
        (413, larger_than_a_minute, Overflow),
        (429, larger_than_a_minute, Overflow),
        (401, "", Auth),
        (403, "denied", Auth),
        (402, "{}", Quota),
        (429, quota, Quota),
        (429, r#"{"error":{"message":"slow down"}}"#, RateLimit),
        (
            429,
            r#"{"error":{"message":"too many tokens a minute"}}"#,
            RateLimit,
        ),
        (413, tokens_a_minute, RateLimit),
        (
            400,
            r#"{"error":{"code":"billing_not_active","message":"pay"}}"#,
            Quota,
        ),
        (408, "", Timeout),
        (504, "<html>gateway</html>", Timeout),
        (524, "", Timeout),
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"long"}}"#,
            Overflow,
        ),
        (400, llama, Overflow),
        (400, vllm, Overflow),
        (
            413,
            r#"{"error":"Too many tokens in the prompt"}"#,
            Overflow,
        ),
        (400, r#"{"detail":"the context window is full"}"#, Overflow),
        (400, r#"{"error":{"message":"unknown field"}}"#, Model),
        (404, r#"{"error":"model not found"}"#, Model),
        (413, "<html>413</html>", Model),
        (500, "", Model),
        (503, "", Model),
        (529, r#"{"error":{"type":"overloaded_error"}}"#, Model),
    ];
    for (status, body, expected) in cases {
        let class = ServerError::from_body(body.as_bytes()).class(Some(status));
        assert_eq!(class, expected, "{status} {body}");
    }
}

#[test]
fn an_error_inside_a_good_answer_is_classed_by_its_own_code() {
    let cases = [
        (r#"{"code":429,"message":"busy"}"#, RateLimit, Some(429)),
        (r#"{"code":"402","message":"pay"}"#, Quota, Some(402)),
        (r#"{"code":502,"message":"upstream"}"#, Model, Some(502)),
        (r#"{"code":200,"message":"strange"}"#, Model, None),
        (r#"{"code":"invalid_api_key","message":"no"}"#, Auth, None),
        (r#""model is loading""#, Model, None),
    ];
    for (error, class, status) in cases {
        let value = serde_json::from_str(error).expect("JSON");
        let failure = ServerError::from_value(&value).into_failure(false);
        assert_eq!((failure.class, failure.status), (class, status), "{error}");
    }
}

#[test]
fn the_message_is_the_servers_own_on_one_short_line() {
    let long = "x".repeat(600);
    let cases = [
        (
            r#"{"error":{"message":"first\nsecond"}}"#.to_owned(),
            "first second".to_owned(),
        ),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"out of memory"}}}"#
                .into(),
            "Provider returned error: out of memory".into(),
        ),
        (r#"{"error":"plain"}"#.into(), "plain".into()),
        (r#"{"detail":"Not Found"}"#.into(), "Not Found".into()),
        (
            "<h1>Bad\r\nGateway</h1>".into(),
            "<h1>Bad Gateway</h1>".into(),
        ),
        (long, format!("{}…", "x".repeat(500))),
    ];
    for (body, expected) in cases {
        assert_eq!(ServerError::from_body(body.as_bytes()).message, expected);
    }
}

fn anthropic(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
}

fn google(status: &str, message: &str, details: &str) -> String {
    format!(r#"{{"error":{{"message":"{message}","status":"{status}","details":{details}}}}}"#)
}

#[test]
fn the_errors_of_every_dialect_have_their_class() {
    let cases = [
        (
            400,
            anthropic(
                "invalid_request_error",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            Overflow,
        ),
        (
            400,
            anthropic(
                "invalid_request_error",
                "Your credit balance is too low to access the API",
            ),
            Quota,
        ),
        (
            401,
            anthropic("authentication_error", "invalid x-api-key"),
            Auth,
        ),
        (403, anthropic("permission_error", "no"), Auth),
        (
            413,
            anthropic("request_too_large", "Request exceeds the maximum size"),
            Overflow,
        ),
        (429, anthropic("rate_limit_error", "slow down"), RateLimit),
        (
            400,
            google(
                "INVALID_ARGUMENT",
                "API key not valid.",
                r#"[{"reason":"API_KEY_INVALID"}]"#,
            ),
            Auth,
        ),
        (
            400,
            google(
                "INVALID_ARGUMENT",
                "The input token count (9) exceeds the maximum number of tokens allowed (1).",
                "[]",
            ),
            Overflow,
        ),
        (
            429,
            google(
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota",
                "[]",
            ),
            RateLimit,
        ),
        (401, google("UNAUTHENTICATED", "no", "[]"), Auth),
        (403, google("PERMISSION_DENIED", "no", "[]"), Auth),
        (
            503,
            google("UNAVAILABLE", "The model is overloaded.", "[]"),
            Model,
        ),
    ];
    for (status, body, expected) in cases {
        let class = ServerError::from_body(body.as_bytes()).class(Some(status));
        assert_eq!(class, expected, "{status} {body}");
        let listed = format!("[{body}]");
        let class = ServerError::from_body(listed.as_bytes()).class(Some(status));
        assert_eq!(class, expected, "in a list: {status} {body}");
    }
}

#[test]
fn the_same_errors_inside_a_good_answer_have_the_same_class() {
    let cases = [
        (anthropic("overloaded_error", "Overloaded"), Model),
        (anthropic("rate_limit_error", "slow"), RateLimit),
        (anthropic("authentication_error", "no"), Auth),
        (anthropic("billing_error", "pay"), Quota),
        (anthropic("permission_error", "no"), Auth),
        (anthropic("request_too_large", "big"), Overflow),
        (google("PERMISSION_DENIED", "no", "[]"), Auth),
        (google("RESOURCE_EXHAUSTED", "slow", "[]"), RateLimit),
        (google("UNAUTHENTICATED", "no", "[]"), Auth),
        (
            r#"{"type":"error","code":"rate_limit_exceeded","message":"slow"}"#.into(),
            RateLimit,
        ),
        (r#"{"code":"server_error","message":"oops"}"#.into(), Model),
    ];
    for (body, expected) in cases {
        let failure = ServerError::from_body(body.as_bytes()).into_failure(true);
        assert_eq!(
            (failure.class, failure.billable),
            (expected, true),
            "{body}"
        );
    }
}

#[test]
fn a_wait_that_the_body_names_is_kept() {
    let cases = [
        (
            r#"{"error":{"details":[{"reason":"x"},{"retryDelay":"34.5s"}]}}"#,
            Some(34_500),
        ),
        (r#"{"error":{"metadata":{"retry_after":3}}}"#, Some(3_000)),
        (r#"{"error":{"retry_after_ms":250}}"#, Some(250)),
        (r#"{"error":{"retryAfter":"2"}}"#, Some(2_000)),
        (r#"{"error":{"retry_after":-1}}"#, None),
        (r#"{"error":{"details":{"retryDelay":"1s"}}}"#, None),
        ("{}", None),
    ];
    for (body, expected) in cases {
        let error = ServerError::from_body(body.as_bytes());
        assert_eq!(error.retry_after_ms, expected, "{body}");
    }
}
