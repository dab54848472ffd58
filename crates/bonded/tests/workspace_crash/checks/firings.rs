//! Every event that qualifies for a rule has its one run, nothing else has one, and every run has ended.

use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::{EventId, Millis};
use bonded_workspace_rules::{WorkspaceEvent, firing_event_id, run_of_firing};
use serde_json::Value;

use super::writes::History;
use crate::notes::Acknowledged;
use crate::remains::Remains;
use crate::rules::{CHAIN_DEPTH, Kind, Watched, text};

const MINUTE_MS: u64 = 60_000;

/// A server that is about to be killed may be late with an instant, and one that was killed needs to be back.
const LATE_MS: u64 = 5_000;

/// Gives how many runs there were.
pub(super) fn check(remains: &Remains) -> usize {
    let history = History::of(remains);
    let mut counted = 0;
    for rule in &remains.world.rules {
        let fired = fired(remains, rule);
        counted += fired.len();
        match rule.kind {
            Kind::Cron => check_instants(remains, rule, &fired),
            Kind::Manual => check_launches(remains, &fired, |it| &it.launches),
            Kind::GivenUp => check_launches(remains, &fired, |it| &it.given_up),
            _ => assert_eq!(fired, meant(remains, rule, &history), "{rule:?}"),
        }
    }
    assert_eq!(counted, remains.runs.len(), "every run has a rule");
    for run in &remains.runs {
        check_end(remains, run);
    }
    for (id, (run, _)) in &remains.logs {
        assert!(run.termination().is_some(), "the log of {id} has no end");
    }
    check_moves(remains);
    counted
}

/// What a rule fired for. A second run for the same would stop here.
fn fired(remains: &Remains, rule: &Watched) -> BTreeSet<String> {
    let id = rule.rule_id.to_string();
    let mut fired = BTreeSet::new();
    for run in remains.runs.iter().filter(|run| run["rule_id"] == id) {
        let event = text(&run["triggering_event_id"]);
        let parsed: EventId = event.parse().expect("an event has an id");
        let named = run_of_firing(rule.rule_id, parsed).to_string();
        assert_eq!(run["run_id"], named);
        assert!(fired.insert(event), "fired twice: {run}");
    }
    fired
}

fn meant(remains: &Remains, rule: &Watched, history: &History) -> BTreeSet<String> {
    let events = remains.events.values().flatten();
    let meant = events.filter(|event| {
        history
            .after(event)
            .is_some_and(|note| rule.is_meant(event, note))
    });
    meant.map(|event| event.event_id.to_string()).collect()
}

fn check_launches(
    remains: &Remains,
    fired: &BTreeSet<String>,
    launched: impl Fn(&Acknowledged) -> &Vec<(String, String)>,
) {
    let launches: Vec<_> = remains.told.iter().flat_map(launched).collect();
    for (key, run) in &launches {
        let is_there = remains.runs.iter().any(|it| it["run_id"] == *run);
        assert!(is_there, "{key} launched {run}");
        assert_eq!(remains.left.get(key), Some(&1), "{key} left one event");
    }
    assert_eq!(launches.len(), fired.len());
}

/// Every minute from the beginning to the end fired.
fn check_instants(remains: &Remains, rule: &Watched, fired: &BTreeSet<String>) {
    let (from, surely, at_most) = remains.scheduled;
    let first = from.0 / MINUTE_MS + 1;
    let instants = |until: u64| -> BTreeSet<String> {
        (first..=until / MINUTE_MS)
            .map(|minute| firing_event_id(rule.rule_id, Millis(minute * MINUTE_MS)).to_string())
            .collect()
    };
    let needed = instants(surely.0.saturating_sub(LATE_MS));
    assert!(
        fired.is_superset(&needed),
        "{fired:?} lacks some of {needed:?}"
    );
    let allowed = instants(at_most.0);
    // The rule was made a moment before it was looked at the clock.
    assert!(fired.len() <= allowed.len() + 1, "{fired:?}");
}

/// A run succeeded, or failed for the one reason that there is here.
fn check_end(remains: &Remains, run: &Value) {
    let depth = run["depth"].as_u64().expect("a depth is a number");
    let kind = remains.kind_of(run);
    let end = (run["status"].as_str(), run["error_code"].as_str());
    match end {
        (Some("succeeded"), None) => assert!(depth <= CHAIN_DEPTH, "{run}"),
        (Some("failed"), Some("CHAIN_DEPTH_EXCEEDED")) => assert!(depth > CHAIN_DEPTH, "{run}"),
        (Some("cancelled"), Some("RULE_DISABLED")) => assert_eq!(kind, Kind::Cron, "{run}"),
        (Some("cancelled"), None) => assert_eq!(kind, Kind::GivenUp, "{run}"),
        _ => panic!("{run}"),
    }
}

/// The stream tells of each run that it was queued, at most once that it began, and once that it ended.
fn check_moves(remains: &Remains) {
    let mut moves: BTreeMap<String, [u32; 3]> = BTreeMap::new();
    for event in remains.events.values().flatten() {
        let (run, place) = match &event.event {
            WorkspaceEvent::AutomationQueued(it) => (&it.run_id, 0),
            WorkspaceEvent::AutomationRunning { run_id, .. } => (run_id, 1),
            WorkspaceEvent::AutomationSucceeded(it)
            | WorkspaceEvent::AutomationFailed(it)
            | WorkspaceEvent::AutomationCancelled(it) => (&it.run_id, 2),
            _ => continue,
        };
        moves.entry(run.to_string()).or_default()[place] += 1;
    }
    assert_eq!(moves.len(), remains.runs.len());
    for (run, counted) in moves {
        let [queued, begun, ended] = counted;
        assert_eq!((queued, ended), (1, 1), "{run}");
        assert!(begun <= 1, "{run} began {begun} times");
    }
}
