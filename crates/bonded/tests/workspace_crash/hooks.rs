//! Messages to and from other servers when the server is killed: what is sent arrives at least once and always the same,
//! what is taken in has its one firing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bonded_testkit::http;
use bonded_testkit::provider::{Asked, Provider, Reply, raw};
use bonded_workspace::HookSecret;
use serde_json::{Value, json};

use crate::client::Request;
use crate::rng::tell;
use crate::rules::text;
use crate::server::Shared;
use crate::storm::{Storm, is_over};

const WRITERS: u64 = 2;
/// For each writer: a message may have to wait a second or more for its next attempt.
const MESSAGES_MAX: usize = 60;

/// What arrived under one id.
#[derive(Default)]
struct Delivered {
    bodies: BTreeSet<String>,
    /// The time and the signature of each.
    signed: Vec<(String, String)>,
}

/// Another server, which counts what arrives by its id.
#[derive(Default)]
struct Receiver {
    delivered: Mutex<BTreeMap<String, Delivered>>,
    count: AtomicU64,
}

impl Receiver {
    /// Every fourth message is refused at first, as by a server that restarts.
    fn take(&self, asked: &Asked) -> Reply {
        let header = |name: &str| asked.headers.get(name).cloned().unwrap_or_default();
        let mut delivered = self
            .delivered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let place = delivered.len();
        let of_id = delivered.entry(header("webhook-id")).or_default();
        of_id.bodies.insert(asked.text.clone());
        let signed = (header("webhook-timestamp"), header("webhook-signature"));
        of_id.signed.push(signed);
        let is_refused = of_id.signed.len() == 1 && place % 4 == 3;
        self.count.fetch_add(1, Ordering::Relaxed);
        // Time for a kill to fall between a message and its answer.
        let delay_ms = (place % 5) as u64;
        raw(if is_refused { 503 } else { 200 }, "text/plain", "").delayed_ms(delay_ms)
    }
}

/// Makes notes until it is over; gives their ids.
fn make_notes(number: u64, shared: &Shared, workspace: &str) -> Vec<String> {
    let mut made = vec![];
    while !is_over(shared) && made.len() < MESSAGES_MAX {
        let title = format!("note {number} {}", made.len());
        let answer = shared.insist(&Request {
            method: "POST",
            path: "/api/notes".into(),
            key: title.clone(),
            body: Some(json!({ "workspace_id": workspace, "title": title })),
        });
        assert_eq!(answer.status, 201, "{answer:?}");
        made.push(text(&answer.body["note_id"]));
    }
    made
}

#[test]
fn a_message_of_a_rule_arrives_at_least_once_and_always_the_same_whenever_the_server_is_killed() {
    let receiver = Arc::new(Receiver::default());
    let taking = receiver.clone();
    let outside = Provider::serving(move |asked| taking.take(asked)).forgetting();
    let url = format!("{}/in", outside.origin());
    let mut storm = Storm::begin(&json!({ "automation": { "allowed_webhooks": [url] } }));
    let workspace = storm.workspace();
    let rule = json!({
        "workspace_id": workspace, "trigger": "workspace_event.note_created", "name": "tell",
        "action_json": { "kind": "webhook", "url": url },
    });
    let rule = storm.made("/api/automation/rules", "rule", rule);
    let secret = HookSecret::read(&text(&rule["secret"])).expect("it is shown once");
    let made = storm.rage(WRITERS, &receiver.count, |number, shared| {
        make_notes(number, shared, &workspace)
    });
    let made: BTreeSet<String> = made.into_iter().flatten().collect();
    let runs = storm.runs();
    let delivered = receiver
        .delivered
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let events: BTreeSet<String> = runs
        .iter()
        .map(|it| text(&it["triggering_event_id"]))
        .collect();
    assert_eq!(
        (runs.len(), events.len()),
        (made.len(), made.len()),
        "each fired once"
    );
    let mut notes = BTreeSet::new();
    for run in &runs {
        assert_eq!(run["status"], "succeeded", "{run}");
        let id = text(&run["run_id"]);
        let found = delivered.get(&id);
        let found = found.unwrap_or_else(|| panic!("{id} ended and never arrived"));
        assert_eq!(found.bodies.len(), 1, "{id}: {:?}", found.bodies);
        let body = found.bodies.first().cloned().unwrap_or_default();
        for (time, signature) in &found.signed {
            let time = time.parse().expect("a number of seconds");
            assert!(secret.verify(&id, time, body.as_bytes(), signature), "{id}");
        }
        let body: Value = serde_json::from_str(&body).expect("it is JSON");
        assert_eq!(body["triggering_event_id"], run["triggering_event_id"]);
        notes.insert(text(&body["note"]["note_id"]));
    }
    assert_eq!(notes, made, "each note was told of");
    assert_eq!(
        delivered.len(),
        runs.len(),
        "nothing arrived that no run sent"
    );
    let again = receiver.count.load(Ordering::Relaxed) - delivered.len() as u64;
    tell(&format!("{} messages, {again} sent again", delivered.len()));
}

/// One message, sent until it was taken in. Gives the event that it became.
fn deliver(shared: &Shared, hook: &str, secret: &HookSecret, id: &str) -> String {
    let body = json!({ "about": id });
    let text_of_body = body.to_string();
    loop {
        let address = shared.wait_for_address();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.expect("the clock is set").as_secs();
        let signature = secret.sign(id, now, text_of_body.as_bytes());
        let headers = format!(
            "webhook-id: {id}\r\nwebhook-timestamp: {now}\r\nwebhook-signature: {signature}"
        );
        shared.writes_sent.fetch_add(1, Ordering::Relaxed);
        let line = format!("POST /api/hooks/{hook}");
        match http::ask(&address, &line, &headers, Some(&body)) {
            // Too many in a second, or the server is gone: senders come again.
            Ok(reply) if reply.status == 429 => {}
            Ok(reply) => {
                assert_eq!(reply.status, 202, "{reply:?}");
                return text(&reply.json()["event_id"]);
            }
            Err(_) => {
                shared.sent_again.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Sends messages until it is over, many of them twice; gives their events by id.
fn deliver_all(
    number: u64,
    shared: &Shared,
    hook: &str,
    secret: &HookSecret,
) -> BTreeMap<String, String> {
    let mut taken = BTreeMap::new();
    while !is_over(shared) && taken.len() < MESSAGES_MAX {
        let id = format!("msg-{number}-{}", taken.len());
        let event = deliver(shared, hook, secret, &id);
        if taken.len() % 3 == 0 {
            assert_eq!(deliver(shared, hook, secret, &id), event, "{id}");
        }
        taken.insert(id, event);
    }
    taken
}

#[test]
fn a_message_that_was_taken_in_has_its_one_firing_whenever_the_server_is_killed() {
    let mut storm = Storm::begin(&json!({}));
    let workspace = storm.workspace();
    let rule = json!({
        "workspace_id": workspace, "trigger": "webhook",
        "action_json": { "kind": "notify", "title": "A message" },
    });
    let rule = storm.made("/api/automation/rules", "rule", rule);
    let secret = HookSecret::read(&text(&rule["secret"])).expect("it is shown once");
    let (hook, shared) = (text(&rule["rule_id"]), storm.shared.clone());
    let taken = storm.rage(WRITERS, &shared.writes_sent, |number, shared| {
        deliver_all(number, shared, &hook, &secret)
    });
    let taken: BTreeMap<String, String> = taken.into_iter().flatten().collect();
    storm.restart();
    for (id, event) in taken.iter().step_by(5) {
        assert_eq!(deliver(&shared, &hook, &secret, id), *event, "{id}");
    }
    let runs = storm.runs();
    let mut fired: Vec<String> = runs
        .iter()
        .map(|it| text(&it["triggering_event_id"]))
        .collect();
    fired.sort();
    let mut expected: Vec<String> = taken.values().cloned().collect();
    expected.sort();
    assert_eq!(fired, expected, "each message has one run");
    let succeeded = runs.iter().filter(|run| run["status"] == "succeeded");
    assert_eq!(succeeded.count(), runs.len(), "{runs:?}");
    let path = format!("/api/notices?workspace_id={workspace}");
    let notices = shared.list(&path, "notices");
    let told: BTreeSet<String> = notices.iter().map(|it| text(&it["run_id"])).collect();
    assert_eq!(
        (notices.len(), told.len()),
        (runs.len(), runs.len()),
        "one notice each"
    );
    let again = shared.sent_again.load(Ordering::Relaxed);
    tell(&format!("{} messages, {again} had no answer", taken.len()));
}
