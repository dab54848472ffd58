//! Tools that are found by a search instead of being sent with each request.

use bonded_kernel::{
    Catalog, Encoding, Event, FIND_TOOLS, Permission, Policy, ReplyCall, RunStarted,
    TerminationKind, ToolSpec,
};
use serde_json::json;

use crate::agent_common::{agent, markdown, tool_tag};
use crate::common::{Setup, World, call, done, look, push, put, reply, setup, specs, text};
use crate::policy::rule;

fn deferring_above(tokens: u64, mut setup: Setup) -> Setup {
    if let Some(agent) = &mut setup.config.agent {
        agent.deferred_above = Some(tokens);
    }
    setup
}

/// An agent whose tools may all be left out of requests but `look`.
fn started(encoding: Encoding, above: u64) -> RunStarted {
    of(deferring_above(above, agent(encoding)))
}

fn of(setup: Setup) -> RunStarted {
    let waits = |spec: &ToolSpec| spec.name != "look";
    let catalog = Catalog::of_run_deferring(specs(), &setup.config, waits);
    let catalog = catalog.expect("tools of good names and schemas");
    RunStarted::new(
        setup.goal.into(),
        setup.system.into(),
        setup.config,
        catalog,
    )
}

fn deferring() -> World {
    World::new(started(Encoding::Native, 0))
}

fn find(query: &str) -> ReplyCall {
    call(FIND_TOOLS, &json!({ "query": query }).to_string())
}

/// The tools that the request under way tells of, without the report.
fn sent(world: &World) -> Vec<String> {
    let mut names = world.offered_tools();
    names.retain(|name| name != "agent__final_report");
    names
}

#[test]
fn tools_are_left_out_only_where_they_hold_more_than_the_bound() {
    for (above, is_left_out) in [(0, true), (10_000, false)] {
        let world = World::new(started(Encoding::Native, above));
        let expected = match is_left_out {
            true => vec![FIND_TOOLS, "look"],
            false => vec!["look", "push", "put"],
        };
        assert_eq!(sent(&world), expected, "above {above}");
        assert_eq!(world.run.config().own_tools.search, is_left_out);
    }
}

#[test]
fn what_a_search_names_is_sent_from_the_next_request_on() {
    let mut world = deferring();
    world.reply(reply([find("push")]));
    assert!(world.is_asking(), "the kernel has answered by itself");
    let (_, answer) = world.results().pop().expect("a result");
    assert!(answer.contains("\npush: The tool push."), "{answer}");
    assert_eq!(sent(&world), [FIND_TOOLS, "look", "push"]);
    world.turn(look("a"), "is there");
    assert_eq!(sent(&world), [FIND_TOOLS, "look", "push"], "it stays");
    world.reply(reply([push("b")]));
    assert_eq!(world.invoked().last().map(|it| it.1.as_str()), Some("push"));
}

#[test]
fn a_search_in_tags_shows_the_schema_of_what_it_found() {
    let mut world = World::new(started(Encoding::Xml, 0));
    let has = |world: &World, tool: &str| {
        world
            .notices()
            .concat()
            .contains(&format!("The tool {tool}."))
    };
    assert!(has(&world, "look") && !has(&world, "push"));
    let payload = json!({ "query": "push" });
    world.reply(text(&tool_tag(1, FIND_TOOLS, &payload.to_string())));
    assert!(
        has(&world, "push") && !has(&world, "put"),
        "{:?}",
        world.notices()
    );
}

#[test]
fn a_call_of_a_tool_that_was_not_found_is_executed_and_one_that_does_not_fit_shows_its_schema() {
    let mut world = deferring();
    world.reply(reply([put("1")]));
    assert_eq!(world.invoked().last().map(|it| it.1.as_str()), Some("put"));
    world.ok("kept");
    assert_eq!(sent(&world), [FIND_TOOLS, "look", "put"]);
    world.reply(reply([call("push", r#"{"words": "b"}"#)]));
    let (_, refusal) = world.results().pop().expect("a result");
    assert!(refusal.contains("invalid arguments"), "{refusal}");
    assert_eq!(sent(&world), [FIND_TOOLS, "look", "push", "put"]);
}

#[test]
fn a_search_that_finds_nothing_says_so_and_changes_no_request() {
    let mut world = deferring();
    let before = sent(&world);
    world.reply(reply([find("weather")]));
    let (_, answer) = world.results().pop().expect("a result");
    assert!(answer.starts_with("No tool matches."), "{answer}");
    assert_eq!(sent(&world), before);
}

#[test]
fn the_policy_and_the_limits_of_a_run_hold_for_tools_that_were_found() {
    let mut setup = deferring_above(0, agent(Encoding::Native));
    setup.config.policy = Some(Box::new(Policy {
        rules: vec![rule("push", Permission::Deny)],
        ..Policy::default()
    }));
    let mut world = World::new(of(setup));
    world.reply(reply([find("push")]));
    world.reply(reply([push("b")]));
    let (_, refusal) = world.results().pop().expect("a result");
    assert!(refusal.contains("denied by policy"), "{refusal}");
}

#[test]
fn a_tool_that_was_found_counts_against_the_window_and_the_budget() {
    let schema = |world: &World| {
        let counters = world
            .entries
            .iter()
            .rev()
            .find_map(|entry| match &entry.event {
                Event::AttemptStarted {
                    context, reserved, ..
                } => Some((context.expect("it is known"), reserved.input)),
                _ => None,
            });
        let (counters, reserved) = counters.expect("a request");
        (counters.schema, reserved)
    };
    let after_search_for = |query: &str| {
        let setup = deferring_above(0, agent(Encoding::Native).windows(&[50_000]));
        let mut world = World::new(of(setup));
        world.reply(reply([find(query)]));
        schema(&world)
    };
    let (without, with) = (after_search_for("weather"), after_search_for("push put"));
    assert!(with.0 > without.0 + 20, "{without:?} and {with:?}");
    assert!(with.1 > without.1 + 200, "{without:?} and {with:?}");
}

#[test]
fn a_plain_run_and_one_without_a_bound_send_every_tool() {
    let mut plain = World::new(of(setup()));
    assert_eq!(sent(&plain), ["done", "look", "push", "put"]);
    plain.reply(reply([find("push")]));
    let (_, refusal) = plain.results().pop().expect("a result");
    assert!(refusal.contains("there is no tool"), "{refusal}");
    plain.reply(reply([done("ok")]));
    assert_eq!(plain.ended(), Some(TerminationKind::Done));
}

#[test]
fn a_log_with_found_tools_is_replayed_to_the_same_request() {
    let mut world = deferring();
    world.reply(reply([find("put")]));
    let again = World::from_log(world.entries.clone());
    assert_eq!(sent(&again), sent(&world));
    world.reply(reply([markdown("done")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}
