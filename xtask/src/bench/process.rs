//! Processes that are measured.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cpu;
use crate::fault::Fault;
use crate::stage::shown;

/// How often the memory of a process is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// What a process cost from its start to its end, and what it printed.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    pub(crate) stdout: String,
}

/// Runs a command to its end. One that fails has not been measured.
pub(crate) fn measure(mut command: Command) -> Result<Measured, Fault> {
    command.stdin(Stdio::null());
    let cpu_before = cpu::of_children()?;
    let begun = Instant::now();
    let output = command.output().map_err(|source| Fault::Missing {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    let wall = begun.elapsed();
    let cpu = cpu::of_children()? - cpu_before;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let status = format!("{}: {}", output.status, said.trim());
        let command = shown(&command);
        return Err(Fault::Failed { command, status });
    }
    Ok(Measured {
        cpu,
        wall,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
    })
}

/// Runs a command to its end: the most memory that it occupied, in MB. The system keeps the highest mark,
/// which is looked at every millisecond, so only a rise in the last one can be missed.
pub(crate) fn peak_mb(command: Command) -> Result<f64, Fault> {
    let what = shown(&command);
    let mut running = Running::spawn(command)?;
    let mut peak_kb = None;
    let status = loop {
        // A process that has just ended has no mark any more.
        peak_kb = running.kb("VmHWM:").ok().or(peak_kb);
        let ended = running.0.try_wait().map_err(Fault::unmeasured)?;
        if let Some(status) = ended {
            break status;
        }
        thread::sleep(LOOK);
    };
    if !status.success() {
        let status = status.to_string();
        return Err(Fault::Failed {
            command: what,
            status,
        });
    }
    let peak_kb = peak_kb.ok_or_else(|| Fault::unmeasured(format!("`{what}` was too short")))?;
    Ok(peak_kb * 1024.0 / 1e6)
}

/// A process under way; it is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn spawn(mut command: Command) -> Result<Self, Fault> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child.map(Self).map_err(|source| Fault::Missing {
            program: command.get_program().to_string_lossy().into_owned(),
            source,
        })
    }

    /// The memory that it occupies now, in KB.
    pub(crate) fn resident_kb(&self) -> Result<f64, Fault> {
        self.kb("VmRSS:")
    }

    /// A line of what the system tells about it.
    fn kb(&self, name: &str) -> Result<f64, Fault> {
        let path = PathBuf::from(format!("/proc/{}/status", self.0.id()));
        let status = fs::read_to_string(&path).map_err(Fault::file(&path))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| Fault::unmeasured(format!("{} has no {name}", path.display())))
    }

    /// Waits for it to end by itself.
    pub(crate) fn wait(mut self) -> Result<(), Fault> {
        match self.0.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Fault::unmeasured(format!(
                "the process ended with {status}"
            ))),
            Err(error) => Err(Fault::unmeasured(error)),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A process that has ended cannot be killed, and that is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
