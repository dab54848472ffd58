//! Rules that fire in the real server, and the agent that works for them.

use serde_json::{Value, json};

use crate::place::Place;
use crate::server::Server;
use crate::socket::Socket;

/// A server whose agent says these replies, one in each loop.
fn with_replies(replies: &[&str]) -> Server {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("a directory can be made");
    let lines: String = replies
        .iter()
        .map(|reply| format!("{}\n", json!({ "text": reply })))
        .collect();
    std::fs::write(place.path("data/script.jsonl"), lines).expect("a file can be written");
    let config = json!({ "automation": { "allowed_providers": ["script=script.jsonl"] } });
    std::fs::write(place.path("data/config.json"), config.to_string()).expect("it can be written");
    Server::start_in(place)
}

fn rule(server: &Server, trigger: &str, mode: &str) -> Value {
    let rule = json!({
        "workspace_id": server.workspace(),
        "name": "tidy",
        "trigger": trigger,
        "condition_json": { "field": "note.title", "op": "eq", "value": "Go" },
        "action_json": {
            "kind": "kjxlkj_agent",
            "provider": { "provider_kind": "script", "base_url": "script.jsonl", "model": "script" },
            "mode": mode,
            "loop": { "loop_delay_ms": 1, "idle_delay_ms": 1 },
        },
    });
    let made = server.owner.post("/api/automation/rules", &rule);
    assert_eq!(made.status, 201, "{made:?}");
    made.json()
}

const WRITES: &str = "<record_add><keywords>agent</keywords>\
    <value>{\"title\": \"By the agent\", \"markdown\": \"written in a loop\"}</value></record_add>\
    <ram_add><key>think_log</key><value>a note was asked for</value></ram_add>\
    <state_delete><state>planning</state></state_delete><state_add><state>idle</state></state_add>";

/// What the socket tells of the run of a rule, to its end.
fn statuses(socket: &mut Socket) -> (Vec<String>, String, Vec<u64>) {
    let (mut statuses, mut seqs) = (vec![], vec![]);
    loop {
        let event = socket.next();
        seqs.push(
            event["event_seq"]
                .as_u64()
                .unwrap_or_else(|| panic!("{event}")),
        );
        if event["type"] != "automation_event" {
            continue;
        }
        let status = event["status"].as_str().expect("a status").to_owned();
        let run = event["run_id"].as_str().expect("a run").to_owned();
        let is_over = !["queued", "running"].contains(&status.as_str());
        statuses.push(status);
        if is_over {
            return (statuses, run, seqs);
        }
    }
}

#[test]
fn a_note_sets_off_a_rule_and_the_run_is_followed_to_its_end() {
    let server = with_replies(&[WRITES]);
    rule(&server, "workspace_event.note_created", "yolo");
    let mut socket = server.owner.socket();
    let cursor = socket.follow_workspace(&server.workspace(), None)["replay_cursor"]
        .as_u64()
        .expect("a number");
    server.note("Something else", "");
    server.note("Go", "please");
    let (statuses, run, seqs) = statuses(&mut socket);
    assert_eq!(statuses, ["queued", "running", "succeeded"]);
    assert_eq!(
        seqs,
        (cursor + 1..=cursor + seqs.len() as u64).collect::<Vec<_>>(),
        "in order, without a gap"
    );
    let shown = server
        .owner
        .get(&format!("/api/automation/runs/{run}"))
        .json();
    let audit = &shown["audit"];
    assert_eq!(
        (&audit["loop_count"], &audit["error_code"]),
        (&json!(1), &Value::Null),
        "{shown}"
    );
    assert_eq!(audit["prompt_hash"].as_str().map(str::len), Some(64));
    let found = server
        .owner
        .get(&format!(
            "/api/search?q=loop&workspace_id={}",
            server.workspace()
        ))
        .json();
    let note = found["results"][0]["note_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{found}"))
        .to_owned();
    let note = server.owner.get(&format!("/api/notes/{note}")).json();
    assert_eq!(note["title"], "By the agent");
    assert_eq!(
        (
            &note["metadata"]["created_by_agent"],
            &note["metadata"]["agent_run_id"]
        ),
        (&json!(true), &json!(run))
    );
    // Another client that comes later hears the same.
    let mut later = server.owner.socket();
    later.follow_workspace(&server.workspace(), Some(cursor));
    assert_eq!(later.seqs(seqs.len()), seqs);
    let line = server.place.bonded(&[
        "rule",
        "--data",
        &server.place.path("data").display().to_string(),
        "runs",
    ]);
    assert!(
        line.stdout.contains("1 loops,") && line.stdout.contains("succeeded"),
        "{line:?}"
    );
    let data = server.place.path("data").display().to_string();
    let all = server.place.bonded(&["runs", "--data", &data]);
    assert!(all.stdout.contains("rule tidy: "), "{all:?}");
    let all = server.place.bonded(&["runs", "--data", &data, "--json"]);
    let listed = all.json();
    assert_eq!(
        (&listed["runId"], &listed["from"]),
        (&json!(run), &json!({ "kind": "rule", "rule": "tidy" }))
    );
}

#[test]
fn a_run_in_reviewed_mode_writes_nothing_until_a_person_says_so() {
    let server = with_replies(&[WRITES]);
    rule(&server, "workspace_event.note_created", "reviewed");
    let mut socket = server.owner.socket();
    socket.follow_workspace(&server.workspace(), None);
    server.note("Go", "please");
    let (statuses, run, _) = statuses(&mut socket);
    assert_eq!(statuses.last().map(String::as_str), Some("succeeded"));
    let list = format!("/api/notes?workspace_id={}", server.workspace());
    let titles = || -> Vec<Value> {
        let listed = server.owner.get(&list).json();
        listed["notes"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["title"].clone())
            .collect()
    };
    assert_eq!(titles(), ["Go"]);
    let path = format!("/api/automation/runs/{run}");
    let operation = server.owner.get(&path).json()["operations"][0].clone();
    assert_eq!(
        (&operation["status"], &operation["kind"]),
        (&json!("pending"), &json!("create_note"))
    );
    assert!(
        operation["diff"]
            .as_str()
            .expect("a diff")
            .contains("+written in a loop"),
        "{operation}"
    );
    let decision = json!({
        "operation_id": operation["operation_id"],
        "decision": "apply",
        "digest": operation["digest"],
    });
    let body = json!({ "decisions": [decision] });
    let reviewed = server.owner.post(&format!("{path}/review"), &body);
    assert_eq!(reviewed.status, 200, "{reviewed:?}");
    assert_eq!(titles(), ["By the agent", "Go"]);
}

#[test]
fn a_reply_that_cannot_be_read_fails_the_run_with_its_code() {
    let server = with_replies(&["<ram_add><key>a", "<ram_add>", "still not"]);
    let rule = rule(&server, "manual", "yolo");
    let mut socket = server.owner.socket();
    socket.follow_workspace(&server.workspace(), None);
    let launch = format!(
        "/api/automation/rules/{}/launch",
        rule["rule_id"].as_str().expect("an id")
    );
    assert_eq!(server.owner.post(&launch, &json!({})).status, 201);
    let (statuses, run, _) = statuses(&mut socket);
    assert_eq!(statuses.last().map(String::as_str), Some("failed"));
    let shown = server
        .owner
        .get(&format!("/api/automation/runs/{run}"))
        .json();
    assert_eq!(
        (&shown["error_code"], &shown["audit"]["error_code"]),
        (&json!("XML_PARSE_ERROR"), &json!("XML_PARSE_ERROR"))
    );
}

#[test]
fn a_run_that_is_cancelled_ends_as_that() {
    let server = with_replies(&["<state_add><state>executing</state></state_add>"; 50]);
    let mut slow = rule(&server, "manual", "yolo");
    slow["action_json"]["loop"]["loop_delay_ms"] = json!(600_000);
    let path = format!(
        "/api/automation/rules/{}",
        slow["rule_id"].as_str().expect("an id")
    );
    let changed = server
        .owner
        .patch(&path, &json!({ "action_json": slow["action_json"] }));
    assert_eq!(changed.status, 200, "{changed:?}");
    let mut socket = server.owner.socket();
    socket.follow_workspace(&server.workspace(), None);
    let run = server
        .owner
        .post(&format!("{path}/launch"), &json!({}))
        .json();
    let run = format!(
        "/api/automation/runs/{}",
        run["run_id"].as_str().expect("an id")
    );
    while socket.next()["status"] != "running" {}
    let cancelled = server.owner.post(&format!("{run}/cancel"), &json!({}));
    assert_eq!(
        (cancelled.status, &cancelled.json()["status"]),
        (200, &json!("cancelled")),
        "{cancelled:?}"
    );
    assert_eq!(server.owner.get(&run).json()["status"], "cancelled");
    assert_eq!(
        server
            .owner
            .post(&format!("{run}/cancel"), &json!({}))
            .status,
        409
    );
}
