//! Patches over a socket.

use std::sync::{Arc, Barrier};

use serde_json::{Value, json};

use crate::server::Server;
use crate::socket::Socket;

fn patch(note: &Value, base: u64, ops: &Value, key: &str) -> Value {
    json!({
        "type": "apply_patch",
        "note_id": note["note_id"],
        "base_version": base,
        "patch_ops": ops,
        "idempotency_key": key,
        "client_ts": "2026-11-15T18:00:00Z",
    })
}

#[test]
fn a_patch_is_committed_once_for_each_key() {
    let server = Server::start();
    let note = server.note("One", "héllo");
    let mut socket = server.owner.socket();
    socket.follow_note(&note, None);
    let message = patch(
        &note,
        1,
        &json!([{ "retain": 2 }, { "delete": 3 }, { "insert": "y" }]),
        "k1",
    );
    let committed = socket.ask(message.clone());
    assert_eq!(committed["type"], "patch_committed", "{committed}");
    assert_eq!(
        (&committed["version"], &committed["idempotency_key"]),
        (&json!(2), &json!("k1"))
    );
    let mut again = socket.ask(message);
    again["request_id"] = committed["request_id"].clone();
    assert_eq!(again, committed);
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    let now = server.owner.get(&path).json();
    assert_eq!(
        (&now["markdown"], &now["version"]),
        (&json!("héy"), &json!(2))
    );
    let event = socket.next();
    assert_eq!(event["event_seq"], committed["event_seq"]);
}

#[test]
fn a_patch_for_another_version_is_rejected_with_both() {
    let server = Server::start();
    let note = server.note("One", "text");
    let mut socket = server.owner.socket();
    assert_eq!(
        socket.ask(patch(&note, 1, &json!([{ "insert": "a" }]), "k1"))["version"],
        2
    );
    let rejected = socket.ask(patch(&note, 1, &json!([{ "insert": "b" }]), "k2"));
    assert_eq!(rejected["type"], "patch_rejected", "{rejected}");
    assert_eq!(
        (&rejected["expected_version"], &rejected["current_version"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(rejected["reason"], "VERSION_MISMATCH");
}

#[test]
fn a_patch_that_does_not_fit_or_is_not_allowed_changes_nothing() {
    let server = Server::start();
    let note = server.note("One", "text");
    let (_, viewer) = server.user("ada", Some("viewer"));
    let mut owner = server.owner.socket();
    let mut reader = viewer.socket();
    let rows = [(&mut owner, json!([{ "retain": 5 }]), "k1", "INVALID_PATCH")];
    for (socket, ops, key, expected) in rows {
        assert_eq!(socket.ask(patch(&note, 1, &ops, key))["code"], expected);
    }
    let bad = [
        json!([{ "keep": 1 }]),
        json!([{ "retain": -1 }]),
        json!([1]),
        json!("x"),
    ];
    for ops in bad {
        assert_eq!(
            owner.ask(patch(&note, 1, &ops, "k2"))["code"],
            "WS_BAD_PAYLOAD",
            "{ops}"
        );
    }
    assert_eq!(
        owner.ask(patch(&note, 1, &json!([]), ""))["code"],
        "WS_BAD_PAYLOAD"
    );
    let refused = reader.ask(patch(&note, 1, &json!([{ "insert": "x" }]), "k3"));
    assert_eq!(refused["code"], "WS_FORBIDDEN", "{refused}");
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    assert_eq!(server.owner.get(&path).json()["version"], 1);
}

/// The version to go on from after a patch that another client was faster than.
fn after_rejection(reply: &Value, expected: u64) -> u64 {
    assert_eq!(
        (&reply["type"], &reply["reason"], &reply["expected_version"]),
        (
            &json!("patch_rejected"),
            &json!("VERSION_MISMATCH"),
            &json!(expected)
        ),
        "{reply}"
    );
    let current = reply["current_version"].as_u64();
    let current = current.unwrap_or_else(|| panic!("{reply}"));
    assert!(current > expected, "{reply}");
    current
}

#[test]
fn several_clients_that_patch_converge_on_one_text() {
    let server = Server::start();
    let note = server.note("One", "");
    let begin = Arc::new(Barrier::new(4));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (address, headers) = (server.address.clone(), server.owner.headers().to_owned());
            let (note, begin) = (note.clone(), begin.clone());
            std::thread::spawn(move || {
                let mut socket = Socket::open(&address, &headers);
                let (mut version, mut done, mut rejected) = (1, 0, 0);
                begin.wait();
                while done < 10 {
                    let key = format!("{writer}-{done}-{version}");
                    let reply =
                        socket.ask(patch(&note, version, &json!([{ "insert": "x" }]), &key));
                    match reply["type"].as_str() {
                        Some("patch_committed") => {
                            done += 1;
                            version = reply["version"].as_u64().expect("a version");
                        }
                        _ => {
                            rejected += 1;
                            version = after_rejection(&reply, version);
                        }
                    }
                }
                rejected
            })
        })
        .collect();
    let rejected = writers
        .into_iter()
        .map(|writer| writer.join().expect("a writer does not panic"));
    let rejected: u32 = rejected.sum();
    // All begin with the first version, which only one of them can change.
    assert!(rejected >= 3, "{rejected} patches were rejected");
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    let now = server.owner.get(&path).json();
    assert_eq!(
        (&now["version"], &now["markdown"]),
        (&json!(41), &json!("x".repeat(40)))
    );
}
