//! What servers are asked for the window of a model, what is shown to them, and what is made of what they say.

mod common;

use std::sync::{Arc, Mutex};

use bonded_kernel::{Dialect, Target};
use bonded_transport::{Credentials, Providers, Secret, Transport as _, tells_window};
use common::{answer, serve};

const KEY: &str = "sk-planted-0123456789";

struct Case {
    name: &'static str,
    family: &'static str,
    base: &'static str,
    /// What is at a path; all else is not found.
    paths: &'static [(&'static str, &'static str)],
    /// The lines that are asked, in their order.
    asked: &'static [&'static str],
    expected: Option<u64>,
}

const PROPS: &str = "/props?model=m-1&autoload=false";
const ASKED_PROPS: &str = "GET /props?model=m-1&autoload=false";

fn cases() -> Vec<Case> {
    let case = |name, family| Case {
        name,
        family,
        base: "/v1",
        paths: &[],
        asked: &[],
        expected: None,
    };
    vec![
        Case {
            paths: &[
                (PROPS, r#"{"default_generation_settings":{"n_ctx":8192}}"#),
                (
                    "/v1/models",
                    r#"{"data":[{"id":"m-1","meta":{"n_ctx":131072}}]}"#,
                ),
            ],
            asked: &[ASKED_PROPS],
            expected: Some(8192),
            ..case(
                "llama.cpp has a part of its context for each request",
                "llamacpp",
            )
        },
        Case {
            paths: &[(
                "/v1/models",
                r#"{"data":[{"id":"q.gguf","owned_by":"llamacpp","meta":{"n_ctx":2048}}]}"#,
            )],
            asked: &[ASKED_PROPS, "GET /v1/models"],
            expected: Some(2048),
            ..case("llama.cpp without properties", "llamacpp")
        },
        Case {
            paths: &[
                (PROPS, r#"{"default_generation_settings":{"n_ctx":4096}}"#),
                (
                    "/v1/models",
                    r#"{"data":[{"id":"q.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}"#,
                ),
            ],
            asked: &["GET /v1/models", ASKED_PROPS],
            expected: Some(4096),
            ..case("llama.cpp that nobody calls so", "custom")
        },
        Case {
            paths: &[(
                "/api/ps",
                r#"{"models":[{"name":"m-1:latest","model":"m-1:latest","context_length":32768}]}"#,
            )],
            asked: &["GET /api/ps"],
            expected: Some(32_768),
            ..case("Ollama with the model loaded", "ollama")
        },
        Case {
            paths: &[
                ("/api/ps", r#"{"models":[]}"#),
                (
                    "/api/show",
                    r#"{"parameters":"num_ctx 16384","model_info":{"llama.context_length":131072}}"#,
                ),
            ],
            asked: &["GET /api/ps", "POST /api/show"],
            expected: Some(16_384),
            ..case(
                "Ollama with a model that says what it is loaded with",
                "ollama",
            )
        },
        Case {
            paths: &[
                (
                    "/v1/models",
                    r#"{"data":[{"id":"m-1:latest","owned_by":"library"}]}"#,
                ),
                ("/api/ps", r#"{"models":[{"name":"m-1:latest"}]}"#),
                (
                    "/api/show",
                    r#"{"model_info":{"llama.context_length":131072}}"#,
                ),
            ],
            asked: &["GET /v1/models", "GET /api/ps", "POST /api/show"],
            expected: Some(4096),
            ..case(
                "an older Ollama that nobody calls so cuts at its default",
                "custom",
            )
        },
        Case {
            paths: &[(
                "/api/v0/models",
                r#"{"data":[{"id":"m-1","state":"loaded","loaded_context_length":4096,"max_context_length":131072}]}"#,
            )],
            asked: &["GET /api/v0/models"],
            expected: Some(4096),
            ..case("LM Studio", "lmstudio")
        },
        Case {
            base: "/gate/v1",
            paths: &[
                (
                    "/gate/v1/models",
                    r#"{"data":[{"id":"m-1","owned_by":"organization_owner"}]}"#,
                ),
                (
                    "/gate/api/v0/models",
                    r#"{"data":[{"id":"m-1","max_context_length":65536}]}"#,
                ),
            ],
            asked: &["GET /gate/v1/models", "GET /gate/api/v0/models"],
            expected: Some(65_536),
            ..case("LM Studio behind a path, not loaded", "custom")
        },
        Case {
            paths: &[(
                "/v1/models",
                r#"{"data":[{"id":"m-1","owned_by":"vllm","max_model_len":16384}]}"#,
            )],
            asked: &["GET /v1/models"],
            expected: Some(16_384),
            ..case("vLLM", "vllm")
        },
        Case {
            paths: &[(
                "/v1/models",
                r#"{"data":[{"id":"m-1","context_length":512}]}"#,
            )],
            asked: &["GET /v1/models"],
            expected: Some(512),
            ..case("a very small window is one", "custom")
        },
        Case {
            paths: &[(
                "/v1/models",
                r#"{"data":[{"id":"m-1","context_length":0}]}"#,
            )],
            asked: &["GET /v1/models"],
            ..case("nothing is no window", "custom")
        },
        Case {
            paths: &[("/v1/models", "<html>not here</html>")],
            asked: &["GET /v1/models"],
            ..case("a page", "custom")
        },
        Case {
            asked: &["GET /v1/models"],
            ..case("a server without a list", "custom")
        },
    ]
}

/// Asks a server of a case; gives what it said, and the requests as they came.
async fn asked(case: &Case) -> (Option<u64>, Vec<String>) {
    let heard = Arc::new(Mutex::new(vec![]));
    let (keep, paths) = (heard.clone(), case.paths);
    let (endpoint, task) = serve(move |mut connection| {
        let keep = keep.clone();
        async move {
            let request = connection.request().await?;
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let said = paths.iter().find(|(at, _)| *at == path);
            let close = "connection: close\r\n";
            let answer = match said {
                Some((_, body)) => answer("200 OK", close, body),
                None => answer("404 Not Found", close, "{}"),
            };
            keep.lock().expect("nobody panics").push(request);
            connection.say(&answer).await;
            None::<()>
        }
    })
    .await;
    let target = Target {
        family: Some(case.family.into()),
        ..Target::new("p", endpoint.replace("/v1", case.base), "m-1")
    };
    let providers = Providers::new(|_| Credentials {
        key: Secret::new(KEY),
        ..Credentials::default()
    });
    let said = providers.window(&target).await;
    task.abort();
    let heard = heard.lock().expect("nobody panics").clone();
    (said, heard)
}

#[tokio::test]
async fn each_server_is_asked_where_it_says_what_it_runs_with_and_for_no_more() {
    for case in cases() {
        let (said, heard) = asked(&case).await;
        assert_eq!(said, case.expected, "{}", case.name);
        let line = |request: &String| {
            let mut words = request.split(' ').take(2);
            let (method, path) = (words.next(), words.next());
            format!(
                "{} {}",
                method.unwrap_or_default(),
                path.unwrap_or_default()
            )
        };
        let lines: Vec<String> = heard.iter().map(line).collect();
        assert_eq!(lines, case.asked, "{}", case.name);
        for request in heard {
            let request = request.to_lowercase();
            assert!(
                request.contains(&format!("authorization: bearer {KEY}")),
                "{}",
                case.name
            );
        }
    }
}

#[tokio::test]
async fn a_list_that_is_longer_than_any_is_not_read() {
    for (empty, expected) in [(100, Some(2048)), (200_000, None)] {
        let list = format!(
            r#"{{"data":[{{"id":"m-1","max_model_len":2048}}{}]}}"#,
            ",{}".repeat(empty)
        );
        let case = Case {
            name: "a list",
            family: "vllm",
            base: "/v1",
            paths: Box::leak(Box::new([("/v1/models", &*list.leak())])),
            asked: &[],
            expected,
        };
        assert_eq!(asked(&case).await.0, expected, "{empty}");
    }
}

#[test]
fn services_whose_windows_are_in_the_tables_are_not_asked() {
    let target = |family: &str, endpoint: &str| Target {
        family: Some(family.into()),
        ..Target::new("p", endpoint, "m")
    };
    for (family, endpoint, expected) in [
        ("openai", "https://api.openai.com/v1", false),
        ("anthropic", "https://api.anthropic.com/v1", false),
        (
            "google",
            "https://generativelanguage.googleapis.com/v1beta",
            false,
        ),
        ("mistral", "https://api.mistral.ai/v1", false),
        ("openrouter", "https://openrouter.ai/api/v1", true),
        (
            "openrouter",
            "https://openrouter.ai.evil.example/api/v1",
            true,
        ),
        (
            "azure",
            "https://gateway.example/openai/deployments/d",
            false,
        ),
        ("script", "replies.jsonl", false),
        ("openai", "http://127.0.0.1:8080/v1", true),
        ("ollama", "http://127.0.0.1:11434/v1", true),
    ] {
        assert_eq!(
            tells_window(&target(family, endpoint)),
            expected,
            "{family} {endpoint}"
        );
    }
    let gemini = Target {
        dialect: Dialect::Gemini,
        ..target("google", "http://127.0.0.1/v1beta")
    };
    assert!(!tells_window(&gemini));
}

#[tokio::test]
async fn a_server_that_never_answers_or_never_ends_is_given_up() {
    let (endpoint, task) = serve(|mut connection| async move {
        connection.request().await?;
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        connection.say(head).await;
        // An endless list; the client hangs up long before the end of the test.
        for _ in 0..100_000 {
            let piece = "x".repeat(0x10000);
            connection
                .say(format!("10000\r\n{piece}\r\n").as_bytes())
                .await;
        }
        Some(())
    })
    .await;
    let providers = Providers::new(|_| Credentials::default());
    assert_eq!(
        providers.window(&Target::new("p", endpoint, "m-1")).await,
        None
    );
    task.abort();
    let closed = Target::new("p", "http://127.0.0.1:1/v1", "m-1");
    assert_eq!(providers.window(&closed).await, None);
}
