//! Rules and their runs over HTTP.

use serde_json::{Value, json};

use crate::server::{Server, code};

fn manual(workspace: &str) -> Value {
    json!({
        "workspace_id": workspace,
        "trigger": "manual",
        "condition_json": {},
        "action_json": { "kind": "kjxlkj_agent", "loop": { "max_iterations": 1 } },
        "enabled": true,
    })
}

fn made(server: &Server, rule: &Value) -> String {
    let made = server.owner.post("/api/automation/rules", rule);
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["rule_id"]
        .as_str()
        .expect("a rule has an id")
        .to_owned()
}

#[test]
fn a_rule_is_kept_changed_and_removed() {
    let server = Server::start();
    let workspace = server.workspace();
    let id = made(&server, &manual(&workspace));
    let path = format!("/api/automation/rules/{id}");
    let rule = server.owner.get(&path).json();
    for field in [
        "rule_id",
        "workspace_id",
        "trigger",
        "condition_json",
        "action_json",
        "enabled",
        "created_at",
        "updated_at",
    ] {
        assert!(rule.get(field).is_some(), "{field}: {rule}");
    }
    let changed = server.owner.patch(&path, &json!({ "enabled": false }));
    assert_eq!(
        (changed.status, &changed.json()["enabled"]),
        (200, &json!(false)),
        "{changed:?}"
    );
    let list = server
        .owner
        .get(&format!("/api/automation/rules?workspace_id={workspace}"))
        .json();
    assert_eq!(list["rules"].as_array().map(Vec::len), Some(1));
    let disabled = server.owner.post(&format!("{path}/launch"), &json!({}));
    assert_eq!(
        (disabled.status, code(&disabled).as_str()),
        (409, "CONFLICT")
    );
    assert_eq!(server.owner.delete(&path).status, 204);
    assert_eq!(code(&server.owner.get(&path)), "RULE_NOT_FOUND");
}

#[test]
fn a_rule_that_is_wrong_is_refused_with_everything_that_is_wrong() {
    let server = Server::start();
    let workspace = server.workspace();
    let cron = |line: &str| {
        json!({
            "workspace_id": workspace, "trigger": "automation_schedule.cron",
            "action_json": { "kind": "kjxlkj_agent" }, "schedule": { "cron": line },
        })
    };
    let with = |field: &str, value: Value| {
        let mut rule = manual(&workspace);
        rule[field] = value;
        rule
    };
    let rows = [
        (json!({}), vec![""]),
        (with("trigger", json!("sometimes")), vec!["/trigger"]),
        (with("colour", json!(1)), vec!["/colour"]),
        (
            with("action_json", json!({ "kind": "dance" })),
            vec!["/action_json/kind"],
        ),
        (
            with(
                "action_json",
                json!({ "kind": "kjxlkj_agent", "scope": { "cross_workspace_writes": true } }),
            ),
            vec!["/action_json/scope/cross_workspace_writes"],
        ),
        (
            with(
                "condition_json",
                json!({ "field": "note.title", "op": "matches", "value": "(a{1000}){1000}" }),
            ),
            vec!["/condition_json"],
        ),
        (cron("0 0 30 2 *"), vec!["/schedule/cron"]),
        (cron("61 * * * *"), vec!["/schedule/cron"]),
    ];
    for (rule, places) in rows {
        let refused = server.owner.post("/api/automation/rules", &rule);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (422, "RULE_INVALID"),
            "{rule}"
        );
        let faults = refused.json()["details"]["faults"].clone();
        let at: Vec<&str> = faults
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|it| it["at"].as_str())
            .collect();
        for place in places {
            assert!(
                at.iter().any(|it| it.starts_with(place)),
                "{rule}: {place} not in {at:?}"
            );
        }
    }
}

#[test]
fn a_launch_is_a_run_and_the_same_event_again_is_the_same_run() {
    let server = Server::start();
    let workspace = server.workspace();
    let id = made(&server, &manual(&workspace));
    let launch = format!("/api/automation/rules/{id}/launch");
    let event = json!({ "triggering_event_id": "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11" });
    let first = server.owner.post(&launch, &event);
    assert_eq!(first.status, 201, "{first:?}");
    let second = server.owner.post(&launch, &event);
    assert_eq!(
        (second.status, &second.json()["run_id"]),
        (200, &first.json()["run_id"])
    );
    let keyed = "\r\nIdempotency-Key: again";
    let third = server.owner.keyed("POST", &launch, keyed, &json!({}));
    let fourth = server.owner.keyed("POST", &launch, keyed, &json!({}));
    assert_eq!((third.status, fourth.status), (201, 201));
    assert_eq!(third.json()["run_id"], fourth.json()["run_id"]);
    assert_ne!(third.json()["run_id"], first.json()["run_id"]);
    let list = server
        .owner
        .get(&format!(
            "/api/automation/runs?workspace_id={workspace}&rule_id={id}"
        ))
        .json();
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(2), "{list}");
    let run = server.owner.get(&format!(
        "/api/automation/runs/{}",
        third.json()["run_id"].as_str().expect("an id")
    ));
    assert_eq!((run.status, &run.json()["operations"]), (200, &json!([])));
    let (_, viewer) = server.user("ada", Some("viewer"));
    assert_eq!(code(&viewer.post(&launch, &json!({}))), "ROLE_FORBIDDEN");
    let bad = server.owner.get(&format!(
        "/api/automation/runs?workspace_id={workspace}&status=dancing"
    ));
    assert_eq!(code(&bad), "BAD_REQUEST");
}

#[test]
fn a_review_of_what_nobody_proposed_is_refused() {
    let server = Server::start();
    let id = made(&server, &manual(&server.workspace()));
    let run = server
        .owner
        .post(&format!("/api/automation/rules/{id}/launch"), &json!({}))
        .json();
    let review = format!(
        "/api/automation/runs/{}/review",
        run["run_id"].as_str().expect("an id")
    );
    let operation = "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
    let rows = [
        (json!({ "decisions": [] }), 400, "BAD_REQUEST"),
        (
            json!({ "decisions": [{ "operation_id": operation, "decision": "apply" }] }),
            404,
            "OPERATION_NOT_FOUND",
        ),
        (json!({}), 400, "BAD_REQUEST"),
    ];
    for (body, status, expected) in rows {
        let refused = server.owner.post(&review, &body);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (status, expected),
            "{body}"
        );
    }
}

#[test]
fn a_launch_with_a_request_of_its_own_is_for_admins_bounded_and_recorded() {
    let server = Server::start();
    let workspace = server.workspace();
    let id = made(&server, &manual(&workspace));
    let launch = format!("/api/automation/rules/{id}/launch");
    let event = "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
    let asked = |request: &str| json!({ "triggering_event_id": event, "request": request });
    let (_, editor) = server.user("edda", Some("editor"));
    let refused = editor.post(&launch, &asked("Sort my inbox"));
    assert_eq!(code(&refused), "ROLE_FORBIDDEN");
    assert_eq!(refused.json()["details"]["role_needed"], "admin");
    for wrong in ["", "  \n", "a\u{1b}[2J", &"x".repeat((64 << 10) + 1)] {
        let refused = server.owner.post(&launch, &asked(wrong));
        assert_eq!(code(&refused), "BAD_REQUEST", "{wrong:.20?}");
    }
    let (_, admin) = server.user("ada", Some("admin"));
    let run = admin
        .post(&launch, &asked("Sort my inbox\nand nothing else"))
        .is(201);
    assert_eq!(run["request"], "Sort my inbox\nand nothing else");
    let path = format!(
        "/api/automation/runs/{}",
        run["run_id"].as_str().expect("an id")
    );
    assert_eq!(editor.get(&path).is(200)["request"], run["request"]);
    // The same again, and without a request, is that run; another request is none of its answers.
    let same = admin
        .post(&launch, &asked("Sort my inbox\nand nothing else"))
        .is(200);
    assert_eq!(same["run_id"], run["run_id"]);
    let plain = editor
        .post(&launch, &json!({ "triggering_event_id": event }))
        .is(200);
    assert_eq!(plain["run_id"], run["run_id"]);
    assert_eq!(
        code(&admin.post(&launch, &asked("Something else"))),
        "CONFLICT"
    );
    let keyed = "\r\nIdempotency-Key: once";
    let request = json!({ "request": "Once" });
    let first = server.owner.keyed("POST", &launch, keyed, &request).is(201);
    let again = server.owner.keyed("POST", &launch, keyed, &request).is(201);
    assert_eq!(first["run_id"], again["run_id"]);
    let other = server
        .owner
        .keyed("POST", &launch, keyed, &json!({ "request": "Twice" }));
    assert_eq!(code(&other), "BAD_REQUEST", "the key names another request");
    let notify = json!({ "kind": "notify", "title": "Look" });
    let notify = json!({ "workspace_id": workspace, "trigger": "manual", "action_json": notify });
    let launch = format!("/api/automation/rules/{}/launch", made(&server, &notify));
    let refused = server
        .owner
        .post(&launch, &json!({ "request": "Sort my inbox" }));
    assert_eq!(
        code(&refused),
        "BAD_REQUEST",
        "no agent is asked: {refused:?}"
    );
}
