//! Conditions of rules: reading is total and finds everything that is wrong at a place that is there, evaluating is the
//! same each time, and the logical operators are what logic says. An input is a condition, a line's end, and a note's
//! fields.

#![no_main]

use bonded_kernel::{Millis, NoteId, WorkspaceId};
use bonded_workspace_rules::{CONDITION_DEPTH_MAX, CONDITION_PARTS_MAX, Condition, Facts, Note};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fn note(fields: &str) -> Note {
    let given: Value = serde_json::from_str(fields).unwrap_or_default();
    let text = |name: &str| given[name].as_str().unwrap_or(fields).to_owned();
    let keywords = given["keywords"].as_array().into_iter().flatten();
    let metadata = given["metadata"].as_object().cloned().unwrap_or_default();
    Note {
        note_id: NoteId::from_bytes([7; 16]),
        workspace_id: WorkspaceId::from_bytes([1; 16]),
        title: text("title"),
        markdown: text("markdown").into(),
        note_kind: "note".into(),
        access_scope: Default::default(),
        keywords: keywords
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        metadata: metadata.into_iter().collect(),
        version: given["version"].as_u64().unwrap_or(1),
        created_at: Millis(0),
        updated_at: Millis(0),
        deleted_at: None,
    }
}

fn facts(note: Option<&Note>) -> Facts<'_> {
    Facts {
        workspace_id: WorkspaceId::from_bytes([1; 16]),
        event_type: note.map(|_| "note.updated"),
        actor_type: note.map(|_| "user"),
        note,
        at: Millis(1_794_744_000_250),
    }
}

/// How deep a JSON value nests, as far as it matters.
fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(members) => members.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or(0)
}

/// Whether a condition with one more around it is certainly within the bounds.
fn has_room(written: &Value) -> bool {
    depth(written) < CONDITION_DEPTH_MAX && written.to_string().len() < CONDITION_PARTS_MAX
}

fn check_logic(written: &Value, condition: &Condition, facts: &Facts<'_>) {
    let holds = condition.holds(facts);
    assert_eq!(holds, condition.holds(facts), "it depends on nothing else");
    let rows = [
        (json!({ "not": written }), !holds),
        (json!({ "all": [written, written] }), holds),
        (json!({ "any": [{ "all": [] }, written] }), true),
        (json!({ "any": [] }), false),
        (json!({ "all": [written, { "not": written }] }), false),
    ];
    for (around, expected) in rows {
        let around = Condition::read(&around).expect("its parts are well");
        assert_eq!(around.holds(facts), expected);
    }
}

fuzz_target!(|input: &str| {
    let (written, fields) = input.split_once('\n').unwrap_or((input, ""));
    let Ok(written) = serde_json::from_str::<Value>(written) else {
        return;
    };
    match Condition::read(&written) {
        Err(faults) => {
            assert!(!faults.is_empty(), "a refusal says why");
            let faults_max = 4 * CONDITION_PARTS_MAX + input.len();
            assert!(faults.len() <= faults_max);
            for fault in faults {
                assert!(fault.to_string().len() < 4000 + 8 * input.len());
                // A long name is cut where it is told.
                let is_whole = !fault.at.contains('…');
                let holder = fault.at.rsplit_once('/').map_or("", |(holder, _)| holder);
                assert!(!is_whole || written.pointer(holder).is_some(), "{fault}");
            }
        }
        Ok(condition) => {
            let note = note(fields);
            for facts in [facts(None), facts(Some(&note))] {
                condition.holds(&facts);
                if has_room(&written) {
                    check_logic(&written, &condition, &facts);
                }
            }
        }
    }
});
