//! The order in which the states of a run that works in loops follow one another, and those that come by themselves.

use bonded_kernel::{Event, Outcome, State, ToolOutput, audit};
use bonded_kernel::{OperationOutcome, OperationSummary};

use crate::common::{World, output, text};
use crate::looping_common::{change, looped, note, ram, search, state};

const REFUSED: &str = "STATE_TRANSITION_REFUSED";

fn leave(label: &str) -> String {
    format!("<state_delete><state>{label}</state></state_delete>")
}

/// The state that a run in this one comes to when the model says this, and whether anything was refused.
fn moved(from: &str, said: &str) -> (State, bool) {
    let memory = serde_json::json!({ "state": from, "steps": ["one"] });
    let mut world = looped().memory(&memory).begin();
    if from == "idle" {
        // Who begins a run plans.
        world.loops(&state("idle"));
    }
    world.loops(said);
    let codes = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::ToolFinished(finished) => finished.code.clone(),
        _ => None,
    });
    let is_refused = codes.into_iter().any(|code| &*code == REFUSED);
    assert_eq!(
        world.message().contains(REFUSED),
        is_refused,
        "what is in the log is what the model is told"
    );
    assert!(audit(&world.entries).is_ok(), "the log can be audited");
    let states = world.memory().states();
    (states[0], is_refused)
}

#[test]
fn states_follow_one_another_once_around_and_idle_from_anywhere() {
    let states = ["planning", "executing", "evaluating", "idle"];
    let allowed = [
        ("planning", "executing"),
        ("executing", "evaluating"),
        ("evaluating", "planning"),
        ("idle", "planning"),
        ("planning", "idle"),
        ("executing", "idle"),
        ("evaluating", "idle"),
    ];
    for from in states {
        for to in states {
            let may = from == to || allowed.contains(&(from, to));
            let expected = State::of(if may { to } else { from }).expect("a state");
            for said in [
                state(to),
                ram("state", to),
                format!("{}{}", leave(from), state(to)),
                format!(
                    "{}{}",
                    state(to),
                    leave(from).repeat(usize::from(may && from != to))
                ),
            ] {
                assert_eq!(
                    moved(from, &said),
                    (expected, !may),
                    "{from} to {to}: {said}"
                );
            }
        }
    }
}

#[test]
fn a_state_that_is_left_for_none_is_left_for_planning() {
    let rows = [
        ("planning", State::Planning, false),
        ("executing", State::Executing, true),
        ("evaluating", State::Planning, false),
        ("idle", State::Planning, false),
    ];
    for (from, expected, is_refused) in rows {
        for said in [
            leave(from),
            "<ram_delete><key>state</key></ram_delete>".into(),
        ] {
            assert_eq!(moved(from, &said), (expected, is_refused), "{from}: {said}");
        }
    }
}

#[test]
fn several_moves_of_one_reply_are_made_in_their_order() {
    let said: String = ["executing", "evaluating", "planning"].map(state).concat();
    assert_eq!(moved("planning", &said), (State::Planning, false));
    let said = format!("{}{}", state("evaluating"), state("executing"));
    assert_eq!(moved("planning", &said), (State::Executing, true));
}

#[test]
fn a_log_of_before_goes_by_what_it_was_written_by() {
    let mut world = looped().with(|looping| looping.ordered = false).begin();
    world.loops(&state("evaluating"));
    assert_eq!(world.memory().states(), [State::Evaluating]);
    assert!(audit(&world.entries).is_ok());
    assert!(!world.log().contains("\"ordered\""));
}

fn found(world: &mut World, titles: &[&str]) {
    let notes: Vec<_> = titles
        .iter()
        .map(|title| serde_json::json!({ "title": title }))
        .collect();
    world.reply(text(&search("shed")));
    world.ok(&serde_json::json!({ "results": notes }).to_string());
    world.wake();
}

#[test]
fn notes_that_are_alike_are_put_in_order_until_there_are_none() {
    let mut world = looped().begin();
    found(&mut world, &["Shed", "Yard"]);
    assert!(!world.system().contains("O1"));
    found(&mut world, &["Shed", "Yard", "shed "]);
    assert!(world.system().contains("O1"), "{}", world.system());
    assert_eq!(world.kept("state"), "record_organizing");
    world.loops(&ram("plan", "join them"));
    assert!(world.system().contains("O1"), "nothing was looked at since");
    found(&mut world, &["Shed", "Yard"]);
    assert!(!world.system().contains("O1"));
    // A note that is made beside one of the same title, and a title that names several.
    for (said, outcome, output_text, code) in [
        (
            note("x"),
            Outcome::Ok,
            r#"{"note_id":"n","same_title":["m"]}"#,
            None,
        ),
        (
            change("Shed"),
            Outcome::Failed,
            "(tool failed)",
            Some("AMBIGUOUS_TITLE"),
        ),
    ] {
        world.reply(text(&said));
        world.returned(ToolOutput {
            code: code.map(Into::into),
            ..output(outcome, output_text)
        });
        world.wake();
        assert!(world.system().contains("O1"), "{said}");
        found(&mut world, &["Shed"]);
    }
    found(&mut world, &["Shed", "Shed"]);
    world.says(&state("idle"));
    assert_eq!(world.kept("state"), "idle", "the next run begins without");
    assert!(audit(&world.entries).is_ok());
}

#[test]
fn what_the_agent_itself_began_it_ends_itself() {
    let mut world = looped().begin();
    world.loops(&state("record_organizing"));
    found(&mut world, &["Shed", "Shed"]);
    found(&mut world, &["Shed"]);
    assert!(world.system().contains("O1"));
}

#[test]
fn the_audit_sums_up_what_was_done_to_notes_and_what_was_refused() {
    let mut world = looped()
        .with(|looping| looping.scope.max_notes_per_loop = 1)
        .begin();
    let id = "0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b";
    let said = format!(
        "{}{}{}{}",
        ram("a", "secret"),
        note("first words"),
        note("two"),
        state("evaluating")
    );
    world.reply(text(&said));
    world.ok(&serde_json::json!({ "note_id": id, "version": 1 }).to_string());
    let audit = world.run.audit_of_loop().expect("the run works in loops");
    let shown: Vec<(&str, OperationOutcome, Option<&str>)> = audit
        .operations
        .iter()
        .map(|it| (it.instruction.as_str(), it.outcome, it.code.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            ("record_add", OperationOutcome::Done, None),
            (
                "record_add",
                OperationOutcome::Refused,
                Some("SCOPE_VIOLATION")
            ),
            ("state_add", OperationOutcome::Refused, Some(REFUSED)),
        ]
    );
    let OperationSummary {
        note_id,
        version,
        turn,
        ..
    } = &audit.operations[0];
    assert_eq!(note_id.map(|it| it.to_string()).as_deref(), Some(id));
    assert_eq!((*version, *turn), (Some(1), 1));
    let kept = serde_json::to_string(&audit).expect("it is JSON");
    assert!(
        !kept.contains("secret") && !kept.contains("words"),
        "{kept}"
    );
}
