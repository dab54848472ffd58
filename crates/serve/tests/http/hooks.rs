//! Rules without a model over HTTP: secrets, messages from other servers, notices.

use bonded_testkit::http::Reply;
use bonded_testkit::patience::PATIENCE;
use bonded_workspace::HookSecret;
use serde_json::{Value, json};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::server::{Client, Server, code};

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("the clock is right").as_secs()
}

/// A rule that leaves a notice for each message.
fn hook(workspace: &str) -> Value {
    json!({
        "workspace_id": workspace,
        "trigger": "webhook",
        "condition_json": { "field": "event.body.kind", "op": "eq", "value": "order" },
        "action_json": { "kind": "notify", "title": "An order" },
    })
}

fn made(client: &Client, rule: &Value) -> Value {
    client.post("/api/automation/rules", rule).is(201)
}

fn text(value: &Value, field: &str) -> String {
    let text = value[field].as_str();
    text.unwrap_or_else(|| panic!("{field} in {value}"))
        .to_owned()
}

/// Sends a message as it is said to be signed.
fn send(server: &Server, hook: &str, headers: [&str; 3], body: &str) -> Reply {
    let [id, timestamp, signature] = headers;
    let headers = format!(
        "\r\nwebhook-id: {id}\r\nwebhook-timestamp: {timestamp}\r\nwebhook-signature: {signature}"
    );
    let line = format!("POST /api/hooks/{hook}");
    server.nobody().send(&line, &headers, body.as_bytes())
}

fn signed(server: &Server, rule: &Value, id: &str, at: u64, body: &str) -> Reply {
    let secret = HookSecret::read(&text(rule, "secret")).expect("it is a secret");
    let signature = secret.sign(id, at, body.as_bytes());
    send(
        server,
        &text(rule, "rule_id"),
        [id, &at.to_string(), &signature],
        body,
    )
}

/// Asks until it is so.
fn until(server: &Server, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let found = server.owner.get(path).json();
        if holds(&found) {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found}");
        std::thread::yield_now();
    }
}

#[test]
fn a_signed_message_fires_its_rule_once_and_leaves_a_notice_that_each_person_reads() {
    let server = Server::start();
    let workspace = server.workspace();
    let rule = made(&server.owner, &hook(&workspace));
    let body = json!({ "kind": "order", "total": 12 }).to_string();
    let first = signed(&server, &rule, "msg-1", now(), &body).is(202);
    let again = signed(&server, &rule, "msg-1", now(), &body).is(202);
    assert_eq!(first, again);
    let other = json!({ "kind": "else" }).to_string();
    signed(&server, &rule, "msg-2", now(), &other).is(202);
    signed(&server, &rule, "msg-3", now(), &body).is(202);
    let path = format!("/api/notices?workspace_id={workspace}");
    let notices = until(&server, &path, |found| found["unread"] == 2);
    assert_eq!(notices["notices"][0]["title"], "An order");
    assert_eq!(notices["notices"][0]["rule_id"], rule["rule_id"]);
    let runs = server
        .owner
        .get(&format!("/api/automation/runs?workspace_id={workspace}"))
        .json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(2), "{runs}");
    // Marks are each person's own.
    let (_, viewer) = server.user("ada", Some("viewer"));
    let one = &notices["notices"][0]["notice_id"];
    let read = json!({ "workspace_id": workspace, "notice_ids": [one] });
    assert_eq!(viewer.post("/api/notices/read", &read).is(200)["unread"], 1);
    assert_eq!(
        viewer.get(&format!("{path}&unread=true")).json()["notices"][0]["is_read"],
        false
    );
    assert_eq!(server.owner.get(&path).json()["unread"], 2);
    let all = json!({ "workspace_id": workspace, "all": true });
    assert_eq!(
        server.owner.post("/api/notices/read", &all).is(200)["unread"],
        0
    );
    let neither = json!({ "workspace_id": workspace });
    assert_eq!(
        code(&viewer.post("/api/notices/read", &neither)),
        "BAD_REQUEST"
    );
}

#[test]
fn whatever_is_wrong_with_a_message_is_refused_in_the_same_words() {
    let server = Server::start();
    let workspace = server.workspace();
    let rule = made(&server.owner, &hook(&workspace));
    let other = made(&server.owner, &hook(&workspace));
    let mut off = hook(&workspace);
    off["enabled"] = json!(false);
    let off = made(&server.owner, &off);
    let body = json!({ "kind": "order" }).to_string();
    let at = now();
    let secret = |rule: &Value| HookSecret::read(&text(rule, "secret")).expect("a secret");
    let right = secret(&rule).sign("m", at, body.as_bytes());
    let (hook, time) = (text(&rule, "rule_id"), at.to_string());
    let unknown = "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
    let old = (at - 301).to_string();
    let old_signature = secret(&rule).sign("m", at - 301, body.as_bytes());
    let early = (at + 400).to_string();
    let early_signature = secret(&rule).sign("m", at + 400, body.as_bytes());
    let of_other = secret(&other).sign("m", at, body.as_bytes());
    let of_off = secret(&off).sign("m", at, body.as_bytes());
    let rows: [(&str, [&str; 3], &str); 11] = [
        (&hook, ["m", &time, "v1,AAAA"], &body),
        (&hook, ["m", &time, ""], &body),
        (&hook, ["n", &time, &right], &body),
        (&hook, ["m", &time, &right], "{}"),
        (&hook, ["m", &old, &right], &body),
        (&hook, ["m", &old, &old_signature], &body),
        (&hook, ["m", &early, &early_signature], &body),
        (&hook, ["m", &time, &of_other], &body),
        (unknown, ["m", &time, &right], &body),
        ("none", ["m", &time, &right], &body),
        (&text(&off, "rule_id"), ["m", &time, &of_off], &body),
    ];
    let mut said = vec![];
    for (hook, headers, body) in rows {
        let refused = send(&server, hook, headers, body);
        assert_eq!(refused.status, 401, "{headers:?}: {refused:?}");
        let mut refused = refused.json();
        refused["request_id"] = Value::Null;
        said.push(refused);
    }
    said.dedup();
    assert_eq!(said.len(), 1, "{said:?}");
    // What is signed and is no JSON, or too long, is told apart.
    let broken = signed(&server, &rule, "m-2", at, "{");
    assert_eq!(
        (broken.status, code(&broken).as_str()),
        (400, "BAD_REQUEST")
    );
    let long = format!("\"{}\"", "x".repeat(70_000));
    assert_eq!(
        code(&signed(&server, &rule, "m-3", at, &long)),
        "PAYLOAD_TOO_LARGE"
    );
    let runs = server
        .owner
        .get(&format!("/api/automation/runs?workspace_id={workspace}"))
        .json();
    assert_eq!(runs["runs"], json!([]));
}

#[test]
fn a_secret_is_shown_when_it_is_made_and_never_again() {
    let server = Server::start();
    let workspace = server.workspace();
    let key = "\r\nIdempotency-Key: once";
    let rule = hook(&workspace);
    let first = server
        .owner
        .keyed("POST", "/api/automation/rules", key, &rule)
        .is(201);
    let again = server
        .owner
        .keyed("POST", "/api/automation/rules", key, &rule)
        .is(201);
    assert_eq!(first["rule_id"], again["rule_id"]);
    let secret = text(&first, "secret");
    assert_eq!(
        (again.get("secret"), &again["has_secret"]),
        (None, &json!(true))
    );
    let path = format!("/api/automation/rules/{}", text(&first, "rule_id"));
    let shown = [
        server.owner.get(&path),
        server
            .owner
            .get(&format!("/api/automation/rules?workspace_id={workspace}")),
        server.owner.patch(&path, &json!({ "name": "Orders" })),
    ];
    for reply in shown {
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(!reply.body.contains("whsec_"), "{reply:?}");
        assert!(reply.body.contains("\"has_secret\":true"), "{reply:?}");
    }
    let renewed = server
        .owner
        .post(&format!("{path}/secret"), &json!({}))
        .is(201);
    assert_ne!(text(&renewed, "secret"), secret);
    let body = json!({ "kind": "order" }).to_string();
    assert_eq!(signed(&server, &first, "m", now(), &body).status, 401);
    let renewed = json!({ "rule_id": first["rule_id"], "secret": renewed["secret"] });
    assert_eq!(signed(&server, &renewed, "m", now(), &body).status, 202);
    // Nothing of it is in the stream that members read.
    let manual = json!({
        "workspace_id": workspace, "trigger": "manual",
        "action_json": { "kind": "notify", "title": "x" },
    });
    let manual = made(&server.owner, &manual);
    assert_eq!(manual.get("has_secret"), None);
    let path = format!("/api/automation/rules/{}/secret", text(&manual, "rule_id"));
    assert_eq!(code(&server.owner.post(&path, &json!({}))), "CONFLICT");
}

#[test]
fn each_role_may_what_it_may_with_plain_rules() {
    let server = Server::start();
    let workspace = server.workspace();
    let rule = made(&server.owner, &hook(&workspace));
    let path = format!("/api/automation/rules/{}", text(&rule, "rule_id"));
    let dry = json!({ "rule_id": rule["rule_id"], "body": {} });
    let read = json!({ "workspace_id": workspace, "all": true });
    let rows = [
        (None, [403, 403, 403, 403, 403, 403], "WORKSPACE_FORBIDDEN"),
        (
            Some("viewer"),
            [200, 200, 200, 403, 403, 403],
            "ROLE_FORBIDDEN",
        ),
        (
            Some("editor"),
            [200, 200, 200, 403, 403, 403],
            "ROLE_FORBIDDEN",
        ),
        (Some("admin"), [200, 200, 200, 201, 200, 200], ""),
    ];
    for (role, expected, refusal) in rows {
        let (_, client) = server.user(&format!("a {role:?}"), role);
        let replies = [
            client.get(&format!("/api/notices?workspace_id={workspace}")),
            client.post("/api/notices/read", &read),
            client.get(&format!("{path}/firings")),
            client.post(&format!("{path}/secret"), &json!({})),
            client.post("/api/automation/rules/check", &hook(&workspace)),
            client.post("/api/automation/rules/dry-run", &dry),
        ];
        let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, expected, "{role:?}: {replies:?}");
        for refused in replies.iter().filter(|reply| reply.status == 403) {
            assert_eq!(code(refused), refusal, "{role:?}");
        }
    }
}
