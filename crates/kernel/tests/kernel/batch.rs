//! Batches: several calls in one, each checked, logged, run and answered like any other.

use bonded_kernel::{BATCH, Encoding, Event, Outcome, RefusalCode, ReplyCall, TerminationKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::agent_common::{ENCODINGS, agent, markdown, tool_tag};
use crate::common::{Setup, World, call, look, output, push, reply, text};

/// An agent whose tools hold `batch`.
pub(crate) fn batching(encoding: Encoding) -> Setup {
    let mut setup = agent(encoding);
    setup.config.own_tools.batch = true;
    setup
}

pub(crate) fn batch(calls: Value) -> ReplyCall {
    ReplyCall {
        id: "the-batch".into(),
        ..call(BATCH, &Value::from_iter([("calls", calls)]).to_string())
    }
}

pub(crate) fn member(id: &str, tool: &str, parameters: Value) -> Value {
    Value::from_iter([
        ("id", id.into()),
        ("tool", tool.into()),
        ("parameters", parameters),
    ])
}

pub(crate) fn look_at(id: &str) -> Value {
    member(id, "look", json!({ "path": id }))
}

/// The results that the model is shown of the only batch.
pub(crate) fn results(world: &World) -> Vec<Value> {
    let shown = world.results();
    let (_, text) = shown
        .iter()
        .find(|(id, _)| id == "the-batch")
        .expect("the batch was answered");
    let value: Value = serde_json::from_str(text).expect("the answer is JSON");
    value["results"].as_array().expect("an array").clone()
}

fn refusals(world: &World) -> Vec<(String, RefusalCode)> {
    let decisions = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::DecisionMade(decision) => Some(&decision.calls),
        _ => None,
    });
    let calls = decisions.flatten();
    calls
        .filter_map(|call| Some((call.tool.to_string(), call.refused.as_ref()?.code)))
        .collect()
}

#[test]
fn members_run_one_after_the_other_and_the_batch_is_answered_once() {
    let mut world = batching(Encoding::Native).begin();
    let calls = json!([look_at("a"), member("b", "push", json!({ "text": "x" }))]);
    world.reply(reply([batch(calls), look("c")]));
    world.ok("a spade");
    world.returned(output(Outcome::Failed, "(tool failed: full)"));
    assert_eq!(
        results(&world),
        [
            json!({ "id": "a", "tool": "look", "ok": true, "elapsedMs": 3, "output": "a spade" }),
            json!({ "id": "b", "tool": "push", "ok": false, "elapsedMs": 3,
                "error": { "code": "EXECUTION_ERROR", "message": "(tool failed: full)" } }),
        ]
    );
    world.ok("a rake");
    let tools: Vec<String> = world.invoked().into_iter().map(|(_, tool)| tool).collect();
    assert_eq!(tools, ["look", "push", BATCH, "look"]);
    assert_eq!(world.roles(), ["user", "assistant", "tool", "tool"]);
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn every_encoding_has_batches() {
    for encoding in ENCODINGS {
        let mut world = batching(encoding).begin();
        let calls = json!([look_at("a"), look_at("b")]);
        let written = json!({ "calls": calls }).to_string();
        world.reply(match encoding {
            Encoding::Xml => text(&tool_tag(1, BATCH, &written)),
            _ => reply([batch(calls)]),
        });
        world.ok("a spade");
        world.ok("a rake");
        assert!(world.is_asking(), "{encoding:?}");
        let (_, answer) = world.conversation().pop().expect("an answer");
        for part in ["\"id\":\"a\"", "\"id\":\"b\"", "a spade", "a rake"] {
            assert!(answer.contains(part), "{encoding:?}: {answer}");
        }
        if encoding == Encoding::Xml {
            assert!(
                answer.contains("-0001 (agent__batch)\nstatus: ok"),
                "{answer}"
            );
        }
    }
}

#[test]
fn each_bad_member_fails_alone_with_a_code_of_its_own() {
    let rows = [
        (member("x", "fly", json!({})), "UNKNOWN_TOOL"),
        (
            member("x", "look", json!({ "path": 5 })),
            "INVALID_ARGUMENTS",
        ),
        (
            member("x", "look", json!("no object")),
            "MALFORMED_ARGUMENTS",
        ),
        (
            member("x", BATCH, json!({ "calls": [look_at("y")] })),
            "INTERNAL_NOT_ALLOWED",
        ),
        (
            member("x", "agent__final_report", json!({})),
            "INTERNAL_NOT_ALLOWED",
        ),
        (
            member("x", "final_report", json!({})),
            "INTERNAL_NOT_ALLOWED",
        ),
    ];
    for (bad, code) in rows {
        let mut world = batching(Encoding::Native).begin();
        world.reply(reply([batch(json!([bad, look_at("a")]))]));
        world.ok("a spade");
        let results = results(&world);
        assert_eq!(results[0]["error"]["code"], code);
        assert_eq!(results[0]["ok"], false);
        assert_eq!(
            world.invoked().len(),
            2,
            "{code}: the good one and the batch"
        );
        assert_eq!(results[1]["output"], "a spade", "{code}");
        assert_eq!(world.run.turn(), 2);
    }
}

#[test]
fn a_batch_that_is_none_is_refused_as_a_whole_and_says_why() {
    let rows = [
        (
            json!({ "calls": [] }),
            RefusalCode::EmptyBatch,
            "empty_batch",
        ),
        (json!({}), RefusalCode::EmptyBatch, "empty_batch"),
        (
            json!({ "calls": " " }),
            RefusalCode::EmptyBatch,
            "empty_batch",
        ),
        (
            json!({ "calls": 5 }),
            RefusalCode::InvalidBatch,
            "invalid_batch_input",
        ),
        (
            json!({ "calls": "nonsense" }),
            RefusalCode::InvalidBatch,
            "invalid_batch_input",
        ),
        (
            json!({ "calls": [7] }),
            RefusalCode::InvalidBatch,
            "not an object",
        ),
        (
            json!({ "calls": [{ "id": "", "tool": "look" }] }),
            RefusalCode::InvalidBatch,
            "id",
        ),
        (
            json!({ "calls": [{ "id": "a", "tool": " " }] }),
            RefusalCode::InvalidBatch,
            "tool",
        ),
        (
            json!({ "calls": [look_at("a"), { "id": "b" }] }),
            RefusalCode::InvalidBatch,
            "call 2",
        ),
        (
            json!({ "calls": [look_at("a\"b")] }),
            RefusalCode::InvalidBatch,
            "id",
        ),
        (
            json!({ "calls": [look_at(&"x".repeat(65))] }),
            RefusalCode::InvalidBatch,
            "id",
        ),
    ];
    for (arguments, code, why) in rows {
        let mut world = batching(Encoding::Native).begin();
        world.reply(reply([call(BATCH, &arguments.to_string()), look("b")]));
        world.ok("a rake");
        assert_eq!(refusals(&world), [(BATCH.to_owned(), code)], "{arguments}");
        let told = &world.results()[0].1;
        assert!(
            told.starts_with("(tool failed: ") && told.contains(why),
            "{told}"
        );
    }
}

#[test]
fn a_batch_is_read_with_patience() {
    let rows = [
        r#"{"calls":[{"tool":"look","parameters":{"path":"a"}}]}"#,
        r#"{"calls":[{"id":7,"name":"look","arguments":{"path":"a"}}]}"#,
        r#"{"calls":[{"id":"a","tool":"look","parameters":"{\"path\":\"\\x61\"}"}]}"#,
        r#"{"calls":"[{\"id\":\"a\",\"tool\":\"look\",\"parameters\":{\"path\":\"a\"}}] trailing"}"#,
        r#"{"calls":"[{'id':'a','tool':'look','parameters':{'path':'\\x61'}}]"}"#,
        r#"{"calls":{"id":"a","tool":"look","parameters":{"path":"a"}}}"#,
        r#"{'calls':[{'id':'a','tool':'look','parameters':{'path':'a'}}]}"#,
    ];
    for written in rows {
        let mut world = batching(Encoding::Native).begin();
        world.reply(reply([call(BATCH, written)]));
        let arguments = match &world.effect {
            bonded_kernel::Effect::Invoke(invocation) => invocation.arguments().to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(arguments, r#"{"path":"a"}"#, "{written}");
        world.ok("a spade");
        assert!(world.is_asking());
    }
}

#[test]
fn the_cap_of_a_turn_counts_members_and_not_the_batch() {
    let mut world = batching(Encoding::Native).calls(3).begin();
    let calls: Vec<Value> = ["a", "b", "c", "d"].map(look_at).into();
    world.reply(reply([batch(json!(calls)), look("e")]));
    for _ in 0..3 {
        world.ok("a spade");
    }
    assert_eq!(
        world.count("tool_invoked"),
        4,
        "three members and the batch"
    );
    assert_eq!(results(&world)[3]["error"]["code"], "TOO_MANY_CALLS");
    let codes: Vec<RefusalCode> = refusals(&world).into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, [RefusalCode::TooManyCalls; 2]);

    let mut world = batching(Encoding::Native).calls(2).begin();
    world.reply(reply([batch(json!([look_at("a")])), look("b")]));
    world.ok("a spade");
    world.ok("a rake");
    assert_eq!(refusals(&world), []);

    let mut world = batching(Encoding::Native).calls(2).begin();
    let later = ReplyCall {
        id: "later".into(),
        ..batch(json!([look_at("c")]))
    };
    world.reply(reply([look("a"), look("b"), later]));
    world.ok("a spade");
    world.ok("a rake");
    assert_eq!(
        refusals(&world),
        [(BATCH.to_owned(), RefusalCode::TooManyCalls)]
    );
}

#[test]
fn a_member_under_way_at_a_crash_is_repeated_only_where_that_is_harmless() {
    for (tool, argument, repeats) in [("look", "path", true), ("push", "text", false)] {
        let mut world = batching(Encoding::Native).begin();
        world.reply(reply([batch(json!([
            look_at("a"),
            member("b", tool, json!({ argument: "x" }))
        ]))]));
        world.ok("a spade");
        let entries = world.entries.clone();
        let mut again = World::from_log(entries);
        again.resume();
        if repeats {
            again.ok("once more");
        }
        assert_eq!(results(&again)[0]["output"], "a spade");
        let second = &results(&again)[1];
        assert_eq!(second["ok"], repeats, "{second}");
        if !repeats {
            let message = second["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("interrupted"), "{message}");
        }
        assert!(again.is_asking());
    }
}

#[test]
fn a_report_after_a_batch_ends_the_run_and_one_before_it_skips_the_members() {
    let mut world = batching(Encoding::Native).begin();
    world.reply(reply([batch(json!([look_at("a")])), markdown("tidy")]));
    world.ok("a spade");
    assert_eq!(world.ended(), Some(TerminationKind::Done));

    let mut world = batching(Encoding::Native).begin();
    world.reply(reply([markdown("tidy"), batch(json!([look_at("a")]))]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
    assert_eq!(world.count("call_skipped"), 2);
}

#[test]
fn a_batch_whose_members_are_all_refused_is_no_action() {
    let mut world = batching(Encoding::Native)
        .limit(|limits| limits.repeats_max = 3)
        .begin();
    for turn in 0..3 {
        let bad = member("x", &format!("fly{turn}"), json!({}));
        world.reply(reply([batch(json!([bad]))]));
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
}

#[test]
fn the_same_member_with_the_same_result_three_times_is_no_progress() {
    let mut world = batching(Encoding::Native)
        .limit(|limits| limits.repeats_max = 3)
        .begin();
    for _ in 0..3 {
        world.reply(reply([batch(json!([look_at("a")]))]));
        world.ok("a spade");
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
}

#[test]
fn a_run_that_does_not_offer_batches_knows_no_such_tool() {
    let mut world = agent(Encoding::Native).begin();
    world.reply(reply([batch(json!([look_at("a")])), push("b")]));
    world.ok("pushed");
    assert_eq!(
        refusals(&world),
        [(BATCH.to_owned(), RefusalCode::UnknownTool)]
    );
}

/// Any JSON that is not too deep, with the words that a batch knows among its keys.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof![
            "look",
            "push",
            "agent__batch",
            "[\\[\\]{}\":,a\\\\]{0,12}",
            ".{0,8}"
        ]
        .prop_map(Value::from),
    ];
    let key = prop_oneof![
        "calls",
        "id",
        "tool",
        "name",
        "parameters",
        "arguments",
        "path",
        ".{0,4}"
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Whatever stands in a batch: the run goes on, and never executes more than its cap.
    #[test]
    fn any_batch_is_answered(calls in any_json(), more in any_json()) {
        let mut world = batching(Encoding::Native).calls(3).begin();
        let arguments = json!({ "calls": calls }).to_string();
        let second = ReplyCall { id: "second".into(), ..call(BATCH, &more.to_string()) };
        world.reply(reply([call(BATCH, &arguments), second]));
        let mut executed = 0;
        while matches!(world.effect, bonded_kernel::Effect::Invoke(_)) {
            world.ok("a spade");
            executed += 1;
        }
        prop_assert!(executed <= 3);
        prop_assert!(world.is_asking(), "{:?}", world.effect);
    }
}
