//! How calls are written: what each transport offers, what the model is told, and what comes back.

use serde_json::json;

use crate::provider::Asked;
use crate::reply::{echo, echo_tag, report, report_call, report_tag, text};
use crate::world::World;

const XML: [&str; 2] = ["--tooling-transport", "xml"];

/// Whether a request shows this slot.
fn shows(request: &Asked, slot: &str) -> bool {
    let nonce = request.nonce().unwrap_or_default();
    let said = request.last();
    said.contains(&format!("<ai-agent-{nonce}-{slot}")) || said.contains(&format!(" {slot}"))
}

#[test]
fn native_offers_the_report_as_a_tool_and_says_nothing_of_tags() {
    let world = World::with_tools().says([report_call("done")]);
    let outcome = world
        .run(&["--tooling-transport", "native"], "do it")
        .good();
    let request = &outcome.requests[0];
    assert!(request.tools().contains(&"agent__final_report"));
    assert!(request.tools().contains(&"test__test"));
    assert_eq!(request.nonce(), None);
    assert!(!request.said().contains("System Notice"));
}

#[test]
fn only_native_may_require_a_tool() {
    for (transport, choice, reply) in [
        ("native", json!("required"), report_call("done")),
        ("xml-final", json!("auto"), report("done")),
        ("xml", json!(null), report("done")),
    ] {
        let world = World::with_tools()
            .config(&json!({ "providers": { "first": { "toolChoice": "required" } } }))
            .says([reply]);
        let outcome = world
            .run(&["--tooling-transport", transport], "do it")
            .good();
        assert_eq!(outcome.requests[0]["tool_choice"], choice, "{transport}");
    }
}

#[test]
fn xml_final_is_the_default_and_offers_all_tools_but_the_report() {
    let world = World::with_tools().says([report("done")]);
    let outcome = world.run(&[], "do it").good();
    let request = &outcome.requests[0];
    assert!(request.tools().contains(&"test__test"));
    assert!(!request.tools().contains(&"agent__final_report"));
    assert_eq!(request["tool_choice"], "auto");
    assert!(shows(request, "FINAL"));
    assert!(!shows(request, "0001"));
    assert!(!request.last().contains("test__test"));
}

#[test]
fn xml_withholds_every_tool_and_describes_them_in_the_request_instead() {
    let world = World::with_tools()
        .front("maxToolCallsPerTurn: 2")
        .says([report("done")]);
    let outcome = world.run(&XML, "do it").good();
    let request = &outcome.requests[0];
    assert!(request["tools"].is_null());
    assert!(request["tool_choice"].is_null());
    for slot in ["0001", "0002", "FINAL"] {
        assert!(shows(request, slot), "{slot} in {}", request.last());
    }
    assert!(!shows(request, "0003"));
    assert!(!shows(request, "PROGRESS"));
    assert!(request.last().contains("test__test"));
    assert!(
        request.last().contains(r#""required":["text"]"#),
        "{}",
        request.last()
    );
}

#[test]
fn the_system_text_holds_nothing_of_tools_in_any_transport_with_tags() {
    for transport in ["xml", "xml-final"] {
        let world = World::with_tools()
            .prompt("You are brief.")
            .says([report("done")]);
        let outcome = world
            .run(&["--tooling-transport", transport], "do it")
            .good();
        let system = &outcome.requests[0]["messages"][0];
        assert_eq!(system["role"], "system");
        assert_eq!(system["content"], "You are brief.\n", "{transport}");
    }
}

#[test]
fn a_run_has_one_nonce_of_its_own_and_slots_count_on_from_turn_to_turn() {
    let mut nonces = vec![];
    for _ in 0..2 {
        let world = World::with_tools().front("maxToolCallsPerTurn: 2").says([
            text(&echo_tag("0001", "one")),
            text(&echo_tag("0004", "two")),
            report("done"),
        ]);
        let outcome = world.run(&XML, "do it").good();
        let shown = |request: &Asked, slots: [&str; 6]| slots.map(|slot| shows(request, slot));
        let slots = ["0001", "0002", "0003", "0004", "0005", "0006"];
        let [first, second, third] = outcome.requests.as_slice() else {
            panic!("three requests were expected: {outcome:#?}");
        };
        assert_eq!(
            shown(first, slots),
            [true, true, false, false, false, false]
        );
        assert_eq!(shown(second, slots)[2..], [true, true, false, false]);
        assert_eq!(shown(third, slots)[4..], [true, true]);
        let nonce = first.nonce().expect("a request with tags has a nonce");
        for request in [second, third] {
            assert_eq!(request.nonce().as_ref(), Some(&nonce));
        }
        nonces.push(nonce);
    }
    assert_ne!(nonces[0], nonces[1]);
}

#[test]
fn tags_are_found_as_substrings_whatever_stands_around_them() {
    let said = format!(
        "<unclosed & broken <<<\n```xml\n{}\n```\n</nothing> ]]> {}",
        echo_tag("0001", "a < b && c > d"),
        echo_tag("0002", "two")
    );
    let world = World::with_tools().says([text(&said), report("done")]);
    let outcome = world.run(&XML, "do it").good();
    let told = outcome.requests[1].said();
    assert!(
        told.contains("<response>\na < b && c > d\n</response>"),
        "{told}"
    );
    assert!(told.contains("<response>\ntwo\n</response>"), "{told}");
}

#[test]
fn results_of_tags_come_back_as_user_messages_that_stay_and_name_slot_and_tool() {
    let world = World::with_tools().says([
        text(&echo_tag("0001", "hello")),
        text(&echo_tag("0011", "again")),
        report("done"),
    ]);
    let outcome = world.run(&XML, "do it").good();
    let nonce = outcome.requests[0].nonce().expect("tags have a nonce");
    let heading = format!("System Notice: tool response for {nonce}-0001 (test__test)");
    for request in &outcome.requests[1..] {
        let messages = request["messages"].as_array().expect("there are messages");
        let found = messages.iter().find(|message| {
            let content = message["content"].as_str().unwrap_or_default();
            content.starts_with(&heading)
        });
        let found = found.unwrap_or_else(|| panic!("{heading:?} in {:#}", request.body));
        assert_eq!(found["role"], "user");
        let content = found["content"].as_str().unwrap_or_default();
        for part in [
            "status: ok",
            "duration: ",
            r#"{"text":"hello"}"#,
            "<response>\nhello\n",
        ] {
            assert!(content.contains(part), "{part:?} in {content}");
        }
    }
    assert_eq!(
        outcome.roles(),
        [
            "system",
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant"
        ]
    );
    assert!(
        outcome.result["conversation"]
            .to_string()
            .contains(&heading)
    );
}

#[test]
fn in_xml_final_results_come_back_as_tool_messages_and_nothing_repeats_them() {
    let world = World::with_tools().says([echo("hello there"), report("done")]);
    let outcome = world.run(&[], "do it").good();
    let request = &outcome.requests[1];
    assert!(!request.said().contains("tool response for"));
    assert_eq!(request.said().matches("hello there").count(), 1);
    assert_eq!(outcome.tool_texts(), ["hello there"]);
}

#[test]
fn the_instructions_for_tags_are_the_last_message_of_a_request_and_are_never_kept() {
    let world = World::with_tools().says([text(&echo_tag("0001", "hello")), report("done")]);
    let outcome = world.run(&XML, "do it").good();
    for (at, request) in outcome.requests.iter().enumerate() {
        let instructions = format!("Turn {} of 10.", at + 1);
        assert!(request.last().contains(&instructions), "{}", request.last());
        assert_eq!(request.said().matches("# System Notice\nTurn").count(), 1);
    }
    let stored = outcome.result["conversation"].to_string();
    assert!(!stored.contains("Turn 1 of"), "{stored}");
    assert!(!stored.contains("## Final Report"), "{stored}");
}

#[test]
fn the_last_turn_shows_the_final_slot_only() {
    let world = World::with_tools()
        .front("maxTurns: 2")
        .says([text(&echo_tag("0001", "hello")), report("done")]);
    let outcome = world.run(&XML, "do it").good();
    let last = &outcome.requests[1];
    assert!(shows(last, "FINAL"));
    assert!(!shows(last, "0011"), "{}", last.last());
    assert!(!last.last().contains("test__test"), "{}", last.last());
}

#[test]
fn a_report_by_tag_has_no_answer_in_the_conversation() {
    let world = World::with_tools().says([text(&report_tag("pipe", "done"))]);
    let outcome = world.run(&XML, "do it").good();
    assert_eq!(outcome.roles(), ["system", "user", "assistant"]);
}
