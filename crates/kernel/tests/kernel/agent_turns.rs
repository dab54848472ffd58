//! Turns, attempts and notices of an agent.

use bonded_kernel::{Encoding, FailureClass, Finish, Reply, ReportSource, TerminationKind};
use serde_json::json;

use crate::agent_common::{
    ENCODINGS, IGNORED, REPORT, agent, look_in, markdown, report_in, stopped,
};
use crate::common::{World, call, failure, look, push, reply, text};

#[test]
fn an_agent_works_and_reports_in_every_encoding() {
    for encoding in ENCODINGS {
        let mut world = agent(encoding).begin();
        world.reply(look_in(encoding, 1, 10));
        world.ok("a spade");
        world.reply(report_in(encoding, "# All tidy"));
        assert_eq!(world.ended(), Some(TerminationKind::Done), "{encoding:?}");
        assert_eq!(world.content(), "# All tidy", "{encoding:?}");
        assert_eq!(world.count("run_ended"), 1);
        assert_eq!(world.reason(), "# All tidy");
    }
}

#[test]
fn turns_are_never_exceeded_and_the_last_one_offers_only_the_report() {
    for encoding in ENCODINGS {
        let mut world = agent(encoding).turns(2).calls(3).attempts(1).begin();
        assert_ne!(world.offered_tools(), [REPORT], "{encoding:?}");
        world.reply(look_in(encoding, 1, 3));
        world.ok("a spade");
        let offered = world.offered_tools();
        match encoding {
            Encoding::Native => assert_eq!(offered, [REPORT]),
            _ => assert!(offered.is_empty(), "{encoding:?}: {offered:?}"),
        }
        let notices = world.notices_text();
        assert_eq!(
            notices.matches("last turn").count(),
            1,
            "{encoding:?}: {notices}"
        );
        world.reply(reply([look("b")]));
        assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
        assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
        assert_eq!(world.invoked().len(), 1, "{encoding:?}");
        assert!(
            world
                .conversation()
                .iter()
                .all(|(_, text)| !text.contains("last turn"))
        );
    }
}

#[test]
fn text_without_a_call_is_not_kept_and_is_answered_by_one_notice() {
    for encoding in ENCODINGS {
        let mut world = agent(encoding).begin();
        world.reply(text("I shall tidy up now."));
        assert_eq!(world.roles(), ["user"], "{encoding:?}");
        assert_eq!(world.notices_text().matches(IGNORED).count(), 1);
        world.reply(report_in(encoding, "tidy"));
        assert_eq!(world.ended(), Some(TerminationKind::Done));
        let told = world.conversation();
        assert!(told.iter().all(|(_, text)| !text.contains("System notice")));
        assert_eq!(world.count("attempt_started"), 2);
        assert_eq!(
            world.run.turn(),
            1,
            "a retry inside a turn is not another turn"
        );
    }
}

#[test]
fn an_empty_reply_is_a_counted_attempt_and_leaves_no_message() {
    for empty in ["", " \n\t "] {
        let mut world = agent(Encoding::Native).turns(4).attempts(2).begin();
        for _ in 0..8 {
            assert!(world.is_asking());
            world.reply(text(empty));
            if world.is_asking() {
                assert!(world.notices_text().contains(IGNORED));
            }
        }
        assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
        assert_eq!(world.count("attempt_started"), 8);
        assert_eq!(world.roles(), ["user"]);
        assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
    }
}

#[test]
fn reasoning_alone_is_kept_and_the_turn_goes_on_to_the_next() {
    for encoding in ENCODINGS {
        let mut world = agent(encoding).begin();
        world.reply(Reply {
            reasoning: "where is the spade?".into(),
            ..text("")
        });
        assert_eq!(world.run.turn(), 2, "{encoding:?}");
        assert_eq!(world.roles(), ["user", "assistant"]);
        let notices = world.notices_text();
        assert!(
            !notices.contains("`done`"),
            "an agent has no done: {notices}"
        );
        assert!(!notices.contains(IGNORED), "nothing was ignored: {notices}");
        world.reply(report_in(encoding, "tidy"));
    }
}

#[test]
fn no_notice_to_an_agent_names_a_tool_that_it_does_not_have() {
    let filtered = stopped(Finish::ContentFilter, text("x"));
    let replies = [
        text("no call"),
        text(""),
        filtered,
        stopped(Finish::MalformedCalls, text("")),
        reply([call("look", "no object")]),
    ];
    for bad in replies {
        let mut world = agent(Encoding::Native).begin();
        world.reply(bad);
        assert!(
            !world.notices_text().contains("`done`"),
            "{:?}",
            world.notices()
        );
        assert_eq!(world.notices().len(), 1);
    }
}

/// Plays one failure per attempt, and says which providers were asked.
fn asked_providers(world: &mut World, classes: &[FailureClass]) -> Vec<String> {
    let mut asked = vec![];
    for class in classes {
        while !world.is_asking() && world.ended().is_none() {
            world.wake();
        }
        asked.extend(world.provider().map(str::to_owned));
        world.fail_as(*class);
    }
    asked
}

#[test]
fn targets_cycle_in_order_and_begin_anew_with_each_turn() {
    use FailureClass::{Malformed, Model, Network, Timeout};
    let mut world = agent(Encoding::Native).targets(3).attempts(5).begin();
    let mut asked = asked_providers(&mut world, &[Network, Timeout, Model]);
    world.wake();
    // By now every one of them may be asked again, whatever was added to its wait.
    world.after(1_000);
    asked.extend(asked_providers(&mut world, &[Malformed]));
    assert_eq!(
        asked,
        ["provider-0", "provider-1", "provider-2", "provider-0"]
    );
    assert_eq!(world.provider(), Some("provider-1"));
    world.turn(look("a"), "a spade");
    assert_eq!(world.provider(), Some("provider-0"));
}

#[test]
fn the_next_target_is_asked_at_once_after_network_timeout_and_model_errors() {
    use FailureClass::{Model, Network, Timeout};
    for class in [Network, Timeout, Model] {
        let mut world = agent(Encoding::Native).targets(2).begin();
        world.fail_as(class);
        assert!(world.is_asking(), "{class:?} makes nobody wait");
    }
}

#[test]
fn auth_and_quota_end_the_run_at_once_with_what_the_provider_said() {
    use FailureClass::{Auth, Quota};
    for (class, turns_before) in [(Auth, 0), (Quota, 0), (Auth, 1)] {
        let mut world = agent(Encoding::Native).targets(3).begin();
        for _ in 0..turns_before {
            world.turn(look("a"), "a spade");
        }
        world.fail_as(class);
        assert_eq!(world.ended(), Some(TerminationKind::Fatal), "{class:?}");
        assert_eq!(world.count("attempt_started"), turns_before + 1);
        assert!(world.reason().contains(class.as_str()) && world.reason().contains("it broke"));
        assert_eq!(world.run.report(), None);
    }
}

#[test]
fn attempts_used_up_by_rejected_replies_lead_to_the_next_turn() {
    let mut world = agent(Encoding::Native).turns(5).attempts(2).begin();
    for _ in 0..10 {
        assert_eq!(world.ended(), None);
        world.reply(reply([call("look", "no object")]));
    }
    assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
    let metadata = world.report().metadata.unwrap_or_default();
    assert_eq!(metadata["turns_completed"], json!(5));
    assert_eq!(metadata["final_report_attempts"], json!(0));
    assert_eq!(metadata["last_stop_reason"], json!("tool_calls"));
    assert_eq!(world.count("turn_failed"), 5);
}

#[test]
fn attempts_used_up_by_a_failing_provider_end_the_run_with_its_message() {
    for attempts in [1, 2, 3] {
        let mut world = agent(Encoding::Native).turns(5).attempts(attempts).begin();
        while world.ended().is_none() {
            world.fail_and_wait(FailureClass::Timeout);
        }
        assert_eq!(world.ended(), Some(TerminationKind::Fatal));
        assert!(world.reason().contains("it broke"), "{}", world.reason());
        assert_eq!(world.count("attempt_started"), attempts as usize);
    }
}

#[test]
fn a_provider_that_fails_in_the_last_turn_is_named_in_the_synthetic_report() {
    let mut world = agent(Encoding::Native).turns(3).attempts(1).begin();
    world.reply(text("still at it"));
    world.reply(text("still at it"));
    world.fail(bonded_kernel::Failure {
        message: "the line is dead".into(),
        ..failure(FailureClass::Network)
    });
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
    assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
    assert!(
        world.content().contains("the line is dead"),
        "{}",
        world.content()
    );
}

#[test]
fn a_request_too_large_for_every_target_in_the_last_turn_gives_a_synthetic_report_too() {
    let mut world = agent(Encoding::Native).turns(1).attempts(5).begin();
    world.fail_as(FailureClass::Overflow);
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
    assert!(
        world.content().contains("larger than the window"),
        "{}",
        world.content()
    );
}

#[test]
fn in_the_last_turn_the_next_target_is_tried_when_the_first_gives_text() {
    let mut world = agent(Encoding::Native).turns(1).targets(2).begin();
    world.reply(text("here is my answer"));
    assert_eq!(world.provider(), Some("provider-1"));
    world.reply(reply([markdown("tidy")]));
    assert!(world.is_reported_by(ReportSource::ToolCall));
}

#[test]
fn advice_to_wait_less_than_a_second_is_taken_for_a_second() {
    let advised = [
        (Some(25), 1_000),
        (Some(0), 1_000),
        (Some(7_000), 7_000),
        (None, 1_000),
    ];
    for (retry_after_ms, waited) in advised {
        let mut world = agent(Encoding::Native).begin();
        world.fail(bonded_kernel::Failure {
            retry_after_ms,
            ..failure(FailureClass::RateLimit)
        });
        assert_eq!(world.waits_ms(), Some(waited), "{retry_after_ms:?}");
        world.wake();
        world.reply(reply([markdown("tidy")]));
        assert_eq!(world.count("attempt_started"), 2);
    }
}

#[test]
fn when_all_targets_are_limited_the_longest_wait_counts_and_grows_up_to_a_minute() {
    let mut world = agent(Encoding::Native).targets(2).attempts(9).begin();
    let limited = |ms| bonded_kernel::Failure {
        retry_after_ms: ms,
        ..failure(FailureClass::RateLimit)
    };
    world.fail(limited(Some(5_000)));
    assert!(world.is_asking(), "the other target is free");
    world.fail(limited(None));
    assert_eq!(world.waits_ms(), Some(5_000));
    let mut world = agent(Encoding::Native).attempts(9).begin();
    let mut waits = vec![];
    for _ in 0..8 {
        world.fail(limited(None));
        waits.extend(world.waits_ms());
        world.wake();
    }
    assert_eq!(
        waits,
        [1, 2, 4, 8, 16, 32, 60, 60].map(|seconds| seconds * 1_000)
    );
}

/// Two models behind one key: whoever is limited, both are.
fn one_key(key_env: Option<&str>) -> World {
    let mut setup = agent(Encoding::Native).targets(2).attempts(9);
    for target in &mut setup.config.targets {
        target.provider = "one".into();
        target.key_env = key_env.map(str::to_owned);
    }
    setup.config.targets[1].model = "other".into();
    setup.begin()
}

#[test]
fn targets_with_one_key_are_left_alone_together_and_back_off_together() {
    let mut world = one_key(Some("KEY"));
    world.fail_as(FailureClass::RateLimit);
    assert_eq!(world.waits_ms(), Some(1_000));
    world.wake();
    world.fail_as(FailureClass::RateLimit);
    assert_eq!(
        world.waits_ms(),
        Some(2_000),
        "the second limit of one key is the second"
    );
    let mut world = one_key(None);
    world.fail_as(FailureClass::RateLimit);
    assert!(
        world.is_asking(),
        "without a key nobody knows that they share one"
    );
}

#[test]
fn a_plain_run_asks_the_other_target_of_a_limited_key_at_once_as_it_always_did() {
    let mut setup = crate::common::setup().targets(2);
    for target in &mut setup.config.targets {
        (target.provider, target.key_env) = ("one".into(), Some("KEY".into()));
    }
    let mut world = setup.begin();
    world.fail_as(FailureClass::RateLimit);
    assert!(world.is_asking());
}

#[test]
fn calls_beyond_the_cap_are_refused_and_the_report_is_not_counted() {
    let mut world = agent(Encoding::Native).calls(1).begin();
    let wrong = crate::agent_common::report_call(&json!({ "report_format": "markdown" }));
    world.reply(reply([push("a"), push("b"), wrong]));
    world.ok("pushed");
    assert_eq!(
        world.invoked(),
        [(0, "push".to_owned()), (2, REPORT.to_owned())]
    );
    let results = world.results();
    assert!(
        results[1].1.starts_with("(tool failed: only 1 call"),
        "{results:?}"
    );
    let mut world = agent(Encoding::Native).calls(1).begin();
    world.reply(reply([push("a"), push("b"), markdown("tidy")]));
    assert_eq!(
        world.content(),
        "tidy",
        "a good one is taken beyond the cap"
    );
}

#[test]
fn a_report_before_the_calls_takes_none_of_their_places() {
    let mut world = agent(Encoding::Native).calls(1).begin();
    let wrong = crate::agent_common::report_call(&json!({ "report_format": "markdown" }));
    world.reply(reply([wrong, push("a")]));
    world.ok("pushed");
    assert_eq!(
        world.invoked().len(),
        2,
        "the report was found wanting, the call is the first"
    );
}

#[test]
fn a_plain_run_knows_nothing_of_reports() {
    let mut world = crate::common::setup()
        .limit(|limits| (limits.turns_max, limits.repeats_max) = (9, 0))
        .begin();
    for nth in 0..4 {
        world.reply(reply([
            markdown("tidy"),
            look("a"),
            push(&format!("{nth}")),
        ]));
        world.ok("seen");
        world.ok("pushed");
    }
    assert_eq!(
        world.ended(),
        None,
        "a call of an unknown tool does not shorten the run"
    );
    let mut world = crate::common::setup()
        .limit(|limits| limits.calls_per_turn_max = 1)
        .begin();
    world.reply(reply([look("a"), markdown("tidy")]));
    world.ok("seen");
    assert!(
        world.results()[1].1.contains("only 1 calls"),
        "{:?}",
        world.results()
    );
}
