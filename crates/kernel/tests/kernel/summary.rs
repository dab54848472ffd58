//! Summaries: where a run is configured so and nothing else makes room, its model sums up what was said, once.

use bonded_kernel::{
    ContextSummarised, Encoding, Event, FailureClass, Mask, Message, Offer, Reply, TerminationKind,
    Usage, request,
};

use crate::agent_common::{agent, markdown};
use crate::common::{Setup, World, look, noise, reply, text};

const SUMMARY: &str = "The shed has a spade and a rake; the window is broken.";

/// An agent whose window holds about eight turns, with outputs that are too short to be taken out.
fn small() -> Setup {
    let mut setup = agent(Encoding::Native)
        .turns(90)
        .attempts(3)
        .windows(&[3_000]);
    setup.config.output_tokens_max = 400;
    setup.config.context_summary = true;
    setup
}

fn uncounted(reply: Reply) -> Reply {
    Reply {
        usage: None,
        ..reply
    }
}

fn turn(world: &mut World, nth: u32) {
    world.reply(uncounted(reply([look(&format!("place {nth}"))])));
    world.ok(&format!("output {nth} {}", noise(240)));
}

fn is_summing_up(world: &World) -> bool {
    world
        .notices()
        .iter()
        .any(|it| it.contains("Sum it up now"))
}

/// Plays turns until a summary is asked for, or the context is full.
fn fill(world: &mut World) {
    for nth in 1..60 {
        if is_summing_up(world) || world.count("context_guarded") > 0 {
            return;
        }
        turn(world, nth + world.run.turn() * 100);
    }
}

fn filled(setup: Setup) -> World {
    let mut world = setup.begin();
    fill(&mut world);
    world
}

fn summaries(world: &World) -> Vec<ContextSummarised> {
    let events = world.entries.iter().map(|entry| &entry.event);
    let made = events.filter_map(|event| match event {
        Event::ContextSummarised(made) => Some((**made).clone()),
        _ => None,
    });
    made.collect()
}

fn asked(world: &World) -> usize {
    let events = world.entries.iter().map(|entry| &entry.event);
    events
        .filter(|event| {
            matches!(
                event,
                Event::AttemptStarted {
                    summary: Some(_),
                    ..
                }
            )
        })
        .count()
}

#[test]
fn a_summary_takes_the_place_of_what_is_old_and_the_run_goes_on() {
    let mut world = filled(small());
    assert!(is_summing_up(&world), "{:?}", world.kinds());
    let before = world.run.messages().to_vec();
    let turn_before = world.run.turn();
    {
        let request = request(&world.run).expect("the run asks");
        assert_eq!(request.offer, Offer::None, "no tools");
        assert_eq!(request.notices.len(), 1);
        let shown = request.messages.len();
        assert_eq!(request.messages, &before[..shown]);
        assert_eq!(shown, before.len() - 4, "the last two turns are left out");
    }
    let usage = Usage {
        input: 1_500,
        output: 30,
        cached: 0,
        written: 0,
    };
    let spent = world.run.spend().usage.total();
    world.reply(Reply {
        usage: Some(usage),
        ..text(SUMMARY)
    });
    assert_eq!(world.run.spend().usage.total(), spent + usage.total());
    assert_eq!(world.count("context_guarded"), 0);
    assert!(
        world.offered_tools().len() > 1,
        "the tools are offered again"
    );
    let messages = world.run.messages();
    assert_eq!(messages[0], before[0], "the goal stays");
    let Message::User { text: shown, .. } = &messages[1] else {
        unreachable!("{:?}", messages[1]);
    };
    assert!(shown.contains(SUMMARY) && shown.starts_with("System notice"));
    assert_eq!(
        messages[2..],
        before[before.len() - 4..],
        "and the last two turns"
    );
    assert_eq!(world.run.turn(), turn_before, "it is no turn of its own");
    turn(&mut world, 99);
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.content(), "tidy");
    assert_eq!(asked(&world), 1);
}

#[test]
fn without_the_setting_the_run_goes_to_its_last_turn() {
    let mut setup = small();
    setup.config.context_summary = false;
    let world = filled(setup);
    assert_eq!(world.count("context_guarded"), 1);
    assert_eq!(asked(&world), 0);
}

#[test]
fn a_summary_that_fails_leads_to_the_last_turn_with_all_its_attempts() {
    type Fail = fn(&mut World);
    let ways: [Fail; 4] = [
        |world| drop(world.reply(text(""))),
        |world| drop(world.reply(reply([look("a")]))),
        |world| {
            drop(world.reply(Reply {
                finish: bonded_kernel::Finish::ContentFilter,
                ..text("x")
            }));
        },
        |world| drop(world.fail_and_wait(FailureClass::Network)),
    ];
    for fail in ways {
        let mut world = filled(small());
        assert!(is_summing_up(&world));
        fail(&mut world);
        assert_eq!(world.count("context_guarded"), 1, "{:?}", world.kinds());
        assert_eq!(asked(&world), 1);
        for _ in 0..2 {
            world.reply(text(""));
            assert_eq!(world.ended(), None, "no attempt was used by it");
        }
        world.reply(reply([markdown("tidy")]));
        assert_eq!(world.content(), "tidy");
    }
}

#[test]
fn a_summary_that_makes_no_room_leads_to_the_last_turn() {
    let mut world = filled(small());
    world.reply(text(&noise(2_500)));
    assert_eq!(summaries(&world).len(), 1);
    assert_eq!(world.count("context_guarded"), 1);
    assert_eq!(asked(&world), 1);
}

#[test]
fn a_run_asks_for_three_summaries_at_most() {
    let mut world = small().begin();
    for nth in 1..=3 {
        fill(&mut world);
        assert!(is_summing_up(&world), "{nth}");
        world.reply(uncounted(text(SUMMARY)));
        assert_eq!(summaries(&world).len(), nth);
    }
    fill(&mut world);
    assert_eq!(asked(&world), 3);
    assert_eq!(world.count("context_guarded"), 1);
}

#[test]
fn after_a_crash_a_summary_that_was_recorded_is_not_asked_for_again_and_one_under_way_is() {
    let mut world = filled(small());
    let mut other = World::from_log(world.entries.clone());
    other.resume();
    assert!(is_summing_up(&other), "nobody heard of it");
    other.reply(text(SUMMARY));
    assert_eq!(summaries(&other).len(), 1);
    world.reply(text(SUMMARY));
    let mut other = World::from_log(world.entries.clone());
    assert_eq!(other.run.messages(), world.run.messages());
    other.resume();
    assert!(!is_summing_up(&other));
    assert_eq!(asked(&other), 1);
}

/// The world after some turns and one output of so many tokens.
fn with_output(tokens: usize) -> World {
    let mut setup = small();
    setup.config.output_tokens_max = 100;
    let mut world = setup.begin();
    for nth in 1..=5 {
        turn(&mut world, nth);
    }
    assert!(!is_summing_up(&world));
    world.reply(uncounted(reply([look("all")])));
    world.ok(&noise(tokens));
    world
}

#[test]
fn an_output_for_which_a_summary_makes_room_is_not_dropped() {
    let sizes = (300..3_000).step_by(60);
    let full = |world: &World| is_summing_up(world) || world.count("context_guarded") > 0;
    let mut worlds = sizes.map(|tokens| (tokens, with_output(tokens)));
    let (tokens, mut world) = worlds
        .find(|(_, world)| full(world))
        .expect("one of them is too large");
    assert!(is_summing_up(&world), "{tokens}: {:?}", world.kinds());
    world.reply(text(SUMMARY));
    assert_eq!(world.count("context_guarded"), 0);
    let shown = world.results().pop().map(|(_, text)| text.len());
    assert_eq!(shown, Some(noise(tokens).len()));
}

#[test]
fn a_secret_in_a_summary_is_kept_masked() {
    let mut world = filled(small());
    let mask = Mask::new([("sesame-open-1234", "KEY")]);
    let (turn, attempt) = world.asked();
    world.input(bonded_kernel::Input::SecretReply {
        turn,
        attempt,
        reply: Box::new(text("the key is sesame-open-1234")),
        mask: std::sync::Arc::new(mask),
    });
    let made = summaries(&world);
    assert!(made[0].answer.masked && !made[0].answer.text.contains("sesame"));
}

#[test]
fn a_run_may_be_cancelled_while_it_waits_for_a_summary() {
    let mut world = filled(small());
    world.cancel("enough");
    assert_eq!(world.ended(), Some(TerminationKind::Cancelled));
}
