//! Calls of one reply that are executed at the same time.

use bonded_kernel::{
    Catalog, Edition, Effect, Event, Input, Outcome, Permission, Policy, RunStarted,
    TerminationKind, ToolEffect, ToolSpec, Verdict, audit, beside,
};
use proptest::prelude::*;
use serde_json::json;

use crate::common::{Setup, World, call, done, kinds, look, output, reply, setup};
use crate::policy::{rule, verdict};

/// `read` and `write` of two resources, besides `free`, which is of none.
fn shared() -> World {
    let Setup {
        goal,
        system,
        config,
    } = setup().limit(|limits| limits.repeats_max = 0);
    let spec = |name: &str, effect, resource: &str| {
        let spec = ToolSpec::closed(name, effect, "A tool.", &json!({ "n": {} }), &[]);
        match resource {
            "" => spec,
            resource => spec.of_resource(resource),
        }
    };
    let specs = [
        spec("read_a", ToolEffect::Read, "a"),
        spec("write_a", ToolEffect::Write, "a"),
        spec("save_a", ToolEffect::Idempotent, "a"),
        spec("read_b", ToolEffect::Read, "b"),
        spec("write_b", ToolEffect::Write, "b"),
        spec("free", ToolEffect::Write, ""),
    ];
    let catalog = Catalog::of_run(specs, &config).expect("well-formed tools");
    World::new(RunStarted::new(goal.into(), system.into(), config, catalog))
}

/// The tools that are under way, in the order of their calls.
fn under_way(world: &World) -> Vec<String> {
    let Effect::Invoke(first) = &world.effect else {
        return vec![];
    };
    let mut all = vec![first.tool().to_owned()];
    all.extend(beside(&world.run).iter().map(|it| it.tool().to_owned()));
    all
}

fn calls(world: &mut World, tools: &[&str]) {
    let calls = tools.iter().enumerate();
    let calls = calls.map(|(n, tool)| call(tool, &format!("{{\"n\":{n}}}")));
    world.reply(reply(calls));
}

#[test]
fn intents_are_recorded_together_and_results_in_the_order_of_the_calls() {
    let mut world = setup().begin();
    let fresh = world.reply(reply([look("a"), look("b"), look("c")]));
    assert_eq!(
        kinds(&fresh),
        [
            "decision_made",
            "tool_invoked",
            "tool_invoked",
            "tool_invoked"
        ],
        "one step, one append"
    );
    assert_eq!(under_way(&world), ["look", "look", "look"]);
    let early = world.input(Input::ToolReturned {
        turn: 1,
        call: 1,
        output: Box::new(output(Outcome::Ok, "b")),
    });
    assert_eq!(early, [], "what comes out of order is not taken");
    for text in ["a", "b", "c"] {
        world.ok(text);
    }
    assert!(world.is_asking());
    let shown: Vec<String> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(shown, ["a", "b", "c"]);
    audit(&world.entries).expect("the same kernel wrote it");
}

#[test]
fn calls_that_share_a_resource_wait_for_a_change_and_a_change_for_them() {
    for (written, together) in [
        (&["read_a", "read_a", "read_b"][..], 3),
        (&["read_a", "write_a"], 1),
        (&["write_a", "read_a"], 1),
        (&["write_a", "write_b", "free"], 3),
        (&["save_a", "save_a"], 1),
        (&["free", "free", "free"], 3),
        (&["read_b", "write_a", "read_a"], 2),
    ] {
        let mut world = shared();
        calls(&mut world, written);
        assert_eq!(under_way(&world).len(), together, "{written:?}");
        for _ in written {
            world.ok("well");
        }
        assert!(world.is_asking(), "{written:?}");
    }
}

#[test]
fn a_refused_call_between_others_does_not_part_them() {
    let mut world = setup().begin();
    world.reply(reply([look("a"), call("fly", "{}"), look("b")]));
    assert_eq!(under_way(&world), ["look", "look"]);
    world.ok("a");
    world.ok("b");
    let shown: Vec<String> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!((shown.len(), &*shown[0], &*shown[2]), (3, "a", "b"));
}

#[test]
fn each_call_that_was_in_flight_at_a_crash_has_its_own_outcome() {
    let mut world = shared();
    calls(&mut world, &["free", "read_b", "free", "save_a"]);
    assert_eq!(under_way(&world), ["free", "read_b", "free", "save_a"]);
    let mut again = World::from_log(world.entries.clone());
    again.resume();
    assert_eq!(
        under_way(&again),
        ["read_b", "save_a"],
        "what may be repeated is"
    );
    again.ok("b");
    assert_eq!(under_way(&again), ["save_a"]);
    again.ok("d");
    let shown: Vec<String> = again.results().into_iter().map(|(_, text)| text).collect();
    assert!(shown[0].contains("outcome unknown") && shown[2].contains("outcome unknown"));
    assert_eq!((&*shown[1], &*shown[3]), ("b", "d"));
    assert!(again.is_asking());
    audit(&again.entries).expect("the same kernel wrote it");
}

#[test]
fn calls_that_begin_after_a_crash_are_not_lost_with_those_before_it() {
    let mut world = shared();
    calls(&mut world, &["write_a", "write_a", "write_a"]);
    let mut again = World::from_log(world.entries.clone());
    again.resume();
    assert_eq!(
        under_way(&again),
        ["write_a"],
        "the second: the first is lost"
    );
    again.ok("second");
    again.ok("third");
    let shown: Vec<String> = again.results().into_iter().map(|(_, text)| text).collect();
    assert!(shown[0].contains("outcome unknown"));
    assert_eq!(shown[1..], ["second", "third"]);
}

#[test]
fn a_run_that_ends_has_no_call_left_open() {
    let mut world = shared();
    calls(&mut world, &["read_a", "free", "write_b"]);
    world.ok("a");
    world.cancel("enough");
    assert_eq!(world.ended(), Some(TerminationKind::Cancelled));
    assert_eq!(world.count("tool_invoked"), world.count("tool_finished"));
}

#[test]
fn what_ends_a_run_waits_for_the_calls_beside_it() {
    let mut world = setup().begin();
    world.reply(reply([look("a"), look("a"), look("a"), look("b")]));
    for _ in 0..3 {
        world.ok("the same");
    }
    assert_eq!(world.ended(), None, "a call is still at work");
    world.ok("another");
    assert_eq!(world.ended(), None, "the last call was another");
    world.reply(reply([done("tidy")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn a_thousand_calls_in_one_reply_are_a_few_at_a_time() {
    let mut world = setup()
        .limit(|limits| limits.calls_per_turn_max = 1_000)
        .begin();
    world.reply(reply((0..1_000).map(|n| look(&n.to_string()))));
    let mut returned = 0;
    while !world.is_asking() {
        assert!(under_way(&world).len() <= 64);
        world.ok(&returned.to_string());
        returned += 1;
    }
    assert_eq!(returned, 1_000);
}

#[test]
fn an_approval_holds_for_the_call_that_was_looked_at_and_for_none_beside_it() {
    let Setup {
        goal,
        system,
        mut config,
    } = setup();
    config.policy = Some(Box::new(Policy {
        rules: vec![rule("ask_me", Permission::Ask)],
        ..Policy::default()
    }));
    let spec = |name: &str| ToolSpec::closed(name, ToolEffect::Write, "A tool.", &json!({}), &[]);
    let catalog = Catalog::of_run([spec("ask_me"), spec("free")], &config).expect("two tools");
    let mut world = World::new(RunStarted::new(goal.into(), system.into(), config, catalog));
    world.reply(reply([call("ask_me", "{}"), call("free", "{}")]));
    verdict(&mut world, Verdict::Approved);
    world.wake();
    assert_eq!(under_way(&world), ["ask_me", "free"]);
    let Effect::Invoke(looked_at) = &world.effect else {
        unreachable!("{:?}", world.effect);
    };
    assert!(looked_at.approved());
    assert!(!beside(&world.run)[0].approved(), "nobody looked at it");
}

#[test]
fn a_run_of_an_older_edition_goes_on_one_call_at_a_time() {
    let mut setup = setup();
    setup.config.edition = Edition::FIRST;
    let mut world = setup.begin();
    world.reply(reply([look("a"), look("b")]));
    assert_eq!(under_way(&world), ["look"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is called and wherever a process dies: results stand in the model's order, nothing that changes
    /// something is under way beside another call of its resource, and no call that may not be repeated begins twice.
    #[test]
    fn order_and_at_most_once_hold_for_any_reply(
        tools in prop::collection::vec(0usize..6, 1..9),
        dies in prop::collection::vec(any::<bool>(), 0..6),
    ) {
        let names = ["read_a", "write_a", "save_a", "read_b", "write_b", "free"];
        let tools: Vec<&str> = tools.iter().map(|&it| names[it]).collect();
        let mut world = shared();
        calls(&mut world, &tools);
        let (mut dies, mut begun) = (dies.into_iter(), std::collections::BTreeMap::new());
        let begin = |world: &World, begun: &mut std::collections::BTreeMap<u32, u32>, fresh: bool| {
            let Effect::Invoke(first) = &world.effect else { return };
            let mut all = vec![first.clone()];
            all.extend(beside(&world.run));
            for it in all {
                let times = begun.entry(it.call()).or_default();
                if *times == 0 || fresh {
                    *times += 1;
                }
                assert!(*times == 1 || it.effect().may_repeat(), "{} again", it.tool());
            }
        };
        begin(&world, &mut begun, false);
        while matches!(world.effect, Effect::Invoke(_)) {
            if dies.next() == Some(true) {
                world = World::from_log(world.entries.clone());
                world.resume();
                begin(&world, &mut begun, true);
                continue;
            }
            world.ok("well");
            begin(&world, &mut begun, false);
        }
        let finished: Vec<u32> = world.entries.iter().filter_map(|entry| match &entry.event {
            Event::ToolFinished(finished) => Some(finished.call),
            _ => None,
        }).collect();
        prop_assert_eq!(finished, (0..tools.len() as u32).collect::<Vec<_>>());
        prop_assert!(audit(&world.entries).is_ok());
    }
}
