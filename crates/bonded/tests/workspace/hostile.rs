//! Requests made to break the server: each gets a stable code, none costs it much, and it lives on.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http;
use crate::server::{Server, code};

/// In a build that is not made for speed, on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(20);
/// A body has 16 MiB at most.
const MEMORY_MAX: u64 = 256 << 20;

/// What is asked, and the code of the answer; none where it is answered.
type Row = (&'static str, String, Value, Option<&'static str>);

fn note_rows(server: &Server, note: &str) -> Vec<Row> {
    let path = format!("/api/notes/{note}");
    let write = |version: Value, expected| {
        let body = json!({ "base_version": version, "markdown": "x" });
        ("PATCH", path.clone(), body, Some(expected))
    };
    let ops = |ops: Value, expected| {
        let body = json!({ "base_version": 1, "patch_ops": ops });
        ("PATCH", path.clone(), body, Some(expected))
    };
    let new = |field: &str, value: Value, expected| {
        let mut body = json!({ "workspace_id": server.workspace(), "title": "t" });
        body[field] = value;
        ("POST", "/api/notes".to_owned(), body, expected)
    };
    let bad = "BAD_REQUEST";
    vec![
        write(json!(2), "VERSION_CONFLICT"),
        write(json!(9_007_199_254_740_993_u64), "VERSION_CONFLICT"),
        write(json!(u64::MAX), "VERSION_CONFLICT"),
        write(json!(1e300), bad),
        write(json!(1.5), bad),
        write(json!(-1), bad),
        write(json!("1"), bad),
        write(Value::Null, bad),
        ops(
            json!([{ "retain": u64::MAX }, { "retain": u64::MAX }]),
            "INVALID_PATCH",
        ),
        ops(
            Value::Array(vec![json!({ "delete": 1 }); 40_000]),
            "INVALID_PATCH",
        ),
        ops(
            Value::Array(vec![json!({ "delete": 1 }); 1_000_000]),
            "PAYLOAD_TOO_LARGE",
        ),
        ops(
            json!([{ "insert": "x".repeat(10 << 20) }]),
            "NOTE_TOO_LARGE",
        ),
        new("title", json!("x".repeat(1 << 20)), Some(bad)),
        new(
            "keywords",
            (0..1000).map(|n| format!("k{n}")).collect(),
            Some(bad),
        ),
        new("access_scope", json!("private"), Some(bad)),
        new("access_scope", json!("workspace"), None),
        new("note_kind", json!("K".repeat(1000)), Some(bad)),
        new("metadata", json!({ "x".repeat(1 << 20): 1 }), Some(bad)),
        // Whoever may only log in costs no more.
        (
            "POST",
            "/api/auth/login".to_owned(),
            Value::Array(vec![json!({ "a": 1 }); 1_500_000]),
            Some("PAYLOAD_TOO_LARGE"),
        ),
        new("markdown", json!("[[".repeat(1 << 20)), None),
        new("markdown", json!("`".repeat(4 << 20)), None),
    ]
}

fn rule_rows(server: &Server) -> Vec<Row> {
    let rule = |condition: Value, expected| {
        let body = json!({
            "workspace_id": server.workspace(), "trigger": "workspace_event.note_changed", "enabled": false,
            "condition_json": condition, "action_json": { "kind": "kjxlkj_agent" },
        });
        ("POST", "/api/automation/rules".to_owned(), body, expected)
    };
    let matches = |pattern: &str, expected| {
        rule(
            json!({ "field": "note.markdown", "op": "matches", "value": pattern }),
            expected,
        )
    };
    let cron = |line: &str| {
        let body = json!({
            "workspace_id": server.workspace(), "trigger": "automation_schedule.cron",
            "schedule": { "cron": line }, "action_json": { "kind": "kjxlkj_agent" },
        });
        (
            "POST",
            "/api/automation/rules".to_owned(),
            body,
            Some("RULE_INVALID"),
        )
    };
    let nested = (0..20).fold(json!({}), |inner, _| json!({ "not": inner }));
    let parts = Value::Array(vec![json!({ "note.title": "x" }); 10_000]);
    let invalid = Some("RULE_INVALID");
    let mut rows = vec![
        rule(nested, invalid),
        rule(json!({ "all": parts }), invalid),
        // It explodes elsewhere; here a match takes time in proportion to the text.
        matches("(x+x+)+y", None),
        matches("(a{1000}){1000}", invalid),
        matches("((a{100}){100}){100}", invalid),
        matches("(?=a)", invalid),
        matches("(a)\\1", invalid),
        matches("[", invalid),
        matches(&"a".repeat(2000), invalid),
        matches(&"(".repeat(900), invalid),
    ];
    rows.extend(
        [
            "0 0 31 2 *",
            "0 0 30 feb *",
            "0 0 31 4,6,9,11 *",
            "* * * * * *",
            "",
            "@reboot",
            "*/0 * * * *",
            "5-1 * * * *",
            "99999999999999999999 * * * *",
            "* * * * 8",
            "\u{0}",
        ]
        .map(cron),
    );
    rows.push(cron(&"1,".repeat(100_000)));
    rows
}

fn read_rows(server: &Server) -> Vec<Row> {
    let workspace = server.workspace();
    let get = |path: String, expected| ("GET", path, Value::Null, expected);
    let list = |query: &str| format!("/api/notes?workspace_id={workspace}&{query}");
    let search = |query: &str| format!("/api/search?workspace_id={workspace}&q={query}");
    let bad = Some("BAD_REQUEST");
    vec![
        get(list("limit=99999999999999999999"), bad),
        get(list("limit=-1"), bad),
        get(list("limit=1&limit=2"), bad),
        get(list("offset=18446744073709551615"), bad),
        get(list("offset=9223372036854775807"), None),
        get(list("offset=1e9"), bad),
        get(search(&"x".repeat(501)), bad),
        get(search(""), bad),
        get(search("%22%22%20AND%20NEAR(%20*%20%5E%20-%20%7B%7D"), None),
        get(search("%22%20OR%201%3D1%20--"), None),
        get(search("%00"), None),
    ]
}

#[test]
fn every_hostile_request_gets_its_code_in_time_and_in_little_memory() {
    let server = Server::start();
    let note = server.note("One", "text");
    let note = note["note_id"].as_str().expect("a note has an id");
    let rows = [
        note_rows(&server, note),
        rule_rows(&server),
        read_rows(&server),
    ];
    for (at, (method, path, body, expected)) in rows.into_iter().flatten().enumerate() {
        // At most ten searches a second.
        std::thread::sleep(Duration::from_millis(if path.contains("search") {
            150
        } else {
            0
        }));
        let shown: String = format!("row {at}: {method} {path} {body}")
            .chars()
            .take(200)
            .collect();
        let began = Instant::now();
        let reply = match method {
            "GET" => server.owner.get(&path),
            _ => server.owner.json(method, &path, &body),
        };
        let took = began.elapsed();
        assert!(took < TIME_MAX, "{shown}: {took:?}");
        match expected {
            Some(expected) => assert_eq!(code(&reply), expected, "{shown}"),
            None => assert!(reply.status < 300, "{shown}: {reply:?}"),
        }
    }
    let peak = server.process.peak_bytes();
    assert!(peak < MEMORY_MAX, "{} MiB", peak >> 20);
    assert_eq!(server.nobody().get("/healthz").status, 200);
}

#[test]
fn what_is_no_request_is_refused_or_cut_off() {
    let server = Server::start();
    let address = &server.address;
    let own = server.owner.headers();
    let get =
        |rest: &str| format!("GET /api/workspaces HTTP/1.1\r\nHost: {address}{own}{rest}\r\n\r\n");
    let rows = [
        (
            "a long header",
            get(&format!("\r\nX-Long: {}", "x".repeat(1 << 20))),
        ),
        ("many headers", get(&"\r\nX-Many: 1".repeat(50_000))),
        (
            "a long path",
            format!(
                "GET /api/{} HTTP/1.1\r\nHost: {address}\r\n\r\n",
                "x".repeat(1 << 20)
            ),
        ),
        (
            "two lengths",
            get("\r\nContent-Length: 1\r\nContent-Length: 2"),
        ),
        ("a length that is none", get("\r\nContent-Length: -1")),
        ("a broken line", "\u{0}\u{1}\r\n\r\n".repeat(1000)),
        (
            "another protocol",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\r\n\r\n".to_owned(),
        ),
    ];
    for (name, request) in rows {
        let mut stream = http::connect(address);
        // A server that refuses may close before it has read everything.
        let _cut = stream.write_all(request.as_bytes());
        let mut answer = vec![];
        let _cut = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{name}: {answer}"
        );
        assert_eq!(server.nobody().get("/healthz").status, 200, "{name}");
    }
    let peak = server.process.peak_bytes();
    assert!(peak < MEMORY_MAX, "{} MiB", peak >> 20);
}

/// Sends all of a body but its end.
fn almost(server: &Server, body: &[u8]) -> std::net::TcpStream {
    let headers = format!(
        "Content-Type: application/json\r\nIdempotency-Key: k{}\r\nConnection: close",
        server.owner.headers()
    );
    let head = http::head(&server.address, "POST /api/notes", &headers);
    http::send_almost(&server.address, &head, body)
}

#[test]
fn bodies_that_are_too_large_together_are_refused_and_leave_room_when_they_are_gone() {
    let server = Server::start();
    let body = vec![b' '; 900_000];
    // 64 MiB are held at most: 74 such bodies, and one more is too much. On a slow machine the first have been given up
    // when the last is sent.
    let crowd = || {
        let held: Vec<_> = (0..74).map(|_| almost(&server, &body)).collect();
        let refused = http::receive(almost(&server, &body));
        (held, refused)
    };
    let mut crowds = (0..5).map(|_| crowd());
    let (held, refused) = crowds
        .find(|(_, refused)| refused.status == 429)
        .expect("one of five is sent fast enough");
    assert!(
        refused.body.contains("too many large requests at once"),
        "{refused:?}"
    );
    assert!(
        server.process.peak_bytes() < 300_000_000,
        "{}",
        server.process.peak_bytes()
    );
    drop(held);
    let workspace = server.workspace();
    let note = json!({ "workspace_id": workspace, "title": "t", "markdown": "m" });
    let made = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        server.owner.post("/api/notes", &note).status == 201
    });
    assert!(made, "there is room again");
}
