//! Where a look at a provider goes, what it shows, and what it makes of the answer, for every kind of address.

mod common;

use std::sync::{Arc, Mutex};

use bonded_kernel::{Dialect, FailureClass, Target};
use bonded_transport::{Credentials, Health, check_health};
use common::{answer, serve};
use tokio::io::AsyncWriteExt as _;

const KEY: &str = "sk-planted-0123456789";
const LIST: &str = r#"{"data":[{"id":"m-1"}]}"#;
const GOOGLE: &str = r#"{"models":[{"name":"models/m-1"}]}"#;

/// A server and what it is asked.
struct Case {
    name: &'static str,
    provider: &'static str,
    dialect: Dialect,
    /// Under the server's address.
    base: &'static str,
    key_header: Option<&'static str>,
    model: &'static str,
    /// What is at a path; all else is not found.
    paths: &'static [(&'static str, &'static str, &'static str)],
    /// The paths that are looked at, and the header that the key is shown in.
    asked: &'static [&'static str],
    shown_in: &'static str,
    expected: Result<bool, FailureClass>,
}

impl Case {
    fn chat(name: &'static str) -> Self {
        Self {
            name,
            provider: "custom",
            dialect: Dialect::Chat,
            base: "/v1",
            key_header: None,
            model: "m-1",
            paths: &[],
            asked: &[],
            shown_in: "authorization: bearer",
            expected: Ok(true),
        }
    }
}

fn cases() -> Vec<Case> {
    use Dialect::{Chat, Gemini, Messages, Responses};
    const OK: &str = "200 OK";
    vec![
        Case {
            provider: "azure",
            base: "/openai/deployments/D?api-version=2025-04-01-preview",
            key_header: Some("api-key"),
            model: "D",
            paths: &[("/openai/models?api-version=2025-04-01-preview", OK, LIST)],
            asked: &["/openai/models?api-version=2025-04-01-preview"],
            shown_in: "api-key:",
            ..Case::chat("a deployment is under its resource, and no list names it")
        },
        Case {
            provider: "azure",
            dialect: Responses,
            base: "/openai/v1",
            key_header: Some("authorization"),
            model: "our-deployment",
            paths: &[("/openai/v1/models", OK, LIST)],
            asked: &["/openai/v1/models"],
            ..Case::chat("the address without a version, with a token")
        },
        Case {
            provider: "azure",
            base: "/openai/deployments/D?api-version=1",
            key_header: Some("api-key"),
            paths: &[("/openai/models?api-version=1", "401 Unauthorized", "{}")],
            asked: &["/openai/models?api-version=1"],
            shown_in: "api-key:",
            expected: Err(FailureClass::Auth),
            ..Case::chat("a key that Azure does not take")
        },
        Case {
            provider: "google",
            dialect: Gemini,
            base: "/v1beta",
            paths: &[("/v1beta/models?pageSize=1000", OK, GOOGLE)],
            asked: &["/v1beta/models?pageSize=1000"],
            shown_in: "x-goog-api-key:",
            ..Case::chat("Gemini lists many models on one page")
        },
        Case {
            provider: "anthropic",
            dialect: Messages,
            base: "",
            paths: &[("/v1/models?limit=1000", OK, LIST)],
            asked: &["/v1/models?limit=1000"],
            shown_in: "x-api-key:",
            ..Case::chat("Anthropic without the version in its address")
        },
        Case {
            provider: "anthropic",
            dialect: Messages,
            base: "/v1",
            key_header: Some("authorization"),
            model: "m-2",
            paths: &[("/v1/models?limit=1000", OK, LIST)],
            asked: &["/v1/models?limit=1000"],
            expected: Ok(false),
            ..Case::chat("Anthropic with a token, and without the model")
        },
        Case {
            provider: "bedrock",
            base: "/api/v1",
            paths: &[("/api/v1/models", OK, LIST)],
            asked: &["/api/v1/models"],
            ..Case::chat("a gateway of Bedrock")
        },
        Case {
            paths: &[("/v1/chat/completions", "405 Method Not Allowed", "{}")],
            asked: &["/v1/models", "/v1/chat/completions"],
            ..Case::chat("a server without a list")
        },
        Case {
            paths: &[("/v1/chat/completions", "401 Unauthorized", "{}")],
            asked: &["/v1/models", "/v1/chat/completions"],
            expected: Err(FailureClass::Auth),
            ..Case::chat("a server without a list that does not take the key")
        },
        Case {
            dialect: Chat,
            asked: &["/v1/models", "/v1/chat/completions"],
            expected: Err(FailureClass::Model),
            ..Case::chat("a wrong address")
        },
    ]
}

#[tokio::test]
async fn a_look_goes_where_the_models_are_and_shows_the_key_as_a_request_does() {
    for case in cases() {
        let seen = Arc::new(Mutex::new(vec![]));
        let (paths, noted) = (case.paths, seen.clone());
        let (endpoint, server) = serve(move |mut connection| {
            let noted = noted.clone();
            async move {
                let request = connection.request().await?;
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                let found = paths.iter().find(|(known, ..)| *known == path);
                let (_, status, body) = found.unwrap_or(&("", "404 Not Found", "{}"));
                noted.lock().expect("whole").push((path, request));
                connection
                    .say(answer(status, "connection: close\r\n", body))
                    .await;
                connection.stream.shutdown().await.ok();
                None::<()>
            }
        })
        .await;
        let root = endpoint.trim_end_matches("/v1");
        let target = Target {
            dialect: case.dialect,
            key_header: case.key_header.map(str::to_owned),
            ..Target::new(case.provider, format!("{root}{}", case.base), case.model)
        };
        let health = check_health(&target, Credentials::with_key(KEY)).await;
        server.abort();
        let seen = seen.lock().expect("whole").clone();
        let asked: Vec<&str> = seen.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(asked, case.asked, "{}", case.name);
        for (_, request) in &seen {
            let request = request.to_lowercase();
            assert!(request.starts_with("get "), "{}", case.name);
            let shown = format!("{} {KEY}", case.shown_in);
            assert!(request.contains(&shown), "{}: {request}", case.name);
            assert_eq!(request.matches(KEY).count(), 1, "{}", case.name);
        }
        let got = health.map(|Health { has_model, .. }| has_model);
        assert_eq!(got.map_err(|it| it.class), case.expected, "{}", case.name);
    }
}
