//! Schedules of rules through a night in which clocks change, with four servers whose own clocks differ and which are killed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bonded_kernel::{Millis, RuleId};
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::Place;
use bonded_testkit::postgres::Database;
use bonded_testkit::shim;
use bonded_workspace_rules::firing_event_id;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::clocks;
use crate::workspaces::{self, Served};

/// How many seconds each server's clock is ahead.
const SKEWS: [i64; 4] = [30, -30, 11, -4];
const HALF_HOUR_S: i64 = 1_800;

/// A night in Berlin.
struct Night {
    /// In seconds since 1970, ten minutes before the first instant.
    begins: i64,
    /// How many half hours it has.
    half_hours: i64,
    /// When the line for half past two fires.
    named: i64,
}

/// 31 October 2027: 02:00 to 03:00 comes twice, and half past two fires the first time.
const AUTUMN: Night = Night {
    begins: 1_824_936_600,
    half_hours: 9,
    named: 1_824_942_600,
};

/// 28 March 2027: 02:00 to 03:00 is skipped, and half past two fires at the moment of the change.
const SPRING: Night = Night {
    begins: 1_806_191_400,
    half_hours: 7,
    named: 1_806_195_600,
};

impl Night {
    fn half_hours(&self) -> impl Iterator<Item = i64> {
        let first = self.begins + 600;
        (0..self.half_hours).map(move |number| first + number * HALF_HOUR_S)
    }
}

/// A server and its clock, which outlives it.
struct Clocked {
    served: Served,
    clock: PathBuf,
    skew: i64,
}

impl Clocked {
    fn serve(database: &Database, clock: &Path, skew: i64, now: i64) -> Self {
        set(clock, now + skew);
        let served = workspaces::serve_with(database, |command| {
            command.env("LD_PRELOAD", shim::built(clocks::SHIM));
            command.env("WALL_CLOCK_FILE", clock);
        });
        Self {
            served,
            clock: clock.to_owned(),
            skew,
        }
    }
}

/// Has a clock say that it is this time now.
fn set(clock: &Path, time: i64) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.expect("it is after 1970").as_secs();
    clocks::set(clock, time - i64::try_from(now).expect("a time"));
}

fn rule(workspace: &str, cron: &str) -> Value {
    json!({
        "workspace_id": workspace,
        "trigger": "automation_schedule.cron",
        "schedule": {
            "cron": cron, "timezone": "Europe/Berlin", "catch_up": "all", "overlap": "queue",
        },
        "condition_json": {},
        "action_json": { "kind": "notify", "title": cron },
        "enabled": true,
    })
}

/// Makes a rule; gives its id.
fn made(of: &Served, draft: &Value) -> String {
    let made = of.clients.owner.post("/api/automation/rules", draft);
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["rule_id"].as_str().expect("an id").to_owned()
}

/// One that has schedules looked at when it is made, as the end of a nap does, and does not fire itself.
fn poke(of: &Served, workspace: &str) {
    let mut draft = rule(workspace, "0 0 1 1 *");
    draft["schedule"]["catch_up"] = "skip".into();
    made(of, &draft);
}

/// The instants for which a rule fired, by their events, as often as it did.
fn fired(of: &Served, workspace: &str, rule: &str) -> Vec<String> {
    let path = format!("/api/automation/runs?workspace_id={workspace}&status=succeeded&limit=200");
    let listed = of.clients.owner.get(&path).json();
    let runs = listed["runs"].as_array().cloned();
    let runs = runs.unwrap_or_else(|| panic!("{listed}")).into_iter();
    let of_rule = runs.filter(|run| run["rule_id"] == *rule);
    let event = |run: Value| run["triggering_event_id"].as_str().map(str::to_owned);
    of_rule.filter_map(event).collect()
}

fn events(rule: &str, instants: impl Iterator<Item = i64>) -> BTreeSet<String> {
    let rule: RuleId = rule.parse().expect("an id");
    let millis = instants.map(|at| Millis(at.unsigned_abs() * 1_000));
    let events = millis.map(|at| firing_event_id(rule, at).to_string());
    events.collect()
}

fn check(night: &Night) {
    let Some(database) = workspaces::database() else {
        return;
    };
    let place = Place::new();
    let mut servers: Vec<Clocked> = SKEWS
        .iter()
        .enumerate()
        .map(|(number, skew)| {
            let clock = place.write(&format!("clock-{number}"), "0");
            Clocked::serve(&database, &clock, *skew, night.begins)
        })
        .collect();
    let workspace = servers[0].served.clients.workspace();
    let often = made(&servers[0].served, &rule(&workspace, "*/30 * * * *"));
    let named = made(&servers[1].served, &rule(&workspace, "30 2 * * *"));
    for (number, instant) in night.half_hours().enumerate() {
        // For the first of them it is time, for the others it is not yet.
        for server in &servers {
            set(&server.clock, instant - 15 + server.skew);
        }
        let killed = number % servers.len();
        poke(&servers[(number + 1) % servers.len()].served, &workspace);
        let Clocked {
            served,
            clock,
            skew,
        } = servers.remove(killed);
        served.process.end(Signal::KILL);
        let again = Clocked::serve(&database, &clock, skew, instant + 40);
        servers.insert(killed, again);
        for server in &servers {
            set(&server.clock, instant + 40 + server.skew);
        }
        let alive = &servers[killed].served;
        poke(alive, &workspace);
        wait_until("it has fired", || {
            fired(alive, &workspace, &often).len() > number
        });
    }
    let last = &servers[0].served;
    wait_until("it has fired", || {
        !fired(last, &workspace, &named).is_empty()
    });
    for (rule, expected) in [
        (&often, events(&often, night.half_hours())),
        (&named, events(&named, [night.named].into_iter())),
    ] {
        let fired = fired(last, &workspace, rule);
        assert_eq!(fired.len(), expected.len(), "{fired:?}");
        assert_eq!(fired.into_iter().collect::<BTreeSet<_>>(), expected);
    }
    let notices = workspaces::notices(&last.clients, &workspace);
    let expected = usize::try_from(night.half_hours + 1).expect("a few");
    assert_eq!(notices, expected, "what was done");
}

#[test]
fn an_hour_that_comes_twice_fires_once_whoever_is_killed_and_whatever_their_clocks_say() {
    check(&AUTUMN);
}

#[test]
fn an_hour_that_is_skipped_fires_once_whoever_is_killed_and_whatever_their_clocks_say() {
    check(&SPRING);
}
