//! What a server that is killed leaves to the next one: events, answers to keys, and a half-made index.

use std::thread;
use std::time::Duration;

use bonded_testkit::embeddings::{Manner, Provider};
use bonded_testkit::patience::wait_until;
use serde_json::json;

use crate::server::Server;

#[test]
fn a_request_that_is_repeated_after_a_crash_is_answered_the_same() {
    let server = Server::start();
    let key = "\r\nIdempotency-Key: once";
    let body = json!({ "workspace_id": server.workspace(), "title": "Once", "markdown": "x" });
    let first = server.owner.keyed("POST", "/api/notes", key, &body);
    assert_eq!(first.status, 201, "{first:?}");
    let server = Server::start_in(server.crash());
    let after = server.owner.keyed("POST", "/api/notes", key, &body);
    assert_eq!((after.status, &after.body), (201, &first.body));
}

#[test]
fn a_client_that_comes_back_hears_what_it_missed_and_nothing_twice() {
    let server = Server::start();
    let workspace = server.workspace();
    let note = server.note("One", "v1");
    let mut socket = server.owner.socket();
    let stream_id = format!("workspace:{workspace}");
    let count = socket.follow_workspace(&workspace, Some(0))["current_version"]
        .as_u64()
        .expect("a number");
    let seqs = socket.seqs(count as usize);
    let acked = seqs[seqs.len() - 2];
    socket.send(&json!({ "type": "ack", "stream_id": stream_id, "event_seq": acked }));
    let too_far = socket.ask(json!({ "type": "ack", "stream_id": stream_id, "event_seq": 999 }));
    assert_eq!(too_far["code"], "WS_BAD_PAYLOAD");
    drop(socket);
    for version in 1..4 {
        server.write(&note, version);
    }
    let place = server.crash();
    let server = Server::start_in(place);
    let mut socket = server.owner.socket();
    socket.follow_workspace(&workspace, Some(acked));
    assert_eq!(socket.seqs(4), (acked + 1..=acked + 4).collect::<Vec<_>>());
}

#[test]
fn an_index_that_was_cut_off_by_a_crash_goes_on_where_it_was() {
    let provider = Provider::start(Manner::WellFor(2));
    let server = Server::start();
    for number in 1..=7 {
        server.note(&format!("Seal {number}"), "on the ice");
    }
    let (place, _) = server.stop();
    std::fs::write(
        place.path("data/config.json"),
        provider.config(2).to_string(),
    )
    .expect("a file can be written");
    let server = Server::start_in(place);
    provider.wait_for(3);
    let place = server.crash();
    provider.become_so(Manner::Well);
    let server = Server::start_in(place);
    let path = format!(
        "/api/search?workspace_id={}&q=walrus&mode=semantic",
        server.workspace()
    );
    wait_until("all of them are found", || {
        // Fewer searches than ten a second.
        thread::sleep(Duration::from_millis(120));
        server.owner.get(&path).is(200)["total"] == 7
    });
    let shown: Vec<usize> = (1..=7)
        .map(|n| provider.shown(&format!("Seal {n}")))
        .collect();
    assert_eq!(
        shown,
        [1, 1, 1, 1, 2, 2, 1],
        "only what was under way is asked for again"
    );
    let batches: Vec<usize> = provider
        .asked()
        .iter()
        .map(|asked| asked.texts.len())
        .collect();
    assert!(batches.iter().all(|texts| *texts <= 2), "{batches:?}");
}
