//! The prompt file of a rule is looked at when the rule is saved and when it is launched.

use serde_json::{Value, json};

use crate::server::{Server, code};

const RULES: &str = "/api/automation/rules";

fn rule(workspace: &str, prompt: &str) -> Value {
    json!({
        "workspace_id": workspace,
        "trigger": "manual",
        "action_json": { "kind": "kjxlkj_agent", "prompt_path": prompt, "loop": { "max_iterations": 1 } },
    })
}

fn prompt(text: &str) -> String {
    json!({
        "agent_name": "kjxlkj-agent", "version": "1.0.0",
        "segments": [{ "condition": "default", "prompt": text }],
    })
    .to_string()
}

fn put(server: &Server, name: &str, text: &str) {
    let dir = server.place.path("data/prompts");
    std::fs::create_dir_all(&dir).expect("a directory can be made");
    std::fs::write(dir.join(name), text).expect("a file can be written");
}

/// Files that are no prompts, and what is said of each.
const WRONG: [(&str, &str, &str); 4] = [
    ("broken.json", "{ \"agent_name\": ", "PROMPT_JSON_INVALID"),
    (
        "wrong.json",
        r#"{"agent_name": "somebody", "version": "1", "segments": []}"#,
        "PROMPT_SCHEMA_INVALID",
    ),
    (
        "empty.json",
        r#"{"agent_name": "kjxlkj-agent", "version": "1", "segments": [{"condition": "default", "prompt": " "}]}"#,
        "PROMPT_SEGMENT_EMPTY",
    ),
    ("../owner-token", "", "RULE_INVALID"),
];

#[test]
fn a_rule_whose_prompt_is_none_is_refused_when_it_is_made_and_when_it_is_changed() {
    let server = Server::start();
    let workspace = server.workspace();
    put(&server, "good.json", &prompt("Work."));
    let made = server
        .owner
        .post(RULES, &rule(&workspace, "prompts/good.json"));
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["rule_id"].as_str().map(str::to_owned);
    let path = format!("{RULES}/{}", id.expect("a rule has an id"));
    let absent = ("absent.json", "", "PROMPT_JSON_INVALID");
    for (name, text, expected) in WRONG.into_iter().chain([absent]) {
        if !text.is_empty() {
            put(&server, name, text);
        }
        let written = rule(&workspace, &format!("prompts/{name}"));
        let refused = server.owner.post(RULES, &written);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (422, expected),
            "{name}: {refused:?}"
        );
        let changes = json!({ "action_json": written["action_json"] });
        let refused = server.owner.patch(&path, &changes);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (422, expected),
            "{name}: {refused:?}"
        );
        let data = server.place.path("data").display().to_string();
        let said = refused.json().to_string();
        assert!(!said.contains(&data), "the data directory is shown: {said}");
    }
    let listed = server
        .owner
        .get(&format!("{RULES}?workspace_id={workspace}"))
        .json();
    assert_eq!(
        listed["rules"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    assert_eq!(listed["rules"][0]["version"], 1, "{listed}");
}

#[test]
fn a_prompt_that_broke_since_refuses_a_launch_and_lets_the_rule_be_switched_off() {
    let server = Server::start();
    let workspace = server.workspace();
    put(&server, "mine.json", &prompt("Work."));
    let made = server
        .owner
        .post(RULES, &rule(&workspace, "prompts/mine.json"));
    let id = made.json()["rule_id"].as_str().map(str::to_owned);
    let path = format!("{RULES}/{}", id.expect("a rule has an id"));
    let launch = format!("{path}/launch");
    let event = json!({ "triggering_event_id": "5f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11" });
    let begun = server.owner.post(&launch, &event);
    assert_eq!(begun.status, 201, "{begun:?}");
    put(&server, "mine.json", "[]");
    let refused = server.owner.post(&launch, &json!({}));
    assert_eq!(
        (refused.status, code(&refused).as_str()),
        (422, "PROMPT_SCHEMA_INVALID"),
        "{refused:?}"
    );
    let again = server.owner.post(&launch, &event);
    assert_eq!(again.status, 200, "the run of before is told: {again:?}");
    let off = server.owner.patch(&path, &json!({ "enabled": false }));
    assert_eq!(off.status, 200, "{off:?}");
    let on = server.owner.patch(&path, &json!({ "enabled": true }));
    assert_eq!(code(&on), "PROMPT_SCHEMA_INVALID", "{on:?}");
    put(&server, "mine.json", &prompt("Work again."));
    assert_eq!(
        server
            .owner
            .patch(&path, &json!({ "enabled": true }))
            .status,
        200
    );
}
