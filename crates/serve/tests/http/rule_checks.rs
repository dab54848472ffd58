//! What a rule would be and do, without anything being saved or done.

use serde_json::{Value, json};

use crate::server::{Server, code};

const CHECK: &str = "/api/automation/rules/check";
const DRY_RUN: &str = "/api/automation/rules/dry-run";

fn rule(workspace: &str) -> Value {
    json!({
        "workspace_id": workspace,
        "trigger": "workspace_event.note_changed",
        "condition_json": { "all": [
            { "field": "note.keywords", "op": "contains", "value": "inbox" },
            { "not": { "note.kind": "template" } },
        ] },
        "action_json": { "kind": "add_keyword", "keyword": "seen" },
    })
}

fn places(checked: &Value) -> Vec<&str> {
    let faults = checked["faults"].as_array().expect("a list");
    faults
        .iter()
        .filter_map(|fault| fault["at"].as_str())
        .collect()
}

#[test]
fn a_rule_is_checked_with_everything_that_is_wrong_or_told_in_words_and_nothing_is_saved() {
    let server = Server::start();
    let workspace = server.workspace();
    let good = server.owner.post(CHECK, &rule(&workspace)).is(200);
    assert_eq!(
        (&good["valid"], &good["faults"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(
        good["sentence"],
        "When a note is created or changed and note.keywords contains \"inbox\" and not (note.kind is \"template\"), \
         add the keyword \"seen\" to the note."
    );
    assert_eq!(good["rule"]["max_chain_depth"], 3);
    let rows = [
        (json!({ "trigger": "sometimes" }), vec!["/trigger"]),
        (
            json!({ "trigger": "automation_schedule.cron", "schedule": { "cron": "0 9 * * *" } }),
            vec!["/action_json/kind"],
        ),
        (
            json!({ "trigger": "workspace_event.note_deleted" }),
            vec!["/action_json/kind"],
        ),
        (
            json!({ "action_json": { "kind": "webhook", "url": "http://127.0.0.1:1/" } }),
            vec!["/action_json/url"],
        ),
        (
            json!({ "action_json": { "kind": "webhook", "url": "ftp://x" }, "condition_json": { "x": 1 } }),
            vec!["/condition_json/x", "/action_json/url"],
        ),
        (
            json!({ "action_json": { "kind": "move", "folder": "a/../b" } }),
            vec!["/action_json/folder"],
        ),
        (
            json!({ "action_json": { "kind": "notify" } }),
            vec!["/action_json"],
        ),
        (
            json!({ "action_json": { "kind": "add_keyword", "keyword": "x".repeat(101) } }),
            vec!["/action_json/keyword"],
        ),
    ];
    for (over, expected) in rows {
        let mut wrong = rule(&workspace);
        let over = over.as_object().expect("an object").clone();
        wrong.as_object_mut().expect("an object").extend(over);
        let checked = server.owner.post(CHECK, &wrong).is(200);
        assert_eq!(places(&checked), expected, "{checked}");
        assert_eq!(
            (&checked["valid"], &checked["rule"]),
            (&json!(false), &Value::Null)
        );
        let refused = server.owner.post("/api/automation/rules", &wrong);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (422, "RULE_INVALID")
        );
    }
    let nowhere = server.owner.post(CHECK, &json!({})).is(200);
    assert_eq!(nowhere["valid"], false);
    let list = format!("/api/automation/rules?workspace_id={workspace}");
    assert_eq!(server.owner.get(&list).json()["rules"], json!([]));
}

#[test]
fn a_rule_with_a_schedule_shows_its_next_five_times() {
    let server = Server::start();
    let workspace = server.workspace();
    let scheduled = json!({
        "workspace_id": workspace, "trigger": "automation_schedule.cron",
        "schedule": { "cron": "30 9 * * *", "timezone": "Europe/Berlin" },
        "action_json": { "kind": "notify", "title": "Good morning" },
    });
    let checked = server.owner.post(CHECK, &scheduled).is(200);
    let firings = checked["firings"].as_array().expect("there are some");
    assert_eq!(firings.len(), 5, "{checked}");
    for firing in firings {
        let local = firing["local"].as_str().expect("a text");
        assert!(local.contains("T09:30:00+0"), "{local}");
        assert_eq!(firing["timezone"], "Europe/Berlin");
    }
    let made = server
        .owner
        .post("/api/automation/rules", &scheduled)
        .is(201);
    assert_eq!(made["next_firing_at"], firings[0]["at"]);
    let path = format!(
        "/api/automation/rules/{}",
        made["rule_id"].as_str().expect("an id")
    );
    let shown = server.owner.get(&format!("{path}/firings")).json();
    assert_eq!(shown["firings"][0], firings[0]);
    server
        .owner
        .patch(&path, &json!({ "enabled": false }))
        .is(200);
    assert_eq!(
        server.owner.get(&format!("{path}/firings")).json()["firings"],
        json!([])
    );
    assert_eq!(
        server.owner.get(&path).json()["next_firing_at"],
        Value::Null
    );
}

#[test]
fn a_dry_run_tells_what_each_part_saw_and_does_nothing() {
    let server = Server::start();
    let workspace = server.workspace();
    let body = json!({ "workspace_id": workspace, "title": "One", "keywords": ["inbox"] });
    let note = server.owner.post("/api/notes", &body).is(201);
    let tried = json!({ "rule": rule(&workspace), "note_id": note["note_id"] });
    let told = server.owner.post(DRY_RUN, &tried).is(200);
    assert_eq!(told["fires"], true, "{told}");
    assert_eq!(told["would"], "add the keyword \"seen\" to the note");
    let parts = told["conditions"].as_array().expect("a list");
    let at: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["at"].as_str())
        .collect();
    assert_eq!(
        at,
        ["", "/all/0", "/all/1", "/all/1/not", "/all/1/not/note.kind"]
    );
    assert_eq!(parts[1]["found"], json!(["inbox"]));
    assert_eq!(
        (&parts[4]["found"], &parts[4]["holds"]),
        (&json!("note"), &json!(false))
    );
    // Nothing was done.
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    assert_eq!(server.owner.get(&path).json()["version"], 1);
    let runs = server
        .owner
        .get(&format!("/api/automation/runs?workspace_id={workspace}"))
        .json();
    assert_eq!(runs["runs"], json!([]));
    let history = server.owner.get(&format!("{path}/history")).json();
    let event = json!({ "rule": rule(&workspace), "event_id": history["versions"][0]["event_id"] });
    assert_eq!(server.owner.post(DRY_RUN, &event).is(200)["fires"], true);
    let nothing = json!({ "rule": rule(&workspace) });
    let told = server.owner.post(DRY_RUN, &nothing).is(200);
    assert_eq!(
        (&told["fires"], &told["conditions"][1]["is_there"]),
        (&json!(false), &json!(false))
    );
    let both = json!({ "rule": rule(&workspace), "rule_id": note["note_id"] });
    assert_eq!(code(&server.owner.post(DRY_RUN, &both)), "BAD_REQUEST");
    let elsewhere = server
        .owner
        .post("/api/workspaces", &json!({ "name": "More" }))
        .is(201);
    let mut foreign = rule(elsewhere["workspace_id"].as_str().expect("an id"));
    foreign["condition_json"] = json!({});
    let foreign = json!({ "rule": foreign, "note_id": note["note_id"] });
    assert_eq!(
        code(&server.owner.post(DRY_RUN, &foreign)),
        "NOTE_NOT_FOUND"
    );
}
