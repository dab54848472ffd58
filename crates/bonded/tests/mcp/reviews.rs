//! Calls that wait for a person, who is asked at the client.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::clients;
use crate::place::{Place, call};
use crate::served::{Served, report};
use crate::talk::{Talk, hello, question, request};

const ELICIT: &str = "elicitation/create";

fn place() -> Place {
    let place = Place::new();
    let note = call("write", json!({ "path": "note", "content": "x" }));
    let front_matter = "tools: builtin\napprovals: {ask: [write]}";
    place.agent("agent", &[note, report("Noted.")], front_matter);
    place
}

/// A greeting that says what the client can be asked.
fn able(capabilities: &Value) -> Value {
    let mut hello = hello("2025-11-25");
    hello["capabilities"] = capabilities.clone();
    hello
}

fn talk(flags: &[&str], capabilities: &Value) -> Talk {
    greeted(place(), flags, capabilities)
}

fn greeted(place: Place, flags: &[&str], capabilities: &Value) -> Talk {
    let mut talk = Talk::start_in(place, &["agent"], flags);
    talk.ask(0, "initialize", &able(capabilities));
    talk.send_line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    talk
}

fn answer(question: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
}

fn accept(decision: &str) -> Value {
    json!({ "action": "accept", "content": { "decision": decision, "reason": "not now" } })
}

/// Whether the call was executed.
fn is_written(place: &Place) -> bool {
    place.work().join("note").exists()
}

#[test]
fn what_the_person_at_the_client_says_is_the_verdict_and_is_on_record() {
    let rows = [
        (accept("approve"), true, "\"approved\""),
        (accept("deny"), false, "not now"),
        (json!({ "action": "decline" }), false, "no reason was given"),
    ];
    for (said, executed, recorded) in rows {
        let mut talk = talk(&["--ask-client"], &json!({ "elicitation": {} }));
        talk.send_line(&request(1, "tools/call", &question("agent")));
        let asked = talk.next();
        assert_eq!(asked["method"], ELICIT, "{asked}");
        let message = asked["params"]["message"].as_str().unwrap_or_default();
        for part in ["tool       write", "\"content\":\"x\"", "why        "] {
            assert!(message.contains(part), "{part} in {message}");
        }
        assert!(!is_written(&talk.place));
        talk.send_line(&answer(&asked, &said));
        let result = talk.reply(1)["result"].clone();
        assert_eq!(result["content"][0]["text"], "Noted.", "{said}: {result}");
        assert_eq!(is_written(&talk.place), executed, "{said}");
        let run = result["_meta"]["bonded/run"].as_str().unwrap_or_default();
        let log = talk.place.log(run);
        let verdict = log
            .iter()
            .find(|line| line.contains("the person at the MCP client"));
        let verdict = verdict.expect("it is on record");
        assert!(
            verdict.contains(recorded) && verdict.contains("test 1"),
            "{verdict}"
        );
    }
}

#[test]
fn a_run_goes_on_waiting_where_nobody_decides() {
    let able = json!({ "elicitation": {} });
    let ask = &["--ask-client"][..];
    let error = json!({ "code": -32601, "message": "no" });
    let rows = [
        (
            ask,
            able.clone(),
            Some(json!({ "result": { "action": "cancel" } })),
        ),
        (
            ask,
            able.clone(),
            Some(json!({ "result": { "action": "accept", "content": {} } })),
        ),
        (ask, able.clone(), Some(json!({ "result": "approve" }))),
        (ask, able.clone(), Some(json!({ "error": error }))),
        (ask, json!({}), None),
        (ask, json!({ "sampling": {} }), None),
        (ask, json!({ "elicitation": { "url": {} } }), None),
        (&[], able, None),
    ];
    for (flags, capabilities, said) in rows {
        let mut talk = talk(flags, &capabilities);
        talk.send_line(&request(1, "tools/call", &question("agent")));
        if let Some(mut said) = said.clone() {
            let asked = talk.next();
            said["jsonrpc"] = "2.0".into();
            said["id"] = asked["id"].clone();
            talk.send_line(&said);
        }
        let result = talk.reply(1)["result"].clone();
        let code = &result["_meta"]["bonded/code"];
        assert_eq!(code, "awaiting_review", "{capabilities} {said:?}: {result}");
        assert!(talk.told.is_empty(), "{capabilities}: {:?}", talk.told);
        assert!(!is_written(&talk.place));
        assert_eq!(talk.statuses(), ["awaiting_review"]);
    }
}

#[test]
fn a_question_is_taken_back_when_its_call_is_cancelled_and_the_run_still_waits() {
    let mut talk = talk(&["--ask-client"], &json!({ "elicitation": {} }));
    talk.send_line(&request(1, "tools/call", &question("agent")));
    let asked = talk.next();
    let cancel = json!({ "requestId": 1 });
    talk.send_line(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }),
    );
    let taken_back = talk.next();
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    // An answer that comes too late is nothing.
    talk.send_line(&answer(&asked, &accept("approve")));
    assert_eq!(talk.ask(2, "ping", &json!({}))["result"], json!({}));
    assert_eq!(talk.statuses(), ["awaiting_review"]);
    assert!(!is_written(&talk.place));
}

#[test]
fn over_http_the_question_comes_on_the_calls_own_stream_and_only_its_session_can_answer() {
    let flags = [
        "--mcp",
        "--mcp-ask-client",
        "--token",
        "alpha,beta",
        "--shared-dir",
    ];
    let served = Served::start_in(place(), &["agent"], &flags);
    let both = "\r\nAccept: application/json, text/event-stream";
    let session = |token: &str| {
        let token = format!("{both}\r\nAuthorization: Bearer {token}");
        let greeting = request(0, "initialize", &able(&json!({ "elicitation": {} })));
        let reply = served.post_with("/mcp", &token, &greeting);
        let id = reply.header("mcp-session-id").expect("there is a session");
        format!("{token}\r\nMcp-Session-Id: {id}")
    };
    let (own, same_token, other_token) = (session("alpha"), session("alpha"), session("beta"));
    let mut calling = served.begin("/mcp", &own, &request(1, "tools/call", &question("agent")));
    let (mut heard, mut piece) = (String::new(), [0; 4096]);
    let asked = loop {
        let length = calling.read(&mut piece).expect("the stream goes on");
        assert!(length > 0, "the stream ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..length]));
        let line = heard.lines().find(|line| line.starts_with("data: {"));
        if let Some(Ok(asked)) = line.map(|line| serde_json::from_str::<Value>(&line[6..])) {
            break asked;
        }
    };
    assert_eq!(asked["method"], ELICIT, "{asked}");
    let approve = answer(&asked, &accept("approve"));
    for headers in [&same_token, &other_token] {
        assert_eq!(served.post_with("/mcp", headers, &approve).status, 202);
    }
    assert!(
        !is_written(&served.place),
        "answers of other sessions are nothing"
    );
    assert_eq!(served.place.statuses(), ["awaiting_review"]);
    assert_eq!(served.post_with("/mcp", &own, &approve).status, 202);
    let mut rest = String::new();
    calling.read_to_string(&mut rest).expect("the answer comes");
    assert!(rest.contains("Noted."), "{rest}");
    assert!(is_written(&served.place));
    // Who takes JSON only cannot be asked on the way.
    let json_only = own.replace(both, "\r\nAccept: application/json");
    let reply = served.post_with(
        "/mcp",
        &json_only,
        &request(2, "tools/call", &question("agent")),
    );
    let code = reply.json()["result"]["_meta"]["bonded/code"].clone();
    assert_eq!(code, "awaiting_review");
}

#[test]
fn the_official_client_asks_its_person_over_both_transports() {
    let place = place();
    let agent = place.path("agent.ai").display().to_string();
    let program = env!("CARGO_BIN_EXE_bonded");
    let words = [
        program,
        "mcp",
        "--ask-client",
        "--tooling-transport",
        "native",
        "--agent",
        &agent,
    ];
    if let Some((succeeded, said)) = clients::run("approve.py", &words, &place) {
        assert!(succeeded && is_written(&place), "{said}");
    }
    let served = Served::start_in(self::place(), &["agent"], &["--mcp", "--mcp-ask-client"]);
    let url = format!("http://{}/mcp", served.address);
    if let Some((succeeded, said)) = clients::run("approve.py", &[&url], &served.place) {
        assert!(succeeded && is_written(&served.place), "{said}");
    }
}

#[test]
fn the_person_is_asked_about_the_calls_of_agents_that_the_agent_calls() {
    let place = Place::new();
    let note = call("write", json!({ "path": "note", "content": "x" }));
    let works = "description: Works.\ntools: builtin\napprovals: {ask: [write]}";
    place.agent("worker", &[note, report("Done.")], works);
    let asks = call(
        "agent__worker",
        json!({ "prompt": "note it", "reason": "a note", "format": "sub-agent" }),
    );
    place.agent("agent", &[asks, report("Noted.")], "agents: worker.ai");
    let mut talk = greeted(place, &["--ask-client"], &json!({ "elicitation": {} }));
    talk.send_line(&request(1, "tools/call", &question("agent")));
    let asked = talk.next();
    assert_eq!(asked["method"], ELICIT, "{asked}");
    talk.send_line(&answer(&asked, &accept("approve")));
    let result = talk.reply(1)["result"].clone();
    assert_eq!(result["content"][0]["text"], "Noted.", "{result}");
    assert!(is_written(&talk.place));
}
