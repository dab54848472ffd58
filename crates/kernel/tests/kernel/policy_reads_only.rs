//! Runs that change nothing: what could is not offered, and a call of it is refused where it is.

use bonded_kernel::{
    Catalog, ClientTools, Encoding, Event, GoalGiven, Input, Policy, RefusalCode, RunStarted,
    SandboxConfig, SandboxLevel, SubAgent, TerminationKind, ToolEffect, ToolSpec,
};
use serde_json::json;

use crate::agent_common::agent;
use crate::batch::{batch, batching, look_at, member, results};
use crate::common::{Setup, World, call, done, look, push, put, reply, setup, specs};

fn reading(mut setup: Setup) -> Setup {
    setup.config.policy = Some(Box::new(Policy {
        reads_only: true,
        ..Policy::default()
    }));
    setup
}

/// A run that reads only, and whose catalogue holds what writes all the same: as one that a build made which left it there.
fn offered_all(setup: Setup) -> World {
    let catalog = Catalog::of_run(specs(), &setup.config).expect("three well-formed tools");
    let setup = reading(setup);
    World::new(RunStarted::new(
        setup.goal.into(),
        setup.system.into(),
        setup.config,
        catalog,
    ))
}

fn refusals(world: &World) -> Vec<(String, RefusalCode, String)> {
    let decisions = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::DecisionMade(decision) => Some(&decision.calls),
        _ => None,
    });
    let refused = decisions.flatten().filter_map(|call| {
        let refusal = call.refused.as_ref()?;
        Some((
            call.tool.to_string(),
            refusal.code,
            refusal.message.to_string(),
        ))
    });
    refused.collect()
}

fn invoked(world: &World) -> Vec<String> {
    let invoked = world.invoked().into_iter().map(|(_, tool)| tool);
    invoked.filter(|tool| tool != "done").collect()
}

#[test]
fn only_what_changes_nothing_is_offered() {
    let world = reading(setup()).begin();
    assert_eq!(world.offered_tools(), ["done", "look"]);
    assert_eq!(setup().begin().offered_tools().len(), 4);
}

#[test]
fn a_tool_that_is_not_offered_is_refused_and_the_model_is_told_what_is_there() {
    let mut world = reading(setup()).begin();
    world.reply(reply([push("a"), look("b"), put("c")]));
    world.ok("a rake");
    assert_eq!(invoked(&world), ["look"]);
    let refused = refusals(&world);
    assert_eq!(refused.len(), 2);
    for (tool, code, message) in refused {
        assert_eq!(code, RefusalCode::UnknownTool);
        assert!(message.contains(&tool), "{message}");
        assert!(
            message.starts_with("this run changes nothing: ") && message.ends_with("done, look"),
            "{message}"
        );
    }
}

#[test]
fn a_call_that_may_change_something_is_refused_though_the_catalogue_holds_its_tool() {
    let mut world = offered_all(setup());
    world.reply(reply([push("a"), look("b"), put("c")]));
    world.ok("a rake");
    assert_eq!(invoked(&world), ["look"]);
    let refused = refusals(&world);
    assert_eq!(refused.len(), 2);
    for (_, code, message) in refused {
        assert_eq!(code, RefusalCode::Denied);
        assert!(
            message.starts_with("this run changes nothing: "),
            "{message}"
        );
    }
    world.reply(reply([done("here is what to do")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn a_member_of_a_batch_is_refused_like_any_call_and_the_batch_is_not() {
    let mut world = offered_all(batching(Encoding::Native));
    let calls = json!([look_at("a"), member("b", "push", json!({ "text": "x" }))]);
    world.reply(reply([batch(calls)]));
    world.ok("a spade");
    let results = results(&world);
    assert_eq!(results[0]["output"], "a spade");
    let told = results[1]["error"]["message"].to_string();
    assert!(told.contains("this run changes nothing: "), "{told}");
    assert!(!invoked(&world).contains(&"push".to_owned()));
}

#[test]
fn tools_of_a_client_are_not_offered_whatever_they_say_of_themselves() {
    let spec = ToolSpec::closed(
        "fetch",
        ToolEffect::Read,
        "Fetches a page.",
        &json!({ "url": { "type": "string" } }),
        &["url"],
    );
    let mut setup = setup();
    setup.config.client_tools = Some(Box::new(ClientTools::new(vec![spec], true)));
    let mut world = reading(setup).begin();
    assert_eq!(world.offered_tools(), ["done", "look"]);
    world.reply(reply([call("fetch", r#"{"url":"a"}"#)]));
    assert!(world.is_asking(), "nothing is handed out");
    assert_eq!(invoked(&world), [] as [&str; 0]);
}

#[test]
fn an_agent_that_may_be_called_is_offered_because_its_run_reads_only_too() {
    let mut setup = agent(Encoding::Native);
    let helper = ToolSpec {
        name: "agent__helper".into(),
        ..specs()[1].clone()
    };
    if let Some(agent) = &mut setup.config.agent {
        agent.agents = vec![SubAgent {
            tool: helper.name.clone(),
            file: "/shed/helper.ai".into(),
        }];
    }
    let setup = reading(setup);
    let tools = specs().into_iter().chain([helper]);
    let catalog = Catalog::of_run(tools, &setup.config).expect("well-formed tools");
    let names: Vec<&str> = catalog.specs().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["agent__final_report", "agent__helper", "look"]);
    let mut world = World::new(RunStarted::new(
        setup.goal.into(),
        setup.system.into(),
        setup.config,
        catalog,
    ));
    world.reply(reply([call("agent__helper", r#"{"value":"a"}"#)]));
    assert_eq!(invoked(&world), ["agent__helper"]);
}

#[test]
fn a_policy_that_reads_only_holds_for_all_that_stand_below_it() {
    let reads = |reads_only| Policy {
        reads_only,
        ..Policy::default()
    };
    for (above, own) in [(true, false), (false, true), (true, true)] {
        assert!(reads(own).under(reads(above)).reads_only(), "{above} {own}");
        let deep = reads(own).under(reads(false)).under(reads(above));
        assert!(deep.reads_only(), "{above} {own}");
    }
    assert!(!reads(false).under(reads(false)).reads_only());
    assert!(!reads(true).is_empty());
}

#[test]
fn a_later_goal_cannot_lift_it_and_one_that_brings_it_is_held_to_it() {
    let mut world = offered_all(setup());
    world.reply(reply([done("planned")]));
    let mut given = GoalGiven::new("now do it", world.run.limits_of_goal().clone());
    given.policy = Some(Box::default());
    world.input(Input::Goal(Box::new(given)));
    assert!(world.run.config().reads_only());
    world.reply(reply([push("a")]));
    assert_eq!(invoked(&world), [] as [&str; 0]);

    let mut world = setup().begin();
    world.reply(reply([done("done")]));
    let mut given = GoalGiven::new("look again", world.run.limits_of_goal().clone());
    given.policy = reading(setup()).config.policy;
    world.input(Input::Goal(Box::new(given)));
    world.reply(reply([push("a"), look("b")]));
    assert_eq!(invoked(&world), ["look"]);
}

#[test]
fn its_commands_are_given_no_place_to_write_and_nobody_to_reach() {
    let asked = SandboxConfig {
        level: SandboxLevel::Full,
        required: true,
        best_effort: true,
        network: true,
        env: vec!["KEPT".into()],
        show: vec!["~/shown".into()],
        ..SandboxConfig::default()
    };
    let mut config = reading(setup()).config;
    config.sandbox = Some(Box::new(asked.clone()));
    config.confine_to_policy();
    let held = SandboxConfig {
        level: SandboxLevel::ReadOnly,
        best_effort: false,
        network: false,
        ..asked.clone()
    };
    assert_eq!(config.sandbox.as_deref(), Some(&held));
    config.sandbox = None;
    config.confine_to_policy();
    let level = config.sandbox.map(|it| it.level);
    assert_eq!(level, Some(SandboxLevel::ReadOnly));

    let mut free = setup().config;
    free.sandbox = Some(Box::new(asked.clone()));
    free.confine_to_policy();
    assert_eq!(free.sandbox.as_deref(), Some(&asked));
}
