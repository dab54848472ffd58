//! Every option changes what is seen from outside, wherever it may be set, and the higher place wins.

mod probes;

use bonded_host::config::options::{OptionKind, OptionRow, TABLE};
use serde_json::{Value, json};

use crate::world::{Outcome, World};
use probes::{of_approvals, of_limits, of_processes, of_requests, of_the_process, of_the_sandbox};

/// How an option is looked at: a value, another one that must lose against it, and what is seen.
struct Probe {
    key: &'static str,
    wins: &'static str,
    loses: &'static str,
    /// What is seen where the first value holds, and where nobody says anything.
    seen: Value,
    unsaid: Value,
    stage: fn() -> World,
    look: fn(&Seen) -> Value,
}

struct Seen {
    world: World,
    outcome: Outcome,
}

impl Seen {
    /// A field of the first request.
    fn asked(&self, field: &str) -> Value {
        self.outcome.requests[0][field].clone()
    }
}

/// A place where an option may be set.
#[derive(Clone, Copy, Debug)]
enum Place {
    Override,
    Flag(&'static str),
    FrontMatter,
    Config(&'static str),
}

/// The places of a row, highest first.
fn places(row: &OptionRow) -> Vec<Place> {
    let mut places = vec![];
    places.extend(row.overridable.then_some(Place::Override));
    places.extend(row.flag.map(Place::Flag));
    places.extend(row.front_matter.then_some(Place::FrontMatter));
    places.extend(row.config.iter().map(|path| Place::Config(path)));
    places
}

/// Runs a stage with these values set.
fn run(row: &OptionRow, probe: &Probe, set: &[(Place, &str)]) -> Seen {
    let mut world = (probe.stage)();
    let mut flags = vec![];
    for (place, value) in set {
        match place {
            Place::Override => {
                flags.extend(["--override".to_owned(), format!("{}={value}", row.key)]);
            }
            Place::Flag(flag) if row.kind == OptionKind::Flag => flags.push(match *value {
                "true" => (*flag).to_owned(),
                _ => flag.replace("--", "--no-"),
            }),
            Place::Flag(flag) => flags.extend([(*flag).to_owned(), (*value).to_owned()]),
            Place::FrontMatter => world = world.front(&format!("{}: {value}", row.key)),
            Place::Config(path) => {
                let value: Value = value.parse().unwrap_or_else(|_| json!(value));
                let names = path.rsplit('.');
                world = world.config(&names.fold(value, |below, name| json!({ name: below })));
            }
        }
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let outcome = world.run(&flags, "do it");
    assert!(!outcome.requests.is_empty(), "{}: {outcome:#?}", row.key);
    Seen { world, outcome }
}

fn check(row: &OptionRow, probe: &Probe) {
    let places = places(row);
    for (at, winner) in places.iter().enumerate() {
        let below = places[at + 1..].iter().map(|place| (*place, probe.loses));
        let set: Vec<_> = [(*winner, probe.wins)].into_iter().chain(below).collect();
        let seen = (probe.look)(&run(row, probe, &set));
        assert_eq!(seen, probe.seen, "{} with {set:?}", row.key);
    }
    let unsaid = (probe.look)(&run(row, probe, &[]));
    assert_eq!(
        unsaid, probe.unsaid,
        "{} where nobody says anything",
        row.key
    );
}

fn probes() -> Vec<Probe> {
    let mut probes = of_requests();
    probes.extend(of_limits());
    probes.extend(of_approvals());
    probes.extend(of_the_process());
    probes.extend(of_the_sandbox());
    probes.extend(of_processes());
    probes
}

#[test]
fn every_option_of_the_table_has_a_probe_and_every_probe_an_option() {
    let mut probed: Vec<&str> = probes().iter().map(|probe| probe.key).collect();
    let mut known: Vec<&str> = TABLE.iter().map(|row| row.key).collect();
    probed.sort_unstable();
    known.sort_unstable();
    assert_eq!(probed, known);
}

/// Checks the options of one list; the lists run side by side.
fn check_all(probes: Vec<Probe>) {
    for probe in probes {
        let row = TABLE.iter().find(|row| row.key == probe.key);
        check(row.expect("every probe has an option"), &probe);
    }
}

#[test]
fn what_a_provider_is_sent_follows_the_highest_place_that_says_it() {
    check_all(of_requests());
}

#[test]
fn what_bounds_a_run_follows_the_highest_place_that_says_it() {
    check_all(of_limits());
}

#[test]
fn what_a_run_may_do_without_asking_follows_the_highest_place_that_says_it() {
    check_all(of_approvals());
}

#[test]
fn what_the_program_does_beside_a_run_follows_the_highest_place_that_says_it() {
    check_all(of_the_process());
}

#[test]
fn how_far_commands_reach_follows_the_highest_place_that_says_it() {
    check_all(of_the_sandbox());
}

#[test]
fn what_the_processes_of_commands_may_use_follows_the_highest_place_that_says_it() {
    check_all(of_processes());
}
