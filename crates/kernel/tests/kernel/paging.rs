//! Outputs that were cut, and the tool that reads on in them.

use bonded_kernel::{
    Effect, Encoding, Outcome, ReplyCall, TOOL_OUTPUT, TerminationKind, ToolOutput,
};
use serde_json::json;

use crate::agent_common::agent;
use crate::batch::{batch, look_at, member, results};
use crate::common::{Setup, World, call, look, noise, output, reply, setup};

fn paging() -> Setup {
    let mut setup = setup().limit(|limits| limits.tool_output_bytes_max = 100);
    setup.config.own_tools.output_kept_bytes_max = Some(1_000);
    setup
}

fn page(handle: &str, offset: u64) -> ReplyCall {
    let arguments = json!({ "handle": handle, "offset": offset });
    call(TOOL_OUTPUT, &arguments.to_string())
}

/// Returns an output that was cut, as a registry does.
fn cut(world: &mut World, whole: &str) {
    let kept = &whole[..whole.len().min(1_000)];
    world.returned(ToolOutput {
        cut_from_bytes: Some(whole.len() as u64),
        original: Some(kept.into()),
        ..output(Outcome::Ok, "[TRUNCATED]")
    });
}

fn last_result(world: &World) -> String {
    world.results().pop().expect("a result").1
}

#[test]
fn a_call_asks_for_what_is_to_be_kept_only_where_the_run_pages() {
    for (mut world, pages) in [(paging().begin(), true), (setup().begin(), false)] {
        world.reply(reply([look("a")]));
        let invocation = match &world.effect {
            Effect::Invoke(invocation) => Some(invocation),
            _ => None,
        };
        let invocation = invocation.expect("a call is under way");
        assert_eq!(invocation.kept_bytes_max(), pages.then_some(1_000));
        assert_eq!(invocation.output_handle(), pages.then(|| "out-1-0".into()));
    }
}

#[test]
fn the_model_reads_on_without_any_effect_of_the_host() {
    let mut world = paging().begin();
    world.reply(reply([look("a")]));
    cut(&mut world, &"0123456789".repeat(30));
    world.reply(reply([page("out-1-0", 280)]));
    assert!(world.is_asking(), "the kernel has answered by itself");
    assert_eq!(
        last_result(&world),
        "[bytes 280 to 300 of 300; the end]\n\n01234567890123456789"
    );
    world.reply(reply([page("out-1-0", 0)]));
    let first = last_result(&world);
    assert!(
        first.len() <= 100 && first.contains("next offset"),
        "{first}"
    );
    assert_eq!(world.count("tool_finished"), 3);
}

#[test]
fn what_is_wrong_with_a_page_is_told_and_the_run_goes_on() {
    let mut world = paging().begin();
    world.reply(reply([look("a")]));
    cut(&mut world, &"x".repeat(300));
    for (handle, offset) in [("out-7-7", 0), ("out-1-0", 300), ("", 0)] {
        world.reply(reply([page(handle, offset)]));
        assert!(last_result(&world).starts_with("(tool failed: "));
    }
    let bad = call(TOOL_OUTPUT, r#"{"handle":"out-1-0","offset":-1}"#);
    world.reply(reply([bad]));
    assert!(last_result(&world).contains("invalid arguments"));
    assert_eq!(world.ended(), None);
}

#[test]
fn a_page_survives_a_restart() {
    let mut world = paging().begin();
    world.reply(reply([look("a")]));
    cut(&mut world, &"x".repeat(5_000));
    let mut again = World::from_log(world.entries.clone());
    again.resume();
    again.reply(reply([page("out-1-0", 990)]));
    let text = last_result(&again);
    assert!(text.contains("4000 more bytes were not kept"), "{text}");
}

#[test]
fn the_same_page_again_and_again_is_no_progress() {
    let mut world = paging().begin();
    world.reply(reply([look("a")]));
    cut(&mut world, &"x".repeat(300));
    for _ in 0..3 {
        world.reply(reply([page("out-1-0", 0)]));
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
}

#[test]
fn of_a_page_that_no_window_has_room_for_the_beginning_is_shown_like_of_any_output() {
    let mut setup = agent(Encoding::Native).windows(&[9_000]);
    setup.config.own_tools.output_kept_bytes_max = Some(100_000);
    let mut world = setup.begin();
    world.reply(reply([look("a")]));
    let whole = noise(30_000);
    world.returned(ToolOutput {
        cut_from_bytes: Some(30_000),
        original: Some(whole),
        ..output(Outcome::Ok, "[TRUNCATED]")
    });
    world.reply(reply([page("out-1-0", 0), look("b")]));
    let (_, shown) = world.results().pop().expect("the page is answered");
    assert!(
        shown.contains("the context window has no room for more"),
        "{shown}"
    );
    assert_eq!(world.count("context_guarded"), 0, "the run goes on");
    assert!(matches!(world.effect, Effect::Invoke(_)));
}

#[test]
fn members_of_a_batch_are_cut_kept_and_read_like_any_call() {
    let mut setup = agent(Encoding::Native);
    setup.config.own_tools.batch = true;
    setup.config.own_tools.output_kept_bytes_max = Some(1_000);
    let mut world = setup.begin();
    let read = member(
        "p",
        TOOL_OUTPUT,
        json!({ "handle": "out-1-0", "offset": 295 }),
    );
    world.reply(reply([batch(json!([look_at("a"), read]))]));
    cut(&mut world, &"x".repeat(300));
    let results = results(&world);
    assert_eq!(results[0]["output"], "[TRUNCATED]");
    assert_eq!(
        results[1]["output"],
        "[bytes 295 to 300 of 300; the end]\n\nxxxxx"
    );
}

#[test]
fn a_thousand_turns_of_small_outputs_keep_nothing() {
    let mut world = paging()
        .limit(|limits| {
            limits.turns_max = 2_000;
            limits.repeats_max = 0;
        })
        .begin();
    for turn in 0..1_000 {
        world.turn(look(&format!("path {turn}")), "a spade");
    }
    let run = format!("{:?}", world.run);
    assert!(run.contains("KeptOutputs { outputs: [], bytes: 0 }"));
}
