//! Many workers on one PostgreSQL server, killed and stopped while they drive runs: all of this version, or every second
//! one of another.

use std::path::PathBuf;
use std::process::Command;

use crate::debian;
use crate::fault::Fault;
use crate::options::Options;
use crate::root;
use crate::stage::{cargo, run, stage};

const RUNS_DEFAULT: u64 = 2_000;
const KILLS_DEFAULT: u64 = 500;
const WORKERS_DEFAULT: u64 = 8;
const STOP_MS: u64 = 60_000;

const MIXED_RUNS_DEFAULT: u64 = 200;
const MIXED_KILLS_DEFAULT: u64 = 60;

/// `fleet`: in release, unless a build in `target/debug` shall do.
pub(crate) fn fleet(words: &[String]) -> Result<(), Fault> {
    let known = ["--runs", "--kills", "--workers", "--seed", "--profile"];
    let options = Options::parse(words, &known)?;
    let runs: u64 = options.number("--runs")?.unwrap_or(RUNS_DEFAULT);
    let kills: u64 = options.number("--kills")?.unwrap_or(KILLS_DEFAULT);
    let workers: u64 = options.number("--workers")?.unwrap_or(WORKERS_DEFAULT);
    let mut command = test(options.text("--profile").unwrap_or("release"), &options)?;
    command
        .env("BONDED_FLEET_RUNS", runs.to_string())
        .env("BONDED_FLEET_KILLS", kills.to_string())
        .env("BONDED_FLEET_WORKERS", workers.to_string())
        .env("BONDED_FLEET_STOP_MS", STOP_MS.to_string());
    let title = format!("{runs} runs, {workers} workers killed and stopped {kills} times");
    stage(&title, || run(command))
}

/// `mixed-versions`: builds another version below `target`, and has workers of both drive the runs of one store.
pub(crate) fn mixed_versions(words: &[String]) -> Result<(), Fault> {
    let Some((revision, rest)) = words.split_first() else {
        let why = "mixed-versions needs a revision, such as the tag of the release before";
        return Err(Fault::Usage { why: why.into() });
    };
    let options = Options::parse(rest, &["--runs", "--kills", "--seed"])?;
    let runs: u64 = options.number("--runs")?.unwrap_or(MIXED_RUNS_DEFAULT);
    let kills: u64 = options.number("--kills")?.unwrap_or(MIXED_KILLS_DEFAULT);
    let mut other = None;
    stage(&format!("a build of {revision}"), || {
        other = Some(build(revision)?);
        Ok(())
    })?;
    let mut command = test("dev", &options)?;
    command
        .env("BONDED_FLEET_RUNS", runs.to_string())
        .env("BONDED_FLEET_KILLS", kills.to_string())
        .envs(other.map(|program| ("BONDED_FLEET_OTHER", program)));
    let title = format!("{runs} runs and {kills} kills, this version and {revision} on one store");
    stage(&title, || run(command))
}

/// Checks the revision out and builds its program; gives where that is.
fn build(revision: &str) -> Result<PathBuf, Fault> {
    let place = root().join("target/mixed-versions");
    let checkout = place.join("checkout");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(root()).args(words);
        git
    };
    let there = checkout.display().to_string();
    if !checkout.exists() {
        // What is left of one that was removed by hand is in the way.
        run(git(&["worktree", "prune"]))?;
        run(git(&[
            "worktree", "add", "--force", "--detach", &there, revision,
        ]))?;
    }
    run(git(&["-C", &there, "checkout", "--detach", revision]))?;
    let mut build = cargo(["build", "--package", "bonded", "--target-dir"]);
    build.arg(&place).current_dir(&checkout);
    run(build)?;
    Ok(place.join("debug/bonded"))
}

/// The test of the fleet, in this profile.
fn test(profile: &str, options: &Options<'_>) -> Result<Command, Fault> {
    debian::POSTGRES.install()?;
    let mut command = cargo(["test", "--workspace", "--test", "postgres"]);
    if profile != "dev" {
        command.args(["--profile", profile]);
    }
    command.args(["--", "--nocapture", "fleet::"]);
    command.env("BONDED_POSTGRES", debian::postgres_programs());
    if let Some(seed) = options.number::<u64>("--seed")? {
        command.env("BONDED_FLEET_SEED", seed.to_string());
    }
    Ok(command)
}
