//! Room in a window: old outputs make it, and of one that does not fit the beginning is shown.

use bonded_kernel::{ContextCompacted, Encoding, Event, Reply, TerminationKind, Vocabulary, audit};

use crate::agent_common::{ENCODINGS, agent, report_in, tool_tag};
use crate::batch::{batch, batching, look_at, results};
use crate::common::{Setup, World, look, noise, reply, text};

/// A reply of a provider that does not count, so that every estimate stays in force.
fn look_in(encoding: Encoding, turn: u32) -> Reply {
    let path = format!("path {turn}");
    let said = match encoding {
        // Each turn has ten places.
        Encoding::Xml => text(&tool_tag(
            (turn - 1) * 10 + 1,
            "look",
            &format!("{{\"path\":\"{path}\"}}"),
        )),
        _ => reply([look(&path)]),
    };
    Reply {
        usage: None,
        ..said
    }
}

fn compactions(world: &World) -> Vec<ContextCompacted> {
    let events = world.entries.iter().map(|entry| &entry.event);
    let compacted = events.filter_map(|event| match event {
        Event::ContextCompacted(compacted) => Some((**compacted).clone()),
        _ => None,
    });
    compacted.collect()
}

/// The world after so many turns with an output of 2,000 tokens each.
fn played(encoding: Encoding, turns: u32, pages: bool) -> World {
    let mut setup = agent(encoding).turns(40).calls(10).windows(&[16_000]);
    setup.config.own_tools.output_kept_bytes_max = pages.then_some(100_000);
    let mut world = setup.begin();
    for turn in 1..=turns {
        world.reply(look_in(encoding, turn));
        world.ok(&format!("output {turn} {}", noise(2_000)));
        assert!(world.is_asking(), "{:?}", world.effect);
    }
    world
}

#[test]
fn old_outputs_make_room_and_the_log_says_which() {
    for encoding in ENCODINGS {
        let mut world = played(encoding, 20, false);
        assert_eq!(
            world.count("context_guarded"),
            0,
            "{encoding:?}: the run goes on"
        );
        assert!(!compactions(&world).is_empty(), "{encoding:?}");
        let told = world.conversation();
        let out = told
            .iter()
            .filter(|(_, it)| it.contains("was taken out to make room"));
        let there = told.iter().filter(|(_, it)| it.contains(&noise(500)));
        let named: usize = compactions(&world).iter().map(|it| it.messages.len()).sum();
        assert_eq!(
            (out.count(), there.count()),
            (named, 20 - named),
            "{encoding:?}"
        );
        world.reply(report_in(encoding, "tidy"));
        assert_eq!(world.ended(), Some(TerminationKind::Done));
        audit(&world.entries).expect("the same kernel wrote it");
        let again = World::from_log(world.entries.clone());
        assert_eq!(again.conversation(), world.conversation());
    }
}

#[test]
fn the_latest_outputs_stay_where_they_are() {
    for turns in 1..20 {
        let world = played(Encoding::Native, turns, false);
        let told = world.conversation();
        for turn in turns.saturating_sub(1).max(1)..=turns {
            let output = format!("output {turn} {}", noise(9));
            assert!(
                told.iter().any(|(_, it)| it.contains(&output)),
                "{turn} of {turns}"
            );
        }
    }
}

#[test]
fn what_was_taken_out_can_be_read_by_its_handle() {
    let mut world = played(Encoding::Native, 12, true);
    let taken = world.conversation();
    let taken = taken
        .iter()
        .find(|(_, it)| it.contains("was taken out"))
        .expect("one was");
    assert!(taken.1.contains("out-1-0"), "{taken:?}");
    let page = r#"{"handle":"out-1-0","offset":0,"bytes":60}"#;
    world.reply(reply([crate::common::call("tool_output", page)]));
    let (_, shown) = world.results().pop().expect("it is answered");
    assert!(shown.contains(&format!("output 1 {}", noise(9))), "{shown}");
}

#[test]
fn of_an_output_that_does_not_fit_the_beginning_is_shown_with_how_to_read_on() {
    let mut setup = agent(Encoding::Native).windows(&[12_000]);
    setup.config.own_tools.output_kept_bytes_max = Some(100_000);
    let mut world = setup.begin();
    world.reply(look_in(Encoding::Native, 1));
    world.ok(&noise(40_000));
    assert_eq!(world.count("context_guarded"), 0, "the run goes on");
    let (_, shown) = world.results().pop().expect("it is answered");
    assert!(
        shown.len() > 8_000 && shown.len() < 20_000,
        "{}",
        shown.len()
    );
    let whole = format!("of {} bytes are shown", noise(40_000).len());
    assert!(
        shown.contains(&whole) && shown.contains("out-1-0"),
        "{shown}"
    );
    audit(&world.entries).expect("the same kernel wrote it");
}

/// A batch of two, of which the first says more than the window holds.
fn overfull_batch(edition: Option<u16>, said: &str) -> World {
    let mut setup = batching(Encoding::Native).windows(&[12_000]);
    setup.config.own_tools.output_kept_bytes_max = Some(1_000_000);
    let setup = match edition {
        Some(edition) => setup.edition(edition),
        None => setup,
    };
    let mut world = setup.begin();
    world.reply(reply([batch(serde_json::json!([
        look_at("a"),
        look_at("b")
    ]))]));
    world.ok(said);
    world
}

#[test]
fn of_a_member_of_a_batch_that_does_not_fit_the_beginning_is_shown_too() {
    // Lines grow where they stand in JSON, and what is shown must fit as it stands there.
    for said in [noise(40_000), "\"a\"\n".repeat(20_000)] {
        let mut world = overfull_batch(None, &said);
        world.ok("a spade");
        assert_eq!(world.count("context_guarded"), 0, "the run goes on");
        let results = results(&world);
        let shown = results[0]["output"].as_str().unwrap_or_default();
        assert!(shown.len() > 4_000, "{}", shown.len());
        assert!(shown.contains("out-1-0"), "{shown}");
        assert_eq!(results[1]["output"], "a spade");
        audit(&world.entries).expect("the same kernel wrote it");
    }
    let before = overfull_batch(Some(2), &noise(40_000));
    assert_eq!(before.count("context_guarded"), 1, "as it began");
    audit(&before.entries).expect("the same kernel wrote it");
}

/// An agent in a window that one output nearly fills; nobody counts for it, so that a known vocabulary is given room for a
/// quarter more than is estimated.
fn small() -> Setup {
    let mut setup = agent(Encoding::Xml).turns(40).calls(10).windows(&[WINDOW]);
    setup.config.output_tokens_max = 200;
    setup.config.own_tools.output_kept_bytes_max = Some(100_000);
    for window in setup
        .config
        .targets
        .iter_mut()
        .flat_map(|it| &mut it.window)
    {
        window.vocabulary = Vocabulary::Claude;
    }
    setup
}

const WINDOW: u64 = 3_000;

/// Has one output and then so many calls in a turn, of which the first says more than any window holds.
fn overfull(setup: Setup, old: &str, calls: u32, new: &str) -> World {
    let mut world = setup.begin();
    world.reply(look_in(Encoding::Xml, 1));
    world.ok(old);
    assert_eq!(world.count("context_guarded"), 0);
    let path = |nth: u32| format!("{{\"path\":\"path {nth}\"}}");
    let tags = (1..=calls).map(|nth| tool_tag(10 + nth, "look", &path(nth)));
    world.reply(Reply {
        usage: None,
        ..text(&tags.collect::<String>())
    });
    world.ok(new);
    world
}

#[test]
fn an_old_output_makes_room_for_the_least_part_of_a_new_one_whatever_its_size_and_the_calls_beside_it()
 {
    let new = noise(20_000);
    let mut ended_before = 0;
    for calls in 1..=3 {
        for tokens in (550..2_000).step_by(50) {
            let old = noise(tokens);
            let world = overfull(small(), &old, calls, &new);
            assert_eq!(
                world.count("context_guarded"),
                0,
                "{calls} calls, {tokens} tokens: {:?}",
                world.kinds()
            );
            audit(&world.entries).expect("the same kernel wrote it");
            let before = overfull(small().edition(2), &old, calls, &new);
            audit(&before.entries).expect("the same kernel wrote it");
            ended_before += before.count("context_guarded");
        }
    }
    assert!(
        ended_before > 0,
        "a run that began earlier goes on as it began"
    );
}

/// An agent whose goal leaves less and less room, after an output that is larger than the window.
fn with_goal(edition: Option<u16>, goal: usize, output: &str) -> World {
    let mut setup = small();
    setup.goal = noise(goal);
    let setup = match edition {
        Some(edition) => setup.edition(edition),
        None => setup,
    };
    let mut world = setup.begin();
    if world.count("context_guarded") == 0 {
        world.reply(look_in(Encoding::Xml, 1));
        world.ok(output);
    }
    world
}

#[test]
fn an_output_of_which_no_part_has_room_is_named_so_that_it_can_be_read_later() {
    let output = noise(20_000);
    let is_named = |world: &World| {
        let told = world.conversation().pop().map(|(_, text)| text);
        told.is_some_and(|it| it.contains("[0 of") && it.contains("out-1-0"))
    };
    let mut named = 0;
    for goal in (700..1_500).step_by(25) {
        let world = with_goal(None, goal, &output);
        if is_named(&world) {
            named += 1;
            assert_eq!(world.count("context_guarded"), 0, "{:?}", world.kinds());
            let before = with_goal(Some(2), goal, &output);
            assert_eq!(before.count("context_guarded"), 1, "{goal}");
        }
    }
    assert!((2..20).contains(&named), "{named}");
}
