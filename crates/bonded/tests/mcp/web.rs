//! `/mcp` of `bonded serve --mcp`.

use std::io::Read as _;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::served::{Served, never, report};
use crate::talk::{hello, question, request};

const BOTH: &str = "\r\nAccept: application/json, text/event-stream";

fn post(served: &Served, headers: &str, message: &Value) -> Reply {
    served.post_with("/mcp", &format!("{BOTH}{headers}"), message)
}

/// Says hello and gives the header that names the session.
fn session(served: &Served, headers: &str) -> String {
    let reply = post(
        served,
        headers,
        &request(0, "initialize", &hello("2025-11-25")),
    );
    assert_eq!(reply.status, 200, "{reply:?}");
    let id = reply.header("mcp-session-id").expect("there is a session");
    format!("{headers}\r\nMcp-Session-Id: {id}")
}

fn method(served: &Served, method: &str, headers: &str) -> Reply {
    let head = served.head(&format!("{method} /mcp"), headers);
    http::receive(http::send(&served.address, &head, b""))
}

#[test]
fn a_session_lists_calls_and_reads_and_ends() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let session = session(&served, "");
    let said = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(&served, &session, &said).status, 202);
    let listed = post(&served, &session, &request(1, "tools/list", &json!({})));
    assert_eq!(listed.header("content-type"), Some("application/json"));
    assert_eq!(listed.json()["result"]["tools"][0]["name"], "agent");
    let mut params = question("agent");
    params["_meta"] = json!({ "progressToken": "p" });
    let called = post(&served, &session, &request(2, "tools/call", &params));
    assert_eq!(called.header("content-type"), Some("text/event-stream"));
    let events = called.events();
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(events[0]["method"], "notifications/progress");
    let result = &events[2]["result"];
    assert_eq!(result["content"][0]["text"], "Because.");
    let uri = format!(
        "bonded://runs/{}",
        result["_meta"]["bonded/run"].as_str().unwrap_or_default()
    );
    let read = post(
        &served,
        &session,
        &request(3, "resources/read", &json!({ "uri": uri })),
    );
    assert!(read.body.contains("run_started"), "{read:?}");
    assert_eq!(method(&served, "DELETE", &session).status, 204);
    assert_eq!(method(&served, "DELETE", &session).status, 404);
    let gone = post(&served, &session, &request(4, "tools/list", &json!({})));
    assert_eq!(gone.status, 404);
}

#[test]
fn who_takes_json_only_gets_json() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let session = session(&served, "");
    let called = request(1, "tools/call", &question("agent"));
    for accept in ["", "\r\nAccept: application/json", "\r\nAccept: */*"] {
        let reply = served.post_with("/mcp", &format!("{accept}{session}"), &called);
        let text = reply.json()["result"]["content"][0]["text"].clone();
        assert_eq!(text, "Because.", "{accept}");
    }
    let reply = served.post_with("/mcp", &format!("\r\nAccept: text/html{session}"), &called);
    assert_eq!(reply.status, 406);
}

#[test]
fn what_is_no_request_of_the_protocol_is_refused() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let session = session(&served, "");
    let list = request(1, "tools/list", &json!({}));
    let unknown = "\r\nMcp-Session-Id: 0123";
    let version = format!("{session}\r\nMcp-Protocol-Version: 1999-01-01");
    let foreign = format!("{session}\r\nOrigin: http://evil.example");
    let null = format!("{session}\r\nOrigin: null");
    let rows = [
        ("", 400),
        (unknown, 404),
        (version.as_str(), 400),
        (foreign.as_str(), 403),
        (null.as_str(), 403),
        (session.as_str(), 200),
    ];
    for (headers, status) in rows {
        let reply = post(&served, headers, &list);
        assert_eq!(reply.status, status, "{headers}: {reply:?}");
    }
    for body in [json!([list]), json!("x"), json!({})] {
        assert_eq!(post(&served, &session, &body).status, 400, "{body}");
    }
    assert_eq!(method(&served, "PUT", &session).status, 405);
    assert_eq!(method(&served, "GET", &session).status, 406);
    assert_eq!(
        method(&served, "GET", "\r\nAccept: text/event-stream").status,
        400
    );
    let plain = served.head(
        "POST /mcp",
        &format!("{session}\r\nContent-Type: text/plain"),
    );
    let plain = http::receive(http::send(&served.address, &plain, b"{}"));
    assert_eq!(plain.status, 415);
}

#[test]
fn without_the_flag_there_is_nothing() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &[]);
    let reply = post(&served, "", &request(0, "initialize", &hello("2025-11-25")));
    assert_eq!(reply.status, 404);
}

#[test]
fn a_token_is_needed_where_there_are_tokens_and_its_sessions_are_its_own() {
    let flags = ["--mcp", "--token", "alpha,beta"];
    let served = Served::start(&[("agent", vec![report("Because.")])], &flags);
    let greeting = request(0, "initialize", &hello("2025-11-25"));
    assert_eq!(post(&served, "", &greeting).status, 401);
    let wrong = "\r\nAuthorization: Bearer gamma";
    assert_eq!(post(&served, wrong, &greeting).status, 401);
    let alphas = session(&served, "\r\nAuthorization: Bearer alpha");
    let list = request(1, "tools/list", &json!({}));
    assert_eq!(post(&served, &alphas, &list).status, 200);
    let betas = alphas.replace("alpha", "beta");
    assert_eq!(post(&served, &betas, &list).status, 404);
    assert_eq!(method(&served, "DELETE", &betas).status, 404);
    let own = format!("{alphas}\r\nOrigin: http://{}", served.address);
    assert_eq!(post(&served, &own, &list).status, 200);
}

#[test]
fn a_client_that_cancels_or_ends_its_session_has_cancelled_its_run() {
    let served = Served::start(&[("slow", vec![never()])], &["--mcp"]);
    let session = session(&served, "");
    let call = |id| request(id, "tools/call", &question("slow"));
    let headers = format!("{BOTH}{session}");
    let waiting = served.begin("/mcp", &headers, &call(1));
    served.place.wait_for(&["running"]);
    let params = json!({ "requestId": 1 });
    let said = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(post(&served, &session, &said).status, 202);
    served.place.wait_for(&["cancelled"]);
    assert!(http::receive(waiting).events().is_empty());

    let waiting = served.begin("/mcp", &headers, &call(2));
    served.place.wait_for(&["running", "cancelled"]);
    let head = served.head(
        "GET /mcp",
        &format!("\r\nAccept: text/event-stream{session}"),
    );
    let listening = http::send(&served.address, &head, b"");
    assert_eq!(method(&served, "DELETE", &session).status, 204);
    served.place.wait_for(&["cancelled"; 2]);
    assert!(http::receive(waiting).events().is_empty());
    assert!(
        http::receive(listening).events().is_empty(),
        "nobody listens"
    );
}

#[test]
fn news_come_by_get_and_one_listener_at_a_time() {
    let mut slow = report("Because.");
    slow["delay_ms"] = 2_000.into();
    let flags = ["--mcp", "--stop-after", "600"];
    let served = Served::start(&[("slow", vec![slow])], &flags);
    let session = session(&served, "");
    let called = request(1, "tools/call", &question("slow"));
    let _waiting = served.begin("/mcp", &format!("{BOTH}{session}"), &called);
    served.place.wait_for(&["running"]);
    let listed = served.place.bonded(&["runs", "--json"]).stdout;
    let run = crate::place::parse(listed.trim())["runId"].clone();
    let uri = format!("bonded://runs/{}", run.as_str().unwrap_or_default());
    let watch = request(2, "resources/subscribe", &json!({ "uri": uri }));
    assert_eq!(post(&served, &session, &watch).json()["result"], json!({}));
    let events = format!("\r\nAccept: text/event-stream{session}");
    let head = served.head("GET /mcp", &events);
    let mut listening = http::send(&served.address, &head, b"");
    let mut heard = String::new();
    let mut piece = [0; 4096];
    while !heard.contains("notifications/resources/updated") {
        let length = listening.read(&mut piece).expect("the stream goes on");
        assert!(length > 0, "the stream ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    assert!(heard.contains(&uri), "{heard}");
    assert_eq!(method(&served, "GET", &events).status, 409);
    // A stop ends the stream, although nobody has closed it.
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.finish().code, Some(0));
    let rest = listening.read_to_end(&mut vec![]);
    assert!(rest.is_ok(), "{rest:?}");
}

#[test]
fn requests_of_the_newest_version_need_no_session_and_true_headers() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut params = question("agent");
    params["_meta"] = meta.clone();
    let call = request(1, "tools/call", &params);
    let list = request(2, "tools/list", &json!({ "_meta": meta }));
    let ping = request(3, "ping", &json!({ "_meta": meta }));
    let version = "\r\nMcp-Protocol-Version: 2026-07-28";
    let called = format!("{version}\r\nMcp-Method: tools/call\r\nMcp-Name: agent");
    let misnamed = format!("{version}\r\nMcp-Method: tools/call\r\nMcp-Name: other");
    let listed = format!("{version}\r\nMcp-Method: tools/list");
    let pinged = format!("{version}\r\nMcp-Method: ping");
    let rows = [
        (called.as_str(), &call, 200),
        (misnamed.as_str(), &call, 400),
        (listed.as_str(), &call, 400),
        (version, &list, 400),
        ("", &list, 400),
        (listed.as_str(), &list, 200),
        (pinged.as_str(), &ping, 404),
    ];
    for (headers, message, status) in rows {
        let reply = post(&served, headers, message);
        assert_eq!(reply.status, status, "{headers}: {reply:?}");
        assert!(reply.header("mcp-session-id").is_none());
    }
    assert_eq!(served.place.statuses(), ["succeeded"]);
}

#[test]
fn a_stop_lets_go_of_the_calls_that_take_too_long_and_their_clients_are_told() {
    let flags = ["--mcp", "--stop-after", "1"];
    let served = Served::start(&[("slow", vec![never()])], &flags);
    let session = session(&served, "");
    let call = request(1, "tools/call", &question("slow"));
    let waiting = served.begin("/mcp", &format!("{BOTH}{session}"), &call);
    served.place.wait_for(&["running"]);
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.finish().code, Some(0));
    let events = http::receive(waiting).events();
    let result = events.last().map(|event| event["result"].clone());
    let result = result.unwrap_or_default();
    assert_eq!(result["_meta"]["bonded/code"], "stopping", "{events:?}");
    assert_eq!(served.place.statuses(), ["interrupted"]);
}

/// Sends all of a body but its end.
fn almost(served: &Served, session: &str, body: &[u8]) -> std::net::TcpStream {
    let headers = format!("{BOTH}{session}\r\nContent-Type: application/json");
    let head = served.head("POST /mcp", &headers);
    http::send_almost(&served.address, &head, body)
}

#[test]
fn bodies_that_are_too_large_together_are_refused_and_leave_room_when_they_are_gone() {
    let served = Served::start(&[("agent", vec![report("Because.")])], &["--mcp"]);
    let session = session(&served, "");
    let body = vec![b' '; 9_500_000];
    let held: Vec<_> = (0..7).map(|_| almost(&served, &session, &body)).collect();
    let refused = http::receive(almost(&served, &session, &body));
    assert_eq!(refused.status, 503, "{refused:?}");
    drop(held);
    let list = request(1, "tools/list", &json!({}));
    let listed = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        post(&served, &session, &list).status == 200
    });
    assert!(listed, "there is room again");
}
