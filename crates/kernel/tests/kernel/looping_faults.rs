//! Replies that cannot be read and providers that fail, in a run that works in loops.

use bonded_kernel::{Event, Failure, FailureClass, Finish, Input, Reply, TerminationKind};

use crate::common::{World, call, failure, text};
use crate::looping_common::{looped, note, ram, state, thinking};

#[test]
fn a_reply_that_fails_as_a_whole_executes_nothing_and_is_asked_for_again_twice() {
    let mut world = looped().begin();
    for repair in 0..3 {
        assert!(world.is_asking(), "attempt {repair}");
        let notices = world.notices();
        assert_eq!(
            notices.len(),
            repair,
            "what was asked for in vain is asked for in other words"
        );
        if let Some(notice) = notices.first() {
            assert!(
                notice.contains("XML_PARSE_ERROR: line 2: <ram_add> has no end"),
                "{notice}"
            );
            assert!(notice.contains("Write <ram_add><key>"), "{notice}");
        }
        world.reply(text(&format!("{}<ram_add>", ram("plan", "x"))));
    }
    assert_eq!(world.ended(), Some(TerminationKind::Fatal));
    assert_eq!(world.code(), Some("XML_PARSE_ERROR"));
    assert!(world.invoked().is_empty());
    assert!(world.memory().get("plan").is_none());
    let audit = world.run.audit_of_loop().expect("the run works in loops");
    assert_eq!(audit.error_code.as_deref(), Some("XML_PARSE_ERROR"));
    assert_eq!((audit.loop_count, audit.operation_count), (1, 0));
}

#[test]
fn a_reply_that_is_readable_after_a_repair_is_executed() {
    let mut world = looped().begin();
    world.reply(text("just words"));
    world.reply(text("again"));
    world.loops(&ram("plan", "x"));
    assert_eq!(world.kept("plan"), "x");
    // The next turn has repairs of its own.
    world.reply(text("just words"));
    world.reply(text("again"));
    world.loops(&ram("plan", "y"));
    assert_eq!(world.kept("plan"), "y");
    assert_eq!(world.ended(), None);
}

#[test]
fn what_was_dropped_is_told_in_the_next_loop_and_the_rest_runs() {
    let mut world = looped().begin();
    let said = format!(
        "<think>hm</think>\n<ram_add><key>k</key></ram_add>\n{}",
        ram("plan", "x")
    );
    world.loops(&said);
    assert_eq!(world.kept("plan"), "x");
    let message = world.message();
    assert!(
        message.contains("line 1: there is no instruction of this name: use only state_add"),
        "{message}"
    );
    assert!(
        message.contains("line 2: <ram_add> has no <value>"),
        "{message}"
    );
}

#[test]
fn strict_reading_fails_the_reply_for_any_of_these() {
    for said in [
        "<think>hm</think>",
        "<ram_add><key>k</key></ram_add>",
        "words",
        "<ram_add a='1'/>",
    ] {
        let mut world = looped().with(|looping| looping.strict = true).begin();
        world.reply(text(&format!("{}{said}", ram("plan", "x"))));
        assert_eq!(world.count("reply_rejected"), 1, "{said}");
        assert!(world.memory().get("plan").is_none(), "{said}");
    }
}

#[test]
fn calls_outside_of_the_text_are_ignored_and_told_and_thoughts_are_never_read() {
    let mut world = looped().begin();
    let reply = Reply {
        calls: vec![call("record_add", "{\"keywords\":\"k\",\"value\":\"v\"}")],
        finish: Finish::ToolCalls,
        ..thinking(&ram("plan", "x"), &note("thought"))
    };
    world.reply(reply);
    assert_eq!(world.invoked(), [(1, "ram_add".to_owned())]);
    world.wake();
    assert!(
        world
            .message()
            .contains("calls are written as instructions in the text")
    );
}

#[test]
fn instructions_beyond_the_cap_are_not_executed_and_the_model_is_told() {
    let mut world = looped()
        .limit(|limits| limits.calls_per_turn_max = 3)
        .begin();
    let said: String = (0..5).map(|nth| ram(&format!("k{nth}"), "v")).collect();
    world.loops(&said);
    assert_eq!(world.invoked().len(), 3);
    assert!(world.memory().get("k3").is_none());
    assert!(
        world
            .message()
            .contains("2 more instructions were not executed: only 3")
    );
}

#[test]
fn a_reply_that_was_cut_says_so() {
    let mut world = looped().begin();
    world.reply(Reply {
        finish: Finish::Length,
        ..text("<ram_add><key>k</key><value>and so")
    });
    assert!(world.notices()[0].contains("cut by its output limit: write less"));
}

/// Fails attempts until the run waits no more; the waits in between.
fn fail_all(world: &mut World, fail: impl Fn() -> Failure) -> Vec<u64> {
    let mut waits = vec![];
    for _ in 0..10 {
        world.fail(fail());
        if let Some(ms) = world.waits_ms() {
            waits.push(ms);
            world.wake();
        }
    }
    waits
}

#[test]
fn a_provider_that_fails_is_asked_three_times_more_with_growing_pauses() {
    let rows = [
        (FailureClass::Timeout, "LLM_TIMEOUT"),
        (FailureClass::Network, "LLM_UNAVAILABLE"),
        (FailureClass::Model, "LLM_UNAVAILABLE"),
        (FailureClass::Malformed, "LLM_UNAVAILABLE"),
    ];
    for (class, code) in rows {
        let mut world = looped().begin();
        let waits = fail_all(&mut world, || failure(class));
        assert_eq!(waits, [100, 200, 400], "{class:?}");
        assert_eq!(world.count("attempt_started"), 4, "{class:?}");
        assert_eq!(world.ended(), Some(TerminationKind::Fatal), "{class:?}");
        assert_eq!(world.code(), Some(code), "{class:?}");
    }
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_the_provider_says() {
    let mut world = looped().begin();
    let limited = || Failure {
        retry_after_ms: Some(7_000),
        ..failure(FailureClass::RateLimit)
    };
    assert_eq!(fail_all(&mut world, limited), [7_000, 7_000, 7_000]);
    assert_eq!(world.code(), Some("RATE_LIMITED"));
}

#[test]
fn what_a_provider_refuses_for_good_ends_the_run_at_once() {
    for class in [FailureClass::Auth, FailureClass::Quota] {
        let mut world = looped().begin();
        world.fail_as(class);
        assert_eq!(world.ended(), Some(TerminationKind::Fatal));
        assert_eq!(world.code(), Some("LLM_UNAVAILABLE"));
    }
}

#[test]
fn failures_of_one_turn_do_not_count_in_the_next() {
    let mut world = looped().begin();
    for turn in 0..4 {
        for _ in 0..3 {
            world.fail_as(FailureClass::Timeout);
            world.wake();
        }
        world.loops(&ram("plan", &turn.to_string()));
    }
    assert_eq!(world.ended(), None);
}

#[test]
fn what_the_host_cannot_do_ends_the_run_with_its_code() {
    let mut world = looped().begin();
    world.says(&ram("plan", "x"));
    world.input(Input::HostFailed {
        code: "AGENT_MEMORY_STORE_ERROR".into(),
        message: "the disk is full".into(),
    });
    assert_eq!(world.ended(), Some(TerminationKind::Fatal));
    assert_eq!(world.code(), Some("AGENT_MEMORY_STORE_ERROR"));
}

#[test]
fn a_log_that_keeps_no_replies_has_their_instructions_and_hash_and_nothing_else_of_them() {
    for keeps_text in [false, true] {
        let mut world = looped()
            .with(|looping| looping.keeps_text = keeps_text)
            .begin();
        let words = "a secret in prose, much longer than a line ".repeat(30);
        world.reply(thinking(&words, "a secret thought"));
        world.reply(thinking(&format!("{words}<ram_add>"), "a secret thought"));
        world.reply(thinking(
            &format!(
                "{words}{}<secret>odd</secret></a_secret>",
                ram("plan", "kept")
            ),
            "a secret thought",
        ));
        assert_eq!(world.log().contains("secret"), keeps_text);
        assert!(world.log().contains("kept"));
        let answers = world.entries.iter().filter_map(|entry| match &entry.event {
            Event::DecisionMade(decision) => Some(&decision.answer),
            Event::ReplyRejected { answer, .. } => Some(&**answer),
            _ => None,
        });
        let withheld = answers.filter(|answer| answer.withheld.is_some()).count();
        assert_eq!(withheld, if keeps_text { 0 } else { 3 });
        world.wake();
        world.says(&state("idle"));
        assert_eq!(world.ended(), Some(TerminationKind::Done));
    }
}
