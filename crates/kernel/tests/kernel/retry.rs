//! The policy after a failed attempt.

use bonded_kernel::{
    AttemptFailed, Effect, Event, Failure, FailureClass, Finish, RejectReason, Reply,
    TerminationKind,
};

use crate::common::{World, failure, kinds, look, reply, setup, text};

fn limited(retry_after_ms: Option<u64>) -> Failure {
    Failure {
        retry_after_ms,
        ..failure(FailureClass::RateLimit)
    }
}

#[test]
fn a_wrong_key_or_a_used_up_quota_ends_the_run_at_once() {
    for (class, reason) in [
        (FailureClass::Auth, "auth: it broke"),
        (FailureClass::Quota, "quota: it broke"),
    ] {
        let mut world = setup().targets(3).begin();
        let fresh = world.fail_as(class);
        assert_eq!(kinds(&fresh), ["attempt_failed", "run_ended"]);
        assert_eq!(world.ended(), Some(TerminationKind::Fatal));
        assert_eq!(world.reason(), reason);
    }
}

#[test]
fn network_timeout_and_model_errors_go_to_the_next_target_at_once() {
    for class in [
        FailureClass::Network,
        FailureClass::Timeout,
        FailureClass::Model,
    ] {
        let mut world = setup().targets(3).begin();
        for expected in ["provider-1", "provider-2"] {
            world.fail_as(class);
            assert_eq!(world.provider(), Some(expected), "{class:?}");
        }
        world.fail_as(class);
        let waits_ms = world.waits_ms();
        assert!(
            waits_ms.is_some_and(|ms| (1_000..=1_250).contains(&ms)),
            "{waits_ms:?}"
        );
        world.wake();
        assert_eq!(world.provider(), Some("provider-0"), "{class:?}");
        world.reply(reply([look("a")]));
        world.ok("a shed");
        assert_eq!(
            world.provider(),
            Some("provider-0"),
            "a turn begins with the first"
        );
    }
}

#[test]
fn a_rate_limit_waits_as_long_as_the_provider_says() {
    for wait_ms in [0, 1, 1_500, 3_600_000] {
        let mut world = setup().limit(|limits| limits.elapsed_ms_max = None).begin();
        world.fail(limited(Some(wait_ms)));
        if wait_ms > 0 {
            assert_eq!(world.waits_ms(), Some(wait_ms));
            world.now = world.now.plus(wait_ms - 1);
            assert_eq!(
                world.input(bonded_kernel::Input::Woke),
                [],
                "woken too early"
            );
            world.wake();
        }
        assert_eq!(world.asked(), (1, 2));
    }
}

#[test]
fn a_rate_limit_without_a_time_backs_off_from_one_second_to_sixty() {
    let mut world = setup()
        .limit(|limits| limits.attempts_per_turn_max = 9)
        .begin();
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        world.fail(limited(None));
        assert_eq!(world.waits_ms(), Some(seconds * 1_000));
        world.wake();
    }
    world.reply(reply([look("a")]));
    world.ok("a shed");
    world.fail(limited(None));
    assert_eq!(
        world.waits_ms(),
        Some(1_000),
        "an answer resets the back-off"
    );
}

#[test]
fn a_limited_target_is_passed_over_until_its_time_has_come() {
    let mut world = setup().targets(2).begin();
    world.fail(limited(Some(5_000)));
    assert_eq!(world.provider(), Some("provider-1"));
    world.fail_and_wait(FailureClass::Network);
    assert_eq!(
        world.provider(),
        Some("provider-1"),
        "the other is still limited"
    );
    world.after(5_000).fail_as(FailureClass::Network);
    assert_eq!(world.provider(), Some("provider-0"));
}

#[test]
fn when_every_target_is_limited_the_run_waits_for_the_longest() {
    let mut world = setup().targets(3).begin();
    for wait_ms in [2_000, 7_000, 3_000] {
        world.fail(limited(Some(wait_ms)));
    }
    assert_eq!(world.waits_ms(), Some(7_000));
    world.wake();
    assert_eq!(world.provider(), Some("provider-0"));
}

#[test]
fn a_target_that_was_limited_in_a_turn_is_waited_for_in_the_next() {
    let mut world = setup()
        .targets(2)
        .limit(|limits| limits.attempts_per_turn_max = 2)
        .begin();
    world.fail(limited(Some(9_000)));
    world.reply(text(""));
    assert_eq!(world.count("turn_failed"), 1);
    assert_eq!(
        (world.asked(), world.provider()),
        ((2, 1), Some("provider-1"))
    );
    world.after(9_000).reply(text(""));
    assert_eq!(world.provider(), Some("provider-0"));
}

#[test]
fn a_target_that_fails_is_asked_again_in_a_turn_after_one_second_to_sixty() {
    let mut world = setup().limit(|limits| limits.elapsed_ms_max = None).begin();
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
        world.fail_as(FailureClass::Network);
        let waits_ms = world.waits_ms().unwrap_or_default();
        let (least, most) = (seconds * 1_000, seconds * 1_250);
        assert!((least..=most).contains(&waits_ms), "{waits_ms}");
        world.wake();
    }
    world.fail_as(FailureClass::Network);
    assert_eq!(world.ended(), Some(TerminationKind::Fatal));
    assert_eq!(
        world.reason(),
        "it broke",
        "the provider's words are the last"
    );
}

#[test]
fn the_chance_in_a_wait_differs_from_run_to_run_and_is_the_same_in_a_replay() {
    let waits: std::collections::BTreeSet<u64> = (0..8)
        .filter_map(|nth| {
            let mut world = setup().system(&format!("system {nth}")).begin();
            world.fail_as(FailureClass::Network);
            let again = World::from_log(world.entries.clone());
            let until = |world: &World| match world.effect {
                Effect::Wait { until } => Some(until),
                _ => None,
            };
            assert_eq!(until(&again), until(&world));
            world.waits_ms()
        })
        .collect();
    assert!(waits.len() > 4, "{waits:?}");
}

#[test]
fn a_request_that_is_refused_for_good_is_not_sent_to_that_target_again() {
    for status in [400, 404, 413, 422] {
        let refused = || Failure {
            status: Some(status),
            ..failure(FailureClass::Model)
        };
        let mut world = setup().targets(2).begin();
        world.fail(refused());
        assert_eq!(world.provider(), Some("provider-1"));
        world.fail_and_wait(FailureClass::Network);
        assert_eq!(
            world.provider(),
            Some("provider-1"),
            "the first has refused"
        );
        world.fail(refused());
        assert_eq!(world.ended(), Some(TerminationKind::Fatal), "{status}");
        assert_eq!(world.reason(), "it broke");
        assert_eq!(world.count("attempt_started"), 3);
    }
    for status in [408, 409, 425, 500, 503] {
        let mut world = setup().begin();
        world.fail(Failure {
            status: Some(status),
            ..failure(FailureClass::Model)
        });
        assert!(world.waits_ms().is_some(), "{status} may pass");
    }
}

/// A notice is for one request only; the conversation never holds it.
fn assert_noticed(world: &World, expected: &str) {
    assert!(
        world
            .notices()
            .iter()
            .any(|notice| notice.contains(expected)),
        "{:?}",
        world.notices()
    );
    assert_eq!(world.run.messages().len(), 1, "only the goal was said");
}

#[test]
fn an_unreadable_reply_is_retried_with_a_notice_at_the_next_target() {
    let mut world = setup().targets(2).begin();
    world.fail_as(FailureClass::Malformed);
    assert_noticed(&world, "could not be read");
    assert_eq!(world.provider(), Some("provider-1"));
    world.reply(reply([look("a")]));
    world.ok("a shed");
    assert_eq!(world.notices(), [""; 0]);
}

#[test]
fn an_empty_or_withheld_or_unreadable_reply_is_rejected_with_a_notice_and_counts() {
    let withheld = Reply {
        finish: Finish::ContentFilter,
        ..reply([look("a")])
    };
    // The provider itself could not read the calls.
    let lost = |said: &str| Reply {
        finish: Finish::MalformedCalls,
        ..text(said)
    };
    let cases = [
        (text(""), RejectReason::Empty, "was empty"),
        (text(" \n\t"), RejectReason::Empty, "was empty"),
        (withheld, RejectReason::Filtered, "was withheld"),
        (lost(""), RejectReason::Malformed, "could not be read"),
        (
            lost("I look."),
            RejectReason::Malformed,
            "could not be read",
        ),
    ];
    for (empty, expected, notice) in cases {
        let mut world = setup()
            .limit(|limits| limits.attempts_per_turn_max = 2)
            .begin();
        let fresh = world.reply(empty.clone());
        assert!(
            matches!(&fresh[0].event, Event::ReplyRejected { reason, .. } if *reason == expected)
        );
        assert_noticed(&world, notice);
        let spend = world.run.spend();
        assert_eq!(
            (spend.requests, spend.usage.total()),
            (1, 48),
            "it is billed"
        );
        let fresh = world.reply(empty);
        assert_eq!(
            kinds(&fresh),
            ["reply_rejected", "turn_failed", "attempt_started"]
        );
        assert_eq!(world.invoked(), []);
    }
}

#[test]
fn a_request_too_large_for_one_target_goes_to_the_others_and_too_large_for_all_is_fatal() {
    let mut world = setup().targets(3).begin();
    world.fail_as(FailureClass::Overflow);
    assert_eq!(world.provider(), Some("provider-1"));
    world.fail_and_wait(FailureClass::Network);
    world.fail_and_wait(FailureClass::Network);
    assert_eq!(
        world.provider(),
        Some("provider-1"),
        "the first is left out"
    );
    world.fail_and_wait(FailureClass::Overflow);
    world.fail_and_wait(FailureClass::Overflow);
    assert_eq!(world.ended(), Some(TerminationKind::Fatal));
    assert!(
        world
            .reason()
            .contains("larger than the window of every target")
    );
}

#[test]
fn a_turn_without_attempts_left_fails_and_three_such_turns_are_no_progress() {
    let empty = || text("");
    let mut world = setup()
        .limit(|limits| limits.attempts_per_turn_max = 2)
        .begin();
    for turn in 1..=3 {
        assert_eq!(world.asked(), (turn, 1));
        world.reply(empty());
        let fresh = world.reply(empty());
        assert!(matches!(
            fresh[1].event,
            Event::TurnFailed { attempts: 2, .. }
        ));
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
}

#[test]
fn interrupted_attempts_are_not_counted_and_stay_at_their_target() {
    let setup = setup()
        .targets(2)
        .limit(|limits| limits.attempts_per_turn_max = 2);
    let mut world = setup.begin();
    world.fail_as(FailureClass::Network);
    for attempt in 3..9 {
        world.resume();
        assert_eq!(world.asked(), (1, attempt));
        assert_eq!(world.provider(), Some("provider-1"));
    }
    world.reply(text(""));
    assert_eq!(world.count("turn_failed"), 1);
    assert_eq!(world.asked(), (2, 1));
}

#[test]
fn a_transport_cannot_say_that_an_attempt_was_interrupted() {
    let mut world = setup()
        .limit(|limits| limits.attempts_per_turn_max = 2)
        .begin();
    world.fail_and_wait(FailureClass::Interrupted);
    world.fail_and_wait(FailureClass::Interrupted);
    assert_eq!(world.count("turn_failed"), 1);
}

#[test]
fn a_failure_is_recorded_with_all_that_is_known_of_it() {
    let mut world = setup().begin();
    let overflow = bonded_kernel::Overflow {
        window: Some(7),
        sent: None,
    };
    let fresh = world.fail(Failure {
        class: FailureClass::Model,
        message: "overloaded".into(),
        status: Some(529),
        retry_after_ms: Some(7),
        request_id: Some("req-9".into()),
        latency_ms: 12,
        billable: true,
        overflow: Some(overflow),
    });
    let expected = AttemptFailed {
        class: FailureClass::Model,
        message: "overloaded".into(),
        status: Some(529),
        retry_after_ms: Some(7),
        request_id: Some("req-9".into()),
        latency_ms: 12,
        billable: true,
        overflow: Some(overflow),
    };
    assert_eq!(fresh[0].event, Event::AttemptFailed(Box::new(expected)));
}
