//! The context guard: how much of a turn goes into counting tokens.
//!
//! Instructions are counted instead of time, because a share of a few percent drowns in the noise of a
//! clock. What the system does for the process is not among them, so the true share is smaller still.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::agent::prose;
use super::callgrind::{self, Instructions};
use super::desk::{Desk, Encoding};
use super::figure::{Figure, Goal};
use super::process::measure as measure_process;
use super::rig::Rig;
use crate::fault::Fault;
use crate::root;
use crate::stage::{cargo, run};

/// Everything that counts tokens or estimates them.
const COUNTING: [&str; 4] = [
    "bonded_kernel::tokens::",
    "bonded_kernel::context::",
    "bonded_host::counter::",
    "bonded_transport::tokens::",
];

const SHARE_PERCENT_MAX: f64 = 10.0;

/// Two runs are watched. What the longer one does more is what turns do, without what it takes to start.
const TURNS: [usize; 2] = [2, 12];

const NOTE_BYTES: usize = 3200;
const LARGE_BYTES: usize = 200_000;

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    if !callgrind_works() {
        println!("valgrind is missing: the share of counting was not measured");
        return Ok(vec![]);
    }
    let program = build_with_symbols(rig)?;
    let [_, notes] = TURNS;
    let usual = Desk::set_up(rig, "usual", notes, |number| prose(number, NOTE_BYTES))?;
    let large = Desk::set_up(rig, "large", notes, |number| {
        letter(number).to_string().repeat(LARGE_BYTES)
    })?;
    let figure = |name: &str, desk: &Desk<'_>| {
        let share = share_percent(rig, &program, desk)?;
        let goal = Goal::AtMost(SHARE_PERCENT_MAX);
        Ok(Figure::new(name, "%", share, goal))
    };
    Ok(vec![
        figure("counting tokens in a turn, results of 3.2 KB", &usual)?,
        figure("the same, results of 200 KB of one letter", &large)?,
    ])
}

/// Each note has its own letter, so that none is kept in the place of another.
fn letter(number: usize) -> char {
    char::from(b'a' + (number % 26) as u8)
}

fn callgrind_works() -> bool {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "true"]);
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    silent.is_ok_and(|status| status.success())
}

/// The measured program has no names in it. The same code with names is linked beside it, and then the
/// program once more, so that everything else is measured as it is delivered.
fn build_with_symbols(rig: &Rig) -> Result<PathBuf, Fault> {
    let build = ["--release", "--package", "bonded", "--bin", "bonded"];
    let with_names = ["--", "-C", "strip=none"];
    run(cargo(["rustc"].into_iter().chain(build).chain(with_names)))?;
    let program = rig.path("bonded-with-symbols");
    fs::copy(root().join("target/release/bonded"), &program).map_err(Fault::file(&program))?;
    run(cargo(["build"].into_iter().chain(build)))?;
    Ok(program)
}

fn share_percent(rig: &Rig, program: &Path, desk: &Desk<'_>) -> Result<f64, Fault> {
    let [short, long] = TURNS;
    let (less, more) = (
        watch(rig, program, desk, short)?,
        watch(rig, program, desk, long)?,
    );
    let counting = more.within as f64 - less.within as f64;
    let all = more.all as f64 - less.all as f64;
    Ok(counting / all * 100.0)
}

/// Runs the agent under `callgrind`.
fn watch(rig: &Rig, program: &Path, desk: &Desk<'_>, turns: usize) -> Result<Instructions, Fault> {
    let profile = rig.path("callgrind.out");
    let agent = desk.run(turns, Encoding::XmlFinal)?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(agent.get_args());
    if let Some(dir) = agent.get_current_dir() {
        valgrind.current_dir(dir).env("HOME", dir);
    }
    let said = measure_process(valgrind)?.stdout;
    if !said.contains(Desk::REPORT) {
        let why = format!("the agent reported something else: {said}");
        return Err(Fault::unmeasured(why));
    }
    let text = fs::read_to_string(&profile).map_err(Fault::file(&profile))?;
    callgrind::read(&text, &COUNTING)
}
