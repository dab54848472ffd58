//! An agent that works in loops: what a loop costs beside its model.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::served::Served;
use super::{Rig, data_dir};
use crate::bench::figure::{Figure, Goal, median};
use crate::bench::process::measure as measure_process;
use crate::fault::Fault;

const LOOPS_SHORT: u64 = 50;
const LOOPS_LONG: u64 = 550;
const CPU_MS_MAX: f64 = 2.0;

/// How long a run may take to end after its last loop, and how often that is looked at.
const ENDING_MAX: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(200);

/// A long run less a short one.
pub(super) fn measure(rig: &Rig) -> Result<Figure, Fault> {
    let data = data_dir(rig, "loops")?;
    let model = rig.server.base_url();
    let config = data.join("config.json");
    let listed = format!(r#"{{"automation": {{"allowed_providers": ["lmstudio={model}"]}}}}"#);
    fs::write(&config, listed).map_err(Fault::file(&config))?;
    let short = Looping::add(rig, &data, LOOPS_SHORT)?;
    let long = Looping::add(rig, &data, LOOPS_LONG)?;
    let served = Served::ours(rig, &data)?;
    let mut per_loop_ms = vec![];
    for _ in 0..rig.rounds {
        let more_ms = long.cpu_ms(&served)? - short.cpu_ms(&served)?;
        per_loop_ms.push(more_ms / (LOOPS_LONG - LOOPS_SHORT) as f64);
    }
    Ok(Figure::new(
        "CPU of a loop of an agent",
        "ms",
        median(per_loop_ms),
        Goal::AtMost(CPU_MS_MAX),
    ))
}

/// A rule whose runs have so many loops.
struct Looping<'a> {
    rig: &'a Rig,
    data: &'a Path,
    loops: u64,
    rule: String,
}

impl<'a> Looping<'a> {
    fn add(rig: &'a Rig, data: &'a Path, loops: u64) -> Result<Self, Fault> {
        let base_url = rig.server.base_url();
        let provider = format!(
            r#"{{"provider_kind": "lmstudio", "base_url": "{base_url}", "model": "loops"}}"#
        );
        let pace =
            format!(r#"{{"loop_delay_ms": 0, "idle_delay_ms": 0, "max_iterations": {loops}}}"#);
        let action = format!(
            r#"{{"kind": "kjxlkj_agent", "request": "go on", "provider": {provider}, "loop": {pace}}}"#
        );
        let rule = format!(r#"{{"trigger": "manual", "action_json": {action}}}"#);
        let file = data.join(format!("rule-{loops}.json"));
        fs::write(&file, rule).map_err(Fault::file(&file))?;
        let mut looping = Self {
            rig,
            data,
            loops,
            rule: String::new(),
        };
        let mut add = looping.command("add");
        add.arg(&file);
        measure_process(add)?
            .stdout
            .trim()
            .clone_into(&mut looping.rule);
        Ok(looping)
    }

    fn command(&self, word: &str) -> Command {
        let mut command = Command::new(&self.rig.programs.bonded);
        command.args(["rule", word, "--data"]).arg(self.data);
        command
    }

    /// What the server used for a run.
    fn cpu_ms(&self, served: &Served) -> Result<f64, Fault> {
        served.settle()?;
        let before = served.cpu()?;
        let seen = self.rig.server.seen()?.requests;
        let mut launch = self.command("launch");
        launch.arg(&self.rule);
        measure_process(launch)?;
        self.rig.server.wait_for(seen + self.loops)?;
        self.wait_for_end()?;
        Ok((served.cpu()? - before).as_secs_f64() * 1e3)
    }

    fn wait_for_end(&self) -> Result<(), Fault> {
        let begun = Instant::now();
        while begun.elapsed() < ENDING_MAX {
            let mut runs = self.command("runs");
            runs.args(["--rule", &self.rule, "--limit", "1", "--json"]);
            let shown = measure_process(runs)?.stdout;
            // It ends because it may not have more loops, which is what was wanted.
            if shown.contains("\"TURNS_EXHAUSTED\"") {
                return Ok(());
            }
            if shown.contains("\"error_code\":\"") {
                return Err(Fault::unmeasured(format!("a run of loops failed: {shown}")));
            }
            thread::sleep(LOOK);
        }
        Err(Fault::unmeasured("a run of loops did not end"))
    }
}
