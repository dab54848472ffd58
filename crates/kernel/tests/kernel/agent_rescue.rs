//! A report that stood in the text is the last resort also when a limit ends the run.

use bonded_kernel::{Encoding, Input, ReportSource, TerminationKind};

use crate::agent_common::agent;
use crate::common::{Setup, World, look, push, reply, text};

const SAID: &str = r#"{"report_format":"markdown","report_content":"tidy"}"#;

/// What a run is limited by, and how it comes to that limit after the model has said [`SAID`].
type Row = (TerminationKind, fn() -> Setup, fn(&mut World));

fn timed() -> Setup {
    agent(Encoding::Native).limit(|limits| limits.elapsed_ms_max = Some(1_000))
}

const ROWS: [Row; 5] = [
    (TerminationKind::TimedOut, timed, |world| {
        world.after(2_000).input(Input::DeadlineReached);
    }),
    (TerminationKind::TimedOut, timed, |world| {
        world.reply(reply([push("a")]));
        world.after(2_000).input(Input::DeadlineReached);
    }),
    (TerminationKind::TimedOut, timed, |world| {
        world.after(2_000).reply(reply([look("a")]));
    }),
    (
        TerminationKind::BudgetExhausted,
        || agent(Encoding::Native).limit(|limits| limits.tokens_max = Some(2_000)),
        |world| {
            for n in 0..60 {
                if world.is_asking() {
                    world.turn(look(&format!("{n}")), "a spade");
                }
            }
        },
    ),
    (
        TerminationKind::NoProgress,
        || agent(Encoding::Native).limit(|limits| limits.repeats_max = 3),
        |world| {
            for _ in 0..8 {
                if world.is_asking() {
                    world.turn(look("a"), "a spade");
                }
            }
        },
    ),
];

fn limited(setup: Setup, to_the_limit: fn(&mut World)) -> World {
    let mut world = setup.begin();
    world.reply(text(SAID));
    assert_eq!(world.ended(), None, "there may be a better one");
    to_the_limit(&mut world);
    world
}

#[test]
fn a_report_in_the_text_is_delivered_when_a_limit_ends_the_run_and_names_the_limit() {
    for (kind, setup, to_the_limit) in ROWS {
        let world = limited(setup(), to_the_limit);
        assert_eq!(world.ended(), Some(TerminationKind::Done), "{kind:?}");
        assert!(world.is_reported_by(ReportSource::Text), "{kind:?}");
        assert_eq!(world.content(), "tidy", "{kind:?}");
        let metadata = world.report().metadata.unwrap_or_default();
        assert_eq!(metadata["limit"], kind.as_str());
        assert_eq!(metadata["reason"], "limit_reached");
    }
}

#[test]
fn a_run_that_began_before_the_rule_ends_as_it_always_did() {
    for (kind, setup, to_the_limit) in ROWS {
        let mut setup = setup();
        setup.config.rescues = false;
        let world = limited(setup, to_the_limit);
        assert_eq!(world.ended(), Some(kind));
        assert_eq!(world.synthetic_reason(), "limit_reached", "{kind:?}");
    }
}

#[test]
fn whoever_cancels_a_run_gets_no_report_of_it() {
    let world = limited(timed(), |world| drop(world.cancel("enough")));
    assert_eq!(world.ended(), Some(TerminationKind::Cancelled));
    assert_eq!(world.run.report(), None);
}
