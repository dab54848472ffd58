//! Pages of other origins, as browsers ask for them.

use serde_json::{Value, json};

use crate::access::log_in;
use crate::http::Reply;
use crate::server::{Server, code, upgraded};

const LISTED: &str = "https://notes.example";

/// Origins that look like the listed one and are not.
const FOREIGN: [&str; 6] = [
    "http://notes.example",
    "https://notes.example:8443",
    "https://evil.notes.example",
    "https://notes.example.evil.example",
    "https://evil.example",
    "null",
];

fn config(origins: &Value) -> Value {
    json!({ "server": { "cors_allowed_origins": origins } })
}

fn asks_first(server: &Server, path: &str, origin: &str) -> Reply {
    let headers = format!(
        "\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: PATCH\r\n\
         Access-Control-Request-Headers: content-type, idempotency-key, x-csrf-token"
    );
    let nobody = server.nobody();
    nobody.send(&format!("OPTIONS {path}"), &headers, b"")
}

#[test]
fn a_browser_that_asks_first_is_told_what_pages_of_a_listed_origin_may_do() {
    let server = Server::with_config(&config(&json!([LISTED])));
    let path = "/api/notes/6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11";
    let told = asks_first(&server, path, LISTED);
    assert_eq!(told.status, 204, "{told:?}");
    assert_eq!(told.header("access-control-allow-origin"), Some(LISTED));
    assert_eq!(
        told.header("access-control-allow-credentials"),
        Some("true")
    );
    let methods = told.header("access-control-allow-methods");
    let methods = methods.expect("methods are named").to_owned();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        assert!(methods.contains(method), "{methods}");
    }
    let headers = told.header("access-control-allow-headers");
    let headers = headers.expect("headers are named").to_owned();
    for header in [
        "authorization",
        "content-type",
        "idempotency-key",
        "x-csrf-token",
    ] {
        assert!(headers.contains(header), "{headers}");
    }
    assert!(told.header("vary").expect("it varies").contains("origin"));
    for origin in FOREIGN {
        let refused = asks_first(&server, path, origin);
        assert_ne!(refused.status, 204, "{origin}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
        assert!(refused.header("vary").is_some(), "{origin}: {refused:?}");
    }
}

#[test]
fn only_a_page_of_a_listed_origin_may_read_an_answer_or_an_error() {
    let server = Server::with_config(&config(&json!(["HTTPS://Notes.Example:443"])));
    for (path, status) in [("/api/workspaces", 200), ("/api/no-such-thing", 404)] {
        let read = server.owner.and(&format!("Origin: {LISTED}")).get(path);
        assert_eq!(read.status, status, "{read:?}");
        assert_eq!(read.header("access-control-allow-origin"), Some(LISTED));
        for origin in FOREIGN {
            let read = server.owner.and(&format!("Origin: {origin}")).get(path);
            assert_eq!(read.header("access-control-allow-origin"), None, "{origin}");
            assert!(read.header("vary").is_some(), "{origin}");
        }
        let twice = server.owner.and(&format!("Origin: {LISTED}"));
        let twice = twice.and("Origin: https://evil.example").get(path);
        assert_eq!(twice.header("access-control-allow-origin"), None);
    }
    let nobodys = server.owner.get("/api/workspaces");
    assert_eq!(nobodys.header("access-control-allow-origin"), None);
}

#[test]
fn a_session_is_still_no_good_without_its_token() {
    let server = Server::with_config(&config(&json!([LISTED])));
    let client = log_in(&server);
    let body = json!({ "workspace_id": server.workspace(), "title": "x" });
    let made = client
        .and(&format!("Origin: {LISTED}"))
        .post("/api/notes", &body);
    assert_eq!(made.status, 201, "{made:?}");
    let cookie = client.headers().split("\r\nX-CSRF-Token").next();
    let bare = crate::server::Client::with(&server.address, cookie.unwrap_or_default());
    let bare = bare.and(&format!("Origin: {LISTED}"));
    assert_eq!(code(&bare.post("/api/notes", &body)), "CSRF_INVALID");
    for origin in FOREIGN {
        let foreign = client.and(&format!("Origin: {origin}"));
        let refused = foreign.post("/api/notes", &body);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (403, "CSRF_INVALID")
        );
    }
}

#[test]
fn a_socket_with_a_session_is_opened_by_pages_of_listed_origins_only() {
    let server = Server::with_config(&config(&json!([LISTED])));
    let client = log_in(&server);
    let opened = |origin: &str| {
        let headers = client.and(&format!("Origin: {origin}"));
        upgraded(&server.address, headers.headers()).1
    };
    assert!(opened(LISTED).starts_with("HTTP/1.1 101"));
    let own = format!("http://{}", server.address);
    assert!(opened(&own).starts_with("HTTP/1.1 101"));
    for origin in FOREIGN {
        assert!(opened(origin).starts_with("HTTP/1.1 403"), "{origin}");
    }
}

#[test]
fn without_a_list_nothing_is_said_about_origins() {
    let server = Server::start();
    let told = asks_first(&server, "/api/workspaces", LISTED);
    assert_eq!(
        (told.status, code(&told).as_str()),
        (405, "METHOD_NOT_ALLOWED")
    );
    for name in ["access-control-allow-origin", "vary"] {
        assert_eq!(told.header(name), None, "{told:?}");
    }
}
