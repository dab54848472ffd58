//! Turns of a run that works in loops: what each shows the model, when the next begins, when the run ends.

use bonded_kernel::{Effect, Input, TerminationKind, Window, request};
use serde_json::json;

use crate::common::noise;
use crate::looping_common::{looped, ram, search, state};

#[test]
fn the_prompt_holds_the_default_segments_and_those_of_the_states_in_the_order_of_the_file() {
    let rows = [
        (json!({}), "D1 P1 D2"),
        (json!({ "state": "planning" }), "D1 P1 D2"),
        (json!({ "state": "executing" }), "D1 D2 X1 X2"),
        (json!({ "state": "evaluating" }), "D1 D2 V1"),
        (
            json!({ "state": "executing,record_organizing" }),
            "D1 D2 X1 X2 O1",
        ),
        (json!({ "state": "record_organizing" }), "D1 P1 D2 O1"),
        (json!({ "state": "no such state" }), "D1 P1 D2"),
    ];
    for (memory, segments) in rows {
        let world = looped().memory(&memory).begin();
        let system = world.system();
        let shown: Vec<&str> = system.split_whitespace().collect();
        assert_eq!(shown.join(" "), segments, "{memory}");
    }
}

#[test]
fn a_request_is_the_memory_the_last_results_and_the_request_and_nothing_said_before() {
    let mut world = looped().memory(&json!({ "plan": "look" })).begin();
    assert!(world.message().contains("plan: \"look\""));
    assert!(world.message().ends_with("Request:\ntidy the notes"));
    assert!(!world.message().contains("Results of the last loop"));
    let said = format!(
        "Some prose. {}{}",
        ram("context", "{\"a\":1}"),
        search("shed")
    );
    world.loops(&said);
    let message = world.message();
    assert!(message.contains("context: {\"a\":1}\n"), "{message}");
    assert!(message.contains("- ram_add context: ok\n"), "{message}");
    assert!(message.contains("- record_search shed: ok\n"), "{message}");
    assert!(!message.contains("Some prose"), "{message}");
    world.loops(&ram("plan", "done"));
    assert!(
        !world.message().contains("record_search"),
        "only the last results"
    );
    let asked = request(&world.run).expect("the run is asking");
    assert_eq!(asked.tools().count(), 0, "calls are written in the text");
}

#[test]
fn what_is_written_is_not_seen_before_the_next_loop() {
    let mut world = looped().begin();
    let before = (world.system(), world.message());
    world.says(&format!("{}{}", state("executing"), ram("plan", "x")));
    world.wake();
    assert_ne!((world.system(), world.message()), before);
    // A request that is made again within a turn is the same, whatever a person changed meanwhile.
    let before = (world.system(), world.message());
    let mut edit = bonded_kernel::MemoryEdit::default();
    edit.set.insert("plan".into(), json!("by hand"));
    world.input(Input::MemoryEdited(edit));
    world.says("no instruction");
    assert_eq!((world.system(), world.message()), before);
}

#[test]
fn results_are_a_bounded_block() {
    let mut world = looped().begin();
    let said: String = (0..10).map(|nth| search(&nth.to_string())).collect();
    world.reply(crate::common::text(&said));
    for _ in 0..10 {
        world.ok(&"ä".repeat(5_000));
    }
    world.wake();
    let message = world.message();
    assert!(message.len() < 26_000, "{}", message.len());
    assert!(message.contains("bytes more)"));
    assert!(message.contains("more results have no room here"));
}

#[test]
fn a_run_rests_between_turns_longer_when_it_is_idle_and_always_for_a_moment() {
    for (said, steps, waits_ms) in [("planning", "[]", 1_500), ("idle", "[1]", 5_000)] {
        let mut world = looped().begin();
        world.says(&format!("{}{}", ram("steps", steps), state(said)));
        assert_eq!(world.waits_ms(), Some(waits_ms), "{said}");
        world.after(waits_ms - 1).input(Input::Woke);
        assert_eq!(
            world.waits_ms(),
            Some(1),
            "an alarm that came early is set again"
        );
        world.wake();
        assert!(world.is_asking());
    }
    let mut world = looped().with(|looping| looping.loop_delay_ms = 0).begin();
    world.says(&ram("a", "b"));
    assert_eq!(
        world.waits_ms(),
        Some(0),
        "so that the host can take changes in"
    );
    world.wake();
    assert!(world.is_asking());
}

#[test]
fn a_process_that_takes_the_run_up_while_it_rests_lets_it_rest() {
    let mut world = looped().begin();
    world.says(&ram("a", "b"));
    world.after(500).resume();
    assert_eq!(world.waits_ms(), Some(1_000));
    world.wake();
    assert!(world.is_asking());
    world.resume();
    assert!(world.is_asking(), "what was asked is asked again");
}

#[test]
fn a_run_ends_when_it_is_idle_and_no_steps_are_left() {
    for steps in ["[]", "", "{}", "null"] {
        let mut world = looped().memory(&json!({ "steps": ["a"] })).begin();
        world.loops(&state("idle"));
        assert_eq!(world.ended(), None, "a step is left");
        world.says(&ram("steps", steps));
        assert_eq!(world.ended(), Some(TerminationKind::Done), "{steps:?}");
    }
    let mut world = looped().begin();
    world.says(&state("idle"));
    assert_eq!(
        world.ended(),
        Some(TerminationKind::Done),
        "there never was one"
    );
    assert_eq!(world.code(), None);
}

#[test]
fn a_trigger_makes_who_was_idle_plan() {
    let world = looped()
        .memory(&json!({ "state": "idle,record_organizing" }))
        .begin();
    assert_eq!(world.kept("state"), "record_organizing,planning");
    assert!(world.is_asking());
}

#[test]
fn a_run_that_never_becomes_idle_stops_at_its_last_loop() {
    let mut world = looped().limit(|limits| limits.turns_max = 3).begin();
    for loop_count in 1..=3 {
        assert_eq!(world.ended(), None);
        world.loops(&ram("plan", &loop_count.to_string()));
    }
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
    let audit = world.run.audit_of_loop().expect("the run works in loops");
    assert_eq!((audit.loop_count, audit.operation_count), (3, 3));
    assert_eq!(audit.error_code.as_deref(), Some("TURNS_EXHAUSTED"));
    assert_eq!(looped().config.limits.turns_max, 100);
}

#[test]
fn three_turns_that_change_nothing_are_no_progress() {
    let mut world = looped().begin();
    for _ in 0..3 {
        world.loops(&format!(
            "{}{}",
            ram("plan", "same"),
            ram("context", "same")
        ));
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
    let mut world = looped().begin();
    for _ in 0..3 {
        world.loops("");
    }
    assert_eq!(
        world.ended(),
        Some(TerminationKind::NoProgress),
        "and so are empty replies"
    );
}

#[test]
fn every_request_is_within_what_was_reserved_and_within_a_window() {
    let mut setup = looped().limit(|limits| limits.tokens_max = Some(100_000));
    setup.config.targets[0].window = Some(Window {
        tokens: 9_000,
        buffer: 0,
        vocabulary: Default::default(),
    });
    let mut world = setup.begin();
    for turn in 0..40 {
        let bytes = (world.system().len() + world.message().len()) as u64;
        let Some(bonded_kernel::Event::AttemptStarted {
            reserved, context, ..
        }) = world
            .entries
            .iter()
            .rev()
            .map(|entry| entry.event.clone())
            .find(|event| event.kind() == "attempt_started")
        else {
            unreachable!("the run is asking");
        };
        assert!(reserved.input >= bytes, "no token is shorter than a byte");
        assert!(context.is_some_and(|it| it.expected() <= 8_000));
        world.loops(&ram(&format!("key{turn}"), &noise(400)));
        if world.ended().is_some() {
            break;
        }
    }
    assert_eq!(world.ended(), Some(TerminationKind::Fatal));
    assert_eq!(world.code(), Some("CONTEXT_OVERFLOW"));
}

#[test]
fn a_budget_ends_a_loop_before_the_request_that_could_break_it() {
    let mut world = looped()
        .limit(|limits| limits.tokens_max = Some(1_000))
        .begin();
    for turn in 0..50 {
        if world.ended().is_some() {
            break;
        }
        world.loops(&ram("plan", &turn.to_string()));
    }
    assert_eq!(world.ended(), Some(TerminationKind::BudgetExhausted));
    assert!(world.run.spend().usage.total() <= 1_000);
}

#[test]
fn a_crash_anywhere_leaves_a_log_that_goes_on_with_the_same_memory() {
    let mut world = looped().begin();
    world.loops(&format!("{}{}", ram("plan", "a"), search("q")));
    world.reply(crate::common::text(&format!(
        "{}{}",
        search("r"),
        ram("plan", "b")
    )));
    assert!(matches!(world.effect, Effect::Invoke(_)));
    for (length, effect) in &world.boundaries {
        let mut taken_up = crate::common::World::from_log(world.entries[..*length].to_vec());
        assert_eq!(format!("{:?}", taken_up.effect), *effect);
        taken_up.resume();
        let again = bonded_kernel::replay(&taken_up.entries).expect("the log of a run");
        assert_eq!(again.memory(), taken_up.run.memory());
    }
    world.resume();
    assert!(
        matches!(world.effect, Effect::Invoke(_)),
        "a search may be made again"
    );
    world.ok("found");
    assert_eq!(world.kept("plan"), "b");
}
