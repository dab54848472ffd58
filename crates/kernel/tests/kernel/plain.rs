//! A run without an agent's report: text as an answer, and calls that go round in circles.

use bonded_kernel::{Event, FROM_TEXT, TerminationKind};

use crate::common::{World, done, look, reply, setup, text};

fn code(world: &World) -> Option<&str> {
    world.run.termination().and_then(|it| it.code())
}

#[test]
fn a_text_is_asked_about_once_and_a_text_again_is_the_answer() {
    let mut world = setup().begin();
    world.reply(text("The answer is 42."));
    assert_eq!(world.ended(), None);
    let asked = world.notices();
    assert!(
        asked.iter().any(|it| it.contains("If it is your answer")),
        "{asked:?}"
    );
    world.reply(text("The answer is 42, as I said."));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(world.reason(), "The answer is 42, as I said.");
    assert_eq!(
        code(&world),
        Some(FROM_TEXT),
        "it is recorded where the answer comes from"
    );
    assert_eq!(world.count("attempt_started"), 2);
}

#[test]
fn a_text_that_only_confirms_is_not_the_answer() {
    let (answer, confirms) = ("The answer is 42, by the table.", "Yes, that is it.");
    for (edition, expected) in [(3, confirms), (4, answer)] {
        let edition = serde_json::from_value(edition.into()).expect("a number is an edition");
        let mut setup = setup();
        setup.config.edition = edition;
        let mut world = setup.begin();
        world.reply(text(answer));
        world.reply(text(confirms));
        assert_eq!(world.ended(), Some(TerminationKind::Done));
        assert_eq!(world.reason(), expected, "{edition:?}");
    }
}

#[test]
fn a_model_that_is_blocked_says_so_in_few_words() {
    let mut world = setup().begin();
    world.reply(text("I looked at every shed there is, and at the barn."));
    world.reply(text("blocked: it is locked"));
    assert_eq!(world.ended(), Some(TerminationKind::Blocked));
    assert_eq!(world.reason(), "blocked: it is locked");
}

#[test]
fn a_text_before_a_call_is_no_answer() {
    let mut world = setup().begin();
    world.reply(text("I will look."));
    world.turn(look("a"), "a shed");
    world.reply(text("It is a shed."));
    assert_eq!(
        world.ended(),
        None,
        "the first text was followed by an action"
    );
    world.reply(reply([done("it is a shed")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(code(&world), None);
}

#[test]
fn a_text_that_says_that_it_is_blocked_ends_as_blocked() {
    let mut world = setup().begin();
    for _ in 0..2 {
        world.reply(text("Blocked: the shed is locked."));
    }
    assert_eq!(world.ended(), Some(TerminationKind::Blocked));
}

#[test]
fn an_empty_reply_is_never_the_answer() {
    let mut world = setup().begin();
    world.reply(text("It is a shed."));
    world.reply(text(" \n"));
    assert_eq!(world.ended(), None);
    let rejected = |event: &Event| matches!(event, Event::ReplyRejected { .. });
    assert!(world.entries.iter().any(|entry| rejected(&entry.event)));
}

#[test]
fn a_cycle_of_up_to_four_calls_that_comes_round_three_times_is_no_progress() {
    for period in 1..=4 {
        let mut world = setup().begin();
        let mut calls = 0;
        while world.ended().is_none() && calls < 40 {
            world.turn(look(&format!("path {}", calls % period)), "a shed");
            calls += 1;
        }
        assert_eq!(
            world.ended(),
            Some(TerminationKind::NoProgress),
            "period {period}"
        );
        assert_eq!(calls, 3 * period, "period {period}");
    }
    let mut world = setup().begin();
    for nth in 0..30 {
        world.turn(look(&format!("path {}", nth % 5)), "a shed");
    }
    assert_eq!(world.ended(), None, "five calls in turn are not looked for");
}

#[test]
fn a_cycle_whose_results_change_is_progress() {
    let mut world = setup().begin();
    for nth in 0..20 {
        world.turn(look(&format!("path {}", nth % 2)), &format!("result {nth}"));
    }
    assert_eq!(world.ended(), None);
}
