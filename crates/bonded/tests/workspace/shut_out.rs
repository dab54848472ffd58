//! Clients of a server that another process shuts out by writing to its file: they hear so, and nothing of what happened
//! with that or after it.

use rusqlite::Connection;
use serde_json::json;

use crate::server::{Client, Server};
use crate::socket::{Heard, Socket};

/// Of each client. Whatever a server looks at first, not all of them hear it right by chance.
const SOCKETS: usize = 8;

/// The next event of the note that was written last.
const EVENT: &str = "
    INSERT INTO event (id, workspace, seq, at, note, version, depth, cause, request_id, actor, body)
    SELECT randomblob(16), workspace, (SELECT last_seq + 1 FROM workspace WHERE key = event.workspace), at, note,
        version + 1, depth, cause, request_id, actor, body
    FROM event WHERE note IS NOT NULL ORDER BY row DESC LIMIT 1;
    UPDATE workspace SET last_seq = last_seq + 1;";

#[test]
fn nothing_is_told_of_what_happens_after_another_process_shut_a_client_out() {
    // No heartbeat comes to end a socket.
    let server = Server::with_config(&json!({ "websocket": {
        "heartbeat_interval_ms": 600_000, "client_timeout_ms": 1_200_000,
    } }));
    let file = Connection::open(server.place.path("data/workspace.db")).expect("it is a file");
    let rows = [
        (
            "UPDATE token SET revoked_at = 1 WHERE user = X",
            "INVALID_CREDENTIALS",
            Some(1008),
        ),
        (
            "DELETE FROM token WHERE user = X",
            "INVALID_CREDENTIALS",
            Some(1008),
        ),
        (
            "UPDATE user SET state = 'disabled' WHERE id = X",
            "INVALID_CREDENTIALS",
            Some(1008),
        ),
        ("DELETE FROM member WHERE user = X", "WS_FORBIDDEN", None),
        (
            "UPDATE workspace SET state = 'deleted'",
            "WORKSPACE_NOT_FOUND",
            None,
        ),
    ];
    for (number, (shut_out, code, closed)) in rows.into_iter().enumerate() {
        let (id, client) = server.user(&format!("user-{number}"), Some("viewer"));
        let note = server.note(&format!("note-{number}"), "v1");
        let mut sockets = followers(&server, &client, &note);
        server.write(&note, 1);
        for socket in &mut sockets {
            assert!(socket.next()["event_seq"].is_u64(), "{shut_out}");
        }
        let id = format!("unhex('{}')", id.replace('-', ""));
        let shut_out = shut_out.replace('X', &id);
        file.execute_batch(&format!("BEGIN IMMEDIATE; {shut_out}; {EVENT} COMMIT;"))
            .expect("another process may write");
        for socket in &mut sockets {
            let over = socket.next();
            assert_eq!(over["code"], code, "{shut_out}: {over}");
            match closed {
                Some(_) => assert_eq!(socket.hear(), Heard::Closed(closed), "{shut_out}"),
                None => {
                    let pong = socket.ask(json!({ "type": "ping" }));
                    assert_eq!(pong["type"], "pong", "{shut_out}");
                    assert!(socket.has_nothing(), "nothing comes before it");
                }
            }
        }
    }
}

/// Sockets that follow the note, and sockets that follow its workspace.
fn followers(server: &Server, client: &Client, note: &serde_json::Value) -> Vec<Socket> {
    let workspace = server.workspace();
    let follow = |at: usize| {
        let mut socket = client.socket();
        let subscribed = match at % 2 {
            0 => socket.follow_workspace(&workspace, None),
            _ => socket.follow_note(note, None),
        };
        assert_eq!(subscribed["type"], "subscribed", "{subscribed}");
        socket
    };
    (0..SOCKETS).map(follow).collect()
}
