//! The context guard: what is counted, when it fires, and what is left to do then.

use bonded_kernel::{
    ContextGuarded, Counters, Dropped, Encoding, Event, Failure, FailureClass, GuardPoint, Reply,
    TerminationKind, Usage,
};

use crate::agent_common::{ENCODINGS, REPORT, agent, look_in, markdown, report_in, tool_tag};
use crate::common::{World, call, estimated, failure, look, noise, push, reply, text};

const STUB: &str = "(tool failed: context window budget exceeded)";

/// Room for a few turns, and not for ten thousand tokens.
const WINDOW: u64 = 8_000;

fn counters(world: &World) -> Vec<Counters> {
    let found = world.entries.iter().filter_map(|entry| match entry.event {
        Event::AttemptStarted { context, .. } => context,
        _ => None,
    });
    found.collect()
}

fn last_counters(world: &World) -> Counters {
    let all = counters(world);
    *all.last().expect("the run is guarded")
}

fn guarded(world: &World) -> Vec<&ContextGuarded> {
    let found = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::ContextGuarded(guarded) => Some(&**guarded),
        _ => None,
    });
    found.collect()
}

fn dropped(world: &World) -> Vec<&Dropped> {
    let found = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::ToolFinished(finished) => finished.dropped.as_deref(),
        _ => None,
    });
    found.collect()
}

fn used(input: u64, output: u64, reply: Reply) -> Reply {
    Reply {
        usage: Some(Usage {
            input,
            output,
            cached: 0,
            written: 0,
        }),
        ..reply
    }
}

/// What is added to an estimate as long as nothing was counted.
fn uncounted(tokens: u64) -> u64 {
    (tokens * 1_060).div_ceil(1_000)
}

fn huge() -> String {
    noise(10_000)
}

#[test]
fn the_first_request_has_no_context_and_the_seed_is_pending() {
    let world = agent(Encoding::Native).windows(&[WINDOW]).begin();
    let first = last_counters(&world);
    let seed = estimated("Be brief.") + estimated("tidy the shed");
    assert_eq!(first.current, 0);
    assert_eq!(first.pending, uncounted(seed + 2 * 4), "two messages");
    assert!(first.estimated > Some(seed));
    assert!(first.schema > 100, "the tools are counted");
    assert_eq!(
        first.expected(),
        first.current + first.pending + first.schema
    );
    let unguarded = agent(Encoding::Native).begin();
    assert!(counters(&unguarded).is_empty(), "no window, no guard");
}

#[test]
fn what_the_provider_counted_is_the_context_and_a_result_is_pending_once() {
    let mut world = agent(Encoding::Native).windows(&[WINDOW]).begin();
    let asked = last_counters(&world).estimated.expect("nothing is thought");
    world.reply(used(asked, 30, reply([look("a"), look("b")])));
    world.ok("a spade");
    world.ok("two spades");
    let second = last_counters(&world);
    assert_eq!(second.current, asked + 30);
    let results = estimated("a spade") + estimated("two spades");
    assert_eq!(second.pending, ((results + 2 * 4) * 1_025).div_ceil(1_000));
    assert!(guarded(&world).is_empty());
}

#[test]
fn cached_tokens_are_part_of_the_input_and_count_once() {
    let mut world = agent(Encoding::Native).windows(&[WINDOW]).begin();
    let mut cached = used(700, 30, reply([look("a")]));
    cached.usage.as_mut().expect("set just now").cached = 600;
    world.reply(cached);
    world.ok("a spade");
    assert_eq!(last_counters(&world).current, 730);
}

#[test]
fn a_retry_notice_is_counted_as_pending() {
    let mut world = agent(Encoding::Native).windows(&[WINDOW]).begin();
    world.reply(Reply {
        usage: None,
        ..text("no call")
    });
    let (first, retry) = (counters(&world)[0], last_counters(&world));
    let seed = estimated("Be brief.") + estimated("tidy the shed") + 2 * 4;
    assert_eq!(first.pending, uncounted(seed));
    let notice = estimated(crate::agent_common::IGNORED) + 4;
    assert_eq!(retry.pending, uncounted(seed + notice));
    assert_eq!(
        retry.current, 0,
        "a rejected reply is not in the conversation"
    );
}

#[test]
fn instructions_for_tags_are_counted_as_pending() {
    for encoding in [Encoding::XmlFinal, Encoding::Xml] {
        let world = agent(encoding).windows(&[WINDOW]).begin();
        let instructions = estimated(&world.notices_text());
        assert!(last_counters(&world).pending > instructions, "{encoding:?}");
    }
}

#[test]
fn an_output_that_does_not_fit_is_replaced_by_the_stub_and_only_the_report_is_left() {
    for encoding in ENCODINGS {
        let mut world = agent(encoding).calls(2).windows(&[WINDOW]).begin();
        world.reply(look_in(encoding, 1, 2));
        world.ok(&huge());
        let told = world.conversation();
        let last = told
            .last()
            .map(|(_, text)| text.clone())
            .unwrap_or_default();
        assert!(last.contains(STUB) && last.len() < 400, "{last}");
        let dropped = dropped(&world)[0];
        assert!((9_500..=20_500).contains(&dropped.tokens), "{dropped:?}");
        assert!(dropped.stub_tokens < 60, "{dropped:?}");
        assert!(i64::try_from(dropped.projected).unwrap_or(i64::MAX) > dropped.limit);
        assert_eq!(
            dropped.output.len(),
            huge().len(),
            "the log keeps what was dropped"
        );
        let fired = guarded(&world);
        assert_eq!(fired.len(), 1, "{fired:?}");
        assert_eq!(fired[0].at, GuardPoint::ToolPreflight);
        assert_eq!(fired[0].blocked[0].target, 0);
        let notices = world.notices_text();
        assert!(notices.contains("context is full"), "{notices}");
        assert!(last_counters(&world).schema < counters(&world)[0].schema.max(1));
        world.reply(report_in(encoding, "tidy"));
        assert_eq!(world.content(), "tidy");
    }
}

#[test]
fn after_a_drop_those_in_flight_finish_and_only_the_report_is_left() {
    let mut world = agent(Encoding::Native).windows(&[WINDOW]).begin();
    // A failed attempt does not disturb the guard.
    world.fail_and_wait(FailureClass::Model);
    world.reply(reply([look("a"), look("b"), look("c")]));
    for output in ["a spade", &huge(), "a rake"] {
        world.ok(output);
    }
    let results: Vec<String> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        results,
        ["a spade", STUB, "a rake"],
        "they ran side by side"
    );
    assert_eq!(world.offered_tools(), [REPORT]);
    assert!(world.notices_text().contains("the context is full"));
    let told = world.conversation();
    assert!(
        told.iter()
            .all(|(_, text)| !text.contains("the context is full"))
    );
    while world.ended().is_none() {
        world.reply(text(""));
    }
    assert_eq!(world.synthetic_reason(), "context_overflow");
}

#[test]
fn after_a_drop_of_an_older_run_no_tool_starts_and_the_report_of_the_same_reply_is_taken() {
    let setup = agent(Encoding::Native).edition(1);
    let mut world = setup.windows(&[WINDOW]).begin();
    world.reply(reply([look("a"), look("b"), push("c"), markdown("tidy")]));
    world.ok("a spade");
    world.ok(&huge());
    assert_eq!(
        world.invoked(),
        [
            (0, "look".to_owned()),
            (1, "look".to_owned()),
            (3, REPORT.to_owned())
        ]
    );
    let results: Vec<String> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(results, ["a spade", STUB, STUB, r#"{"ok":true}"#]);
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn an_output_fits_as_long_as_the_projection_does_not_exceed_the_limit() {
    let room = |world: &mut World, tokens: usize| {
        let asked = last_counters(world).estimated.expect("nothing is thought");
        world.reply(used(asked, 10, reply([look("a")])));
        world.ok(&noise(tokens));
        dropped(world).len()
    };
    let begin = || agent(Encoding::Native).calls(1).windows(&[WINDOW]).begin();
    let mut most = 0;
    let (mut fits, mut over) = (0, WINDOW as usize);
    while over - fits > 1 {
        let middle = usize::midpoint(fits, over);
        match room(&mut begin(), middle) {
            0 => (fits, most) = (middle, middle),
            _ => over = middle,
        }
    }
    let mut world = begin();
    room(&mut world, most + 1);
    let told = dropped(&world)[0];
    let beyond = told.projected as i64 - told.limit;
    assert!((1..=2).contains(&beyond), "one token more is one too many");
    assert_eq!(told.limit, WINDOW as i64 - 1_000);
}

#[test]
fn a_provider_that_counts_more_than_was_estimated_fires_the_guard_before_the_next_request() {
    let mut world = agent(Encoding::Native)
        .turns(9)
        .windows(&[WINDOW, 100_000])
        .begin();
    world.reply(used(9_000, 10, reply([look("a")])));
    world.ok("a spade");
    let fired = guarded(&world);
    assert_eq!(fired[0].at, GuardPoint::ToolPreflight);
    assert_eq!(fired[1].at, GuardPoint::TurnPreflight);
    let over: Vec<u32> = fired[1].still_over.iter().map(|it| it.target).collect();
    assert_eq!(over, [0], "the small window is exceeded, and it is said");
    assert_eq!(world.provider(), Some("provider-1"));
    assert_eq!(world.offered_tools(), [REPORT]);
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.content(), "tidy");
}

#[test]
fn the_tools_alone_can_fill_a_window() {
    let setup = agent(Encoding::Native).attempts(1);
    let mut world = setup.windows(&[1_150]).begin();
    let fired = guarded(&world);
    assert_eq!(fired[0].at, GuardPoint::TurnPreflight);
    assert!(!fired[0].blocked.is_empty());
    assert_eq!(world.offered_tools(), [REPORT]);
    world.reply(reply([look("a")]));
    assert!(world.invoked().is_empty(), "only the report may run");
    assert_eq!(world.synthetic_reason(), "context_overflow");
}

#[test]
fn a_reply_larger_than_the_window_makes_the_limit_negative_and_fires_the_guard() {
    let mut world = agent(Encoding::Native).windows(&[500]).begin();
    let fired = guarded(&world);
    assert_eq!(fired[0].blocked[0].limit, -500);
    assert!(!fired[0].still_over.is_empty(), "and it says so");
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.content(), "tidy", "the run goes on as well as it can");
}

#[test]
fn a_last_turn_that_does_not_fit_is_recorded_once_whatever_made_it_the_last() {
    let mut setup = agent(Encoding::Native).turns(1).windows(&[3_000]);
    setup.goal = huge();
    let mut world = setup.begin();
    world.reply(text("no call"));
    let fired = guarded(&world);
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert!(!fired[0].still_over.is_empty());
}

#[test]
fn the_smallest_window_decides_and_the_last_request_goes_where_it_fits() {
    let setup = agent(Encoding::Native).windows(&[3_000, 100_000]);
    let mut setup = setup.turns(9);
    setup.goal = noise(5_000);
    let mut world = setup.begin();
    assert_eq!(guarded(&world)[0].blocked.len(), 1);
    assert_eq!(
        world.provider(),
        Some("provider-1"),
        "the first would not hold it"
    );
    world.fail(Failure {
        retry_after_ms: Some(30_000),
        ..failure(FailureClass::RateLimit)
    });
    assert_eq!(
        world.waits_ms(),
        Some(30_000),
        "it waits for the one that holds it"
    );
    assert!(world.input(bonded_kernel::Input::Woke).is_empty());
    world.after(30_000).wake();
    assert_eq!(world.provider(), Some("provider-1"));
}

#[test]
fn a_last_turn_that_must_wait_for_its_target_is_not_skipped() {
    let mut world = agent(Encoding::Native)
        .turns(9)
        .windows(&[1_000_000, WINDOW])
        .begin();
    world.fail(Failure {
        retry_after_ms: Some(60_000),
        ..failure(FailureClass::RateLimit)
    });
    assert_eq!(world.provider(), Some("provider-1"));
    world.reply(used(50_000, 10, reply([call("shell", "{}")])));
    assert_eq!(world.ended(), None);
    assert_eq!(world.waits_ms(), Some(60_000), "{:?}", world.kinds());
    world.wake();
    assert_eq!(world.provider(), Some("provider-0"));
    assert_eq!(world.offered_tools(), [REPORT]);
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.content(), "tidy");
}

#[test]
fn refused_calls_do_not_flood_the_window() {
    let mut world = agent(Encoding::Native).calls(2).windows(&[WINDOW]).begin();
    let many = (0..60).map(|nth| call(&format!("tool{nth}"), "{}"));
    world.reply(used(300, 900, reply(many)));
    let told: u64 = world
        .results()
        .iter()
        .map(|(_, text)| estimated(text) + 4)
        .sum();
    assert!(told + 1_200 + 1_000 <= WINDOW, "{told} tokens of refusals");
    let shown = world.results().len();
    let told = format!("{} more calls", 60 - shown);
    assert!(
        world.notices_text().contains(&told),
        "{:?}",
        world.notices()
    );
    let still_over = guarded(&world).iter().any(|it| !it.still_over.is_empty());
    assert!(!still_over);
}

#[test]
fn a_tag_that_is_answered_by_the_stub_does_not_repeat_its_request() {
    let mut setup = agent(Encoding::Xml).calls(3).windows(&[WINDOW]);
    setup.config.output_tokens_max = 500;
    let mut world = setup.begin();
    let long = serde_json::json!({ "path": noise(100) }).to_string();
    let written: String = (1..=3).map(|slot| tool_tag(slot, "look", &long)).collect();
    world.reply(text(&written));
    for _ in 0..3 {
        world.ok(&huge());
    }
    let told = world.conversation();
    assert_eq!(told.len(), 5);
    for (_, answer) in &told[2..] {
        assert!(
            answer.contains(STUB) && !answer.contains(&noise(100)),
            "{answer}"
        );
    }
}

#[test]
fn a_refusal_that_has_no_room_is_shown_without_its_reason() {
    let refusal_after = |input| {
        let mut world = agent(Encoding::Native).windows(&[WINDOW]).begin();
        world.reply(used(input, 10, reply([call("shell", "{}")])));
        world.results()[0].1.clone()
    };
    assert!(refusal_after(500).contains("there is no tool"));
    assert_eq!(refusal_after(6_900), "(tool failed: not executed)");
}

/// The fullest world that still has a turn to go before its last.
fn fullest(encoding: Encoding) -> World {
    let begin = |bytes: usize| {
        let mut setup = agent(encoding).calls(10).windows(&[WINDOW]);
        setup.goal = noise(bytes);
        // What is left for refusals and what a last turn is told.
        for window in setup
            .config
            .targets
            .iter_mut()
            .filter_map(|it| it.window.as_mut())
        {
            window.buffer = 2_000;
        }
        setup.begin()
    };
    let (mut fits, mut full) = (0, WINDOW as usize);
    while full - fits > 1 {
        let middle = usize::midpoint(fits, full);
        match guarded(&begin(middle)).is_empty() {
            true => fits = middle,
            false => full = middle,
        }
    }
    begin(fits)
}

#[test]
fn the_last_turn_and_its_retries_fit_however_full_the_turn_before_it_was() {
    for encoding in ENCODINGS {
        let mut world = fullest(encoding);
        let expected = last_counters(&world).expected();
        let most = bonded_kernel::request(&world.run).map_or(0, |it| it.output_tokens_max);
        let refused = match encoding {
            Encoding::Xml => text(
                &(1..=10)
                    .map(|slot| tool_tag(slot, "shell", "{}"))
                    .collect::<String>(),
            ),
            _ => reply((0..20).map(|nth| call(&format!("tool{nth}"), "{}"))),
        };
        world.reply(used(expected, u64::from(most), refused));
        assert_eq!(
            guarded(&world).len(),
            1,
            "{encoding:?}: the next turn is the last"
        );
        for _ in 0..3 {
            let broken = (0..9).map(|nth| call("look", &format!("{nth}{}", "=".repeat(200))));
            world.reply(reply(broken));
            assert!(world.is_asking());
        }
        let reply = bonded_kernel::request(&world.run).map_or(0, |it| it.output_tokens_max);
        assert!(reply >= 64, "{encoding:?}: {reply}");
        let held = last_counters(&world).expected() + u64::from(reply);
        assert!(held <= WINDOW, "{encoding:?}: {held} with {reply}");
    }
}
