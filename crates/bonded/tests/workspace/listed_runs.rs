//! `bonded runs` and `bonded show` find the runs of rules without being told where they lie.

use std::os::unix::fs::PermissionsExt as _;

use bonded_testkit::clients::Clients;
use bonded_testkit::place::{Done, finish, start};
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, report};

/// As a person calls it who names no store.
fn unnamed(place: &Place, words: &[&str]) -> Done {
    finish(start(place.command(words).env_remove("BONDED_STORE")))
}

fn listed(place: &Place) -> Vec<Value> {
    let listed = unnamed(place, &["runs", "--json"]);
    listed.succeeds();
    let lines = listed.stdout.lines();
    lines.map(bonded_testkit::place::parse).collect()
}

/// Where the data directories are noted.
const NOTED: &str = ".local/share/bonded/workspaces.json";

/// A workspace in `data` whose rule `tidy` was launched and has run an agent; gives the run.
fn with_run_of_a_rule(place: &Place) -> String {
    let allowed = json!({ "automation": { "allowed_dirs": { "*": ["../projects"] } } });
    place.write("data/config.json", allowed.to_string());
    let agent = place.agent("tidy", &[report("tidied")], "");
    let text = std::fs::read(agent).expect("it was written");
    place.write("projects/tidy.ai", text);
    let mut serve = place.serve_data();
    let (server, address) = Process::serve(serve.env_remove("BONDED_STORE"));
    let clients = Clients::of(place, address);
    let mut socket = clients.owner.socket();
    socket.follow_workspace(&clients.workspace(), Some(0));
    let rule = json!({
        "workspace_id": clients.workspace(), "trigger": "manual", "name": "tidy",
        "action_json": { "kind": "run", "agent_file": "tidy.ai", "goal": "Tidy up." },
    });
    let rule = clients.owner.post("/api/automation/rules", &rule);
    assert_eq!(rule.status, 201, "{rule:?}");
    let rule = rule.json()["rule_id"].as_str().map(str::to_owned);
    let path = format!("/api/automation/rules/{}/launch", rule.expect("an id"));
    let run = clients.owner.post(&path, &json!({})).json()["run_id"].clone();
    while !["succeeded", "failed"].contains(&socket.next()["status"].as_str().unwrap_or_default()) {
    }
    assert_eq!(server.end(Signal::TERM).code, Some(0));
    run.as_str().expect("a run has an id").to_owned()
}

#[test]
fn a_run_of_a_rule_is_steered_where_its_server_is_and_the_message_says_where() {
    let place = Place::new();
    let run = with_run_of_a_rule(&place);
    let data = place.path("data").canonicalize().expect("it is there");
    let commands: [&[&str]; 4] = [
        &["resume"],
        &["cancel"],
        &["approve"],
        &["fork", "--turn", "1"],
    ];
    for command in commands {
        let refused = unnamed(&place, &[command, &[&run[..8]]].concat());
        assert_eq!(refused.code, Some(4), "{refused:?}");
        let started = format!("bonded serve --data {}", data.display());
        assert!(refused.stderr.contains(&started), "{refused:?}");
    }
}

#[test]
fn the_runs_of_rules_are_listed_and_shown_without_naming_their_directory() {
    let place = Place::new();
    let run = with_run_of_a_rule(&place);
    let rows = listed(&place);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["runId"], json!(run));
    let data = place.path("data").canonicalize().expect("it is there");
    let from = json!({ "kind": "rule", "rule": "tidy", "data": data });
    assert_eq!(rows[0]["from"], from);
    let table = unnamed(&place, &["runs"]).stdout;
    assert!(table.contains("rule tidy in data: Tidy up."), "{table}");
    let shown = unnamed(&place, &["show", &run[..8]]);
    shown.succeeds();
    assert!(shown.stdout.contains("Tidy up."), "{shown:?}");
    unnamed(&place, &["replay", &run[..8]]).succeeds();
    let verified = unnamed(&place, &["verify", &run[..8]]);
    assert!(verified.stdout.contains("log intact"), "{verified:?}");
    // A store that is named is looked into alone.
    let named = place.bonded(&["--store", "other.db", "runs"]);
    named.fails_with(4, "store-missing");
    let store = place.path(".local/share/bonded/store.db");
    assert!(!store.exists(), "a look makes nothing");
}

#[test]
fn a_directory_is_noted_once_privately_and_dropped_when_it_is_gone() {
    let place = Place::new();
    for name in ["one", "two", "one"] {
        let dir = place.path(name).display().to_string();
        unnamed(&place, &["init", &dir]).succeeds();
    }
    let noted = || -> Vec<String> {
        let text = std::fs::read_to_string(place.path(NOTED)).expect("it is there");
        let dirs: Vec<String> = serde_json::from_str(&text).expect("a list");
        let name = |dir: &String| dir.rsplit('/').next().unwrap_or_default().to_owned();
        dirs.iter().map(name).collect()
    };
    assert_eq!(noted(), ["one", "two"]);
    let mode = place.path(NOTED).metadata().expect("it is there");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    std::fs::remove_dir_all(place.path("two")).expect("it can be removed");
    let gone = unnamed(&place, &["runs"]);
    assert_eq!(
        (gone.code, gone.stderr.contains("two")),
        (Some(0), false),
        "{gone:?}"
    );
    assert_eq!(noted(), ["one", "two"], "a look changes nothing");
    let dir = place.path("three").display().to_string();
    unnamed(&place, &["init", &dir]).succeeds();
    assert_eq!(noted(), ["three", "one"]);
}

#[test]
fn a_list_that_names_what_is_not_the_persons_is_passed_over() {
    let place = Place::new();
    let run = with_run_of_a_rule(&place);
    let data = place.path("data").canonicalize().expect("it is there");
    for list in [
        "not a list",
        "{}",
        "[1]",
        "[\"relative\", \"/proc\", \"/no/such\"]",
    ] {
        place.write(NOTED, list);
        let listed = unnamed(&place, &["runs"]);
        assert_eq!(
            (listed.code, listed.stdout.as_str()),
            (Some(0), ""),
            "{list}: {listed:?}"
        );
    }
    // A link of the user's leads to nothing that was noted.
    std::os::unix::fs::symlink(&data, place.path("link")).expect("a link can be made");
    place.write(NOTED, json!([place.path("link")]).to_string());
    assert_eq!(listed(&place), Vec::<Value>::new());
    // The store of somebody else in a directory of the user's own.
    place.write(NOTED, json!([data]).to_string());
    assert_eq!(listed(&place)[0]["runId"], json!(run));
    if rustix::process::geteuid().is_root() {
        let nobody = Some(rustix::fs::Uid::from_raw(65_534));
        rustix::fs::chown(data.join("bonded.db"), nobody, None).expect("root may");
        let closed = unnamed(&place, &["runs"]);
        assert_eq!(
            (closed.code, closed.stdout.as_str()),
            (Some(0), ""),
            "{closed:?}"
        );
        let why = format!(
            "not listed: the runs of {}: its files belong",
            data.display()
        );
        assert!(closed.stderr.contains(&why), "{closed:?}");
    }
}
