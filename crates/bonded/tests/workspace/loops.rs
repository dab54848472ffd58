//! The states, the thoughts and the operations of an agent, as its log, its memory and the API show them.

use bonded_testkit::provider::Provider;
use serde_json::{Value, json};

use crate::model::{saying, whole};
use crate::place::Place;
use crate::server::Server;

/// What a run of a rule came to whose model says this, with what it thinks.
struct Ran {
    server: Server,
    /// As the API shows it.
    run: Value,
}

impl Ran {
    fn of(server: Server, model: &Provider, memory: &Value, mode: &str) -> Self {
        let rule = json!({
            "workspace_id": server.workspace(),
            "trigger": "manual",
            "action_json": {
                "kind": "kjxlkj_agent",
                "provider": { "provider_kind": "lmstudio", "base_url": model.base_url(), "model": "m" },
                "mode": mode,
                "memory": memory,
                "loop": { "loop_delay_ms": 1, "idle_delay_ms": 1 },
                "scope": { "max_notes_per_loop": 1 },
            },
        });
        let made = server.owner.post("/api/automation/rules", &rule);
        assert_eq!(made.status, 201, "{made:?}");
        let id = made.json()["rule_id"].as_str().map(str::to_owned);
        let mut socket = server.owner.socket();
        socket.follow_workspace(&server.workspace(), None);
        let path = format!("/api/automation/rules/{}/launch", id.expect("an id"));
        let run = server.owner.post(&path, &json!({})).json();
        let path = format!(
            "/api/automation/runs/{}",
            run["run_id"].as_str().expect("an id")
        );
        while !["succeeded", "failed"].contains(&socket.next()["status"].as_str().unwrap_or("")) {}
        let run = server.owner.get(&path).json();
        Self { server, run }
    }

    fn memory(&self) -> Value {
        let path = self.server.place.path("data/agent-kv-store.json");
        let text = std::fs::read(path).expect("the memory was written");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn operations(&self) -> Vec<(String, String, String)> {
        let operations = self.run["audit"]["operations"].as_array();
        let operations = operations.unwrap_or_else(|| panic!("{}", self.run));
        let word = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
        let row = |it: &Value| {
            (
                word(it, "instruction"),
                word(it, "outcome"),
                word(it, "code"),
            )
        };
        operations.iter().map(row).collect()
    }
}

fn state(label: &str) -> String {
    format!("<state_add><state>{label}</state></state_add>")
}

fn model(replies: &[(&str, &str)]) -> Provider {
    saying(replies.iter().map(|(text, thought)| whole(text, thought)))
}

#[test]
fn what_a_run_changed_and_what_it_was_refused_is_in_the_api() {
    let add = |title: &str| {
        format!(
            "<record_add><keywords>k</keywords><value>{{\"title\": \"{title}\", \"markdown\": \"text\"}}</value></record_add>"
        )
    };
    let first = format!("{}{}{}", add("One"), add("Two"), state("evaluating"));
    let model = model(&[(&first, ""), (&state("idle"), "")]);
    let ran = Ran::of(Server::asking(&[&model]), &model, &json!({}), "yolo");
    let rows = [
        ("record_add", "done", ""),
        ("record_add", "refused", "SCOPE_VIOLATION"),
        ("state_add", "refused", "STATE_TRANSITION_REFUSED"),
    ];
    let rows = rows.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(ran.operations(), rows, "{}", ran.run);
    let written = &ran.run["audit"]["operations"][0];
    let note = written["note_id"].as_str().expect("the note that was made");
    let note = ran.server.owner.get(&format!("/api/notes/{note}")).json();
    assert_eq!(
        (&note["title"], &note["version"]),
        (&json!("One"), &written["version"])
    );
}

#[test]
fn what_the_model_thought_is_the_log_of_thoughts_where_conversations_are_kept() {
    let only_idle = state("idle");
    for (keeps, expected) in [(true, json!("I weighed it up")), (false, Value::Null)] {
        let model = model(&[(&only_idle, "I weighed it up")]);
        let memory = json!({ "retain_full_conversation_logs": keeps });
        let ran = Ran::of(Server::asking(&[&model]), &model, &memory, "yolo");
        assert_eq!(ran.memory()["think_log"], expected, "{}", ran.run);
    }
}

#[test]
fn a_note_that_was_not_read_and_a_title_of_two_notes_are_not_changed() {
    let update = |key: &str| {
        format!("<record_update><key>{key}</key><value>all gone</value></record_update>")
    };
    let replies = [update("Plan"), update("Twin"), state("idle")];
    let replies: Vec<(&str, &str)> = replies.iter().map(|it| (it.as_str(), "")).collect();
    let model = model(&replies);
    let server = Server::asking(&[&model]);
    let notes = ["Plan", "Twin", "Twin"].map(|title| server.note(title, "long work"));
    let ran = Ran::of(server, &model, &json!({}), "yolo");
    let codes: Vec<String> = ran.operations().into_iter().map(|it| it.2).collect();
    assert_eq!(codes, ["NOTE_NOT_READ", "AMBIGUOUS_TITLE"], "{}", ran.run);
    for note in notes {
        let id = note["note_id"].as_str().expect("an id");
        let now = ran.server.owner.get(&format!("/api/notes/{id}")).json();
        assert_eq!(
            (&now["markdown"], &now["version"]),
            (&json!("long work"), &json!(1))
        );
    }
}

#[test]
fn everything_that_nobody_knows_in_a_file_is_one_warning() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).expect("a directory can be made");
    let prompt = json!({
        "agent_name": "kjxlkj-agent", "version": "1", "colour": 1, "size": 2,
        "segments": [{ "condition": "default", "prompt": "Work.", "weight": 3 }],
    });
    std::fs::write(place.path("data/agent-prompt.json"), prompt.to_string())
        .expect("it is written");
    let config = json!({ "colour": 1, "server": { "size": 2 } });
    std::fs::write(place.path("data/config.json"), config.to_string()).expect("it is written");
    let server = Server::start_in(place);
    for (file, keys) in [
        ("agent-prompt.json", &["colour", "size", "weight"][..]),
        ("config.json", &["colour", "size"]),
    ] {
        let is_warning = |line: &&String| line.starts_with("warning: ") && line.contains(file);
        let told: Vec<&String> = server.told.iter().filter(is_warning).collect();
        let [one] = told[..] else {
            panic!("{file}: {:?}", server.told);
        };
        assert!(keys.iter().all(|key| one.contains(key)), "{one}");
    }
}
