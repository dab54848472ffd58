//! Conditions: which hold, which are refused, and that none can hurt.

use bonded_kernel::{Millis, NoteId};
use bonded_workspace_rules::{
    AccessScope, CONDITION_DEPTH_MAX, CONDITION_PARTS_MAX, Condition, Facts, MATCHED_BYTES_MAX,
    Note,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rules_common::{OTHER_WORKSPACE, WORKSPACE, workspace};

const NOTE: &str = "0c24925b-d83d-464b-be6d-9d47ecac8873";

fn note() -> Note {
    let metadata = json!({ "due": "2026-12-01", "rank": 3, "tags": ["red", 7], "done": false });
    let note_id: NoteId = NOTE.parse().expect("it is an id");
    Note {
        note_id,
        workspace_id: workspace(),
        title: "Meeting with Ödön".into(),
        markdown: "# Agenda\n\nTODO: call [[Ann]]".into(),
        note_kind: "note".into(),
        access_scope: AccessScope::Workspace,
        keywords: vec!["meeting".into(), "todo".into()],
        metadata: serde_json::from_value(metadata).expect("it is an object"),
        version: 2,
        created_at: Millis(0),
        updated_at: Millis(0),
        deleted_at: None,
    }
}

fn facts(note: Option<&Note>) -> Facts<'_> {
    Facts {
        workspace_id: workspace(),
        event_type: note.map(|_| "note.updated"),
        actor_type: note.map(|_| "user"),
        note,
        body: None,
        // 2026-11-15T12:00:00.250Z
        at: Millis(1_794_744_000_250),
    }
}

fn holds(written: &Value, note: Option<&Note>) -> bool {
    let condition = Condition::read(written).expect("it is well");
    condition.holds(&facts(note))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "each row writes its value anew"
)]
fn compare(field: &str, op: &str, value: Value) -> Value {
    json!({ "field": field, "op": op, "value": value })
}

#[test]
fn comparisons_hold_of_the_fields_of_the_event_and_its_note() {
    let upper = WORKSPACE.to_uppercase();
    let rows = [
        ("workspace_id", "eq", json!(WORKSPACE), true),
        ("workspace_id", "eq", json!(upper), true),
        ("workspace_id", "ne", json!(OTHER_WORKSPACE), true),
        ("workspace_id", "in", json!([OTHER_WORKSPACE]), false),
        ("event.type", "eq", json!("note.updated"), true),
        (
            "event.type",
            "in",
            json!(["note.created", "note.updated"]),
            true,
        ),
        ("event.actor_type", "ne", json!("agent"), true),
        ("trigger.at", "ge", json!("2026-11-15T12:00:00.250Z"), true),
        ("trigger.at", "lt", json!("2026-11-16"), true),
        ("trigger.at", "lt", json!("2026-11-15"), false),
        ("note.id", "eq", json!(NOTE), true),
        ("note.title", "eq", json!("Meeting with Ödön"), true),
        ("note.title", "eq", json!("meeting with ödön"), false),
        ("note.title", "starts_with", json!("Meeting"), true),
        ("note.title", "ends_with", json!("Meeting"), false),
        ("note.title", "contains", json!("with"), true),
        ("note.title", "gt", json!("Makeshift"), true),
        ("note.title", "matches", json!("^(?i)MEETING .*ö"), true),
        ("note.markdown", "matches", json!("(?m)^TODO"), true),
        ("note.markdown", "contains", json!("todo"), false),
        ("note.kind", "in", json!(["note", "template"]), true),
        ("note.keywords", "contains", json!("todo"), true),
        ("note.keywords", "contains", json!("tod"), false),
        ("note.keywords", "in", json!(["x", "meeting"]), true),
        ("note.keywords", "matches", json!("^to"), true),
        ("note.keywords", "eq", json!(["meeting", "todo"]), true),
        ("note.keywords", "eq", json!(["todo", "meeting"]), false),
        ("note.version", "ge", json!(2), true),
        ("note.version", "eq", json!(2.0), true),
        ("note.version", "lt", json!(1.5), false),
        ("note.version", "in", json!([1, 2]), true),
        ("note.access_scope", "eq", json!("workspace"), true),
        ("note.metadata.due", "le", json!("2026-12-31"), true),
        ("note.metadata.rank", "gt", json!(2), true),
        ("note.metadata.rank", "gt", json!("2"), false),
        ("note.metadata.tags", "contains", json!(7.0), true),
        ("note.metadata.tags", "matches", json!("^r.d$"), true),
        ("note.metadata.done", "eq", json!(false), true),
        ("note.metadata.done", "lt", json!(true), false),
        ("note.metadata.none", "eq", json!(null), false),
        ("note.metadata.none", "ne", json!(1), true),
        ("note.metadata.none", "exists", json!(false), true),
        ("note.metadata.due", "exists", json!(true), true),
        ("note.metadata.due", "exists", json!(false), false),
    ];
    let note = note();
    for (field, op, value, expected) in rows {
        let written = compare(field, op, value);
        assert_eq!(holds(&written, Some(&note)), expected, "{written}");
    }
}

#[test]
fn of_what_is_not_there_nothing_holds_but_that_it_is_another() {
    let rows = [
        ("note.title", "eq", json!(""), false),
        ("note.title", "ne", json!(""), true),
        ("note.title", "matches", json!(""), false),
        ("note.version", "ge", json!(0), false),
        ("note.title", "exists", json!(false), true),
        ("event.type", "exists", json!(true), false),
        ("trigger.at", "exists", json!(true), true),
    ];
    for (field, op, value, expected) in rows {
        let written = compare(field, op, value);
        assert_eq!(holds(&written, None), expected, "{written}");
    }
}

#[test]
fn conditions_are_joined_by_all_any_and_not() {
    let yes = compare("note.kind", "eq", json!("note"));
    let no = compare("note.kind", "eq", json!("template"));
    let rows = [
        (json!({}), true),
        (json!({ "all": [] }), true),
        (json!({ "any": [] }), false),
        (json!({ "all": [yes, yes] }), true),
        (json!({ "all": [yes, no] }), false),
        (json!({ "any": [no, yes] }), true),
        (json!({ "any": [no, no] }), false),
        (json!({ "not": no }), true),
        (json!({ "not": { "any": [no, { "all": [yes] }] } }), false),
        (
            json!({ "workspace_id": WORKSPACE, "note.kind": "note" }),
            true,
        ),
        (
            json!({ "workspace_id": WORKSPACE, "note.kind": "template" }),
            false,
        ),
        (
            json!({ "any": [{ "note.version": 1 }, { "note.version": 2 }] }),
            true,
        ),
        (json!({ "field": "note.title", "op": "exists" }), true),
    ];
    let note = note();
    for (written, expected) in rows {
        assert_eq!(holds(&written, Some(&note)), expected, "{written}");
    }
}

#[test]
fn what_can_never_be_meant_is_refused_with_its_place() {
    let deep = (0..CONDITION_DEPTH_MAX).fold(json!({}), |inner, _| json!({ "not": inner }));
    let many = vec![json!({ "note.version": 1 }); CONDITION_PARTS_MAX];
    let long = "x".repeat(5000);
    let rows = [
        (json!(null), "at the top: must be an object, not null"),
        (json!([]), "at the top: must be an object, not a list of 0"),
        (json!({ "all": {} }), "/all: must be a list of conditions"),
        (json!({ "any": [1] }), "/any/0: must be an object"),
        (
            json!({ "all": [], "any": [] }),
            "/any: there is no field \"any\"",
        ),
        (
            json!({ "note.titel": "x" }),
            "/note.titel: must be one of workspace_id,",
        ),
        (
            json!({ "field": "note.title", "value": 1 }),
            "at the top: op is missing",
        ),
        (
            json!({ "field": "note.title", "op": "eq" }),
            "at the top: value is missing",
        ),
        (
            json!({ "op": "eq", "value": 1 }),
            "at the top: field is missing",
        ),
        (compare("title", "eq", json!("x")), "/field: must be one of"),
        (
            compare("note.metadata.", "eq", json!("x")),
            "/field: must be one of",
        ),
        (
            compare("note.title", "equals", json!("x")),
            "/op: must be one of eq, ne,",
        ),
        (
            compare("note.title", "eq", json!(1)),
            "/value: must be a text, not the number",
        ),
        (
            compare("note.title", "in", json!("x")),
            "/value: must be a list of values",
        ),
        (
            compare("note.title", "in", json!([1])),
            "/value: must be a text, not the number",
        ),
        (
            compare("note.title", "exists", json!(1)),
            "/value: must be true or false",
        ),
        (
            compare("note.version", "eq", json!("1")),
            "/value: must be a number, not the text",
        ),
        (
            compare("note.version", "matches", json!("1")),
            "/value: a number cannot be compared by matches",
        ),
        (
            compare("note.keywords", "lt", json!("1")),
            "/value: a list of texts cannot be compared by lt",
        ),
        (
            compare("note.id", "contains", json!("1")),
            "/value: an id cannot be compared by contains",
        ),
        (
            compare("note.id", "eq", json!("1")),
            "/value: must be a UUID",
        ),
        (
            compare("note.title", "eq", json!(long)),
            "/value: must not be longer than 4096 bytes",
        ),
        (
            compare("note.title", "matches", json!("(")),
            "/value: is not a valid pattern: unclosed group",
        ),
        (
            compare("note.title", "matches", json!("(?:a{1000}){1000}")),
            "/value: is not a valid pattern",
        ),
        (
            compare(
                "note.title",
                "matches",
                json!("(".repeat(900) + "a" + &")".repeat(99)),
            ),
            "/value: is not a valid pattern",
        ),
        (
            compare("note.title", "matches", json!("x".repeat(1001))),
            "/value: must not be longer than 1000",
        ),
        (
            compare("note.title", "matches", json!("(a)\\1")),
            "/value: is not a valid pattern",
        ),
        (
            deep,
            "/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not: conditions nest at most 16 deep",
        ),
        (
            json!({ "all": many }),
            "/all/127/note.version: a condition has at most 256 parts",
        ),
    ];
    for (written, expected) in rows {
        let faults = Condition::read(&written).expect_err("something is wrong with it");
        let first = faults[0].to_string();
        assert!(first.starts_with(expected), "{first} is not {expected:?}");
    }
}

#[test]
fn a_pattern_is_looked_for_in_the_beginning_of_a_long_text() {
    let needle = compare("note.markdown", "matches", json!("needle"));
    for (before, expected) in [(MATCHED_BYTES_MAX - 6, true), (MATCHED_BYTES_MAX, false)] {
        let mut note = note();
        note.markdown = ("x".repeat(before) + "needle").into();
        assert_eq!(holds(&needle, Some(&note)), expected, "{before}");
    }
}

#[test]
fn patterns_that_explode_elsewhere_do_not_explode_here() {
    let mut note = note();
    note.markdown = ("a".repeat(MATCHED_BYTES_MAX - 1) + "!").into();
    for pattern in [
        "^(a+)+$",
        "^(a|aa)+$",
        "(.*)*(.*)*(.*)*x",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
    ] {
        let written = compare("note.markdown", "matches", json!(pattern));
        assert!(!holds(&written, Some(&note)), "{pattern}");
    }
}

/// JSON as somebody hostile writes it, with the words of conditions in it.
fn hostile() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "\\PC{0,20}",
        Just(WORKSPACE.to_owned()),
        Just("(a|b)*c{2}".to_owned())
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let fields = proptest::sample::select(vec![
        "workspace_id",
        "event.type",
        "trigger.at",
        "note.id",
        "note.title",
        "note.markdown",
        "note.keywords",
        "note.version",
        "note.metadata.tags",
        "note.metadata.rank",
    ]);
    let ops = proptest::sample::select(vec![
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "contains",
        "starts_with",
        "ends_with",
        "in",
        "matches",
        "exists",
    ]);
    let values = leaf.clone().prop_recursive(2, 8, 4, |inner| {
        proptest::collection::vec(inner, 0..4).prop_map(Value::from)
    });
    let comparison = (fields, ops, values)
        .prop_map(|(field, op, value)| json!({ "field": field, "op": op, "value": value }));
    let start = prop_oneof![4 => comparison, 1 => leaf];
    start.prop_recursive(20, 400, 8, |inner| {
        let keys = proptest::sample::select(vec!["all", "any", "not", "field", "note.kind"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(|it| json!({ "all": it })),
            proptest::collection::vec(inner.clone(), 0..8).prop_map(|it| json!({ "any": it })),
            inner.clone().prop_map(|it| json!({ "not": it })),
            proptest::collection::btree_map(keys, inner, 0..3)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_a_condition_or_has_faults(written in hostile()) {
        match Condition::read(&written) {
            Ok(condition) => {
                let note = note();
                for facts in [facts(Some(&note)), facts(None)] {
                    let holds = condition.holds(&facts);
                    prop_assert_eq!(condition.holds(&facts), holds);
                    let not = Condition::read(&json!({ "not": written }));
                    if let Ok(not) = not {
                        prop_assert_eq!(not.holds(&facts), !holds);
                    }
                }
            }
            Err(faults) => prop_assert!(!faults.is_empty()),
        }
    }
}
