//! Every run ends once, for a reason that its log keeps.

use bonded_kernel::{
    Effect, Event, FailureClass, Input, LoopConfig, NotDurable, Outcome, TerminationKind, audit,
    next, step,
};

use crate::common::{World, call, done, kinds, look, output, push, reply, setup, text};
use crate::looping_common::{looped, note};

/// One way to each end.
fn ends() -> Vec<(TerminationKind, World)> {
    let ways: [(TerminationKind, fn() -> World); 9] = [
        (TerminationKind::Done, || {
            let mut world = setup().begin();
            world.reply(reply([done("it is tidy")]));
            world
        }),
        (TerminationKind::Blocked, || {
            let mut world = setup().begin();
            world.reply(reply([done("blocked: the shed is locked")]));
            world
        }),
        (TerminationKind::TurnsExhausted, || {
            let mut world = setup().limit(|limits| limits.turns_max = 1).begin();
            world.turn(look("a"), "a shed");
            world
        }),
        (TerminationKind::NoProgress, || {
            let mut world = setup().limit(|limits| limits.repeats_max = 1).begin();
            world.reply(text("hm"));
            world
        }),
        (TerminationKind::Cancelled, || {
            let mut world = setup().begin();
            world.cancel("enough");
            world
        }),
        (TerminationKind::Fatal, || {
            let mut world = setup().begin();
            world.fail_as(FailureClass::Auth);
            world
        }),
        (TerminationKind::BudgetExhausted, || {
            setup().limit(|limits| limits.tokens_max = Some(9)).begin()
        }),
        (TerminationKind::TimedOut, || {
            let mut world = setup()
                .limit(|limits| limits.elapsed_ms_max = Some(9))
                .begin();
            world.after(9).input(Input::DeadlineReached);
            world
        }),
        (TerminationKind::Denied, || {
            let scope = |looping: &mut LoopConfig| {
                looping.scope.strict_scope = true;
                looping.scope.max_notes_per_loop = 0;
            };
            let mut world = looped().with(scope).begin();
            world.says(&note("one too many"));
            world
        }),
    ];
    ways.into_iter().map(|(kind, way)| (kind, way())).collect()
}

#[test]
fn each_kind_of_end_is_reached_and_recorded_once_and_last() {
    let ends = ends();
    let reached: Vec<TerminationKind> = ends.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(reached, TerminationKind::ALL);
    for (kind, world) in ends {
        assert_eq!(world.ended(), Some(kind));
        assert!(!world.reason().is_empty(), "{kind:?}");
        assert_eq!(world.count("run_ended"), 1);
        assert!(matches!(&world.effect, Effect::Stop(t) if t.kind == kind));
        let last = world.entries.last().expect("a log is never empty");
        let Event::RunEnded(ended) = &last.event else {
            unreachable!("{kind:?} is the last: {:?}", last.event);
        };
        assert_eq!(ended.termination.kind, kind);
        assert_eq!(ended.turns, world.run.turn());
        assert_eq!(ended.usage, world.run.spend().usage);
        assert_eq!(ended.elapsed_ms, world.run.elapsed_ms());
        assert_eq!(
            ended.termination.is_success(),
            kind == TerminationKind::Done
        );
    }
}

#[test]
fn after_the_end_no_input_leaves_an_entry() {
    for (kind, world) in ends() {
        let (turn, attempt) = (world.run.turn(), 1);
        let inputs = [
            Input::Reply {
                turn,
                attempt,
                reply: Box::new(reply([done("again")])),
            },
            Input::Failed {
                turn,
                attempt,
                failure: Box::new(crate::common::failure(FailureClass::Auth)),
            },
            Input::ToolReturned {
                turn,
                call: 0,
                output: Box::new(output(Outcome::Ok, "late")),
            },
            Input::Woke,
            Input::Resumed,
            Input::Cancel {
                reason: "too late".into(),
            },
            Input::DeadlineReached,
            Input::Panicked {
                message: "too late".into(),
            },
        ];
        for input in inputs {
            let mut run = world.run.clone();
            let shown = format!("{kind:?} then {input:?}");
            let made = step(&mut run, world.now.plus(1 << 40), input);
            assert_eq!(made.entries().len(), 0, "{shown}");
            assert_eq!(run.head(), world.run.head(), "{shown}");
            assert!(
                matches!(next(&run), Effect::Stop(t) if t.kind == kind),
                "{shown}"
            );
        }
    }
}

#[test]
fn done_may_be_the_first_action_and_its_reason_is_the_answer() {
    let mut world = setup().begin();
    let fresh = world.reply(reply([done("nothing to do")]));
    assert_eq!(
        kinds(&fresh),
        [
            "decision_made",
            "tool_invoked",
            "tool_finished",
            "run_ended"
        ]
    );
    assert_eq!(world.reason(), "nothing to do");
    assert_eq!(world.results().len(), 1);
}

#[test]
fn calls_before_done_run_first_and_calls_after_it_are_recorded_as_skipped() {
    let mut world = setup().begin();
    let again = call("done", r#"{"reason": "no, this"}"#);
    world.reply(reply([
        look("a"),
        done("tidy"),
        push("b"),
        call("shell", "{}"),
        again,
    ]));
    assert_eq!(world.ended(), None);
    let fresh = world.ok("a shed");
    assert_eq!(
        kinds(&fresh),
        [
            "tool_finished",
            "tool_invoked",
            "tool_finished",
            "call_skipped",
            "call_skipped",
            "run_ended"
        ]
    );
    let skipped: Vec<(u32, &str)> = fresh
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::CallSkipped { call, tool, .. } => Some((*call, &**tool)),
            _ => None,
        })
        .collect();
    assert_eq!(skipped, [(2, "push"), (4, "done")]);
    assert_eq!(world.reason(), "tidy");
    assert!(!world.invoked().iter().any(|(_, tool)| tool == "push"));
}

#[test]
fn a_reason_that_begins_with_blocked_is_a_failure_in_any_case_of_letters() {
    for (reason, kind) in [
        ("blocked: no key", TerminationKind::Blocked),
        ("  BLOCKED: no key", TerminationKind::Blocked),
        ("Blocked: no key", TerminationKind::Blocked),
        ("blocked", TerminationKind::Done),
        ("the drain was blocked: freed it", TerminationKind::Done),
    ] {
        let mut world = setup().begin();
        world.reply(reply([done(reason)]));
        assert_eq!(world.ended(), Some(kind), "{reason}");
        assert_eq!(world.reason(), reason);
    }
}

#[test]
fn a_done_that_is_refused_does_not_end_the_run() {
    let mut world = setup().begin();
    world.reply(reply([call("done", "{}")]));
    assert!(matches!(world.effect, Effect::Ask { turn: 2, .. }));
}

type Stop = (TerminationKind, &'static str, fn() -> Input);

/// What stops a run from outside, and how that end is named.
fn stops() -> [Stop; 2] {
    [
        (TerminationKind::Cancelled, "enough", || Input::Cancel {
            reason: "enough".into(),
        }),
        (TerminationKind::Fatal, "panic: index out of bounds", || {
            Input::Panicked {
                message: "index out of bounds".into(),
            }
        }),
    ]
}

#[test]
fn a_stop_from_outside_closes_what_is_open() {
    for (kind, reason, input) in stops() {
        let mut asking = setup().begin();
        assert_eq!(
            kinds(&asking.input(input())),
            ["attempt_failed", "run_ended"]
        );

        let mut acting = setup().begin();
        acting.reply(reply([push("a"), push("b")]));
        let fresh = acting.input(input());
        assert_eq!(kinds(&fresh), ["tool_finished", "run_ended"]);
        assert!(
            matches!(&fresh[0].event, Event::ToolFinished(f) if f.outcome == Outcome::Interrupted)
        );
        assert_eq!(
            acting.results()[0].1,
            "(tool failed: interrupted, outcome unknown)"
        );

        let mut waiting = setup().begin();
        waiting.fail_as(FailureClass::RateLimit);
        assert_eq!(kinds(&waiting.input(input())), ["run_ended"]);

        for world in [asking, acting, waiting] {
            assert_eq!(world.ended(), Some(kind));
            assert_eq!(world.reason(), reason);
        }
    }
}

#[test]
fn a_request_that_a_cancel_cut_short_is_booked_in_full() {
    let mut world = setup().begin();
    world.cancel("enough");
    assert!(world.run.spend().usage.total() >= 1_000);
}

#[test]
fn an_effect_is_given_out_only_against_the_head_of_its_own_step() {
    let world = setup().begin();
    let (mut run, head) = (world.run.clone(), world.run.head());
    let made = step(
        &mut run,
        world.now,
        Input::Cancel {
            reason: "enough".into(),
        },
    );
    let (expected, found) = (made.after().seq, head.seq);
    let released = made.release(head).map(|_| ());
    assert_eq!(released, Err(NotDurable { expected, found }));
}

#[test]
fn a_run_that_was_refused_ends_as_fatal_before_its_first_turn_with_the_reason() {
    for targets in [0, 1] {
        let mut started = setup().targets(targets).started();
        started.refused = Some("there is no key".into());
        let mut world = World::new(started);
        assert_eq!(world.kinds(), ["run_started", "run_ended"]);
        assert_eq!(world.ended(), Some(TerminationKind::Fatal));
        assert_eq!(world.reason(), "there is no key");
        world.resume();
        assert_eq!(world.entries.len(), 2, "nothing comes after the end");
    }
}

#[test]
fn a_run_that_nobody_drove_is_not_charged_the_time_since_it_was_left() {
    let used_ms = |input: fn(String) -> Input| {
        let mut setup = setup();
        setup.config.limits.elapsed_ms_max = Some(60_000);
        let mut world = setup.begin();
        world.after(1_000).reply(reply([look("a")]));
        world.after(3_600_000).input(input("enough".into()));
        audit(&world.entries).expect("the log is what its inputs make of it");
        let ended = world.entries.iter().find_map(|entry| match &entry.event {
            Event::RunEnded(ended) => Some(ended.elapsed_ms),
            _ => None,
        });
        ended.expect("it has ended")
    };
    let driven = used_ms(|reason| Input::Cancel { reason });
    let left = used_ms(|reason| Input::CancelLeft { reason });
    assert_eq!((driven, left), (60_000, 1_000));
}
