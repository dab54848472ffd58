//! A sandbox that is tried: a command is started in it, and what it could do is looked at from outside.

use std::io;
use std::path::Path;
use std::time::Duration;

use bonded_kernel::SandboxLevel;

use crate::process;
use crate::sandbox::{Launcher, Manner, Sandbox, SandboxPolicy};

const PATIENCE: Duration = Duration::from_secs(20);
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Tries everything that it must not be able to do, and says what it sees.
const SCRIPT: &str = "\
echo x > made; echo x > ../outside; cat ../hidden; mkdir -p sub && echo x > sub/agent.ai; \
tail -n +3 /proc/self/net/dev; ls /proc/self/fd; echo started";

const SECRET: &str = "kept-from-commands";

/// What a command in the sandbox could do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The parts that held the command, as a log has them.
    pub in_force: String,
    /// What was refused, as it should be.
    pub refused: Vec<&'static str>,
    /// What was possible and should not have been.
    pub possible: Vec<&'static str>,
}

/// Starts a command at a level, with whatever the machine can enforce. The error is why it cannot be started.
pub async fn attempt(level: SandboxLevel, launcher: &Launcher) -> io::Result<Trial> {
    let place = tempfile::tempdir()?;
    let dir = place.path().join("work");
    std::fs::create_dir(&dir)?;
    std::fs::write(place.path().join("outside"), "as it was")?;
    std::fs::write(place.path().join("hidden"), SECRET)?;
    let policy = SandboxPolicy {
        level,
        best_effort: true,
        hidden_paths: vec![place.path().join("hidden")],
        ..SandboxPolicy::default()
    };
    let sandbox = Sandbox::prepare(policy, &dir, launcher).map_err(io::Error::other)?;
    let mut confined = sandbox.command_in(Manner::Watched, "sh", ["-c", SCRIPT], &dir)?;
    let finished = process::run(&mut confined, None, OUTPUT_BYTES_MAX, PATIENCE).await?;
    let output = finished.stdout.shown(OUTPUT_BYTES_MAX);
    if let Some(why) = confined.fault() {
        return Err(io::Error::other(why));
    }
    confined.settle();
    if !output.ends_with("started\n") {
        return Err(io::Error::other(
            "a command that was started did not come to its end",
        ));
    }
    let (mut refused, mut possible) = (vec![], vec![]);
    for (what, was_possible) in seen(level, place.path(), &output) {
        match was_possible {
            true => possible.push(what),
            false => refused.push(what),
        }
    }
    Ok(Trial {
        in_force: sandbox.in_force().to_string(),
        refused,
        possible,
    })
}

/// What the level forbids, and whether it happened.
fn seen(level: SandboxLevel, place: &Path, output: &str) -> Vec<(&'static str, bool)> {
    let outside = std::fs::read_to_string(place.join("outside"));
    let has_interfaces = output
        .lines()
        .filter_map(|line| line.trim_start().split_once(':'))
        .any(|(name, _)| name != "lo");
    let descriptors = output.lines().filter_map(|line| line.parse::<u32>().ok());
    // The listing itself has one open.
    let has_descriptors = descriptors.filter(|number| *number > 2).count() > 1;
    let inherited = ("descriptors of others", has_descriptors);
    if level == SandboxLevel::Full {
        return vec![inherited];
    }
    let mut seen = vec![
        (
            "writing outside",
            outside.ok().as_deref() != Some("as it was"),
        ),
        ("reading what is hidden", output.contains(SECRET)),
        (
            "making an agent file",
            place.join("work/sub/agent.ai").exists(),
        ),
        ("the network", has_interfaces),
        inherited,
    ];
    if level == SandboxLevel::ReadOnly {
        seen.push(("writing in the directory", place.join("work/made").exists()));
    }
    seen
}
