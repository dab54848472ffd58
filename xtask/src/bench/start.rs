//! From the start of the process to the moment in which the server has its first request.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::{Running, measure as measure_process};
use super::rig::{Rig, numbers};
use super::server::now_us;
use crate::fault::Fault;

/// Starts are short, so many of them are made in each round.
const STARTS_PER_ROUND: usize = 4;

const LOOKUPS: usize = 10_000;
const FAMILY_US_MAX: f64 = 200.0;

/// The first reply ends the run.
const ONE_REQUEST: &str = "turns-0";

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let (mut known, mut new, mut told, mut floor) = (vec![], vec![], vec![], vec![]);
    let home = home_that_says_the_window(rig)?;
    let store = rig.fresh("start-ours")?;
    let db = rig.fresh("start-floor")?;
    for number in 0..rig.rounds * STARTS_PER_ROUND {
        let id = format!("start-{number}");
        known.push(first_request_ms(rig, rig.ours(&store, &id, ONE_REQUEST))?);
        let unmade = rig.fresh("start-new")?;
        new.push(first_request_ms(rig, rig.ours(&unmade, &id, ONE_REQUEST))?);
        let mut with_window = rig.bonded(&store);
        with_window
            .args(["run", "--id", &format!("told-{number}"), "read the notes"])
            .args(["--quiet", "--model", &format!("mine/{ONE_REQUEST}")])
            .arg("--dir")
            .arg(rig.notes())
            .env("HOME", &home);
        told.push(first_request_ms(rig, with_window)?);
        let mut bare = rig.floor(&db, 1, 1, ONE_REQUEST);
        bare.arg("--start");
        floor.push(first_request_ms(rig, bare)?);
    }
    let floor = median(floor);
    Ok(vec![
        Figure::new(
            "start to first request",
            "ms",
            median(known),
            Goal::AtMost(20.0),
        )
        .beside(floor),
        Figure::new(
            "the same with a new store",
            "ms",
            median(new),
            Goal::Nothing,
        )
        .beside(floor),
        Figure::new(
            "the same where the server need not be asked for its window",
            "ms",
            median(told),
            Goal::Nothing,
        )
        .beside(floor),
        family(rig)?,
    ])
}

/// A server on this machine is asked how much its model takes in before the first request, unless somebody has said it.
fn home_that_says_the_window(rig: &Rig) -> Result<PathBuf, Fault> {
    let home = rig.path("home-with-window");
    let dir = home.join(".ai-agent");
    fs::create_dir_all(&dir).map_err(Fault::file(&dir))?;
    let config = format!(
        r#"{{"providers":{{"mine":{{"type":"openai","baseUrl":"{}","models":{{"{ONE_REQUEST}":{{"contextWindow":128000}}}}}}}}}}"#,
        rig.server.base_url()
    );
    let file = dir.join("ai-agent.json");
    fs::write(&file, config).map_err(Fault::file(&file))?;
    Ok(home)
}

/// What is known of the run's model is looked up once, when it starts.
fn family(rig: &Rig) -> Result<Figure, Fault> {
    let (mut ours, mut floor) = (vec![], vec![]);
    for _ in 0..rig.rounds {
        let mut command = Command::new(&rig.programs.tool_costs);
        command.args(["family", &LOOKUPS.to_string()]);
        let [family_ns, map_ns] = numbers(&measure_process(command)?.stdout)?;
        ours.push(family_ns as f64 / 1e3);
        floor.push(map_ns as f64 / 1e3);
    }
    let name = "what is known of a model, by its name";
    let figure = Figure::new(name, "us", median(ours), Goal::AtMost(FAMILY_US_MAX));
    Ok(figure.beside(median(floor)))
}

/// The time until the server has one more request, in milliseconds; then waits for the process to end.
fn first_request_ms(rig: &Rig, command: Command) -> Result<f64, Fault> {
    let (running, took_ms) = next_request_ms(rig, command)?;
    running.wait()?;
    Ok(took_ms)
}

/// The time until the server has one more request, in milliseconds.
pub(crate) fn next_request_ms(rig: &Rig, command: Command) -> Result<(Running, f64), Fault> {
    let before = rig.server.seen()?.requests;
    let begun_us = now_us();
    let running = Running::spawn(command)?;
    let seen = rig.server.wait_for(before + 1)?;
    let took_us = seen.last_at_us.saturating_sub(begun_us);
    Ok((running, took_us as f64 / 1e3))
}
