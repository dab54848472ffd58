//! A model of the test's own behind HTTP, in the shape of LM Studio. What it says follows from the memory that it is
//! shown and from nothing else: asked the same again, it says the same again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use bonded_testkit::provider::{Asked, Provider, Reply, said_to};
use serde_json::json;

use crate::server::Shared;

/// A request that asks for this makes notes which set off another rule.
pub(crate) const CHAIN: &str = "please chain";

/// The loops of a run: two or three, by its name.
pub(crate) fn loops_of(run: &str) -> u64 {
    2 + run.bytes().map(u64::from).sum::<u64>() % 2
}

/// The title of the note that a loop makes.
pub(crate) fn title(run: &str, number: u64, is_chained: bool) -> String {
    let end = match (number, is_chained) {
        (0, true) => " first",
        _ => "",
    };
    format!("agent {run} {number}{end}")
}

/// Serves until the process ends; says where.
pub(crate) fn serve(shared: Arc<Shared>) -> String {
    let provider = Provider::answering(move |asked| answer(asked, &shared));
    provider.forgetting().keeping_connections().base_url()
}

fn answer(asked: &Asked, shared: &Shared) -> Reply {
    let (text, is_last) = reply(asked);
    let replies = shared.replies.fetch_add(1, Ordering::Relaxed) + 1;
    // Time for a kill to fall into a request.
    thread::sleep(Duration::from_millis(replies % 8));
    if is_last {
        shared.last_replies.fetch_add(1, Ordering::Relaxed);
    }
    said_to(asked, &json!({ "role": "assistant", "content": text }))
}

/// What the model says, and whether it is the last it has to say.
fn reply(asked: &Asked) -> (String, bool) {
    let run = asked.memory("run_id").unwrap_or_default();
    let run = run.as_str();
    let run = run.unwrap_or_else(|| panic!("no memory names the run: {}", asked.text));
    let total = asked
        .memory("total")
        .and_then(|it| it.as_u64())
        .unwrap_or(0);
    let mark = asked.memory("mark").unwrap_or_default();
    let mark = mark.as_str().and_then(|mark| mark.split_once(' '));
    let number = match mark {
        Some((known, number)) if known == run => number.parse().map_or(0, |it: u64| it + 1),
        _ => 0,
    };
    let is_last = number + 1 >= loops_of(run);
    let said = instructions(run, number, total, asked.said().contains(CHAIN));
    match is_last {
        true => (
            format!("{said}<state_add><state>idle</state></state_add>"),
            true,
        ),
        false => (said, false),
    }
}

/// One loop: the memory counts it, a note is made, the one before is changed, and a person is told.
fn instructions(run: &str, number: u64, total: u64, is_chained: bool) -> String {
    let note = json!({ "title": title(run, number, is_chained), "markdown": format!("made by {run} {number}") });
    let mut said = format!(
        "<ram_add><key>mark</key><value>{run} {number}</value></ram_add>\
         <ram_add><key>total</key><value>{}</value></ram_add>\
         <record_add><keywords>storm</keywords><value>{note}</value></record_add>\
         <record_issue><key>{run} {number}</key><value>look</value><metadata>{{}}</metadata></record_issue>",
        total + 1
    );
    if number > 0 {
        let before = title(run, number - 1, is_chained);
        let changed = json!({ "markdown": format!("changed by {run} {number}") });
        said.push_str(&format!(
            "<record_update><key>{before}</key><value>{changed}</value></record_update>"
        ));
    }
    said
}
