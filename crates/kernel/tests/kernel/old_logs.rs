//! Whole logs that older builds wrote, each at the last state of its format: this build reads them, would write them
//! again byte for byte, and goes on with them as they did. A file of logs is never edited.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bonded_kernel::{
    AuditFault, BadEntry, Edition, Effect, Entry, Event, GoalId, Hash, Header, Millis, RunId,
    audit, next, replay,
};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::common::World;
use super::format::kinds_of;

/// The logs of one version, one after the other; `run_started` begins the next.
struct Version {
    format: u16,
    edition: u64,
    /// In how many ways its runs could end.
    ends: usize,
    lines: &'static str,
}

const VERSIONS: [Version; 7] = [
    Version {
        format: 1,
        edition: 0,
        ends: 8,
        lines: include_str!("../logs/format-1.jsonl"),
    },
    Version {
        format: 2,
        edition: 0,
        ends: 8,
        lines: include_str!("../logs/format-2.jsonl"),
    },
    Version {
        format: 3,
        edition: 0,
        ends: 8,
        lines: include_str!("../logs/format-3.jsonl"),
    },
    Version {
        format: 4,
        edition: 0,
        ends: 9,
        lines: include_str!("../logs/format-4.jsonl"),
    },
    Version {
        format: 5,
        edition: 0,
        ends: 9,
        lines: include_str!("../logs/format-5.jsonl"),
    },
    Version {
        format: 6,
        edition: 1,
        ends: 9,
        lines: include_str!("../logs/format-6-edition-1.jsonl"),
    },
    Version {
        format: 7,
        edition: 2,
        ends: 9,
        lines: include_str!("../logs/format-7-edition-2.jsonl"),
    },
];

/// An entry as a store keeps it, with what only its place would tell.
#[derive(Clone, Deserialize)]
struct Line<'a> {
    /// The first entry of a log has the run and the goal.
    run: Option<&'a str>,
    goal: Option<&'a str>,
    format: u16,
    seq: u64,
    at: u64,
    turn: u32,
    /// The last entry of a step has its hash, and what the older build then waited for.
    hash: Option<&'a str>,
    next: Option<&'a str>,
    /// Long texts, at the first entry of the log that refers to them.
    #[serde(default)]
    blobs: Vec<String>,
    #[serde(borrow)]
    event: &'a RawValue,
}

type Log<'a> = Vec<Line<'a>>;

impl Version {
    fn logs(&self) -> Vec<Log<'static>> {
        let mut logs: Vec<Log<'static>> = vec![];
        for text in self.lines.lines() {
            let line: Line<'static> = serde_json::from_str(text).expect("a line of a log");
            if line.event.get().starts_with(r#"{"run_started":"#) {
                logs.push(vec![]);
            }
            logs.last_mut().expect("a log begins").push(line);
        }
        logs
    }
}

/// Opens a log as a store does. `body` says what is read in place of what an entry holds; where it says anything, the
/// hashes are not those of the entries and are left out.
fn opened(
    log: &Log<'_>,
    body: impl Fn(&Line<'_>) -> Option<String>,
) -> Result<Vec<Entry>, BadEntry> {
    let changed = log.iter().any(|line| body(line).is_some());
    let texts = log.iter().flat_map(|line| &line.blobs);
    let blobs: BTreeMap<Hash, Arc<str>> = texts
        .map(|text| (Hash::of(text.as_bytes()), text.as_str().into()))
        .collect();
    let run = RunId::new(log[0].run.expect("a log names its run")).expect("a usable id");
    let goal = log[0].goal.expect("a log names its goal");
    let goal = GoalId::from_stored(goal);
    let mut entries: Vec<Entry> = vec![];
    for line in log {
        let header = Header {
            format: line.format,
            run: run.clone(),
            goal: goal.clone(),
            seq: line.seq,
            at: Millis(line.at),
            turn: line.turn,
            prev: entries.last().map_or(Hash::ZERO, |entry| entry.hash),
        };
        let hash = line.hash.map(|hash| hash.parse().expect("a hash"));
        let body = body(line).unwrap_or_else(|| line.event.get().to_owned());
        let body: Arc<[u8]> = body.as_bytes().into();
        let hash = hash.filter(|_| !changed);
        entries.push(Entry::open(header, hash, body, |hash| {
            blobs.get(hash).cloned().map(Into::into)
        })?);
    }
    Ok(entries)
}

fn as_written(log: &Log<'_>) -> Vec<Entry> {
    let entries = opened(log, |_| None);
    assert!(entries.is_ok(), "{:?} in {}", entries.err(), log[0].event);
    entries.expect("checked just now")
}

/// Every log of every version, with its name for whoever reads a failure.
fn each(mut check: impl FnMut(&str, &Log<'_>)) {
    for version in &VERSIONS {
        for (i, log) in version.logs().iter().enumerate() {
            check(&format!("log {i} of format {}", version.format), log);
        }
    }
}

#[test]
fn the_logs_of_older_builds_pass_the_audit_of_this_one() {
    each(|name, log| {
        let audited = audit(&as_written(log));
        assert!(audited.is_ok(), "{name}: {audited:?}");
    });
}

#[test]
fn the_entries_of_older_builds_are_written_again_byte_for_byte() {
    each(|name, log| {
        for (line, entry) in log.iter().zip(as_written(log)) {
            let written = serde_json::to_string(&entry.event).expect("events have string keys");
            assert_eq!(written, line.event.get(), "{name}");
        }
    });
}

#[test]
fn after_every_step_of_an_older_build_this_one_waits_for_the_same() {
    each(|name, log| {
        let entries = as_written(log);
        let ends = (1..=log.len()).filter(|count| log[count - 1].next.is_some());
        for count in ends {
            let run = replay(&entries[..count]).expect("the log of a run");
            let waited = log[count - 1].next.expect("filtered just now");
            assert_eq!(said(&next(&run)), waited, "{name} after {count} entries");
        }
        assert!(
            log.iter()
                .all(|line| line.hash.is_some() == line.next.is_some())
        );
        assert!(log.last().is_some_and(|line| line.hash.is_some()));
    });
}

#[test]
fn a_run_that_an_older_build_began_goes_on_in_this_one_and_passes_the_audit_as_a_whole() {
    each(|name, log| {
        let goes_on = |line: &Line<'_>| line.next.is_some_and(|it| !it.starts_with("stop"));
        let Some(last) = log.iter().rposition(goes_on) else {
            return;
        };
        let mut world = World::from_log(as_written(log)[..=last].to_vec());
        world.wake();
        world.after(1).resume();
        world.after(1).cancel("enough");
        assert!(world.ended().is_some(), "{name}");
        let audited = audit(&world.entries);
        assert!(audited.is_ok(), "{name}: {audited:?}");
    });
}

fn said(effect: &Effect) -> String {
    match effect {
        Effect::Ask { turn, attempt } => format!("ask {turn} {attempt}"),
        Effect::Wait { until } => format!("wait {}", until.0),
        Effect::Invoke(invocation) => format!("invoke {} {}", invocation.turn(), invocation.call()),
        Effect::Review(_) => "review".to_owned(),
        Effect::Stop(ended) => {
            let kind = json!(ended.kind);
            format!("stop {}", kind.as_str().expect("a kind is a word"))
        }
    }
}

#[test]
fn the_logs_of_a_version_have_its_format_every_kind_of_event_and_its_edition() {
    for version in &VERSIONS {
        let mut found = BTreeSet::new();
        let mut editions = BTreeSet::new();
        for entry in version.logs().iter().flat_map(as_written) {
            assert_eq!(entry.format, version.format);
            found.insert(entry.event.kind());
            if let Event::RunStarted(started) = &entry.event {
                editions.insert(json!(started.config.edition).as_u64());
            }
        }
        let known: BTreeSet<&str> = kinds_of(version.format).into_iter().collect();
        assert_eq!(found, known, "format {}", version.format);
        assert!(editions.contains(&Some(version.edition)), "{editions:?}");
    }
}

#[test]
fn the_logs_of_a_version_end_in_every_way_that_it_knew() {
    for version in &VERSIONS {
        let mut found = BTreeSet::new();
        for entry in version.logs().iter().flat_map(as_written) {
            if let Event::RunEnded(ended) = &entry.event {
                found.insert(json!(ended.termination.kind).to_string());
            }
        }
        assert_eq!(
            found.len(),
            version.ends,
            "format {}: {found:?}",
            version.format
        );
    }
}

/// The event of an attempt, as if another request had been sent.
fn with_another_request(line: &Line<'_>) -> Option<String> {
    let (before, request) = line.event.get().split_once(r#""request":""#)?;
    let is_attempt = before.starts_with(r#"{"attempt_started":"#);
    let digit = request.chars().next().filter(|_| is_attempt)?;
    let other = if digit == '0' { '1' } else { '0' };
    Some(format!(r#"{before}"request":"{other}{}"#, &request[1..]))
}

#[test]
fn a_decision_that_was_changed_in_an_old_log_is_noticed_where_it_stands() {
    each(|name, log| {
        let mut attempts = log
            .iter()
            .rev()
            .filter(|line| with_another_request(line).is_some());
        let Some(seq) = attempts.next().map(|line| line.seq) else {
            return;
        };
        let change = |line: &Line<'_>| with_another_request(line).filter(|_| line.seq == seq);
        let entries = opened(log, change).expect("the hashes are left out");
        match audit(&entries) {
            Err(AuditFault::Diverged(place)) => assert_eq!(place.seq, seq, "{name}"),
            other => assert!(seq <= taken_over(&entries[0]), "{name}: {other:?}"),
        }
    });
}

/// How many entries a forked run took over, which an audit does not make again.
fn taken_over(first: &Entry) -> u64 {
    match &first.event {
        Event::RunStarted(started) => started.forked_from.as_ref().map_or(0, |from| from.entries),
        _ => 0,
    }
}

#[test]
fn one_changed_byte_breaks_the_chain_of_an_old_log() {
    each(|name, log| {
        let mut log = log.clone();
        log[0].at += 1;
        let first_hash = log.iter().find(|line| line.hash.is_some());
        let seq = first_hash.expect("the last entry has one").seq;
        let opened = opened(&log, |_| None);
        assert_eq!(opened.err(), Some(BadEntry::BrokenChain { seq }), "{name}");
    });
}

/// The beginning of a run, as if it were decided as new runs are.
fn as_of_now(line: &Line<'_>) -> Option<String> {
    let mut event: serde_json::Value = serde_json::from_str(line.event.get()).expect("JSON");
    let config = event.get_mut("run_started")?.get_mut("config")?;
    config["edition"] = json!(Edition::NEWEST);
    Some(event.to_string())
}

#[test]
fn the_logs_of_every_older_version_hold_what_is_decided_otherwise_now() {
    for version in &VERSIONS {
        let logs = version.logs();
        let differs = |log: &&Log<'_>| {
            let entries = opened(log, as_of_now).expect("the hashes are left out");
            audit(&entries).is_err()
        };
        let count = logs.iter().filter(differs).count();
        assert!(count > 0, "format {}", version.format);
    }
}
