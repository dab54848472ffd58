//! Arguments that are no JSON: mended where their meaning is plain, else refused, and always on record.

use crate::reply::{report, written_calls};
use crate::world::{Outcome, World};

/// Whether a tool was executed, whatever came of it.
fn ran(world: &World, outcome: &Outcome, tool: &str) -> bool {
    let log = world.log(outcome.run_id());
    log.iter()
        .any(|entry| entry["kind"] == "tool_invoked" && entry["data"]["tool"] == tool)
}

#[test]
fn arguments_are_mended_where_their_meaning_is_plain() {
    let rows = [
        (r#"{"text": "a"}"#, "a", false),
        (r#"{text: 'single'}"#, "single", true),
        (r#"{"text": "trailing",}"#, "trailing", true),
        ("```json\n{\"text\": \"fenced\"}\n```", "fenced", true),
        (r#"{"text": "open""#, "open", true),
        (r#"Sure: {"text": "first"} and more"#, "first", true),
        (r#""{\"text\": \"twice\"}""#, "twice", true),
    ];
    for (written, wanted, is_mended) in rows {
        let world =
            World::with_tools().says([written_calls(&[("test__test", written)]), report("done")]);
        let outcome = world.run(&[], "mend").good();
        assert_eq!(outcome.tool_texts()[0], wanted, "{written}");
        let log = world.log(outcome.run_id());
        let mended = log.iter().find(|entry| entry["kind"] == "call_repaired");
        assert_eq!(mended.is_some(), is_mended, "{written}");
        if let Some(entry) = mended {
            assert_eq!(entry["data"]["original"], written);
            assert!(
                entry["data"]["steps"]
                    .as_array()
                    .is_some_and(|steps| !steps.is_empty())
            );
            assert!(
                entry["data"]["result"]
                    .as_str()
                    .is_some_and(|it| it.contains(wanted))
            );
        }
    }
}

#[test]
fn an_unreadable_call_is_dropped_and_the_one_beside_it_runs() {
    let broken = format!("not an object {}", "z".repeat(600));
    let both = written_calls(&[
        ("test__test", &broken),
        ("test__test", r#"{"text":"good"}"#),
    ]);
    let world = World::with_tools().says([both, report("done")]);
    let outcome = world.run(&[], "one of two").good();
    let texts = outcome.tool_texts();
    assert!(
        texts[0].starts_with("(tool failed: the arguments are not a JSON object"),
        "{texts:?}"
    );
    assert_eq!(texts[1], "good");
    assert_eq!(outcome.requests.len(), 2);
    let log = world.log(outcome.run_id());
    assert!(
        log.iter().any(|entry| entry.to_string().contains(&broken)),
        "the payload is kept whole"
    );
}

#[test]
fn a_reply_of_unreadable_calls_alone_is_tried_again_and_nothing_runs() {
    let broken = || written_calls(&[("test__test", "not an object")]);
    let world = World::with_tools().says([broken(), broken(), report("done")]);
    let outcome = world.run(&["--max-retries", "3"], "all broken").good();
    assert_eq!(outcome.requests.len(), 3);
    assert_eq!(outcome.result["turns"], 1);
    let notice = outcome.requests[1].said();
    assert!(
        notice.contains("none of your tool calls could be read"),
        "{notice}"
    );
    assert!(notice.contains("test__test"), "{notice}");
    assert!(!ran(&world, &outcome, "test__test"));
}

#[test]
fn arguments_that_the_output_limit_cut_are_never_guessed() {
    // The second lacks nothing but its brace, and would be mended had the model stopped by itself.
    for written in [r#"{"text": "half of wh"#, r#"{"text": "whole""#] {
        let cut = written_calls(&[("test__test", written)]).finish("length");
        let world = World::with_tools().says([cut, report("done")]);
        let outcome = world.run(&[], "cut").good();
        assert!(!ran(&world, &outcome, "test__test"), "{written}");
        let told = outcome.requests[1].said();
        assert!(
            told.contains("cut by its output limit"),
            "{written}: {told}"
        );
    }
}

#[test]
fn text_that_looks_like_a_call_is_never_executed() {
    let leaked = r#"<tool_call>{"name":"test__test","arguments":{"text":"leaked"}}</tool_call>"#;
    let world = World::with_tools().says([crate::reply::text(leaked), report("done")]);
    let outcome = world.run(&[], "leak").good();
    assert_eq!(outcome.requests.len(), 2);
    assert!(!ran(&world, &outcome, "test__test"));
}
