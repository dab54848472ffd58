//! Batches under the context guard: members are admitted one by one, the batch itself always is.

use bonded_kernel::{BATCH, Encoding, Reply, TerminationKind, request};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::agent_common::{ENCODINGS, report_in, tool_tag};
use crate::batch::{batch, batching, look_at, member, results};
use crate::common::{World, call, estimated, noise, reply, text};

#[test]
fn members_that_do_not_fit_are_dropped_and_the_batch_is_answered() {
    let mut world = batching(Encoding::Native).windows(&[12_000]).begin();
    let calls: Vec<Value> = ["a", "b", "c"].map(look_at).into();
    world.reply(reply([batch(json!(calls))]));
    world.ok("small");
    for _ in 0..2 {
        world.ok(&noise(20_000));
    }
    let results = results(&world);
    assert_eq!(results[0]["output"], "small");
    for dropped in &results[1..] {
        assert_eq!(dropped["dropped"], true);
        assert_eq!(dropped["error"]["code"], "CONTEXT_BUDGET_EXCEEDED");
    }
    assert_eq!(world.count("context_guarded"), 1);
    world.reply(report_in(Encoding::Native, "tidy"));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn what_members_said_counts_before_the_batch_is_answered() {
    let mut world = batching(Encoding::Native).windows(&[12_000]).begin();
    let calls: Vec<Value> = ["a", "b", "c", "d"].map(look_at).into();
    world.reply(reply([batch(json!(calls))]));
    for _ in 0..4 {
        if matches!(world.effect, bonded_kernel::Effect::Invoke(_)) {
            world.ok(&noise(3_000));
        }
    }
    let results = results(&world);
    assert!(results.iter().any(|result| result["ok"] == true));
    assert!(results.iter().any(|result| result["dropped"] == true));
}

/// The tokens of everything that the request under way holds, counted from the outside.
fn request_tokens(world: &World) -> u64 {
    let request = request(&world.run).expect("the run asks");
    let messages: u64 = world
        .conversation()
        .iter()
        .map(|(_, text)| estimated(text))
        .sum();
    let notices: u64 = request.notices.iter().map(|it| estimated(it)).sum();
    let tools: u64 = request
        .tools()
        .map(|spec| estimated(&spec.schema.to_string()))
        .sum();
    messages + notices + tools
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the members are and however long they speak, the last request fits the window.
    #[test]
    fn no_batch_makes_the_last_request_too_large(
        encoding in prop::sample::select(ENCODINGS.to_vec()),
        members in prop::collection::vec((0usize..4, "[a-z_#]{1,64}"), 1..60),
        outputs in prop::collection::vec(0usize..9_000, 1..12),
    ) {
        let window = 20_000;
        let mut world = batching(encoding).windows(&[window]).begin();
        let calls: Vec<Value> = members.iter().map(|(kind, id)| match kind {
            0 => member(id, "fly", json!({})),
            1 => member(id, &"x".repeat(300), json!({})),
            2 => member(id, "push", json!({ "text": "y" })),
            _ => look_at(id),
        }).collect();
        let written = json!({ "calls": calls });
        let said = match encoding {
            Encoding::Xml => text(&tool_tag(1, BATCH, &written.to_string())),
            _ => reply([call(BATCH, &written.to_string())]),
        };
        // A provider that does not count leaves every estimate in force.
        world.reply(Reply { usage: None, ..said });
        let mut outputs = outputs.iter().cycle();
        while matches!(world.effect, bonded_kernel::Effect::Invoke(_)) {
            world.ok(&noise(*outputs.next().expect("a cycle has no end")));
        }
        prop_assert!(world.is_asking(), "{:?}", world.effect);
        let reply = request(&world.run).map_or(0, |it| u64::from(it.output_tokens_max));
        prop_assert!(reply >= 64);
        prop_assert!(request_tokens(&world) + reply <= window, "{} {reply}", request_tokens(&world));
    }
}
