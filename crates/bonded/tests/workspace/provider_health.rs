//! Looks at the agent's provider: what they see, who is told, and that nobody waits for them.

use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::provider::{Provider, Reply, raw, silence};
use serde_json::{Value, json};

use crate::place::Place;
use crate::provider_shapes::{
    COMPLETIONS, KEY, MODEL, answer, automation, lm_studio_listing, openrouter_key,
    openrouter_listing, refused, server_with, until,
};
use crate::server::Server;

/// What `readyz` says of the provider, once it was looked at.
fn looked_at(server: &Server) -> Value {
    let ready = until(
        || server.nobody().get("/readyz").json(),
        |ready| ready["provider"]["status"] != "unchecked",
    );
    ready["provider"].clone()
}

fn doctor(server: &Server) -> String {
    let data = server.place.path("data").display().to_string();
    let report = server.place.bonded(&["doctor", "--data", &data]);
    assert_eq!(report.code, Some(0), "{report:?}");
    report.stdout
}

/// What is served under which path, what the configuration's URL ends in, and what comes of a look.
struct HealthRow {
    kind: &'static str,
    under: &'static str,
    served: Vec<(&'static str, Reply)>,
    status: &'static str,
    failure: Value,
    /// What the doctor says.
    told: &'static str,
}

fn health_rows() -> Vec<HealthRow> {
    let row = |kind, served: &[(&'static str, Reply)], status, failure, told| HealthRow {
        kind,
        under: "/v1",
        served: served.to_vec(),
        status,
        failure,
        told,
    };
    let (models, key) = ("GET /v1/models", "GET /v1/key");
    let other =
        answer(&json!({ "object": "list", "data": [{ "id": "qwen3-4b", "object": "model" }] }));
    let nothing = answer(&json!({ "object": "list", "data": [] }));
    let lost = answer(&json!({ "error": "Unexpected endpoint or method. (GET /models)" }));
    let refused = refused(
        401,
        &json!({ "error": { "message": "User not found.", "code": 401 } }),
    );
    let used_up = answer(
        &json!({ "data": { "label": "sk-or-v1-pla...def", "limit": 5, "limit_remaining": 0 } }),
    );
    let hostile = answer(&json!({ "data": [{ "id": format!("{KEY}\u{1b}[31m\nmore") }] }));
    let good_key = (key, openrouter_key());
    vec![
        row(
            "lmstudio",
            &[(models, lm_studio_listing())],
            "ok",
            Value::Null,
            "it answers and has it",
        ),
        row(
            "lmstudio",
            &[(models, other)],
            "model_not_listed",
            Value::Null,
            "only qwen3-4b",
        ),
        row(
            "lmstudio",
            &[(models, nothing)],
            "model_not_listed",
            Value::Null,
            "only none at all",
        ),
        HealthRow {
            under: "",
            ..row(
                "lmstudio",
                &[("GET /models", lost)],
                "unavailable",
                json!("malformed"),
                "usually ends in /v1",
            )
        },
        row(
            "lmstudio",
            &[],
            "unavailable",
            json!("model"),
            "usually ends in /v1",
        ),
        row(
            "openrouter",
            &[good_key.clone(), (models, openrouter_listing())],
            "ok",
            Value::Null,
            "it answers and has it",
        ),
        // What only looks like the router has no such page.
        row(
            "openrouter",
            &[(models, openrouter_listing())],
            "ok",
            Value::Null,
            "it answers and has it",
        ),
        row(
            "openrouter",
            &[(key, refused), (models, openrouter_listing())],
            "unavailable",
            json!("auth"),
            "set OPENROUTER_API_KEY",
        ),
        row(
            "openrouter",
            &[good_key, (models, hostile)],
            "model_not_listed",
            Value::Null,
            "only *** [31m more",
        ),
        row(
            "openrouter",
            &[(key, raw(401, "text/plain", "").echoing())],
            "unavailable",
            json!("auth"),
            "***",
        ),
        row(
            "openrouter",
            &[(key, used_up), (models, openrouter_listing())],
            "unavailable",
            json!("quota"),
            "add credits",
        ),
    ]
}

#[test]
fn a_look_at_the_provider_is_shown_by_readyz_by_the_doctor_and_as_a_warning() {
    for row in health_rows() {
        let provider = Provider::start();
        for (line, answer) in row.served {
            provider.always(line, answer);
        }
        let mut automation = automation(row.kind, &provider);
        automation["base_url"] = json!(format!("{}{}", provider.origin(), row.under));
        let server = server_with(&automation);
        let seen = looked_at(&server);
        assert_eq!(
            (&seen["kind"], &seen["status"], &seen["failure"]),
            (&json!(row.kind), &json!(row.status), &row.failure),
            "{}",
            row.told
        );
        assert!(seen["checked_at"].is_string(), "{seen}");
        if row.status != "ok" {
            let warning = server.process.line_with("provider: ");
            assert!(warning.contains(row.told), "{}: {warning}", row.told);
            assert!(!warning.contains("planted"), "{warning}");
        }
        let report = doctor(&server);
        assert!(report.contains(row.told), "{}: {report}", row.told);
        assert!(!report.contains("planted"), "{report}");
        let key = provider.asked_at("GET /v1/key");
        let shown = key
            .iter()
            .chain(&provider.asked_at("GET /v1/models"))
            .any(|it| it.headers.contains_key("authorization"));
        assert_eq!(
            shown,
            row.kind == "openrouter",
            "only who has a key is shown one"
        );
        assert!(
            provider.asked_at(COMPLETIONS).is_empty(),
            "no model is asked"
        );
    }
}

#[test]
fn a_provider_that_is_silent_or_away_keeps_nobody_waiting_and_is_seen_when_it_is_back() {
    let provider = Provider::start();
    provider.always("GET /v1/models", silence());
    let server = server_with(&automation("lmstudio", &provider));
    let begun = Instant::now();
    let first = server.nobody().get("/readyz").json();
    assert_eq!(first["provider"]["status"], "unchecked", "{first}");
    assert_eq!(
        (&first["status"], &first["provider"]["checked_at"]),
        (&json!("ready"), &Value::Null)
    );
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "it was waited for"
    );
    let seen = looked_at(&server);
    assert_eq!(
        (&seen["status"], &seen["failure"]),
        (&json!("unavailable"), &json!("timeout"))
    );
    assert!(
        server
            .process
            .line_with("start its server")
            .starts_with("provider: ")
    );
    provider.always("GET /v1/models", lm_studio_listing());
    until(
        || server.nobody().get("/api/readyz").json(),
        |ready| ready["provider"]["status"] == "ok",
    );
    assert!(
        server
            .process
            .line_with("is available again")
            .starts_with("provider: ")
    );
}

#[test]
fn many_who_ask_at_once_make_one_look_at_the_provider() {
    let provider = Provider::start();
    provider.always("GET /v1/models", lm_studio_listing());
    let server = server_with(&automation("lmstudio", &provider));
    thread::scope(|scope| {
        for _ in 0..8 {
            let nobody = server.nobody();
            scope.spawn(move || {
                (0..10).for_each(|_| assert_eq!(nobody.get("/readyz").status, 200));
            });
        }
    });
    assert_eq!(looked_at(&server)["status"], "ok");
    assert_eq!(provider.asked_at("GET /v1/models").len(), 1);
}

#[test]
fn a_server_that_starts_says_that_nobody_listens_where_its_provider_should_be_and_works_all_the_same()
 {
    let server = server_with(&json!({ "base_url": "http://127.0.0.1:9/v1" }));
    let warning = server.process.line_with("provider: ");
    assert!(
        warning.contains("lmstudio at http://127.0.0.1:9/v1") && warning.contains(MODEL),
        "{warning}"
    );
    let seen = looked_at(&server);
    assert_eq!(
        (&seen["status"], &seen["failure"]),
        (&json!("unavailable"), &json!("network"))
    );
    server.note("Works", "all the same");
}

#[test]
fn the_doctor_says_of_a_data_directory_what_is_wrong_with_it() {
    let place = Place::new();
    let data = place.path("data").display().to_string();
    let missing = place.bonded(&["doctor", "--data", &data]);
    assert_eq!(missing.code, Some(4), "{missing:?}");
    assert!(
        missing.stdout.contains("BROKEN") && missing.stdout.contains("bonded init"),
        "{missing:?}"
    );
    assert_eq!(place.bonded(&["init", &data]).code, Some(0));
    let config = place.path("data/config.json");
    std::fs::write(
        &config,
        r#"{ "automation": { "base_url": "127.0.0.1:1234" } }"#,
    )
    .expect("it can be written");
    let wrong = place.bonded(&["doctor", "--data", &data]);
    assert_eq!(wrong.code, Some(4), "{wrong:?}");
    assert!(wrong.stdout.contains("automation.base_url"), "{wrong:?}");
}
