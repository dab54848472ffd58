//! What an agent proposes and a person applies: what was looked at is what is written.

use serde_json::{Value, json};

use super::house::{Guest, House, Said, text};
use crate::witness::holds_no;

/// An agent that proposes two notes, the second with letters that nobody sees.
const PROPOSES: &str = "<record_add><keywords>agent</keywords>\
    <value>{\"title\": \"Harmless\", \"markdown\": \"good words\"}</value></record_add>\
    <record_add><keywords>agent</keywords>\
    <value>{\"title\": \"Hidden\", \"markdown\": \"pay\\u202e \\u200bEve\\u001b[2J\"}</value></record_add>\
    <state_delete><state>planning</state></state_delete><state_add><state>idle</state></state_add>";

/// A server with a run that has proposed, and the run's path.
fn proposed() -> (House, String) {
    let config = json!({ "automation": { "allowed_providers": ["script=script.jsonl"] } });
    let house = House::furnished(&config, &[], |person| {
        let script = format!("{}\n", json!({ "text": PROPOSES }));
        person.write(person.path("data/script.jsonl"), script);
    });
    let action = json!({
        "kind": "kjxlkj_agent", "mode": "reviewed",
        "provider": { "provider_kind": "script", "base_url": "script.jsonl", "model": "script" },
        "loop": { "loop_delay_ms": 0, "idle_delay_ms": 0, "max_iterations": 1 },
    });
    let rule = house.owner.rule(&house.workspace(), &action).is(201);
    let run = house.owner.launch(&rule);
    house.owner.ended(&run);
    (house, format!("/api/automation/runs/{run}"))
}

fn applies(guest: &Guest, run: &str, operation: &Value, digest: &Value) -> Said {
    let decision = json!({
        "operation_id": operation["operation_id"], "decision": "apply", "digest": digest,
    });
    guest.post(
        &format!("{run}/review"),
        &json!({ "decisions": [decision] }),
    )
}

/// Everything that the notes of the workspace say, as another process writes it into files.
fn exported(house: &House, name: &str) -> String {
    let dir = house.person.path(name);
    house.person.make_dir(&dir);
    let done = house.bonded(&["export", &dir.display().to_string()]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let files = std::fs::read_dir(&dir).expect("it is there").flatten();
    let files = files.filter(|file| file.file_type().is_ok_and(|it| it.is_file()));
    files
        .map(|file| std::fs::read_to_string(file.path()).expect("notes are text"))
        .collect()
}

#[test]
fn what_changed_since_a_person_looked_is_not_applied() {
    let (house, run) = proposed();
    let looked_at = house.owner.get(&run).is(200)["operations"][0].clone();
    // Somebody gets at the operation between the look and the decision: another hand, or a backup that was put back.
    let store = rusqlite::Connection::open(house.data("workspace.db")).expect("a store");
    let changed = store.execute(
        "UPDATE operation SET body = replace(body, 'good words', 'evil words')",
        [],
    );
    assert_eq!(changed, Ok(2));
    let said = applies(&house.owner, &run, &looked_at, &looked_at["digest"]);
    let refused = said.is(409);
    assert_eq!(said.code(), "OTHER_OPERATION");
    // What it is now is shown, and can be applied after that look.
    let now = &refused["details"]["operation"];
    assert!(text(&now["diff"]).contains("+evil words"), "{refused}");
    holds_no("words", &[&exported(&house, "before")]);
    applies(&house.owner, &run, now, &now["digest"]).is(200);
    assert!(exported(&house, "after").contains("evil words"));
}

#[test]
fn nothing_is_applied_where_nobody_looked() {
    let (house, run) = proposed();
    let operations = house.owner.get(&run).is(200)["operations"].clone();
    for digest in [
        Value::Null,
        json!(""),
        json!("*"),
        json!("0".repeat(64)),
        operations[1]["digest"].clone(),
        json!(text(&operations[0]["digest"])[..16]),
    ] {
        let said = applies(&house.owner, &run, &operations[0], &digest);
        assert!([400, 409].contains(&said.status), "{digest}: {said:?}");
    }
    holds_no("words", &[&exported(&house, "notes")]);
}

#[test]
fn letters_that_nobody_sees_are_written_out_before_a_review() {
    let (house, run) = proposed();
    let operations = house.owner.get(&run).is(200)["operations"].clone();
    let diff = text(&operations[1]["diff"]);
    assert!(
        diff.contains("+pay\\u{202e} \\u{200b}Eve\\u{1b}[2J\n"),
        "{diff:?}"
    );
    let mut letters = diff.chars();
    assert!(
        letters.all(|it| it == '\n' || it.is_ascii_graphic() || it == ' '),
        "{diff:?}"
    );
}
