//! A crash at any moment loses nothing and repeats nothing that must not be repeated.

use bonded_kernel::{Effect, Event, FailureClass, Outcome, ReplyCall, ToolEffect, replay, request};

use crate::common::{World, kinds, look, push, put, reply, setup};

const INTERRUPTED: &str = "(tool failed: interrupted, outcome unknown)";

/// What a new process finds: only the log.
fn crashed(world: &World) -> World {
    let mut taken_up = World::from_log(world.entries.clone());
    taken_up.after(60_000).resume();
    taken_up
}

fn acting(call: ReplyCall) -> World {
    let mut world = setup().begin();
    world.reply(reply([call, look("after")]));
    world
}

#[test]
fn an_interrupted_call_that_may_repeat_is_invoked_again_under_the_same_key() {
    for (call, effect) in [
        (look("a"), ToolEffect::Read),
        (put("a"), ToolEffect::Idempotent),
    ] {
        let mut world = acting(call.clone());
        let mut keys = vec![];
        for _ in 0..3 {
            let Effect::Invoke(invocation) = &world.effect else {
                unreachable!("{effect:?} may repeat: {:?}", world.effect);
            };
            assert_eq!(invocation.effect(), effect);
            assert_eq!(invocation.arguments(), call.arguments);
            keys.push(invocation.key());
            world = crashed(&world);
        }
        keys.dedup();
        assert_eq!(keys.len(), 1);
        let intents = world.invoked();
        let intents = intents.iter().filter(|(call, _)| *call == 0);
        assert_eq!(intents.count(), 1, "the intent is logged once");
        assert_eq!(world.results(), []);
        world.ok("a shed");
        assert_eq!(world.results()[0].1, "a shed");
    }
}

#[test]
fn an_interrupted_write_is_never_invoked_again_and_the_model_is_told() {
    let world = crashed(&acting(push("a")));
    let fresh = &world.entries[world.entries.len() - 3..];
    assert_eq!(
        kinds(fresh),
        ["run_resumed", "tool_finished", "tool_invoked"]
    );
    let Event::ToolFinished(finished) = &fresh[1].event else {
        unreachable!("its kind was checked");
    };
    assert_eq!(finished.outcome, Outcome::Interrupted);
    assert_eq!(&*finished.output, INTERRUPTED);
    assert_eq!(world.results()[0].1, INTERRUPTED);
    let Effect::Invoke(invocation) = &world.effect else {
        unreachable!("the next call is up: {:?}", world.effect);
    };
    assert_eq!((invocation.tool(), invocation.call()), ("look", 1));
    let pushes = world
        .invoked()
        .iter()
        .filter(|(_, tool)| tool == "push")
        .count();
    assert_eq!(pushes, 1);
}

#[test]
fn what_a_call_returns_after_it_was_given_up_is_ignored() {
    let mut world = crashed(&acting(push("a")));
    let late = world.input(bonded_kernel::Input::ToolReturned {
        turn: 1,
        call: 0,
        output: Box::new(crate::common::output(Outcome::Ok, "pushed after all")),
    });
    assert_eq!(late, []);
}

#[test]
fn a_tool_cannot_say_that_its_call_was_interrupted() {
    let mut world = acting(push("a"));
    let fresh = world.returned(crate::common::output(Outcome::Interrupted, "who knows"));
    let Event::ToolFinished(finished) = &fresh[0].event else {
        unreachable!("the call returned: {fresh:?}");
    };
    assert_eq!(finished.outcome, Outcome::Failed);
}

#[test]
fn a_request_that_was_under_way_is_booked_at_its_reserve_and_sent_anew() {
    let mut world = setup().begin();
    let reserved = world.entries.iter().find_map(|entry| match entry.event {
        Event::AttemptStarted { reserved, .. } => Some(reserved),
        _ => None,
    });
    let reserved = reserved.expect("a run begins by asking");
    let before = format!(
        "{:?}",
        request(&world.run).map(|asked| asked.messages.to_vec())
    );
    world = crashed(&world);
    assert_eq!(world.run.spend().usage, reserved.usage());
    assert_eq!(world.run.spend().requests, 0, "nothing was answered");
    assert!(matches!(
        world.effect,
        Effect::Ask {
            turn: 1,
            attempt: 2
        }
    ));
    let after = format!(
        "{:?}",
        request(&world.run).map(|asked| asked.messages.to_vec())
    );
    assert_eq!(before, after);
    let fresh = &world.entries[world.entries.len() - 3..];
    assert_eq!(
        kinds(fresh),
        ["run_resumed", "attempt_failed", "attempt_started"]
    );
}

#[test]
fn the_answer_to_a_request_of_an_earlier_process_is_ignored() {
    let mut world = crashed(&setup().begin());
    let late = world.input(bonded_kernel::Input::Reply {
        turn: 1,
        attempt: 1,
        reply: Box::new(reply([push("a")])),
    });
    assert_eq!(late, []);
    assert_eq!(world.invoked(), []);
}

#[test]
fn an_answer_to_an_attempt_of_an_earlier_turn_is_ignored() {
    let mut world = setup().begin();
    world.turn(look("a"), "a shed");
    assert!(matches!(
        world.effect,
        Effect::Ask {
            turn: 2,
            attempt: 1
        }
    ));
    let late = world.input(bonded_kernel::Input::Reply {
        turn: 1,
        attempt: 1,
        reply: Box::new(reply([push("a")])),
    });
    assert_eq!(late, []);
    let late = world.input(bonded_kernel::Input::Failed {
        turn: 1,
        attempt: 1,
        failure: Box::new(crate::common::failure(FailureClass::Auth)),
    });
    assert_eq!(late, []);
}

#[test]
fn the_ordinal_of_a_request_counts_answers_and_failures_but_no_crash() {
    let ordinal = |world: &World| request(&world.run).map(|asked| asked.ordinal);
    let mut world = setup().begin();
    assert_eq!(ordinal(&world), Some(0));
    world.fail_and_wait(FailureClass::Network);
    assert_eq!(ordinal(&world), Some(1));
    world = crashed(&world);
    assert_eq!(ordinal(&world), Some(1));
    world.turn(look("a"), "a shed");
    assert_eq!(ordinal(&world), Some(2));
}

#[test]
fn a_wait_that_a_crash_cut_short_goes_on_where_it_stood() {
    let mut world = setup().begin();
    world.fail_as(FailureClass::RateLimit);
    let mut failed = crate::common::failure(FailureClass::RateLimit);
    failed.retry_after_ms = Some(90_000);
    world.wake();
    world.fail(failed);
    let Effect::Wait { until } = world.effect else {
        unreachable!("the only target is limited: {:?}", world.effect);
    };
    world = crashed(&world);
    assert!(matches!(world.effect, Effect::Wait { until: u } if u == until));
    world.wake();
    assert!(matches!(
        world.effect,
        Effect::Ask {
            turn: 1,
            attempt: 3
        }
    ));
}

#[test]
fn a_log_alone_is_enough_to_go_on() {
    let mut world = setup().begin();
    world.turn(look("a"), "a shed");
    let rebuilt = replay(&world.entries).expect("a log");
    assert_eq!(format!("{rebuilt:?}"), format!("{:?}", world.run));
}
