//! Agents that are called.

use serde_json::{Value, json};

use crate::place::{Place, call};
use crate::served::report;
use crate::talk::{Talk, hello, question, request};

#[test]
fn every_version_of_the_protocol_is_greeted_and_an_unknown_one_gets_the_newest() {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "");
    let rows = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ];
    let mut place = Some(place);
    for (wanted, given) in rows {
        let mut talk = Talk::start_in(place.take().expect("it was put back"), &["agent"], &[]);
        let reply = talk.ask(1, "initialize", &hello(wanted));
        let greeting = &reply["result"];
        assert_eq!(greeting["protocolVersion"], given);
        assert_eq!(greeting["serverInfo"]["name"], "bonded");
        assert!(greeting["capabilities"]["tools"].is_object(), "{greeting}");
        assert_eq!(talk.ask(2, "ping", &json!({}))["result"], json!({}));
        let again = talk.ask(3, "initialize", &hello(wanted));
        assert_eq!(again["error"]["code"], -32600, "{again}");
        assert_eq!(talk.finish(), Some(0));
        place = Some(std::mem::replace(&mut talk.place, Place::new()));
    }
}

#[test]
fn an_agent_is_a_tool_by_its_name_description_and_schema() {
    let place = Place::new();
    let described = "description: Finds out.\nusage: Ask one thing at a time.";
    place.agent("asker", &[report("Because.")], described);
    let takes_json = "toolName: adder\ninput:\n  format: json\n  schema:\n    type: object\n    properties:\n      \
        a: { type: number }\n    required: [a]\noutput:\n  format: json\n  schema:\n    type: object\n    \
        properties:\n      sum: { type: number }";
    let sum = json!({ "report_format": "json", "content_json": { "sum": 3 } });
    let sum = call("agent__final_report", sum);
    place.agent("other", &[sum], takes_json);
    let mut talk = Talk::start_in(place, &["asker", "other"], &[]).greeted();
    let tools = talk.ask(1, "tools/list", &json!({}))["result"]["tools"].clone();
    let (asker, adder) = (&tools[0], &tools[1]);
    assert_eq!(asker["name"], "asker");
    let description = asker["description"].as_str().unwrap_or_default();
    assert_eq!(description, "Finds out.\n\nAsk one thing at a time.");
    assert_eq!(asker["inputSchema"]["required"], json!(["prompt"]));
    assert_eq!(asker["inputSchema"]["additionalProperties"], json!(false));
    assert_eq!(adder["name"], "adder");
    assert_eq!(adder["inputSchema"]["required"], json!(["a"]));
    assert!(
        adder["outputSchema"]["properties"]["sum"].is_object(),
        "{adder}"
    );

    let params = json!({ "name": "adder", "arguments": { "a": 3 } });
    let reply = talk.ask(2, "tools/call", &params);
    let result = &reply["result"];
    assert_eq!(result["structuredContent"], json!({ "sum": 3 }), "{reply}");
    assert_eq!(result["content"][0]["text"], "{\"sum\":3}");
    let params = json!({ "name": "adder", "arguments": { "a": "three" } });
    let reply = talk.ask(3, "tools/call", &params);
    assert_eq!(reply["result"]["isError"], json!(true), "{reply}");
    assert_eq!(reply["result"]["_meta"]["bonded/code"], "bad_input");
}

#[test]
fn a_report_is_the_result_and_names_its_run() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    let result = talk.call(1, "agent");
    assert_eq!(
        result["content"],
        json!([{ "type": "text", "text": "Because." }])
    );
    assert_eq!(result["isError"], json!(false));
    let run = result["_meta"]["bonded/run"].as_str().unwrap_or_default();
    let log = talk.place.log(run);
    assert!(log[0].contains("\"goal\":\"why?\""), "{}", log[0]);
    assert!(
        talk.told.is_empty(),
        "nobody asked for progress: {:?}",
        talk.told
    );
}

#[test]
fn a_run_that_fails_is_a_result_that_says_so() {
    let fails = json!({ "fail": "auth", "message": "bad key" });
    let mut talk = Talk::start(&[("fails", vec![fails])]);
    let result = talk.call(1, "fails");
    assert_eq!(result["isError"], json!(true), "{result}");
    assert_eq!(result["_meta"]["bonded/code"], "provider_auth");
    let run = result["_meta"]["bonded/run"].as_str().unwrap_or_default();
    assert!(!talk.place.log(run).is_empty());
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("the run ended as "), "{text}");
}

#[test]
fn a_client_with_a_token_hears_of_the_progress_before_the_result() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    for token in [json!("mine"), json!(7)] {
        talk.told.clear();
        let mut params = question("agent");
        params["_meta"] = json!({ "progressToken": token });
        talk.ask(1, "tools/call", &params);
        let told: Vec<(&Value, u64)> = talk
            .told
            .iter()
            .filter(|message| message["method"] == "notifications/progress")
            .map(|message| &message["params"])
            .map(|params| {
                (
                    &params["progressToken"],
                    params["progress"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        assert_eq!(told, [(&token, 1), (&token, 2)]);
        assert_eq!(talk.told[0]["params"]["message"], "turn 1");
    }
}

#[test]
fn the_same_key_is_the_same_run_and_other_arguments_under_it_are_refused() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    let mut params = question("agent");
    params["_meta"] = json!({ "bonded/idempotencyKey": "k" });
    let first = talk.ask(1, "tools/call", &params)["result"].clone();
    let second = talk.ask(2, "tools/call", &params)["result"].clone();
    assert_eq!(first, second);
    assert_eq!(talk.statuses(), ["succeeded"]);
    params["arguments"]["prompt"] = "why not?".into();
    let other = talk.ask(3, "tools/call", &params)["result"].clone();
    assert_eq!(
        other["_meta"]["bonded/code"], "idempotency_key_reused",
        "{other}"
    );
    params["_meta"] = json!({ "bonded/idempotencyKey": 7 });
    let other = talk.ask(4, "tools/call", &params)["result"].clone();
    assert_eq!(
        other["_meta"]["bonded/code"], "bad_idempotency_key",
        "{other}"
    );
}

#[test]
fn a_call_that_is_wrong_says_what_is_wrong() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    let refused = [
        (json!({}), "\"name\""),
        (json!({ "name": 7 }), "\"name\""),
        (json!({ "name": "nobody" }), "\"nobody\""),
        (json!({ "name": "agent", "arguments": [] }), "arguments"),
    ];
    for (params, part) in refused {
        let reply = talk.ask(1, "tools/call", &params);
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{message}");
    }
    let failed = [
        (json!({}), "prompt is missing"),
        (json!({ "prompt": 7 }), "prompt must be a text"),
        (json!({ "prompt": " " }), "not empty"),
        (json!({ "prompt": "why?", "when": "now" }), "\"when\""),
        (
            json!({ "prompt": "why?", "format": "colours" }),
            "\"colours\"",
        ),
    ];
    for (arguments, part) in failed {
        let params = json!({ "name": "agent", "arguments": arguments });
        let reply = talk.ask(2, "tools/call", &params);
        assert_eq!(reply["result"]["isError"], json!(true), "{reply}");
        let text = reply["result"]["content"][0]["text"].as_str();
        assert!(text.is_some_and(|text| text.contains(part)), "{reply}");
    }
    assert!(talk.statuses().is_empty(), "nothing was run");
}

#[test]
fn sixty_four_calls_at_once_are_all_answered() {
    let mut talk = Talk::start(&[("agent", vec![report("Because.")])]);
    for id in 1..=64 {
        talk.send_line(&request(id, "tools/call", &question("agent")));
    }
    let mut ids: Vec<u64> = (0..64)
        .map(|_| {
            let reply = talk.next();
            assert_eq!(reply["result"]["isError"], json!(false), "{reply}");
            reply["id"].as_u64().unwrap_or_default()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=64).collect::<Vec<u64>>());
}

#[test]
fn requests_of_the_newest_version_stand_for_themselves() {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "");
    let mut talk = Talk::start_in(place, &["agent"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = talk.ask(1, "server/discover", &json!({ "_meta": meta }));
    let versions = &found["result"]["supportedVersions"];
    assert!(
        versions
            .as_array()
            .is_some_and(|all| all.contains(&json!("2026-07-28")))
    );
    let listed = talk.ask(2, "tools/list", &json!({ "_meta": meta }));
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(listed["result"]["cacheScope"], "private");
    let mut params = question("agent");
    params["_meta"] = meta.clone();
    let called = talk.ask(3, "tools/call", &params);
    assert_eq!(called["result"]["content"][0]["text"], "Because.");
    let pinged = talk.ask(4, "ping", &json!({ "_meta": meta }));
    assert_eq!(pinged["error"]["code"], -32601);
    let read = json!({ "uri": "bonded://nothing", "_meta": meta });
    let read = talk.ask(5, "resources/read", &read);
    assert_eq!(read["error"]["code"], -32602);
}

#[test]
fn a_run_that_waits_for_a_person_says_so_and_its_key_gives_the_report_later() {
    let place = Place::new();
    let note = call("write", json!({ "path": "note", "content": "x" }));
    let front_matter = "tools: builtin\napprovals: {ask: [write]}";
    place.agent("agent", &[note, report("Noted.")], front_matter);
    let mut talk = Talk::start_in(place, &["agent"], &[]).greeted();
    let mut params = question("agent");
    params["_meta"] = json!({ "bonded/idempotencyKey": "k" });
    let result = talk.ask(1, "tools/call", &params)["result"].clone();
    assert_eq!(result["isError"], json!(true), "{result}");
    assert_eq!(result["_meta"]["bonded/code"], "awaiting_review");
    let run = result["_meta"]["bonded/run"].as_str().unwrap_or_default();
    let approved = talk.place.approve(run, &[]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let result = talk.ask(2, "tools/call", &params)["result"].clone();
    assert_eq!(result["content"][0]["text"], "Noted.", "{result}");
}

#[test]
fn a_run_of_a_client_is_listed_as_served() {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "");
    let mut talk = Talk::start_in(place, &["agent"], &[]).greeted();
    let params = json!({ "name": "agent", "arguments": { "prompt": "why?" } });
    assert!(talk.ask(1, "tools/call", &params)["result"].is_object());
    let listed = crate::place::parse(&talk.place.bonded(&["runs", "--json"]).stdout);
    let from = json!({ "kind": "served", "protocol": "mcp" });
    assert_eq!(listed["from"], from, "{listed}");
}
