//! Windows that a provider teaches: it refuses what is too large and says how much it takes, and the run makes room.

use bonded_kernel::{
    Encoding, Event, Failure, FailureClass, Held, Lesson, Limits, Overflow, Price, Target,
    TerminationKind, Usage, Window, WindowSource, audit, request,
};

use crate::agent_common::{agent, markdown};
use crate::common::{Setup, World, done, failure, kinds, look, reply, setup};

const SAID: &str = "the provider's own words";

fn too_large(window: Option<u64>, sent: Option<u64>) -> Failure {
    Failure {
        message: SAID.into(),
        status: Some(400),
        overflow: Some(Overflow { window, sent }),
        ..failure(FailureClass::Overflow)
    }
}

fn windows(world: &World) -> Vec<u64> {
    let events = world.entries.iter().map(|entry| &entry.event);
    let lessons = events.filter_map(|event| match event {
        Event::TargetLearned { lesson, .. } => Some(&**lesson),
        _ => None,
    });
    let tokens = lessons.filter_map(|lesson| match lesson {
        Lesson::Window { tokens, .. } => Some(*tokens),
        _ => None,
    });
    tokens.collect()
}

fn asked(world: &World) -> Target {
    request(&world.run).expect("it asks").target.clone()
}

/// The same, whether it is folded or decided again.
fn replays(world: &World) {
    audit(&world.entries).expect("the same kernel wrote it");
    let again = World::from_log(world.entries.clone());
    let said = |world: &World| format!("{:?}", world.run.messages());
    assert_eq!(said(&again), said(world));
}

fn small(mut setup: Setup) -> Setup {
    setup.config.output_tokens_max = 200;
    setup
}

/// A run with outputs of 4,000 bytes each, in so many turns.
fn played(setup: Setup, turns: u32) -> World {
    let mut world = small(setup).begin();
    for turn in 0..turns {
        world.reply(reply([look(&format!("path {turn}"))]));
        world.ok(&format!("output {turn} {}", "words and words ".repeat(250)));
    }
    assert!(world.is_asking(), "{:?}", world.kinds());
    world
}

#[test]
fn a_window_that_is_named_is_learned_and_room_is_made_in_the_same_turn() {
    for setup in [setup(), agent(Encoding::Native).windows(&[100_000])] {
        let mut world = played(setup.limit(|limits| limits.turns_max = 20), 6);
        let turn = world.run.turn();
        let fresh = world.fail(too_large(Some(4_000), Some(4_500)));
        assert_eq!(
            kinds(&fresh),
            [
                "attempt_failed",
                "target_learned",
                "context_compacted",
                "attempt_started"
            ]
        );
        assert_eq!(world.run.turn(), turn, "it is the same turn");
        let target = asked(&world);
        assert_eq!(target.window.map(|it| it.tokens), Some(4_000));
        assert_eq!(target.window_source, Some(WindowSource::Learned));
        let taken_out = format!("{:?}", world.run.messages());
        assert!(taken_out.contains("was taken out to make room"));
        replays(&world);
        let mut again = World::from_log(world.entries.clone());
        again.resume();
        assert_eq!(asked(&again).window.map(|it| it.tokens), Some(4_000));
    }
}

#[test]
fn a_window_only_shrinks_and_is_learned_twice_at_most() {
    let mut world = played(agent(Encoding::Native).windows(&[100_000]).turns(30), 6);
    world.fail(too_large(Some(4_000), Some(4_500)));
    world.reply(reply([look("another")]));
    world.ok("short");
    world.fail(too_large(Some(3_000), Some(3_500)));
    assert_eq!(windows(&world), [4_000, 3_000]);
    world.fail(too_large(Some(2_000), Some(2_900)));
    assert_eq!(windows(&world), [4_000, 3_000], "two are enough");
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
    let report = world.run.report().expect("an agent delivers one");
    let report = format!("{report:?}");
    assert!(report.contains(SAID), "{report}");
    replays(&world);
}

#[test]
fn the_same_window_again_ends_a_run_with_the_providers_words() {
    for (setup, is_agent) in [(setup(), false), (agent(Encoding::Native).turns(9), true)] {
        let mut world = small(setup).begin();
        world.fail(too_large(Some(4_000), Some(6_000)));
        assert_eq!(windows(&world), [4_000]);
        assert!(world.is_asking(), "less may be counted than was estimated");
        world.fail(too_large(Some(4_000), Some(5_000)));
        let ended = world.ended().expect("it has ended");
        assert!(
            format!("{:?}", world.entries.last()).contains(SAID),
            "{ended:?}"
        );
        assert_eq!(world.run.report().is_some(), is_agent);
        replays(&world);
    }
}

#[test]
fn what_says_no_window_or_an_absurd_one_teaches_nothing() {
    let lies = [None, Some(0), Some(u64::MAX), Some(Window::TOKENS_MAX + 1)];
    for window in lies {
        let mut world = played(agent(Encoding::Native).windows(&[100_000]).turns(9), 1);
        world.fail(too_large(window, Some(6_000)));
        assert_eq!(windows(&world), [0; 0]);
        assert_eq!(
            world.ended(),
            Some(TerminationKind::TurnsExhausted),
            "{window:?}"
        );
        replays(&world);
    }
}

#[test]
fn another_target_that_may_take_it_is_asked_first() {
    let mut world = played(setup().targets(2), 2);
    world.fail(too_large(Some(1_000), Some(6_000)));
    assert_eq!(world.provider(), Some("provider-1"));
    assert_eq!(windows(&world), [0; 0]);
    world.fail(too_large(Some(4_000), Some(6_000)));
    assert_eq!(windows(&world), [4_000], "now there is no other");
    assert_eq!(world.provider(), Some("provider-1"));
}

#[test]
fn a_request_that_no_window_could_take_is_not_sent() {
    for (setup, is_agent) in [(setup(), false), (agent(Encoding::Native), true)] {
        let mut setup = small(setup).windows(&[512]);
        setup.config.targets[0].window_source = Some(WindowSource::Asked);
        setup.goal = "words and words ".repeat(1_000);
        let world = setup.begin();
        assert_eq!(world.count("attempt_started"), 0, "{:?}", world.kinds());
        assert!(world.ended().is_some());
        let last = format!("{:?}", world.entries.last());
        assert!(
            last.contains("the window of provider-0/model has 512"),
            "{last}"
        );
        assert_eq!(world.run.report().is_some(), is_agent);
        replays(&world);
    }
}

#[test]
fn where_nobody_said_how_long_a_reply_may_be_a_small_window_shortens_it() {
    let room = |is_usual: bool, tokens: u64| {
        let mut setup = setup().windows(&[tokens]);
        setup.config.output_tokens_max = 8_192;
        setup.config.output_is_default = is_usual;
        request(&setup.begin().run)
            .expect("it asks")
            .output_tokens_max
    };
    assert_eq!(room(true, 16_384), 4_096);
    assert_eq!(room(true, 131_072), 8_192);
    assert_eq!(room(false, 16_384), 8_192, "what a person says goes out");
    // An agent's is as its contract says, but in a window that was found.
    for (source, expected) in [
        (WindowSource::Configured, 4_096),
        (WindowSource::Asked, 2_048),
        (WindowSource::Learned, 2_048),
    ] {
        let mut setup = agent(Encoding::Native).windows(&[8_192]);
        setup.config.output_tokens_max = 4_096;
        setup.config.output_is_default = true;
        setup.config.targets[0].window_source = Some(source);
        let world = setup.begin();
        let asked = request(&world.run).expect("it asks").output_tokens_max;
        assert_eq!(asked, expected, "{source:?}");
    }
}

#[test]
fn what_is_held_is_told_apart_from_what_was_used_and_both_count() {
    let mut world = setup()
        .limit(|limits: &mut Limits| limits.tokens_max = Some(1_000_000))
        .begin();
    world.fail(Failure {
        billable: true,
        ..failure(FailureClass::Timeout)
    });
    let held = world.run.spend().held;
    assert_eq!(held.requests, 1);
    assert!(held.usage.total() > 0);
    assert_eq!(world.run.spend().used().0, Usage::default());
    world.wake();
    world.reply(reply([done("it is tidy")]));
    let Some(Event::RunEnded(ended)) = world.entries.last().map(|entry| &entry.event) else {
        unreachable!("it has ended: {:?}", world.kinds());
    };
    let (used, _) = ended.used();
    assert_eq!(ended.held, held);
    assert!(used.total() > 0);
    assert_eq!(used.total() + held.usage.total(), ended.usage.total());
    let left = world.run.limits_left().tokens_max;
    assert_eq!(left, Some(1_000_000 - ended.usage.total()), "both count");
    replays(&world);
}

#[test]
fn a_budget_that_what_is_held_used_up_says_so() {
    let mut world = setup()
        .limit(|limits: &mut Limits| limits.tokens_max = Some(12_000))
        .begin();
    world.fail(Failure {
        billable: true,
        ..failure(FailureClass::Timeout)
    });
    while world.ended().is_none() && world.is_asking() || world.waits_ms().is_some() {
        match world.is_asking() {
            true => drop(world.fail(Failure {
                billable: true,
                ..failure(FailureClass::Timeout)
            })),
            false => drop(world.wake()),
        }
    }
    assert_eq!(
        world.ended(),
        Some(TerminationKind::BudgetExhausted),
        "{:?}",
        world.kinds()
    );
    let reason = world.reason();
    assert!(
        reason.starts_with("0 of 12000 tokens are used and "),
        "{reason}"
    );
    assert!(
        reason.contains("are held for requests that nobody counted"),
        "{reason}"
    );
}

/// Whatever a provider says it used, the run is bounded and ends.
#[test]
fn a_provider_that_lies_about_what_it_used_breaks_no_bound() {
    let used = |input, output| Usage {
        input,
        output,
        cached: 0,
        written: 0,
    };
    for (first, second) in [
        (used(0, 0), used(0, 0)),
        (used(u64::MAX, u64::MAX), used(1, 1)),
        (
            used(1_000_000_000_000_000_000, 0),
            used(0, 1_000_000_000_000_000_000),
        ),
        (used(5_000, 10), used(4, 1)),
    ] {
        for setup in [setup(), agent(Encoding::Native).windows(&[50_000]).turns(9)] {
            let is_agent = setup.config.agent.is_some();
            let setup = setup.price(Price {
                input: u64::MAX,
                output: 3,
                cached: 1,
                written: None,
                above: None,
            });
            let mut world = small(setup)
                .limit(|limits: &mut Limits| limits.tokens_max = Some(100_000))
                .begin();
            for usage in [first, second] {
                if !world.is_asking() {
                    break;
                }
                let mut said = reply([look("a shed")]);
                said.usage = Some(usage);
                world.reply(said);
                if world.ended().is_none() && !world.is_asking() {
                    world.ok("there is nothing");
                }
            }
            if world.is_asking() {
                let mut last = match is_agent {
                    true => reply([markdown("tidy")]),
                    false => reply([done("tidy")]),
                };
                last.usage = Some(used(u64::MAX, 1));
                world.reply(last);
            }
            assert!(
                world.ended().is_some(),
                "{first:?} {second:?}: {:?}",
                world.kinds()
            );
            assert_eq!(world.run.spend().held, Held::default());
            replays(&world);
        }
    }
}
