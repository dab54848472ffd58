//! Ten calls of one reply: they take as long as one of them.

use std::fs;
use std::path::PathBuf;

use super::figure::{Figure, Goal};
use super::process::measure as measure_process;
use super::rig::Rig;
use crate::fault::Fault;

const CALLS: usize = 10;
const CALL_MS: u64 = 100;
const ALL_MS_MAX: f64 = 130.0;

/// What is measured is a sleep: the best of several tries is the one that nobody else disturbed.
const TRIES: usize = 10;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let dir = rig.path("wave");
    fs::create_dir_all(&dir).map_err(Fault::file(&dir))?;
    write_files(rig, &dir)?;
    let mut best_ms = f64::INFINITY;
    for number in 0..TRIES {
        let store = rig.fresh(&format!("wave-{number}"))?;
        let mut run = rig.bonded(&store);
        run.args(["run", "--quiet", "--trust", "--id", "wave", "go"])
            .arg("--config")
            .arg(dir.join("config.json"))
            .arg("--agent")
            .arg(dir.join("agent.ai"))
            .arg("--dir")
            .arg(rig.notes())
            .current_dir(rig.notes())
            .env("HOME", &dir);
        measure_process(run)?;
        let mut show = rig.bonded(&store);
        show.args(["show", "--json", "wave"]);
        best_ms = best_ms.min(taken_ms(&measure_process(show)?.stdout)?);
    }
    let figure = Figure::new(
        "10 calls of 100 ms in one reply, first begun to last kept",
        "ms",
        best_ms,
        Goal::AtMost(ALL_MS_MAX),
    );
    Ok(vec![figure.beside(CALL_MS as f64)])
}

/// An agent, its server, and what its model says.
fn write_files(rig: &Rig, dir: &std::path::Path) -> Result<(), Fault> {
    let call = format!("{{\"tool\":\"server__slow\",\"arguments\":{{\"ms\":{CALL_MS}}}}}");
    let calls = vec![call; CALLS].join(",");
    let report = "{\"tool\":\"agent__final_report\",\"arguments\":{\"report_format\":\"text\",\
                  \"content\":\"done\",\"status\":\"success\"}}";
    let script = format!("{{\"calls\":[{calls}]}}\n{{\"calls\":[{report}]}}\n");
    let server = rig.programs.tool_server.display();
    let config = format!("{{\"mcpServers\":{{\"server\":{{\"command\":\"{server}\"}}}}}}\n");
    let path = dir.join("script.jsonl");
    let agent = format!(
        "---\nmodels: script:{}\ntools: [server]\nmaxToolCallsPerTurn: {CALLS}\n---\nGo.\n",
        path.display()
    );
    let files: [(PathBuf, String); 3] = [
        (path, script),
        (dir.join("config.json"), config),
        (dir.join("agent.ai"), agent),
    ];
    for (path, text) in files {
        fs::write(&path, text).map_err(Fault::file(&path))?;
    }
    Ok(())
}

/// From the first intent to the last result of the first turn, as the log has it.
fn taken_ms(log: &str) -> Result<f64, Fault> {
    let times = |kind: &str| {
        let of_kind = log
            .lines()
            .filter(|line| line.contains(&format!("\"kind\":\"{kind}\"")));
        let calls = of_kind.filter(|line| line.contains("\"tool\":\"server__slow\""));
        calls.filter_map(at_of).collect::<Vec<u64>>()
    };
    let (begun, ended) = (times("tool_invoked"), times("tool_finished"));
    match (begun.first(), ended.last()) {
        (Some(first), Some(last)) if ended.len() == CALLS => Ok(last.saturating_sub(*first) as f64),
        _ => Err(Fault::unmeasured("the calls of a reply are not in the log")),
    }
}

fn at_of(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("\"at\":")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}
