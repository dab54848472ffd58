//! The memory of a run that works in loops: a fold of its log that outlives loops and processes.

use bonded_kernel::{Input, Memory, MemoryEdit, State, TerminationKind};
use serde_json::{Value, json};

use crate::common::{World, kinds};
use crate::looping_common::{looped, ram, state, thinking};

#[test]
fn entries_are_added_overwritten_and_removed_and_survive_a_restart() {
    let mut world = looped().memory(&json!({ "old": 1 })).begin();
    let said = format!("{}{}", ram("plan", "a"), ram("gone", "x"));
    world.loops(&said);
    world.says(&format!(
        "{}<ram_delete><key>gone</key></ram_delete>",
        ram("plan", "b")
    ));
    let again = World::from_log(world.entries.clone());
    for world in [&again, &world] {
        assert_eq!(world.kept("plan"), "b");
        assert_eq!(world.kept("gone"), Value::Null);
        assert_eq!(world.kept("old"), 1);
    }
}

#[test]
fn a_key_that_is_deleted_twice_was_not_there_the_second_time() {
    let mut world = looped().memory(&json!({ "a": 1 })).begin();
    world.loops(&"<ram_delete><key>a</key></ram_delete>".repeat(2));
    let message = world.message();
    assert!(
        message.contains("- ram_delete a: ok\n- ram_delete a: ok: ok, it was not there\n"),
        "{message}"
    );
}

#[test]
fn values_that_are_json_are_kept_as_json_and_others_as_text() {
    let rows = [
        ("[\"a\", 1]", json!(["a", 1])),
        ("{\"a\": {}}", json!({ "a": {} })),
        ("5", json!(5)),
        ("true", json!(true)),
        ("\"quoted\"", json!("quoted")),
        ("plain text", json!("plain text")),
        ("[broken", json!("[broken")),
        ("1.10", json!("1.10")),
        (
            "123456789012345678901234567890",
            json!("123456789012345678901234567890"),
        ),
        ("", json!("")),
    ];
    let mut world = looped().limit(|limits| limits.turns_max = 20).begin();
    for (written, kept) in rows {
        world.loops(&ram("k", written));
        assert_eq!(world.kept("k"), kept, "{written}");
    }
}

#[test]
fn states_are_an_ordered_set_of_which_four_exclude_each_other() {
    let rows: [(&[&str], &str, &[State]); 8] = [
        (&["+planning"], "planning", &[State::Planning]),
        (
            &["-planning", "+executing"],
            "executing",
            &[State::Executing],
        ),
        (&["+evaluating"], "evaluating", &[State::Evaluating]),
        (
            &["+record_organizing"],
            "evaluating,record_organizing",
            &[State::Evaluating, State::RecordOrganizing],
        ),
        (
            &["+planning", "+planning"],
            "record_organizing,planning",
            &[State::RecordOrganizing, State::Planning],
        ),
        (
            &["-idle"],
            "record_organizing,planning",
            &[State::RecordOrganizing, State::Planning],
        ),
        (
            &["-planning"],
            "record_organizing",
            &[State::Planning, State::RecordOrganizing],
        ),
        (&["-record_organizing"], "", &[State::Planning]),
    ];
    let mut world = looped().begin();
    for (moves, kept, in_force) in rows {
        let said: String = moves
            .iter()
            .map(|it| match it.split_at(1) {
                ("+", label) => state(label),
                (_, label) => format!("<state_delete><state>{label}</state></state_delete>"),
            })
            .collect();
        world.loops(&said);
        assert_eq!(
            world.kept("state").as_str().unwrap_or_default(),
            kept,
            "{moves:?}"
        );
        assert_eq!(world.memory().states(), in_force, "{moves:?}");
    }
}

#[test]
fn a_state_can_be_written_as_the_key_that_holds_it() {
    let mut world = looped().begin();
    world.loops(&ram("state", "record_organizing,executing"));
    assert_eq!(
        world.memory().states(),
        [State::RecordOrganizing, State::Executing]
    );
    world.loops(&format!("{}{}", ram("state", "dancing"), state("asleep")));
    assert_eq!(
        world.memory().states(),
        [State::RecordOrganizing, State::Executing]
    );
    assert!(
        world
            .message()
            .contains("there is no state \"dancing\": use planning")
    );
    assert!(
        world
            .message()
            .contains("there is no state \"asleep\": use planning")
    );
    world.loops("<ram_delete><key>state</key></ram_delete>");
    assert_eq!(
        world.memory().states(),
        [State::RecordOrganizing, State::Executing],
        "whoever executes does not go back to planning"
    );
    world.loops(&format!(
        "{}<ram_delete><key>state</key></ram_delete>",
        state("evaluating")
    ));
    assert_eq!(world.memory().states(), [State::Planning]);
}

#[test]
fn the_request_and_the_run_are_in_the_memory_while_it_runs() {
    let mut world = looped().begin();
    assert_eq!(world.kept("user_request"), "tidy the notes");
    assert_eq!(world.kept("run_id"), "run-1");
    world.loops(&ram("run_id", "another"));
    assert!(world.message().contains("kept by the run itself"));
    assert_eq!(world.kept("run_id"), "run-1");
    world.says(&state("idle"));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(world.memory().text(), r#"{"state":"idle"}"#);
}

#[test]
fn paging_begins_at_the_threshold_and_ends_at_four_fifths_of_it() {
    let mut world = looped()
        .with(|looping| looping.paging_bytes = 1_000)
        .begin();
    let fill = |bytes: usize, world: &mut World| {
        let rest =
            world.memory().bytes() as usize - world.kept("fill").as_str().map_or(0, str::len);
        world.loops(&ram("fill", &"x".repeat(bytes - rest)));
        world.memory().states().contains(&State::Paging)
    };
    world.loops(&ram("fill", ""));
    assert!(!fill(999, &mut world));
    assert!(fill(1_000, &mut world));
    assert!(world.system().contains("G1"));
    assert!(fill(801, &mut world), "not yet");
    assert!(!fill(800, &mut world));
    assert!(!world.system().contains("G1"));
}

#[test]
fn at_four_times_the_threshold_nothing_more_is_taken_in() {
    let mut world = looped()
        .with(|looping| looping.paging_bytes = 1_000)
        .begin();
    world.loops(&ram("fill", &"x".repeat(3_800)));
    let full = world.memory().clone();
    world.loops(&ram("more", &"y".repeat(500)));
    assert_eq!(*world.memory(), full);
    assert!(
        world
            .message()
            .contains("and takes 4000: delete what is no longer needed")
    );
    world.loops(&ram("fill", "little"));
    assert_eq!(world.kept("fill"), "little");
}

#[test]
fn what_a_person_changed_is_an_event_and_seen_by_the_next_turn() {
    let mut world = looped().memory(&json!({ "plan": "a", "old": 1 })).begin();
    world.says(&ram("context", "c"));
    let file = Memory::read(r#"{"plan":"by hand","context":"c","run_id":"x"}"#).expect("an object");
    let edit = world.memory().edit_to(&file);
    let entries = world.input(Input::MemoryEdited(edit));
    assert_eq!(kinds(&entries), ["memory_edited"]);
    assert_eq!(world.waits_ms(), Some(1_500), "the run goes on resting");
    world.wake();
    assert!(world.message().contains("plan: \"by hand\"\n"));
    assert!(!world.message().contains("old: 1"));
    assert_eq!(
        world.kept("run_id"),
        "run-1",
        "what names the run is not changed by hand"
    );
    assert_eq!(world.kept("user_request"), "tidy the notes");
    assert!(
        world
            .input(Input::MemoryEdited(MemoryEdit::default()))
            .is_empty()
    );
}

#[test]
fn a_person_can_end_a_loop_by_hand() {
    let mut world = looped().memory(&json!({ "steps": ["a"] })).begin();
    world.says(&ram("context", "c"));
    let edit = world
        .memory()
        .edit_to(&Memory::read(r#"{"state":"idle"}"#).expect("an object"));
    world.input(Input::MemoryEdited(edit));
    world.wake();
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn a_run_without_loops_has_no_memory_to_edit() {
    let mut world = crate::common::setup().begin();
    let edit = Memory::default().edit_to(&Memory::read(r#"{"a":1}"#).expect("an object"));
    assert!(world.input(Input::MemoryEdited(edit)).is_empty());
    assert!(world.run.memory().is_none());
    assert!(world.run.audit_of_loop().is_none());
}

#[test]
fn the_log_of_thoughts_is_what_the_model_wrote_or_else_what_it_thought_where_that_is_kept() {
    for (keeps_text, expected) in [(true, json!("I thought")), (false, Value::Null)] {
        let mut world = looped()
            .with(|looping| looping.keeps_text = keeps_text)
            .begin();
        world.reply(thinking(&ram("plan", "a"), "I thought"));
        assert_eq!(world.kept("think_log"), expected);
        world.wake();
        world.reply(thinking(&ram("think_log", "I wrote"), "I thought again"));
        assert_eq!(world.kept("think_log"), "I wrote");
    }
}

#[test]
fn a_memory_that_is_no_object_begins_as_an_empty_one() {
    for memory in ["", "[]", "{\"a\":", "null", "5"] {
        let world = looped()
            .with(|looping| looping.memory = memory.into())
            .begin();
        assert_eq!(
            world.memory().entries().len(),
            2,
            "{memory}: only the run and its request"
        );
    }
}
