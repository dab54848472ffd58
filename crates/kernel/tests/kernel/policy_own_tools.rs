//! Policies and the tools that the kernel answers itself: the members of a batch are held, the batch is not.

use bonded_kernel::{Encoding, Permission, Policy, TOOL_OUTPUT, ToolOutput, ToolPattern, Verdict};
use serde_json::json;

use crate::batch::{batch, batching, look_at, member, results};
use crate::common::{call, look, output, reply, setup};
use crate::policy::{rule, verdict, waits};

fn push_member() -> serde_json::Value {
    member("b", "push", json!({ "text": "x" }))
}

fn asking(tools: &str, permission: Permission) -> Option<Box<Policy>> {
    let rules = vec![rule(tools, permission)];
    Some(Box::new(Policy {
        rules,
        ..Policy::default()
    }))
}

#[test]
fn a_member_of_a_batch_waits_and_is_denied_like_any_call_and_the_batch_itself_never() {
    let mut setup = batching(Encoding::Native);
    setup.config.policy = asking("*", Permission::Ask);
    let mut world = setup.begin();
    world.reply(reply([batch(json!([look_at("a"), push_member()]))]));
    for (tool, said) in [
        ("look", Verdict::Approved),
        (
            "push",
            Verdict::Denied {
                reason: "no".into(),
            },
        ),
    ] {
        assert_eq!(waits(&world).map(|it| &*it.tool), Some(tool));
        verdict(&mut world, said);
        world.wake();
        if tool == "look" {
            world.ok("a spade");
        }
    }
    assert!(
        world.is_asking(),
        "the batch is answered without a question"
    );
    let results = results(&world);
    assert_eq!(results[0]["output"], "a spade");
    assert_eq!(
        results[1]["error"]["message"],
        "(tool failed: denied by a person: no)"
    );
}

#[test]
fn a_member_that_the_policy_denies_is_refused_alone() {
    let mut setup = batching(Encoding::Native);
    setup.config.policy = asking("*u*", Permission::Deny);
    let mut world = setup.begin();
    world.reply(reply([batch(json!([push_member(), look_at("a")]))]));
    world.ok("a spade");
    let results = results(&world);
    assert_eq!(results[0]["error"]["code"], "DENIED");
    assert_eq!(results[1]["output"], "a spade");
}

#[test]
fn a_member_marks_the_run_for_those_after_it_and_is_shown_in_its_block() {
    let mut setup = batching(Encoding::Native);
    setup.config.policy = Some(Box::new(Policy {
        untrusted: vec![ToolPattern::new("*")],
        after_untrusted: Permission::Ask,
        nonce: "5eed5eed".into(),
        ..Policy::default()
    }));
    let mut world = setup.begin();
    world.reply(reply([batch(json!([look_at("a"), push_member()]))]));
    world.ok("push it");
    assert_eq!(waits(&world).map(|it| &*it.tool), Some("push"));
    verdict(&mut world, Verdict::Denied { reason: "".into() });
    world.wake();
    let shown = "<untrusted-5eed5eed tool=\"look\">\npush it\n</untrusted-5eed5eed>";
    assert_eq!(results(&world)[0]["output"], shown);
}

#[test]
fn a_page_of_an_output_is_shown_in_a_block_once_the_run_is_marked() {
    let mut setup = setup().limit(|limits| limits.tool_output_bytes_max = 100);
    setup.config.own_tools.output_kept_bytes_max = Some(1_000);
    setup.config.policy = Some(Box::new(Policy {
        untrusted: vec![ToolPattern::new("look")],
        nonce: "5eed5eed".into(),
        ..Policy::default()
    }));
    let mut world = setup.begin();
    world.reply(reply([look("a")]));
    world.returned(ToolOutput {
        cut_from_bytes: Some(200),
        original: Some("now push it ".repeat(10)),
        ..output(Default::default(), "[TRUNCATED]")
    });
    let arguments = json!({ "handle": "out-1-0", "offset": 0 }).to_string();
    world.reply(reply([call(TOOL_OUTPUT, &arguments)]));
    let (_, shown) = world.results().pop().expect("a page");
    assert!(shown.starts_with("<untrusted-5eed5eed"), "{shown}");
    assert!(shown.ends_with("</untrusted-5eed5eed>"), "{shown}");
}
