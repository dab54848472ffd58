//! Requests that are refused before anything runs.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::http;
use crate::served::{Served, question, question_with, report};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

#[test]
fn a_request_that_no_agent_can_answer_is_refused_with_its_reason_and_makes_no_run() {
    let tool = json!([{ "type": "function", "function": { "name": "f" } }]);
    let talk = |message: Value| json!({ "model": "agent", "messages": [message] });
    let image = json!([{ "type": "image_url", "image_url": { "url": "x" } }]);
    let call_result = json!({ "role": "tool", "content": "4", "tool_call_id": "c" });
    let calls = json!({ "role": "assistant", "content": null, "tool_calls": [{}] });
    let asked = |field: &str, value: Value| {
        let mut asked = json!({ "model": "agent", "input": "why?" });
        asked[field] = value;
        asked
    };
    let rows = [
        (CHAT, question("agnet"), 404, "model_not_found"),
        (
            CHAT,
            question_with("agent", "functions", tool),
            400,
            "tools_not_supported",
        ),
        (CHAT, question_with("agent", "n", 2), 400, "one_answer_only"),
        (
            CHAT,
            question_with("agent", "format", "colours"),
            400,
            "unknown_format",
        ),
        (
            CHAT,
            json!({ "model": "agent", "messages": [] }),
            400,
            "no_user_message",
        ),
        (
            CHAT,
            talk(json!({ "role": "system", "content": "x" })),
            400,
            "no_user_message",
        ),
        (
            CHAT,
            talk(json!({ "role": "wizard", "content": "x" })),
            400,
            "unknown_role",
        ),
        (CHAT, talk(json!({ "role": "user" })), 400, "no_content"),
        (
            CHAT,
            talk(json!({ "role": "user", "content": image })),
            400,
            "unsupported_content",
        ),
        (CHAT, talk(call_result), 400, "unknown_call"),
        (CHAT, talk(calls), 400, "bad_body"),
        (
            CHAT,
            talk(json!({ "role": "user", "content": 7 })),
            400,
            "bad_body",
        ),
        (CHAT, json!({ "messages": [] }), 400, "bad_body"),
        (CHAT, json!([1, 2]), 400, "bad_body"),
        (
            RESPONSES,
            asked("model", "agnet".into()),
            404,
            "model_not_found",
        ),
        (
            RESPONSES,
            asked("input", Value::Null),
            400,
            "no_user_message",
        ),
        (
            RESPONSES,
            asked("input", json!([{ "type": "function_call" }])),
            400,
            "no_call_id",
        ),
        (
            RESPONSES,
            asked("previous_response_id", "resp_1".into()),
            400,
            "not_supported",
        ),
        (
            RESPONSES,
            asked("conversation", "conv_1".into()),
            400,
            "not_supported",
        ),
        (
            RESPONSES,
            asked("background", true.into()),
            400,
            "not_supported",
        ),
    ];
    let served = Served::start(&[("agent", vec![report("Because.")])], &[]);
    for (path, body, status, code) in rows {
        let reply = served.post(path, &body);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{body}"
        );
        let error = &reply.json()["error"];
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.len() > 10),
            "{error}"
        );
        assert!(
            error["type"].is_string() && error.get("param").is_some(),
            "{error}"
        );
    }
    assert_eq!(served.place.statuses(), [""; 0]);
    let near = served.chat(&question("agnet")).body;
    assert!(near.contains("did you mean \\\"agent\\\"?"), "{near}");
}

#[test]
fn a_path_a_method_a_host_or_a_body_that_is_not_for_this_server_is_refused() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &[]);
    let json = "\r\nContent-Type: application/json";
    let form = "\r\nContent-Type: text/plain";
    let own = |line: &str, headers: &str| served.head(line, headers);
    let foreign = "POST /v1/chat/completions HTTP/1.1\r\nHost: evil.example\r\nConnection: close";
    let rows = [
        (own("GET /v1/nothing", ""), 404, "unknown_path"),
        (own("GET /v1/models/%ff", ""), 404, "model_not_found"),
        (
            own("GET /v1/chat/completions", ""),
            405,
            "method_not_allowed",
        ),
        (own("DELETE /v1/models", ""), 405, "method_not_allowed"),
        (own("POST /v1/chat/completions", form), 415, "not_json"),
        (own("POST /v1/chat/completions", ""), 415, "not_json"),
        (own("POST /v1/chat/completions", json), 400, "bad_body"),
        (format!("{foreign}{json}"), 403, "foreign_host"),
    ];
    for (head, status, code) in rows {
        let reply = http::receive(http::send(&served.address, &head, b"{\"model\": "));
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{head}"
        );
    }
    assert_eq!(served.place.statuses(), [""; 0]);
}

#[test]
fn a_body_that_is_too_large_is_refused_whether_or_not_it_is_sent() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &[]);
    let mut large = question("agent");
    large["messages"][0]["content"] = "x".repeat(11 * 1024 * 1024).into();
    let reply = served.chat(&large);
    assert_eq!((reply.status, reply.code().as_str()), (413, "too_large"));

    let announced = "\r\nContent-Type: application/json\r\nContent-Length: 99999999999";
    let head = served.head("POST /v1/chat/completions", announced);
    let mut stream = http::connect(&served.address);
    std::io::Write::write_all(&mut stream, format!("{head}\r\n\r\n").as_bytes())
        .expect("the server reads");
    let reply = http::receive(stream);
    assert_eq!((reply.status, reply.code().as_str()), (413, "too_large"));
    assert_eq!(served.chat(&question("agent")).status, 200);
}

#[test]
fn a_server_with_tokens_answers_only_those_who_have_one() {
    let flags = ["--token", "alpha,beta"];
    let served = Served::start(&[("agent", vec![report("Because.")])], &flags);
    let rows = [
        ("", 401),
        ("\r\nAuthorization: Bearer gamma", 401),
        ("\r\nAuthorization: Bearer alpha,beta", 401),
        ("\r\nAuthorization: Bearer alpha", 200),
        ("\r\nAuthorization: Bearer beta", 200),
    ];
    for (header, status) in rows {
        let head = served.head("GET /v1/models", header);
        let models = http::receive(http::send(&served.address, &head, b""));
        assert_eq!(models.status, status, "{header}");
        let answer = served.post_with(CHAT, header, &question("agent"));
        assert_eq!(answer.status, status, "{header}");
        if status == 401 {
            assert_eq!(answer.code(), "invalid_api_key");
        }
    }
    assert_eq!(served.get("/health").status, 200);
    assert_eq!(served.place.statuses(), ["succeeded"; 2]);
}

#[test]
fn nothing_is_fetched_for_a_client() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener
        .set_nonblocking(true)
        .expect("a listener can be asked");
    let address = listener.local_addr().expect("a bound listener has one");
    let url = format!("http://{address}/a.png");
    let served = Served::start(&[("agent", vec![report("no")])], &[]);
    let chat = json!([{ "type": "image_url", "image_url": { "url": url } }]);
    let response = json!([{ "type": "input_image", "image_url": url }]);
    for (path, body) in [
        (
            CHAT,
            json!({ "model": "agent", "messages": [{ "role": "user", "content": chat }] }),
        ),
        (
            RESPONSES,
            json!({ "model": "agent", "input": [{ "role": "user", "content": response }] }),
        ),
    ] {
        let reply = served.post(path, &body);
        assert_eq!(reply.status, 400, "{reply:?}");
        let error = &reply.json()["error"];
        assert_eq!(error["code"], "unsupported_content");
        assert!(
            error["message"].to_string().contains("are not fetched"),
            "{error}"
        );
    }
    let asked = listener.accept().map(|(_, from)| from);
    let nobody = asked.expect_err("nobody connects").kind();
    assert_eq!(nobody, std::io::ErrorKind::WouldBlock);
}
