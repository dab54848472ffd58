//! What a service refuses is left out or said otherwise, once; the log keeps it, and a replay does the same.

use bonded_kernel::{
    Accepts, Event, Failure, FailureClass, Lesson, Parameter, TerminationKind, request,
};

use crate::common::{World, failure, kinds, look, reply, setup};

fn refused(status: u16, message: &str) -> Failure {
    Failure {
        message: message.into(),
        status: Some(status),
        ..failure(FailureClass::Model)
    }
}

/// Targets that take everything, and are told a temperature.
fn world(targets: usize) -> World {
    let mut setup = setup().targets(targets);
    setup.config.temperature = Some(0.0);
    for target in &mut setup.config.targets {
        target.accepts = Some(Box::default());
        target.sampling.top_k = Some(4);
    }
    setup.begin()
}

fn accepts(world: &World) -> Accepts {
    let request = request(&world.run).expect("it asks");
    *request.target.accepts.clone().expect("it is known")
}

#[test]
fn a_parameter_that_is_named_is_left_out_and_the_same_target_is_asked_again() {
    for status in [400, 422] {
        let mut world = world(2);
        let fresh = world.fail(refused(
            status,
            "`temperature` is deprecated for this model.",
        ));
        assert_eq!(
            kinds(&fresh),
            ["attempt_failed", "target_learned", "attempt_started"]
        );
        assert_eq!(world.provider(), Some("provider-0"));
        assert_eq!(accepts(&world).temperature_max, None);
        world.reply(reply([look("a")]));
        world.ok("a shed");
        let later = accepts(&world);
        assert_eq!(later.temperature_max, None, "the next turn remembers");
        world.fail_as(FailureClass::Network);
        assert_eq!(world.provider(), Some("provider-1"));
        assert!(
            accepts(&world).temperature_max.is_some(),
            "it is another target"
        );
    }
}

#[test]
fn what_was_learned_is_there_after_a_restart() {
    let mut world = world(1);
    world.fail(refused(400, "top_k: Extra inputs are not permitted"));
    let mut again = World::from_log(world.entries.clone());
    again.resume();
    let learned = accepts(&again);
    assert!(!learned.top_k && learned.temperature_max.is_some());
}

#[test]
fn a_lesson_is_no_failure_of_the_turn() {
    let mut world = world(1);
    let max = world.run.config().limits.attempts_per_turn_max;
    world.fail(refused(400, "temperature is not supported"));
    for _ in 1..max {
        world.fail_and_wait(FailureClass::Network);
        assert!(world.is_asking());
    }
    world.fail_as(FailureClass::Network);
    assert_eq!(world.count("turn_failed"), 1);
}

#[test]
fn a_service_that_refuses_now_this_and_now_that_is_an_ordinary_failure_soon() {
    let mut world = world(1);
    let messages = [
        "'max_tokens' is not supported, use 'max_completion_tokens' instead",
        "'max_completion_tokens' is not supported, use 'max_tokens' instead",
    ];
    for turn in 0..1_000 {
        if world.ended().is_some() {
            break;
        }
        world.fail(refused(400, messages[turn % 2]));
    }
    assert_eq!(world.count("target_learned"), 2);
    assert!(world.ended().is_some_and(|it| it != TerminationKind::Done));
}

#[test]
fn other_failures_and_messages_that_name_nothing_or_everything_teach_nothing() {
    let everything = "temperature top_k top_p reasoning stream_options tool_choice service_tier";
    let all = |world: &mut World| {
        for (status, message) in [
            (400, "the request is bad"),
            (400, ""),
            (500, "temperature is not supported"),
            (404, "temperature is not supported"),
            (400, "service_tier is not supported"),
        ] {
            let fresh = world.fail(refused(status, message));
            assert!(!kinds(&fresh).contains(&"target_learned"), "{message}");
        }
    };
    all(&mut world(1));
    let mut sent = setup();
    sent.config.temperature = Some(0.0);
    let target = &mut sent.config.targets[0];
    target.stream = true;
    target.accepts = Some(Box::default());
    target.sampling.top_k = Some(4);
    target.sampling.top_p = Some(0.5);
    target.sampling.service_tier = Some("flex".into());
    let fresh = sent.begin().fail(refused(400, everything));
    assert!(!kinds(&fresh).contains(&"target_learned"));
}

#[test]
fn the_log_says_what_was_learned_after_the_words_that_taught_it() {
    let mut world = world(1);
    let fresh = world.fail(refused(400, "temperature is not supported"));
    let words = fresh.iter().find_map(|entry| match &entry.event {
        Event::AttemptFailed(failed) => Some(failed.message.to_string()),
        _ => None,
    });
    assert_eq!(words.as_deref(), Some("temperature is not supported"));
    let lesson = fresh.iter().find_map(|entry| match &entry.event {
        Event::TargetLearned { target: 0, lesson } => Some(*lesson.clone()),
        _ => None,
    });
    assert_eq!(lesson, Some(Lesson::LeaveOut(Parameter::Temperature)));
}
