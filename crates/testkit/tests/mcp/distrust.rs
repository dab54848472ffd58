//! Issuers that lie about themselves, and what a login says about it.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::auth::log_in;
use crate::issuer::{Answer, Issuer, metadata, says};

/// Another answer of the issuer, by its path.
type Lie = fn(&str) -> Answer;

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const ISSUER: &str = "/.well-known/oauth-authorization-server";

fn described(origin: &str, key: &str, value: Value) -> Answer {
    let mut metadata = metadata(origin);
    metadata[key] = value;
    says(200, &metadata)
}

/// What is answered otherwise at a path, and a part of what is said about it.
fn lies() -> [(&'static str, Lie, &'static str); 12] {
    [
        (
            RESOURCE,
            |_| says(200, &json!({ "resource": "https://evil.example/mcp" })),
            "another server",
        ),
        (
            RESOURCE,
            |_| {
                says(
                    200,
                    &json!({ "authorization_servers": ["http://evil.example"] }),
                )
            },
            "not encrypted",
        ),
        (
            RESOURCE,
            |_| says(200, &json!({ "authorization_servers": ["file:///etc"] })),
            "not a web address",
        ),
        (RESOURCE, |_| says(200, &json!([1])), "invalid type"),
        (
            RESOURCE,
            |_| Answer(200, String::new(), " ".repeat(2_000_000)),
            "1048576 bytes",
        ),
        (
            RESOURCE,
            |_| {
                Answer(
                    302,
                    "location: http://127.0.0.1:1/\r\n".into(),
                    String::new(),
                )
            },
            "does not",
        ),
        (
            ISSUER,
            |origin| described(origin, "issuer", json!("https://other.example")),
            "other.example",
        ),
        (
            ISSUER,
            |origin| described(origin, "code_challenge_methods_supported", json!(["plain"])),
            "S256",
        ),
        (
            ISSUER,
            |origin| described(origin, "token_endpoint", json!("http://10.0.0.1/token")),
            "not encrypted",
        ),
        (
            ISSUER,
            |origin| {
                described(
                    origin,
                    "authorization_endpoint",
                    json!("javascript:alert(1)"),
                )
            },
            "not a web address",
        ),
        ("/token", |_| says(500, &json!({})), "HTTP 500"),
        (
            "/token",
            |_| {
                says(
                    200,
                    &json!({ "access_token": "a\nb", "token_type": "Bearer" }),
                )
            },
            "no header may have",
        ),
    ]
}

#[tokio::test]
async fn an_issuer_that_cannot_be_trusted_gets_nothing() {
    for (path, lie, part) in lies() {
        let issuer =
            Issuer::twisted(move |origin, asked| (asked.path == path).then(|| lie(origin)));
        let temp = TempDir::new().expect("a directory");
        let error = log_in(&issuer, temp.path()).await;
        let error = error.expect_err("it is refused").to_string();
        assert!(error.contains(part), "{part} in {error}");
        let left = std::fs::read_dir(temp.path()).expect("it can be read");
        assert_eq!(left.count(), 0, "{part}");
        let state = issuer.state();
        let came_far = state.asked.iter().any(|asked| asked.path == "/authorize");
        assert_eq!(came_far, path == "/token", "{part}");
    }
}
