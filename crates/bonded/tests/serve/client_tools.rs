//! Tools that clients send with their requests: the run waits for what they make of its calls.

use bonded_testkit::place::with;
use serde_json::{Value, json};

use crate::http::Reply;
use crate::place::{Place, call};
use crate::served::{Served, question, report};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

/// A tool as chats have it.
fn tool(name: &str) -> Value {
    let parameters = json!({ "type": "object", "properties": { "url": { "type": "string" } } });
    json!({ "type": "function", "function": { "name": name, "parameters": parameters } })
}

fn fetch(url: &str) -> Value {
    call("fetch", json!({ "url": url }))
}

/// A reply with several calls.
fn calls(urls: &[&str]) -> Value {
    let calls = urls
        .iter()
        .map(|url| json!({ "tool": "fetch", "arguments": { "url": url } }));
    json!({ "text": "I look.", "calls": calls.collect::<Vec<_>>() })
}

/// A conversation as a client of chats keeps it.
struct Talk {
    body: Value,
}

impl Talk {
    fn new() -> Self {
        let mut body = question("agent");
        body["tools"] = json!([tool("fetch")]);
        Self { body }
    }

    fn messages(&mut self) -> &mut Vec<Value> {
        let messages = self.body["messages"].as_array_mut();
        messages.expect("a chat has messages")
    }

    fn say(&mut self, role: &str, content: &str) -> &mut Self {
        let message = json!({ "role": role, "content": content });
        self.messages().push(message);
        self
    }

    fn result(&mut self, id: &str, text: &str) -> &mut Self {
        let message = json!({ "role": "tool", "tool_call_id": id, "content": text });
        self.messages().push(message);
        self
    }

    /// Asks, keeps the message that was answered, and gives the ids of its calls.
    fn ask(&mut self, served: &Served) -> Vec<String> {
        let reply = served.chat(&self.body);
        assert_eq!(reply.status, 200, "{reply:?}");
        let message = reply.json()["choices"][0]["message"].clone();
        self.messages().push(message.clone());
        let calls = message["tool_calls"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let ids = calls
            .iter()
            .map(|it| it["id"].as_str().unwrap_or_default().to_owned());
        ids.collect()
    }

    /// The words of the answer.
    fn answer(&self, served: &Served) -> String {
        content(&served.chat(&self.body))
    }
}

fn content(reply: &Reply) -> String {
    let content = &reply.json()["choices"][0]["message"]["content"];
    content
        .as_str()
        .unwrap_or_else(|| panic!("{reply:?}"))
        .to_owned()
}

fn served(lines: Vec<Value>, flags: &[&str]) -> Served {
    Served::start(&[("agent", lines)], flags)
}

#[test]
fn a_call_goes_to_the_client_and_the_run_goes_on_with_what_it_brings() {
    let answered = with(report("Because."), "expect", json!(["the page"]));
    let served = served(vec![calls(&["a"]), answered], &[]);
    let mut talk = Talk::new();
    let reply = served.chat(&talk.body);
    let choice = &reply.json()["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{reply:?}");
    assert_eq!(choice["message"]["content"], "I look.");
    let called = &choice["message"]["tool_calls"][0];
    assert_eq!(
        called["function"],
        json!({ "name": "fetch", "arguments": "{\"url\":\"a\"}" })
    );
    served.place.wait_for(&["awaiting_client"]);
    talk.messages().push(choice["message"].clone());
    talk.result(called["id"].as_str().expect("a call has an id"), "the page");
    let last = served.chat(&talk.body);
    assert_eq!(content(&last), "Because.");
    assert_eq!(
        last.json()["usage"]["total_tokens"],
        18,
        "that of this answer alone"
    );
    assert_eq!(served.place.statuses(), ["succeeded"]);
    let run = last.header("x-bonded-run").expect("the run is named");
    assert_eq!(reply.header("x-bonded-run"), Some(run));
    served.place.passes_the_audit(run);
}

#[test]
fn a_server_that_is_killed_between_a_call_and_its_result_loses_nothing() {
    let lines = vec![calls(&["a", "b"]), fetch("c"), report("Because.")];
    let mut served = served(lines, &[]);
    let mut talk = Talk::new();
    for texts in [&["page a", "page b"][..], &["page c"]] {
        let ids = talk.ask(&served);
        assert_eq!(ids.len(), texts.len());
        served = Served::start_in(served.crash(), &["agent"], &[]);
        served.place.wait_for(&["awaiting_client"]);
        // In whichever order a client has them ready.
        for (id, text) in ids.iter().zip(texts).rev() {
            talk.result(id, text);
        }
    }
    let last = served.chat(&talk.body);
    assert_eq!(content(&last), "Because.");
    let run = last.header("x-bonded-run").expect("the run is named");
    served.place.passes_the_audit(run);
    let log = served.place.log(run).join("\n");
    for page in ["page a", "page b", "page c"] {
        assert_eq!(log.matches(page).count(), 1, "{page}");
    }
}

#[test]
fn what_was_brought_before_is_answered_again_and_another_result_is_refused() {
    let lines = vec![calls(&["a"]), fetch("b"), report("Because.")];
    let served = served(lines, &[]);
    let mut talk = Talk::new();
    let first = talk.ask(&served);
    talk.result(&first[0], "page a");
    let once = served.chat(&talk.body).json();
    let again = served.chat(&talk.body).json();
    assert_eq!(
        once["choices"], again["choices"],
        "the same call is handed out"
    );
    let mut lie = Talk {
        body: talk.body.clone(),
    };
    lie.messages().pop();
    lie.result(&first[0], "another page");
    let refused = served.chat(&lie.body);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (409, "result_differs")
    );

    let mut ahead = Talk {
        body: talk.body.clone(),
    };
    let second = ahead.ask(&served);
    ahead.result(&second[0], "page b");
    assert_eq!(ahead.answer(&served), "Because.");
    assert_eq!(
        ahead.answer(&served),
        "Because.",
        "an answer that was lost is given again"
    );
    let behind = served.chat(&talk.body);
    assert_eq!(
        (behind.status, behind.code().as_str()),
        (409, "history_behind")
    );
    assert_eq!(served.place.statuses(), ["succeeded"]);
}

#[test]
fn results_that_are_not_those_of_the_calls_are_refused_and_the_run_waits_on() {
    let served = served(vec![calls(&["a", "b"]), report("Because.")], &[]);
    let mut talk = Talk::new();
    let ids = talk.ask(&served);
    let changed = |path: &str, value: &str| {
        let mut changed = Talk {
            body: talk.body.clone(),
        };
        let asked = &mut changed.messages()[1]["tool_calls"][0];
        *asked.pointer_mut(path).expect("a call has it") = value.into();
        changed.result(&ids[0], "page a").result(&ids[1], "page b");
        changed.body
    };
    let with_results = |results: &[(&str, &str)]| {
        let mut talk = Talk {
            body: talk.body.clone(),
        };
        for (id, text) in results {
            talk.result(id, text);
        }
        talk.body
    };
    let forged = ids[1].replacen("_1_1_", "_1_0_", 1);
    let mut alone = with_results(&[(&ids[0], "page a"), (&ids[1], "page b")]);
    alone["messages"].as_array_mut().expect("a list").remove(1);
    let mut nameless = with_results(&[(&ids[0], "page a")]);
    nameless["messages"][2]["tool_call_id"] = Value::Null;
    let rows = [
        (with_results(&[(&ids[0], "page a")]), "missing_result"),
        (with_results(&[("call_of_nobody", "x")]), "unknown_call"),
        (with_results(&[(&forged, "x")]), "unknown_call"),
        (
            with_results(&[(&ids[0], "x"), (&ids[0], "y"), (&ids[1], "z")]),
            "result_given_twice",
        ),
        (changed("/function/name", "push"), "history_contradicts"),
        (
            changed("/function/arguments", "{\"url\":\"z\"}"),
            "history_contradicts",
        ),
        (alone, "history_contradicts"),
        (nameless, "no_call_id"),
    ];
    for (body, code) in rows {
        let reply = served.chat(&body);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, code),
            "{reply:?}"
        );
        assert_eq!(served.place.statuses(), ["awaiting_client"], "{code}");
    }
    // Arguments that say the same in other letters are the same.
    let same = changed("/function/arguments", "{ \"url\": \"a\" }");
    assert_eq!(content(&served.chat(&same)), "Because.");
}

#[test]
fn a_call_of_one_client_is_none_of_another() {
    let served = served(
        vec![calls(&["a"]), report("Because.")],
        &["--token", "mine,theirs", "--shared-dir"],
    );
    let ask = |token: &str, body: &Value| {
        let header = format!("\r\nAuthorization: Bearer {token}");
        served.post_with(CHAT, &header, body)
    };
    let mut talk = Talk::new();
    let message = ask("mine", &talk.body).json()["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"]
        .as_str()
        .expect("a call has an id")
        .to_owned();
    talk.messages().push(message);
    talk.result(&id, "the page");
    let refused = ask("theirs", &talk.body);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (400, "unknown_call")
    );
    assert_eq!(served.place.statuses(), ["awaiting_client"]);
    assert_eq!(content(&ask("mine", &talk.body)), "Because.");
}

#[test]
fn words_behind_a_result_reach_the_model_and_words_alone_begin_a_run_of_their_own() {
    let heard = with(
        report("Because."),
        "expect",
        json!(["the page", "be quick", "[the user says"]),
    );
    let served = served(vec![calls(&["a"]), heard], &[]);
    let mut talk = Talk::new();
    let ids = talk.ask(&served);
    let mut left = Talk {
        body: talk.body.clone(),
    };
    talk.result(&ids[0], "the page").say("user", "be quick");
    assert_eq!(talk.answer(&served), "Because.");

    // A call that the person passed over is a part of what was said.
    left.say("user", "never mind");
    let reply = served.chat(&left.body);
    let run = reply.header("x-bonded-run").expect("the run is named");
    let log = served.place.log(run).join("\n");
    assert!(
        log.contains("(called fetch with {\\\"url\\\":\\\"a\\\"})"),
        "{log}"
    );
    assert!(log.contains("never mind"), "{log}");
}

#[test]
fn a_stream_ends_in_the_calls_and_the_next_one_in_the_report() {
    let served = served(vec![calls(&["a", "b"]), report("Because.")], &[]);
    let mut talk = Talk::new();
    talk.body["stream"] = true.into();
    let events = served.chat(&talk.body).events();
    let deltas: Vec<&Value> = events.iter().map(|it| &it["choices"][0]["delta"]).collect();
    assert!(
        deltas.iter().any(|it| it["content"] == "I look."),
        "{deltas:?}"
    );
    let called: Vec<&Value> = deltas
        .iter()
        .filter_map(|it| it["tool_calls"].get(0))
        .collect();
    let places: Vec<_> = called.iter().map(|it| it["index"].as_u64()).collect();
    assert_eq!(places, [Some(0), Some(1)]);
    let last = events.last().expect("there is an end");
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    let message = json!({ "role": "assistant", "tool_calls": called });
    let ids: Vec<String> = called
        .iter()
        .map(|it| it["id"].as_str().expect("an id").into())
        .collect();
    talk.messages().push(message);
    talk.result(&ids[0], "page a").result(&ids[1], "page b");
    let events = served.chat(&talk.body).events();
    assert!(
        events
            .iter()
            .any(|it| it["choices"][0]["delta"]["content"] == "Because.")
    );
    assert_eq!(
        events.last().expect("an end")["choices"][0]["finish_reason"],
        "stop"
    );
}

#[test]
fn a_response_names_its_calls_and_the_next_one_names_that_response_or_repeats_it() {
    let served = served(vec![calls(&["a"]), fetch("b"), report("Because.")], &[]);
    let flat = json!({ "type": "function", "name": "fetch", "parameters": { "type": "object" } });
    let asked = json!({ "model": "agent", "input": "why?", "tools": [flat] });
    let first = served.post(RESPONSES, &asked).json();
    assert_eq!(first["output"][0]["content"][0]["text"], "I look.");
    let called = &first["output"][1];
    assert_eq!(called["type"], "function_call", "{first}");
    let output = |call: &Value, text: &str| json!({ "type": "function_call_output", "call_id": call["call_id"], "output": text });
    let empty = json!({ "model": "agent", "previous_response_id": first["id"], "input": [] });
    let refused = served.post(RESPONSES, &empty);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (400, "not_supported")
    );
    let mut next = empty;
    next["input"] = json!([output(called, "page a")]);
    next["previous_response_id"] = "resp_of-another".into();
    let refused = served.post(RESPONSES, &next);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (400, "history_contradicts")
    );
    next["previous_response_id"] = first["id"].clone();
    let second = served.post(RESPONSES, &next).json();
    assert_ne!(second["id"], first["id"]);
    let again = &second["output"][0];
    assert_eq!(again["name"], "fetch", "{second}");

    let said = json!({ "role": "user", "content": "why?" });
    let parts = json!([{ "type": "input_text", "text": "page b" }, { "type": "input_image" }]);
    let mut last = output(again, "");
    last["output"] = parts;
    let whole = json!([said, called, output(called, "page a"), { "type": "reasoning", "content": 7 }, again, last]);
    let asked = json!({ "model": "agent", "input": whole, "stream": true });
    let events = served.post(RESPONSES, &asked).events();
    let done = events.last().expect("there is an end");
    assert_eq!(
        done["response"]["output"][0]["content"][0]["text"], "Because.",
        "{done}"
    );
    let run = &served.place.listed()[0].id;
    let log = served.place.log(run).join("\n");
    assert!(
        log.contains("[a part of type input_image, which is not shown]"),
        "{log}"
    );
}

#[test]
fn a_streamed_response_has_the_events_of_a_call_in_their_order() {
    let served = served(vec![fetch("a")], &["--stream-progress"]);
    let flat = json!({ "type": "function", "name": "fetch" });
    let asked = json!({ "model": "agent", "input": "why?", "tools": [flat], "stream": true });
    let events = served.post(RESPONSES, &asked).events();
    let kinds: Vec<&str> = events.iter().filter_map(|it| it["type"].as_str()).collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(events[9]["output_index"], 1);
    assert_eq!(events[11]["arguments"], "{\"url\":\"a\"}");
    assert_eq!(
        events[13]["response"]["output"][1]["call_id"],
        events[12]["item"]["call_id"]
    );
}

#[test]
fn what_clients_send_can_be_ignored() {
    let served = served(vec![report("Because.")], &["--client-tools", "ignore"]);
    let mut talk = Talk::new();
    assert_eq!(talk.answer(&served), "Because.");
    talk.result("call_1", "the page");
    let refused = served.chat(&talk.body);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (400, "no_user_message")
    );
}

#[test]
fn a_name_that_is_the_agents_own_is_refused_before_anything_runs() {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "tools: read");
    let served = Served::start_in(place, &["agent"], &[]);
    for name in ["read", "agent__final_report"] {
        let mut body = question("agent");
        body["tools"] = json!([tool(name)]);
        let refused = served.chat(&body);
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, "tool_name_taken"),
            "{refused:?}"
        );
    }
    assert!(served.place.listed().is_empty());
}

#[test]
fn tools_that_are_too_many_or_no_tools_make_no_run() {
    let served = served(vec![report("Because.")], &[]);
    let many: Vec<Value> = (0..1_000).map(|n| tool(&format!("t{n}"))).collect();
    for (tools, code) in [(json!(many), "too_many_tools"), (json!([7]), "bad_tool")] {
        let mut body = question("agent");
        body["tools"] = tools;
        let refused = served.chat(&body);
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, code),
            "{refused:?}"
        );
    }
    assert!(served.place.listed().is_empty());
}

#[test]
fn a_schema_that_never_ends_is_checked_all_the_same_and_one_that_reaches_out_lets_nothing_through()
{
    let endless =
        json!({ "type": "object", "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
    let elsewhere =
        json!({ "type": "object", "properties": { "url": { "$ref": "http://127.0.0.1:1/s" } } });
    let served = served(vec![fetch("a"), report("Because.")], &[]);
    for (schema, reason) in [(endless, "tool_calls"), (elsewhere, "stop")] {
        let mut body = question("agent");
        body["tools"] = json!([tool("fetch")]);
        body["tools"][0]["function"]["parameters"] = schema;
        let reply = served.chat(&body);
        assert_eq!(
            reply.json()["choices"][0]["finish_reason"],
            reason,
            "{reply:?}"
        );
    }
}

#[test]
fn a_client_that_never_answers_is_waited_for_until_the_runs_time_is_over() {
    let lines = vec![fetch("a"), report("Because.")];
    let served = served(lines, &["--max-time", "3s"]);
    Talk::new().ask(&served);
    served.place.wait_for(&["awaiting_client"]);
    served.place.wait_for(&["timed_out"]);

    // Also where the server that handed the call out is gone.
    let mut talk = Talk::new();
    let ids = talk.ask(&served);
    let served = Served::start_in(served.crash(), &["agent"], &["--max-time", "3s"]);
    served.place.wait_for(&["timed_out", "timed_out"]);
    talk.result(&ids[0], "too late");
    let refused = served.chat(&talk.body);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (504, "timed_out"),
        "{refused:?}"
    );
}

#[test]
fn a_run_that_waits_for_its_client_can_be_seen_and_cancelled_and_takes_no_place() {
    let served = served(
        vec![fetch("a"), report("Because.")],
        &["--concurrency", "1"],
    );
    let mut talk = Talk::new();
    let ids = talk.ask(&served);
    Talk::new().ask(&served);
    served
        .place
        .wait_for(&["awaiting_client", "awaiting_client"]);
    let runs = served.place.listed();
    let shown = served.place.bonded(&["show", &runs[1].id]);
    assert!(shown.stdout.contains("awaiting_client"), "{shown:?}");
    let resumed = served.place.bonded(&["resume", &runs[1].id]);
    assert!(
        resumed
            .stderr
            .contains("waits for its client, which executes fetch"),
        "{resumed:?}"
    );
    assert_eq!(resumed.code, Some(6), "{resumed:?}");
    served.place.bonded(&["cancel", &runs[1].id]).succeeds();
    talk.result(&ids[0], "the page");
    let refused = served.chat(&talk.body);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (500, "cancelled"),
        "{refused:?}"
    );
    assert_eq!(served.place.statuses(), ["awaiting_client", "cancelled"]);
}

#[test]
fn a_result_of_a_hundred_megabytes_is_refused_and_one_of_nine_is_cut() {
    let served = served(vec![fetch("a"), report("Because.")], &[]);
    let mut talk = Talk::new();
    let ids = talk.ask(&served);
    let mut huge = Talk {
        body: talk.body.clone(),
    };
    huge.result(&ids[0], &"x".repeat(100 << 20));
    let refused = served.chat(&huge.body);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (413, "too_large"),
        "{refused:?}"
    );
    talk.result(&ids[0], &"x".repeat(9 << 20));
    assert_eq!(talk.answer(&served), "Because.");
    assert_eq!(
        talk.answer(&served),
        "Because.",
        "it is known again though it was cut"
    );
    let log = served.place.log(&served.place.listed()[0].id).join("\n");
    assert!(log.len() < 1 << 20, "{} bytes", log.len());
    assert!(log.contains("[TRUNCATED]"));
}

#[test]
fn a_client_that_takes_one_call_at_a_time_gets_them_one_after_the_other() {
    let served = served(vec![calls(&["a", "b"]), report("Because.")], &[]);
    let mut talk = Talk::new();
    talk.body["parallel_tool_calls"] = false.into();
    for page in ["page a", "page b"] {
        let ids = talk.ask(&served);
        assert_eq!(ids.len(), 1);
        talk.result(&ids[0], page);
    }
    assert_eq!(talk.answer(&served), "Because.");
}
