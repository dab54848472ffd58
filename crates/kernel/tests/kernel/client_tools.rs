//! Tools that whoever asked for the run executes: their calls are handed out, and the run waits for what they returned.

use std::sync::Arc;

use bonded_kernel::{
    ClientTools, Edition, Effect, Event, Input, Mask, Outcome, SkipReason, TerminationKind,
    ToolEffect, ToolSpec, handed_out,
};
use serde_json::json;

use crate::common::{Setup, World, call, done, kinds, look, reply, setup};

const KEY: &str = "vK8-tR2.wQ7_zX4mN9";

fn fetch(url: &str) -> bonded_kernel::ReplyCall {
    call("fetch", &json!({ "url": url }).to_string())
}

fn with_client(parallel: bool) -> Setup {
    let spec = ToolSpec::closed(
        "fetch",
        ToolEffect::Read,
        "Fetches a page.",
        &json!({ "url": { "type": "string" } }),
        &["url"],
    );
    let mut setup = setup();
    setup.config.client_tools = Some(Box::new(ClientTools::new(vec![spec], parallel)));
    setup
}

/// The arguments of the calls that the client has.
fn handed(world: &World) -> Vec<String> {
    let calls = handed_out(&world.run);
    calls.iter().map(|it| it.arguments().to_owned()).collect()
}

fn url(url: &str) -> String {
    json!({ "url": url }).to_string()
}

#[test]
fn a_call_is_handed_out_and_handed_out_again_however_often_the_run_is_taken_up() {
    let mut world = with_client(true).begin();
    let fresh = world.reply(reply([fetch("a"), fetch("b")]));
    assert_eq!(
        kinds(&fresh),
        ["decision_made", "tool_invoked", "tool_invoked"]
    );
    for _ in 0..3 {
        assert_eq!(handed(&world), [url("a"), url("b")]);
        let mut again = World::from_log(world.entries.clone());
        assert_eq!(kinds(&again.resume()), ["run_resumed"], "nothing is lost");
        world = again;
    }
    world.ok("page a");
    assert_eq!(handed(&world), [url("b")]);
    let mut again = World::from_log(world.entries.clone());
    again.resume();
    assert_eq!(handed(&again), [url("b")]);
    again.ok("page b");
    assert!(again.is_asking() && handed(&again).is_empty());
    let shown: Vec<String> = again.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(shown, ["page a", "page b"]);
}

#[test]
fn nobody_vouches_for_what_a_client_does_whatever_it_says_of_its_tool() {
    let mut world = with_client(true).begin();
    let fresh = world.reply(reply([fetch("a")]));
    let invoked = fresh.iter().find_map(|entry| match &entry.event {
        Event::ToolInvoked { effect, .. } => Some(*effect),
        _ => None,
    });
    assert_eq!(invoked, Some(ToolEffect::Write));
}

#[test]
fn no_call_that_is_executed_here_is_under_way_beside_one_that_the_client_has() {
    let mut world = with_client(true).begin();
    world.reply(reply([
        look("1"),
        look("2"),
        fetch("a"),
        fetch("b"),
        look("3"),
    ]));
    let up = |world: &World| match &world.effect {
        Effect::Invoke(call) => (call.tool().to_owned(), handed(world).len()),
        _ => (String::new(), 0),
    };
    let mut seen = vec![];
    while !world.is_asking() {
        seen.push(up(&world));
        world.ok("well");
    }
    let row = |tool: &str, handed| (tool.to_owned(), handed);
    assert_eq!(
        seen,
        [
            row("look", 0),
            row("look", 0),
            row("fetch", 2),
            row("fetch", 1),
            row("look", 0)
        ]
    );
}

#[test]
fn a_client_that_takes_one_call_at_a_time_is_given_one_at_a_time() {
    let mut world = with_client(false).begin();
    world.reply(reply([fetch("a"), fetch("b")]));
    assert_eq!(handed(&world), [url("a")]);
    world.ok("page a");
    assert_eq!(handed(&world), [url("b")]);
}

#[test]
fn a_call_with_a_secret_is_not_handed_out_and_the_model_is_told() {
    let mut world = with_client(true).begin();
    let (turn, attempt) = world.asked();
    world.input(Input::SecretReply {
        turn,
        attempt,
        reply: Box::new(reply([fetch("a"), fetch(KEY), fetch("c")])),
        mask: Arc::new(Mask::new([(KEY, "KEY")])),
    });
    assert_eq!(handed(&world), [url("a")]);
    let fresh = world.ok("page a");
    let skipped = fresh.iter().find_map(|entry| match &entry.event {
        Event::CallSkipped { reason, .. } => Some(*reason),
        _ => None,
    });
    assert_eq!(skipped, Some(SkipReason::SecretNotKept));
    assert_eq!(handed(&world), [url("c")]);
    let mut again = World::from_log(world.entries.clone());
    again.resume();
    assert_eq!(handed(&again), [url("c")]);
}

#[test]
fn a_wait_ends_with_the_runs_time_and_with_a_word() {
    let mut late = with_client(true)
        .limit(|limits| limits.elapsed_ms_max = Some(60_000))
        .begin();
    late.reply(reply([fetch("a")]));
    late.after(59_999).input(Input::DeadlineReached);
    assert_eq!(late.ended(), None);
    late.after(1).input(Input::DeadlineReached);
    assert_eq!(late.ended(), Some(TerminationKind::TimedOut));
    let finished = late.entries.iter().find_map(|entry| match &entry.event {
        Event::ToolFinished(finished) => Some(finished.outcome),
        _ => None,
    });
    assert_eq!(finished, Some(Outcome::Interrupted));

    let mut left = with_client(true).begin();
    left.reply(reply([fetch("a")]));
    left.input(Input::CancelLeft {
        reason: "no more".into(),
    });
    assert_eq!(left.ended(), Some(TerminationKind::Cancelled));
}

#[test]
fn the_time_that_a_client_takes_between_two_processes_is_not_the_runs() {
    let mut world = with_client(true)
        .limit(|limits| limits.elapsed_ms_max = Some(60_000))
        .begin();
    world.after(10_000).reply(reply([fetch("a")]));
    world.after(3_600_000).resume();
    world.ok("page a");
    world.reply(reply([done("well")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(world.run.elapsed_ms(), 10_000);
}

#[test]
fn in_the_first_edition_a_client_is_given_one_call_at_a_time() {
    let mut setup = with_client(true);
    setup.config.edition = Edition::FIRST;
    let mut world = setup.begin();
    world.reply(reply([fetch("a"), fetch("b")]));
    assert_eq!(handed(&world), [url("a")]);
}

#[test]
fn names_of_the_kernels_own_tools_are_reserved() {
    for (name, expected) in [
        ("done", true),
        ("agent__final_report", true),
        ("agent__batch", true),
        ("tool_output", true),
        ("agent_x", false),
        ("fetch", false),
    ] {
        assert_eq!(ClientTools::is_reserved(name), expected, "{name}");
    }
}
