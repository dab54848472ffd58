//! Requests that no client should send: stable codes in one envelope, and a server that lives on.

use serde_json::json;

use crate::http::{self};
use crate::server::{Server, code};

#[test]
fn what_is_not_there_and_what_is_not_taken_has_the_envelope_too() {
    let server = Server::start();
    let rows = [
        ("GET", "/api", 404, "NOT_FOUND"),
        ("GET", "/api/nowhere", 404, "NOT_FOUND"),
        ("POST", "/api/nowhere/deep", 404, "NOT_FOUND"),
        ("DELETE", "/api/workspaces", 405, "METHOD_NOT_ALLOWED"),
        ("PUT", "/api/notes", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/healthz", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/ws", 405, "METHOD_NOT_ALLOWED"),
    ];
    for (method, path, status, expected) in rows {
        let reply = server.owner.send(&format!("{method} {path}"), "", b"");
        assert_eq!(
            (reply.status, code(&reply).as_str()),
            (status, expected),
            "{method} {path}"
        );
    }
    let allowed = server.owner.send("PUT /api/notes", "", b"");
    let allow = allowed.header("allow").unwrap_or_default().to_owned();
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow:?}");
}

#[test]
fn a_body_that_is_no_usable_json_is_refused() {
    let server = Server::start();
    let workspace = server.workspace();
    let deep = format!(
        r#"{{"workspace_id":"{workspace}","metadata":{{"a":{}{}}}}}"#,
        "[".repeat(70),
        "]".repeat(70)
    );
    let json_type = "\r\nContent-Type: application/json";
    let rows: [(&str, Vec<u8>, u16, &str); 13] = [
        (json_type, b"{".to_vec(), 400, "BAD_REQUEST"),
        (json_type, b"".to_vec(), 400, "BAD_REQUEST"),
        (json_type, b"[]".to_vec(), 400, "BAD_REQUEST"),
        (json_type, b"null".to_vec(), 400, "BAD_REQUEST"),
        (json_type, b"\"\xff\"".to_vec(), 400, "BAD_REQUEST"),
        (json_type, deep.into_bytes(), 400, "BAD_REQUEST"),
        (
            json_type,
            "[".repeat(5_000_000).into_bytes(),
            400,
            "BAD_REQUEST",
        ),
        (json_type, b"{}".to_vec(), 400, "BAD_REQUEST"),
        (
            json_type,
            br#"{"workspace_id":"no id"}"#.to_vec(),
            400,
            "BAD_REQUEST",
        ),
        (
            json_type,
            format!(r#"{{"workspace_id":"{workspace}","titel":"x"}}"#).into_bytes(),
            400,
            "BAD_REQUEST",
        ),
        (
            json_type,
            format!(r#"{{"workspace_id":"{workspace}","title":"a\nb"}}"#).into_bytes(),
            400,
            "BAD_REQUEST",
        ),
        (
            "\r\nContent-Type: text/plain",
            b"{}".to_vec(),
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        ("", b"{}".to_vec(), 415, "UNSUPPORTED_MEDIA_TYPE"),
    ];
    for (headers, body, status, expected) in rows {
        let headers = format!("\r\nIdempotency-Key: k{headers}");
        let reply = server.owner.send("POST /api/notes", &headers, &body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        assert_eq!(
            (reply.status, code(&reply).as_str()),
            (status, expected),
            "{shown}"
        );
    }
}

#[test]
fn a_note_or_a_body_that_is_too_large_is_413() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = |megabytes: usize| json!({ "workspace_id": workspace, "markdown": "x".repeat(megabytes << 20) });
    assert_eq!(
        server.owner.post("/api/notes", &note(4)).status,
        201,
        "four megabytes are allowed"
    );
    for (megabytes, expected) in [
        (5, "NOTE_TOO_LARGE"),
        (10, "NOTE_TOO_LARGE"),
        (20, "PAYLOAD_TOO_LARGE"),
    ] {
        let refused = server.owner.post("/api/notes", &note(megabytes));
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (413, expected),
            "{megabytes} MB"
        );
    }
    let announced =
        "\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked";
    let head = format!(
        "POST /api/notes HTTP/1.1\r\nHost: {}\r\nConnection: close{}{announced}\r\n\r\nffffffffffffffffff\r\n",
        server.address,
        server.owner.headers()
    );
    let mut stream = http::connect(&server.address);
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("the server listens");
    let mut answer = String::new();
    let _broken = std::io::Read::read_to_string(&mut stream, &mut answer);
    assert!(
        answer.starts_with("HTTP/1.1 400") || answer.is_empty(),
        "{answer}"
    );
    assert_eq!(server.nobody().get("/healthz").status, 200);
}

#[test]
fn ids_that_are_no_ids_are_refused_and_those_of_nothing_are_not_found() {
    let server = Server::start();
    let nothing = "6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
    let rows = [
        ("/api/notes/{}", "NOTE_NOT_FOUND"),
        ("/api/notes/{}/history", "NOTE_NOT_FOUND"),
        ("/api/notes/{}/history/1", "NOTE_NOT_FOUND"),
        ("/api/notes/{}/backlinks", "NOTE_NOT_FOUND"),
        ("/api/automation/rules/{}", "RULE_NOT_FOUND"),
        ("/api/workspaces/{}/members", "WORKSPACE_NOT_FOUND"),
        ("/api/notes?workspace_id={}", "WORKSPACE_NOT_FOUND"),
    ];
    for (path, expected) in rows {
        let reply = server.owner.get(&path.replace("{}", nothing));
        assert_eq!(
            (reply.status, code(&reply).as_str()),
            (404, expected),
            "{path}"
        );
        for id in [
            "1",
            "..%2f..",
            "%00",
            "6f1c2f0e3f5b4c1e9d4a0b8f5a2c7e11",
            "%ff",
        ] {
            let reply = server.owner.get(&path.replace("{}", id));
            assert_eq!(
                (reply.status, code(&reply).as_str()),
                (400, "BAD_REQUEST"),
                "{path} {id}"
            );
        }
    }
    let run = server.owner.get("/api/automation/runs/nothing");
    assert_eq!((run.status, code(&run).as_str()), (404, "RUN_NOT_FOUND"));
    let long = "x".repeat(5000);
    assert_eq!(
        server
            .owner
            .get(&format!("/api/automation/runs/{long}"))
            .status,
        404
    );
}

#[test]
fn a_body_that_never_comes_is_not_waited_for() {
    let server = Server::with_config(&json!({ "server": { "request_timeout_ms": 300 } }));
    let head = format!(
        "POST /api/notes HTTP/1.1\r\nHost: {}\r\nConnection: close{}\r\nIdempotency-Key: k\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        server.address,
        server.owner.headers()
    );
    let mut stream = http::connect(&server.address);
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("the server listens");
    let reply = http::receive(stream);
    assert!(matches!(reply.status, 408 | 503), "{reply:?}");
    assert!(
        ["REQUEST_TIMEOUT", "UNAVAILABLE"].contains(&code(&reply).as_str()),
        "{reply:?}"
    );
}
