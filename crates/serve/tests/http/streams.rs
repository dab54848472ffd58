//! Streams over a socket: replayed without gap or duplicate, live, and over when the right to them is.

use std::net::Shutdown;

use serde_json::{Value, json};

use crate::server::{Client, Server, code, upgraded};
use crate::socket::{Heard, Socket};

#[test]
fn a_workspace_is_replayed_in_order_and_then_followed() {
    let server = Server::with_config(&json!({ "websocket": { "replay_batch_size": 3 } }));
    let workspace = server.workspace();
    let note = server.note("One", "v1");
    for version in 1..10 {
        server.write(&note, version);
    }
    let mut socket = server.owner.socket();
    let subscribed = socket.follow_workspace(&workspace, Some(0));
    assert_eq!(subscribed["type"], "subscribed", "{subscribed}");
    assert_eq!(subscribed["stream_id"], format!("workspace:{workspace}"));
    assert_eq!(subscribed["replay_cursor"], 0);
    let count = subscribed["current_version"].as_u64().expect("a number");
    assert!(
        count >= 11,
        "the workspace, its note and nine changes: {count}"
    );
    assert_eq!(socket.seqs(count as usize), (1..=count).collect::<Vec<_>>());
    server.write(&note, 10);
    let live = socket.next();
    assert_eq!(
        (&live["type"], &live["event_seq"]),
        (&json!("workspace_event"), &json!(count + 1))
    );
    assert_eq!(live["event"]["event_type"], "note.updated");
    assert_eq!(live["event"]["payload"]["markdown"], "v11");
}

#[test]
fn a_note_is_followed_without_what_happens_to_others() {
    let server = Server::start();
    let (note, other) = (server.note("One", "v1"), server.note("Two", "v1"));
    server.write(&note, 1);
    let mut socket = server.owner.socket();
    let subscribed = socket.follow_note(&note, Some(0));
    assert_eq!(subscribed["current_version"], 2, "{subscribed}");
    for version in [1, 2] {
        let event = socket.next();
        assert_eq!(
            (&event["type"], &event["version"]),
            (&json!("note_event"), &json!(version))
        );
    }
    server.write(&other, 1);
    server.write(&note, 2);
    let live = socket.next();
    assert_eq!(
        (&live["note_id"], &live["version"]),
        (&note["note_id"], &json!(3))
    );
    let seq = live["event_seq"].as_u64();
    let mut later = server.owner.socket();
    later.follow_note(&note, seq.map(|seq| seq - 1));
    assert_eq!(
        later.next()["version"],
        3,
        "the cursor is the place in the workspace's stream"
    );
    let gone =
        later.ask(json!({ "type": "unsubscribe_note", "stream_id": subscribed["stream_id"] }));
    assert_eq!(gone["type"], "unsubscribed");
    server.write(&note, 3);
    assert_eq!(
        later.ask(json!({ "type": "ping" }))["type"],
        "pong",
        "nothing comes before it"
    );
    assert_eq!(socket.next()["version"], 4);
}

#[test]
fn without_a_cursor_only_what_is_new_is_told() {
    let server = Server::start();
    let note = server.note("One", "v1");
    let mut socket = server.owner.socket();
    let subscribed = socket.follow_workspace(&server.workspace(), None);
    assert_eq!(subscribed["replay_cursor"], subscribed["current_version"]);
    server.write(&note, 1);
    let seq = subscribed["replay_cursor"].as_u64().expect("a number");
    assert_eq!(socket.seqs(1), [seq + 1]);
}

#[test]
fn a_cursor_outside_what_is_kept_is_stale() {
    let server = Server::start();
    let workspace = server.workspace();
    let mut socket = server.owner.socket();
    let refused = socket.follow_workspace(&workspace, Some(1_000_000));
    assert_eq!(
        (&refused["type"], &refused["code"]),
        (&json!("error"), &json!("STALE_CURSOR"))
    );
    let details = &refused["details"];
    assert_eq!(details["stream_id"], format!("workspace:{workspace}"));
    assert_eq!(details["requested_cursor"], 1_000_000);
    assert_eq!(details["min_available_cursor"], 0);
    assert_eq!(details["recovery"], "resubscribe_full");
    assert_eq!(
        socket.follow_workspace(&workspace, None)["type"],
        "subscribed"
    );
}

#[test]
fn events_that_are_not_kept_any_more_make_a_cursor_stale() {
    let server = Server::start();
    let workspace = server.workspace();
    server.note("One", "v1");
    let place = server.stop();
    let store =
        rusqlite::Connection::open(place.path("data/workspace.db")).expect("the store is a file");
    store
        .execute_batch(
            "DROP TRIGGER event_not_deleted; PRAGMA foreign_keys = OFF; DELETE FROM event WHERE seq = 1;",
        )
        .expect("the first event can be cut off");
    drop(store);
    let server = Server::start_in(place);
    let mut socket = server.owner.socket();
    let refused = socket.follow_workspace(&workspace, Some(0));
    assert_eq!(refused["code"], "STALE_CURSOR", "{refused}");
    assert_eq!(refused["details"]["min_available_cursor"], 1);
    socket.follow_workspace(&workspace, Some(1));
    assert_eq!(socket.seqs(1), [2]);
}

#[test]
fn a_stream_ends_when_the_role_is_revoked() {
    let server = Server::start();
    let (id, client) = server.user("ada", Some("viewer"));
    let note = server.note("One", "v1");
    let mut socket = client.socket();
    socket.follow_workspace(&server.workspace(), None);
    server.write(&note, 1);
    assert_eq!(socket.next()["type"], "workspace_event");
    let member = format!("/api/workspaces/{}/members/{id}", server.workspace());
    assert_eq!(server.owner.delete(&member).status, 204);
    let over = socket.next();
    assert_eq!(
        (&over["type"], &over["code"]),
        (&json!("error"), &json!("WS_FORBIDDEN"))
    );
    server.write(&note, 2);
    assert_eq!(
        socket.ask(json!({ "type": "ping" }))["type"],
        "pong",
        "nothing comes before it"
    );
    assert_eq!(
        socket.follow_workspace(&server.workspace(), None)["code"],
        "WS_FORBIDDEN"
    );
    assert_eq!(socket.follow_note(&note, None)["code"], "WS_FORBIDDEN");
}

/// No heartbeat comes to end a socket.
fn without_beats() -> Server {
    Server::with_config(&json!({ "websocket": {
        "heartbeat_interval_ms": 600_000, "client_timeout_ms": 1_200_000,
    } }))
}

#[test]
fn over_a_socket_whose_token_was_revoked_nothing_is_read_or_written() {
    let server = without_beats();
    let (_, client) = server.user("ada", Some("editor"));
    let note = server.note("One", "v1");
    let workspace = server.workspace();
    let patch = json!({
        "type": "apply_patch", "note_id": note["note_id"], "base_version": 1,
        "patch_ops": [{ "insert": "x" }, { "retain": 2 }], "idempotency_key": "k",
    });
    let subscribe = json!({ "type": "subscribe_workspace", "workspace_id": workspace });
    let ask = |message: &Value| {
        let mut socket = client.socket();
        (
            message.clone(),
            socket.ask(json!({ "type": "ping" })),
            socket,
        )
    };
    let asking = [
        ask(&patch),
        ask(&subscribe),
        ask(&json!({ "type": "ping" })),
    ];
    // Without the trigger nothing tells the server: it has to find out when it is asked.
    let store = rusqlite::Connection::open(server.place.path("data/workspace.db"));
    let revoked = store.expect("the store is a file").execute_batch(
        "DROP TRIGGER access_by_token; \
         UPDATE token SET revoked_at = 1 WHERE user = (SELECT id FROM user WHERE name = 'ada');",
    );
    revoked.expect("the token can be revoked");
    for (message, pong, mut socket) in asking {
        assert_eq!(pong["type"], "pong");
        let over = socket.ask(message.clone());
        assert_eq!(over["code"], "INVALID_CREDENTIALS", "{message}: {over}");
        assert_eq!(socket.hear(), Heard::Closed(Some(1008)), "{message}");
    }
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    assert_eq!(server.owner.get(&path).json()["version"], 1);
}

#[test]
fn whoever_is_shut_out_hears_so_without_an_event_or_a_ping() {
    let server = without_beats();
    let session = crate::access::log_in(&server);
    let (ada, with_token) = server.user("ada", Some("editor"));
    let (bob, disabled) = server.user("bob", Some("viewer"));
    let (eve, removed) = server.user("eve", Some("viewer"));
    let mut sockets = [&session, &with_token, &disabled, &removed].map(|client| {
        let mut socket = client.socket();
        let subscribed = socket.follow_workspace(&server.workspace(), None);
        assert_eq!(subscribed["type"], "subscribed", "{subscribed}");
        socket
    });
    assert_eq!(session.post("/api/auth/logout", &json!({})).status, 204);
    let tokens = format!("/api/users/{ada}/tokens");
    let anew = with_token.post(&tokens, &json!({ "revoke_others": true }));
    assert_eq!(anew.status, 201, "{anew:?}");
    let user = format!("/api/users/{bob}");
    let changed = server.owner.patch(&user, &json!({ "state": "disabled" }));
    assert_eq!(changed.status, 200, "{changed:?}");
    for (socket, code) in sockets.iter_mut().zip([
        "AUTH_REQUIRED",
        "INVALID_CREDENTIALS",
        "INVALID_CREDENTIALS",
    ]) {
        assert_eq!(socket.next()["code"], code);
        assert_eq!(socket.hear(), Heard::Closed(Some(1008)), "{code}");
    }
    let member = format!("/api/workspaces/{}/members/{eve}", server.workspace());
    assert_eq!(server.owner.delete(&member).status, 204);
    let [.., socket] = &mut sockets;
    assert_eq!(socket.next()["code"], "WS_FORBIDDEN");
    assert_eq!(
        socket.ask(json!({ "type": "ping" }))["type"],
        "pong",
        "who they are is still known"
    );
}

#[test]
fn a_session_that_expires_while_a_socket_is_open_hears_nothing_more() {
    let server = without_beats();
    let session = crate::access::log_in(&server);
    let note = server.note("One", "v1");
    let mut socket = session.socket();
    socket.follow_note(&note, None);
    let store = rusqlite::Connection::open(server.place.path("data/workspace.db"));
    let shortened = store.expect("the store is a file").execute(
        "UPDATE session SET expires_at = CAST(1000 * unixepoch('subsec') AS INTEGER) + 1500",
        [],
    );
    assert_eq!(shortened, Ok(1));
    let began = std::time::Instant::now();
    let mut version = 1;
    let over = loop {
        server.write(&note, version);
        version += 1;
        let heard = socket.next();
        if heard["type"] != "note_event" {
            break heard;
        }
        assert_eq!(heard["version"], version, "{heard}");
        assert!(began.elapsed() < bonded_testkit::patience::PATIENCE);
    };
    assert_eq!(over["code"], "SESSION_EXPIRED", "{over}");
    assert!(version > 2, "it was good before");
    assert_eq!(socket.hear(), Heard::Closed(Some(1008)));
}

#[test]
fn only_who_is_known_and_asks_for_a_socket_gets_one() {
    let server = Server::start();
    let (_, head) = upgraded(&server.address, "");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let (_, head) = upgraded(&server.address, "\r\nAuthorization: Bearer wrong");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let plain = server.owner.get("/ws");
    assert_eq!((plain.status, code(&plain).as_str()), (400, "BAD_REQUEST"));
    let session = crate::access::log_in(&server);
    let foreign = format!("{}\r\nOrigin: http://evil.example", session.headers());
    let (_, head) = upgraded(&server.address, &foreign);
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let own = format!("\r\nOrigin: http://{}", server.address);
    let client = Client::with(&server.address, &format!("{}{own}", session.headers()));
    let mut socket = client.socket();
    assert_eq!(socket.ask(json!({ "type": "ping" }))["type"], "pong");
}

#[test]
fn a_client_that_is_logged_out_or_silent_is_let_go() {
    let beats = json!({ "websocket": { "heartbeat_interval_ms": 50, "client_timeout_ms": 300 } });
    let server = Server::with_config(&beats);
    let session = crate::access::log_in(&server);
    let mut socket = session.socket();
    assert_eq!(socket.ask(json!({ "type": "ping" }))["type"], "pong");
    assert_eq!(session.post("/api/auth/logout", &json!({})).status, 204);
    assert_eq!(socket.next()["code"], "AUTH_REQUIRED");
    assert_eq!(socket.hear(), Heard::Closed(Some(1008)));
    let (mut silent, _) = upgraded(&server.address, server.owner.headers());
    let mut rest = vec![];
    std::io::Read::read_to_end(&mut silent, &mut rest).expect("the server ends it");
    assert!(
        rest.windows(2).any(|code| code == 1001_u16.to_be_bytes()),
        "{rest:?}"
    );
    // Whoever answers stays.
    let mut alive = server.owner.socket();
    let began = std::time::Instant::now();
    while began.elapsed() < std::time::Duration::from_millis(900) {
        assert_eq!(alive.ask(json!({ "type": "ping" }))["type"], "pong");
    }
}

#[test]
fn hostile_frames_end_the_socket_and_hostile_messages_are_refused() {
    let server = Server::start();
    let mut socket = server.owner.socket();
    let rows = [
        ("{", "WS_BAD_PAYLOAD"),
        ("[]", "WS_BAD_PAYLOAD"),
        (r#"{"type":"dance"}"#, "WS_UNKNOWN_MESSAGE"),
        (
            r#"{"type":"subscribe_note","note_id":"no id"}"#,
            "WS_BAD_PAYLOAD",
        ),
        (
            r#"{"type":"subscribe_note","note_id":"6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11"}"#,
            "NOTE_NOT_FOUND",
        ),
        (
            r#"{"type":"subscribe_workspace","workspace_id":"6f1c2f0e-3f5b-4c1e-9d4a-0b8f5a2c7e11"}"#,
            "WORKSPACE_NOT_FOUND",
        ),
    ];
    for (text, expected) in rows {
        socket.send_frame(1, text.as_bytes());
        assert_eq!(socket.next()["code"], expected, "{text}");
    }
    socket.send_frame(1, "[".repeat(1_000_000).as_bytes());
    assert_eq!(socket.next()["code"], "WS_BAD_PAYLOAD");
    let hostile: [&[u8]; 4] = [
        &[0x81, 0x01, b'x'],
        &[
            0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4,
        ],
        &[0xf3, 0x80, 1, 2, 3, 4],
        &[0x81, 0x81, 1, 2, 3, 4, 0xff],
    ];
    for bytes in hostile {
        let mut socket = server.owner.socket();
        socket.send_raw(bytes);
        assert!(matches!(socket.hear(), Heard::Closed(_)), "{bytes:?}");
    }
    assert_eq!(server.nobody().get("/healthz").status, 200);
}

#[test]
fn many_who_come_back_again_and_again_all_hear_the_same() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = server.note("One", "v1");
    let (clients, writes) = (12, 30);
    let last = {
        let mut socket = server.owner.socket();
        socket.follow_workspace(&workspace, None)["current_version"]
            .as_u64()
            .expect("a number")
            + writes
    };
    let readers: Vec<_> = (0..clients)
        .map(|reader: u64| {
            let (address, headers) = (server.address.clone(), server.owner.headers().to_owned());
            let workspace = workspace.clone();
            std::thread::spawn(move || {
                hear_until(&address, &headers, &workspace, last, 1 + reader % 5)
            })
        })
        .collect();
    for version in 1..=writes {
        server.write(&note, version);
    }
    for reader in readers {
        assert_eq!(
            reader.join().expect("a reader does not panic"),
            (1..=last).collect::<Vec<_>>()
        );
    }
}

/// Reads a few events, goes away, comes back, until the last one.
fn hear_until(address: &str, headers: &str, workspace: &str, last: u64, at_once: u64) -> Vec<u64> {
    let mut heard = vec![];
    while heard.last() != Some(&last) {
        let mut socket = Socket::open(address, headers);
        let cursor = heard.last().copied().unwrap_or(0);
        socket.follow_workspace(workspace, Some(cursor));
        for _ in 0..at_once.min(last - cursor) {
            heard.extend(socket.seqs(1));
        }
        drop_hard(socket);
    }
    heard
}

#[test]
fn a_slow_client_holds_nobody_up() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = server.note("One", "v1");
    let mut slow = server.owner.socket();
    slow.follow_workspace(&workspace, Some(0));
    let large = "x".repeat(1 << 20);
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    for version in 1..=12 {
        let body = json!({ "base_version": version, "markdown": format!("{version}{large}") });
        assert_eq!(server.owner.patch(&path, &body).status, 200);
    }
    let mut quick = server.owner.socket();
    let last = quick.follow_workspace(&workspace, Some(0))["current_version"]
        .as_u64()
        .expect("a number");
    assert_eq!(quick.seqs(last as usize), (1..=last).collect::<Vec<_>>());
    // It reads at last, and has missed nothing.
    assert_eq!(slow.seqs(last as usize), (1..=last).collect::<Vec<_>>());
}

/// Goes away as a machine does that lost its network.
fn drop_hard(socket: Socket) {
    let _gone = socket.into_stream().shutdown(Shutdown::Both);
}
