//! Files that are being sent when the server is killed: whole or absent, never torn, and nothing of them is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::Ordering;

use bonded_testkit::http::{self, Reply};
use serde_json::{Value, json};

use crate::rng::{Rng, tell};
use crate::rules::text;
use crate::server::Shared;
use crate::storm::{Storm, is_over};

const SENDERS: u64 = 3;
/// Beside many that are short.
const BYTES_MAX: u64 = 600_000;

/// A file that was sent.
struct Sent {
    name: String,
    content: String,
    /// What it is called, where the server said so.
    acknowledged: Option<String>,
}

/// No two are alike, so that each has a file of its own on the disk.
fn content(rng: &mut Rng, name: &str) -> String {
    let bytes = match rng.below(3) {
        0 => rng.below(BYTES_MAX),
        _ => rng.below(2000),
    };
    let line = format!("{name} {}\n", rng.next_u64());
    let lines = usize::try_from(bytes).unwrap_or(0) / line.len();
    line.repeat(lines + 1)
}

/// `None` where the connection ended before there was a whole answer.
fn send(shared: &Shared, note: &str, name: &str, content: &str) -> Option<Reply> {
    let address = shared.address()?;
    let headers = format!(
        "Authorization: Bearer {}\r\nIdempotency-Key: {name}\r\nConnection: close",
        shared.token()
    );
    let line = format!("POST /api/notes/{note}/attachments?name={name}");
    let mut stream = http::try_connect(&address).ok()?;
    shared.writes_sent.fetch_add(1, Ordering::Relaxed);
    let head = http::head(&address, &line, &headers);
    http::write(&mut stream, &head, content.as_bytes());
    http::receive_one(&mut stream)
}

/// Sends files until it is over. Every second one is sent until the server has it; the others once.
fn send_files(number: u64, shared: &Shared, seed: u64, notes: &[String]) -> Vec<Sent> {
    let mut rng = Rng::of(seed, 100 + number);
    let mut sent = vec![];
    while !is_over(shared) && sent.len() < 90 {
        let name = format!("file-{number}-{}", sent.len());
        let content = content(&mut rng, &name);
        let note = &notes[usize::try_from(number).unwrap_or(0)];
        let mut acknowledged = None;
        let insists = rng.below(2) == 0;
        loop {
            shared.wait_for_address();
            let reply = send(shared, note, &name, &content);
            if let Some(reply) = &reply {
                assert_eq!(reply.status, 201, "{reply:?}");
                acknowledged = Some(text(&reply.json()["attachment_id"]));
            }
            if reply.is_some() || !insists {
                break;
            }
        }
        sent.push(Sent {
            name,
            content,
            acknowledged,
        });
    }
    sent
}

/// What the notes list, by name.
fn listed(shared: &Shared, notes: &[String]) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for note in notes {
        let mut listed = shared.get(&format!("/api/notes/{note}/attachments"));
        let Value::Array(files) = listed["attachments"].take() else {
            panic!("{listed} lists no files");
        };
        for file in files {
            let before = all.insert(text(&file["name"]), file);
            assert_eq!(before, None, "a file was attached twice");
        }
    }
    all
}

fn check_content(shared: &Shared, sent: &Sent, file: &Value) {
    let address = shared.wait_for_address();
    let headers = format!("Authorization: Bearer {}", shared.token());
    let line = format!("GET /api/attachments/{}", text(&file["attachment_id"]));
    let reply = http::ask(&address, &line, &headers, None).expect("the server is there");
    assert_eq!(reply.status, 200, "{}: {}", sent.name, reply.head);
    assert_eq!(file["bytes"], sent.content.len(), "{}", sent.name);
    assert!(reply.body == sent.content, "{} is torn", sent.name);
}

#[test]
fn a_file_that_is_sent_when_the_server_is_killed_is_whole_or_absent_and_leaves_nothing_behind() {
    let mut storm = Storm::begin(&json!({}));
    let notes = [0, 1, 2].map(|number| storm.note(&format!("note {number}")));
    let (seed, shared) = (storm.seed, storm.shared.clone());
    let sent = storm.rage(SENDERS, &shared.writes_sent, |number, shared| {
        send_files(number, shared, seed, &notes)
    });
    let sent: Vec<Sent> = sent.into_iter().flatten().collect();
    storm.restart();
    let mut files = listed(&shared, &notes);
    let (mut kept, mut absent) = (BTreeSet::new(), 0);
    for sent in &sent {
        let file = files.remove(&sent.name);
        match (&file, &sent.acknowledged) {
            (Some(file), Some(id)) => assert_eq!(file["attachment_id"], *id),
            (None, Some(id)) => panic!("{id} was acknowledged and is not there: {}", sent.name),
            (Some(_), None) => {}
            (None, None) => absent += 1,
        }
        if let Some(file) = &file {
            check_content(&shared, sent, file);
            kept.insert(text(&file["hash"]));
        }
    }
    assert_eq!(files, BTreeMap::new(), "these were never sent");
    let entries = fs::read_dir(storm.place.path("data/attachments")).expect("there are files");
    let names = entries.map(|entry| entry.expect("it is read").file_name());
    let names: BTreeSet<String> = names.map(|it| it.to_string_lossy().into_owned()).collect();
    assert_eq!(names, kept, "what is on the disk is what the notes list");
    tell(&format!("{} files, {absent} of them absent", sent.len()));
}
