//! The long forms of tests that run shortly with all others: more worlds, more kills, in release.

use crate::fault::Fault;
use crate::options::Options;
use crate::sdk;
use crate::stage::{cargo, run, stage};

const SEEDS_DEFAULT: u64 = 100_000;
const KILLS_DEFAULT: u64 = 500;
const WORK_KILLS_DEFAULT: u64 = 300;
const WORKSPACE_KILLS_DEFAULT: u64 = 200;
const TREES_DEFAULT: u64 = 100;
const ROUNDS_DEFAULT: u64 = 1_000;
const EXAMPLES_DEFAULT: u64 = 200;
const SOAK_SECONDS_DEFAULT: u64 = 3_600;
const SIGNAL_ROUNDS_DEFAULT: u64 = 50;

pub(crate) fn sim(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--seeds", "--from"])?;
    let seeds = options.number("--seeds")?.unwrap_or(SEEDS_DEFAULT);
    let from: u64 = options.number("--from")?.unwrap_or(0);
    for (test, worlds) in [("simulation", "worlds"), ("leases", "fleets")] {
        let mut command = release_test("bonded-testkit", test);
        command
            .env("BONDED_SIM_SEEDS", seeds.to_string())
            .env("BONDED_SIM_FROM", from.to_string());
        stage(&format!("{seeds} seeded {worlds} from {from} on"), || {
            run(command)
        })?;
    }
    Ok(())
}

pub(crate) fn crash(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--kills"])?;
    let kills = options.number("--kills")?.unwrap_or(KILLS_DEFAULT);
    let mut command = release_test("bonded", "crash");
    command.env("BONDED_CRASH_KILLS", kills.to_string());
    stage(&format!("{kills} kills"), || run(command))
}

pub(crate) fn work_crash(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--kills", "--trees"])?;
    let kills = options.number("--kills")?.unwrap_or(WORK_KILLS_DEFAULT);
    let trees = options.number("--trees")?.unwrap_or(TREES_DEFAULT);
    let mut command = release_test("bonded", "work_crash");
    command
        .env("BONDED_WORK_CRASH_KILLS", kills.to_string())
        .env("BONDED_WORK_CRASH_TREES", trees.to_string())
        .env("BONDED_WORK_CRASH_PLANS", "2");
    stage(
        &format!(
            "a plan killed at every boundary and {kills} times at random, {trees} random trees"
        ),
        || run(command),
    )
}

pub(crate) fn workspace_crash(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--kills", "--seed"])?;
    let kills = options
        .number("--kills")?
        .unwrap_or(WORKSPACE_KILLS_DEFAULT);
    let seed: Option<u64> = options.number("--seed")?;
    let mut command = release_test("bonded", "workspace_crash");
    command.env("BONDED_WORKSPACE_CRASH_KILLS", kills.to_string());
    if let Some(seed) = seed {
        command.env("BONDED_WORKSPACE_CRASH_SEED", seed.to_string());
    }
    stage(&format!("a workspace server killed {kills} times"), || {
        run(command)
    })
}

/// The build that is tested may be another one than the test's own, so that it is not built anew meanwhile.
pub(crate) fn soak(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--seconds", "--seed", "--program"])?;
    let seconds = options.number("--seconds")?;
    let seconds: u64 = seconds.unwrap_or(SOAK_SECONDS_DEFAULT);
    let seed: Option<u64> = options.number("--seed")?;
    let mut command = release_test("bonded", "soak");
    command.env("BONDED_SOAK_SECONDS", seconds.to_string());
    if let Some(seed) = seed {
        command.env("BONDED_SOAK_SEED", seed.to_string());
    }
    if let Some(program) = options.text("--program") {
        command.env("BONDED_SOAK_PROGRAM", program);
    }
    stage(&format!("all servers under load for {seconds} s"), || {
        run(command)
    })
}

pub(crate) fn signals(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--rounds", "--seed"])?;
    let rounds = options.number("--rounds")?;
    let rounds: u64 = rounds.unwrap_or(SIGNAL_ROUNDS_DEFAULT);
    let seed: Option<u64> = options.number("--seed")?;
    // Plans and the workspace's server have worlds of their own in the tests that kill them.
    let suites = [
        ("signals", "", "BONDED_SIGNAL_SEED"),
        ("work_crash", "any_signal", "BONDED_WORK_CRASH_SEED"),
        (
            "workspace_crash",
            "any_signal",
            "BONDED_WORKSPACE_CRASH_SEED",
        ),
    ];
    for (suite, only, seeded) in suites {
        let mut command = release_test("bonded", suite);
        command
            .arg(only)
            .env("BONDED_SIGNAL_ROUNDS", rounds.to_string());
        if let Some(seed) = seed {
            command.env(seeded, seed.to_string());
        }
        let title = format!("every signal at {rounds} moments: {suite}");
        stage(&title, || run(command))?;
    }
    Ok(())
}

/// Every attack in release, the long ones in their full length.
pub(crate) fn attack(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--rounds"])?;
    let rounds = options.number("--rounds")?.unwrap_or(ROUNDS_DEFAULT);
    let mut command = release_test("bonded", "attack");
    sdk::install()?.tell(&mut command);
    command.env("BONDED_ATTACK_ROUNDS", rounds.to_string());
    stage(&format!("attacks, {rounds} rounds of each race"), || {
        run(command)
    })
}

pub(crate) fn schemathesis(words: &[String]) -> Result<(), Fault> {
    let options = Options::parse(words, &["--examples"])?;
    let examples = options.number("--examples")?.unwrap_or(EXAMPLES_DEFAULT);
    let mut command = cargo([
        "test",
        "--package",
        "bonded-serve",
        "--test",
        "http",
        "schemathesis",
    ]);
    sdk::install()?.tell(&mut command);
    command.env("BONDED_SCHEMATHESIS_EXAMPLES", examples.to_string());
    stage(&format!("{examples} requests for each route"), || {
        run(command)
    })
}

fn release_test(package: &str, test: &str) -> std::process::Command {
    cargo([
        "test",
        "--release",
        "--package",
        package,
        "--test",
        test,
        "--",
        "--nocapture",
    ])
}
