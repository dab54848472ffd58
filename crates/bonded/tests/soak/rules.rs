//! A rule that notes set off: for each such note there is one run, and each run makes one note.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http;
use crate::rng::Rng;
use crate::world::World;
use bonded_testkit::patience::PATIENCE;

const DOOR: &str = "rule";

/// The end of a title that sets the rule off.
const GO: &str = " go";

pub(crate) fn furnish(world: &World, model: &str) {
    let rule = json!({
        "workspace_id": world.workspace_id,
        "trigger": "workspace_event.note_created",
        "condition_json": { "field": "note.title", "op": "ends_with", "value": GO },
        "action_json": {
            "kind": "kjxlkj_agent",
            "request": "make a note",
            "provider": { "provider_kind": "lmstudio", "base_url": model, "model": "m" },
            "mode": "yolo",
            "memory": { "kv_store_path": "./data/soak.json" },
            "loop": { "loop_delay_ms": 5, "idle_delay_ms": 5 },
        },
    });
    let line = "POST /api/automation/rules";
    let headers = format!("{}\r\nIdempotency-Key: rule", world.owner);
    let made = http::ask(&world.workspace_at, line, &headers, Some(&rule));
    let made = made.expect("the server answers");
    assert_eq!(made.status, 201, "{made:?}");
}

pub(crate) fn set_off(world: &World) {
    let mut rng = Rng::of(world.seed, 400);
    let mut number = 0;
    while !world.is_over() {
        number += 1;
        let title = format!("set off {number}{GO}");
        let body = json!({ "workspace_id": world.workspace_id, "title": title, "markdown": "x" });
        let headers = format!("{}\r\nIdempotency-Key: go-{number}", world.owner);
        let made = http::ask(
            &world.workspace_at,
            "POST /api/notes",
            &headers,
            Some(&body),
        );
        if world
            .judge("rule, trigger", made, |reply| reply.status == 201)
            .is_some()
        {
            world.tally.count(DOOR, "set off");
        }
        world.pause(Duration::from_millis(1_000 + rng.below(6_000)));
    }
}

/// Everything of a list that comes in pages.
fn list(world: &World, path: &str, name: &str) -> Vec<Value> {
    let mut all = vec![];
    let mut offset = Some(0);
    while let Some(at) = offset {
        let line = format!("GET {path}&limit=200&offset={at}");
        let page = http::ask(&world.workspace_at, &line, &world.owner, None);
        let page = page.map(|page| page.value()).unwrap_or_default();
        offset = page["next_offset"].as_u64();
        all.extend(page[name].as_array().cloned().unwrap_or_default());
    }
    all
}

/// Waits for the last runs, and holds them against the notes that set them off.
pub(crate) fn check(world: &World) -> Vec<String> {
    let workspace = &world.workspace_id;
    let began = Instant::now();
    let runs = loop {
        let runs = list(
            world,
            &format!("/api/automation/runs?workspace_id={workspace}"),
            "runs",
        );
        let is_open =
            |run: &Value| ["queued", "running"].contains(&run["status"].as_str().unwrap_or(""));
        if !runs.iter().any(is_open) || began.elapsed() > PATIENCE {
            break runs;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    let notes = list(
        world,
        &format!("/api/notes?workspace_id={workspace}"),
        "notes",
    );
    let titles: Vec<&str> = notes.iter().filter_map(|it| it["title"].as_str()).collect();
    let set_off = titles.iter().filter(|title| title.ends_with(GO)).count();
    let mut by_status: BTreeMap<String, usize> = BTreeMap::new();
    let mut findings = vec![];
    for run in &runs {
        let status = run["status"].as_str().unwrap_or_default();
        *by_status.entry(status.to_owned()).or_default() += 1;
        let title = format!("agent {}", run["run_id"].as_str().unwrap_or_default());
        let made = titles.iter().filter(|it| **it == title).count();
        if made > 1 || (made == 0 && status == "succeeded") {
            findings.push(format!(
                "{DOOR}: {made} notes of a run that {status}: {run}"
            ));
        }
    }
    for (status, count) in &by_status {
        crate::rng::tell(&format!("runs of the rule: {count} {status}"));
    }
    if runs.len() != set_off {
        findings.push(format!("{DOOR}: {} runs for {set_off} notes", runs.len()));
    }
    findings
}
