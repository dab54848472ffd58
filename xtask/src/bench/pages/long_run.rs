//! The pages of a run with 100,000 calls: how long each answer takes, and what the server needs for all of them.

use std::fs;
use std::time::Instant;

use super::http::{ask, bearer, text_of};
use crate::bench::figure::{Figure, Goal};
use crate::bench::process::measure as measure_process;
use crate::bench::rig::Rig;
use crate::bench::served::Served;
use crate::fault::Fault;

const CALLS: usize = 1000;
const TURNS: usize = 100;

/// In MB, with all that was asked for before.
const MEMORY_MB_MAX: f64 = 400.0;

/// What a page asks for, and how long it may wait in milliseconds.
const ASKED: [(&str, &str, f64); 6] = [
    ("the list with a run of 100,000 calls", "/api/runs", 50.0),
    ("the run's page", "/api/runs/many", 1000.0),
    (
        "its first 500 entries",
        "/api/runs/many/entries?after=0&limit=500",
        50.0,
    ),
    (
        "1,000 entries in its middle",
        "/api/runs/many/entries?after=150000&limit=1000",
        100.0,
    ),
    (
        "what the model saw in its second turn",
        "/api/runs/many/saw/2",
        100.0,
    ),
    (
        "what the model saw in its last turn",
        "/api/runs/many/saw/101",
        1500.0,
    ),
];

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let store = rig.fresh("many-calls")?;
    let script = rig.path("many-calls.jsonl");
    fs::write(&script, lines()).map_err(Fault::file(&script))?;
    let mut run = rig.bonded(&store);
    run.args(["run", "--id", "many", "--quiet", "--no-prompt", "--model"]);
    run.arg(format!("script/{}", script.display()));
    run.args([
        "--max-turns",
        "200",
        "--max-calls",
        "1000",
        "--no-progress",
        "0",
        "--dir",
    ]);
    run.arg(rig.notes()).arg("make very many calls");
    measure_process(run)?;
    let (served, secret) = Served::pages(rig, &store)?;
    let session = ask(
        served.port,
        "POST /api/session",
        "",
        &format!("{{\"link\":\"{secret}\"}}"),
    )?;
    let headers = bearer(&text_of(&session, "token")?);
    let mut figures = vec![];
    for (name, path, most_ms) in ASKED {
        let begun = Instant::now();
        ask(served.port, &format!("GET {path}"), &headers, "")?;
        let took_ms = begun.elapsed().as_secs_f64() * 1e3;
        figures.push(Figure::new(name, "ms", took_ms, Goal::AtMost(most_ms)));
    }
    let memory = served.memory()?.resident;
    let name = "memory after these";
    figures.push(Figure::new(name, "MB", memory, Goal::AtMost(MEMORY_MB_MAX)));
    Ok(figures)
}

/// A model that makes all calls, and the last one.
fn lines() -> String {
    let call = |number: usize| {
        format!("{{\"tool\":\"read\",\"arguments\":{{\"path\":\"note-{number}.txt\"}}}}")
    };
    let calls: Vec<String> = (0..CALLS).map(call).collect();
    format!(
        "{{\"text\":\"Step.\",\"calls\":[{}],\"repeat\":{TURNS}}}\n{}\n",
        calls.join(","),
        "{\"calls\":[{\"tool\":\"done\",\"arguments\":{\"reason\":\"all\"}}]}"
    )
}
