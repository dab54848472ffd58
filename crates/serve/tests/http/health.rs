//! Whether the server lives, and how a request is named.

use crate::server::{Server, code};

#[test]
fn anybody_may_ask_whether_the_server_lives() {
    let server = Server::start();
    for path in [
        "/healthz",
        "/readyz",
        "/api/healthz",
        "/api/readyz",
        "/api/openapi.json",
    ] {
        let reply = server.nobody().get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        assert!(reply.header("x-request-id").is_some(), "{path}");
    }
    let named = server
        .nobody()
        .and("X-Request-Id: mine-7")
        .get("/api/notes");
    assert_eq!(code(&named), "AUTH_REQUIRED");
    assert_eq!(named.header("x-request-id"), Some("mine-7"));
    let unusable = server.nobody().and("X-Request-Id: a b").get("/healthz");
    assert_ne!(unusable.header("x-request-id"), Some("a b"));
}
