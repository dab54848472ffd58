//! A server that is measured while it runs: ours, or the floor.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Rig;
use crate::cpu;
use crate::fault::Fault;

/// A server that has hardly used the CPU for so long has nothing to do any more. It looks for what other processes
/// wrote ten times a second, and on a busy machine it may have to wait for its turn.
const QUIET: Duration = Duration::from_secs(3);
const QUIET_CPU_MAX: Duration = Duration::from_millis(10);
/// How long one may work after its start.
const SETTLING_MAX: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Served {
    process: Child,
    pub(super) port: u16,
}

/// Memory of a process, in MB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) resident: f64,
    /// What it shares with others is divided by their number.
    pub(super) proportional: f64,
}

impl Served {
    /// Our server on a data directory, in its usual settings.
    pub(super) fn ours(rig: &Rig, data: &Path) -> Result<Self, Fault> {
        let mut command = Command::new(&rig.programs.bonded);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data).stderr(Stdio::piped());
        let mut process = spawn(command)?;
        let stderr = process.stderr.take();
        let port = told_port(stderr, "listening on http://");
        Self::begun(process, port)
    }

    /// The bare server on a copy of the store.
    pub(super) fn floor(rig: &Rig, store: &Path) -> Result<Self, Fault> {
        let mut command = Command::new(&rig.programs.workspace_floor);
        command.arg(store).stdout(Stdio::piped());
        // It ends when its stdin closes.
        command.stdin(Stdio::piped());
        let mut process = spawn(command)?;
        let stdout = process.stdout.take();
        let port = told_port(stdout, "");
        Self::begun(process, port)
    }

    fn begun(process: Child, port: Option<u16>) -> Result<Self, Fault> {
        let port = port.ok_or_else(|| Fault::unmeasured("a server did not tell its port"));
        let served = Self {
            process,
            port: port?,
        };
        served.settle()?;
        Ok(served)
    }

    /// Waits until it has nothing to do.
    pub(super) fn settle(&self) -> Result<(), Fault> {
        let begun = Instant::now();
        let mut before = self.cpu()?;
        while begun.elapsed() < SETTLING_MAX {
            thread::sleep(QUIET);
            let now = self.cpu()?;
            if now - before <= QUIET_CPU_MAX {
                return Ok(());
            }
            before = now;
        }
        Err(Fault::unmeasured("a server was never at rest"))
    }

    pub(super) fn cpu(&self) -> Result<Duration, Fault> {
        cpu::of_process(self.process.id())
    }

    pub(super) fn memory(&self) -> Result<Memory, Fault> {
        let path = PathBuf::from(format!("/proc/{}/smaps_rollup", self.process.id()));
        let text = fs::read_to_string(&path).map_err(Fault::file(&path))?;
        let line = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
            let kb = number
                .ok_or_else(|| Fault::unmeasured(format!("{} has no {name}", path.display())));
            Ok::<f64, Fault>(kb? * 1024.0 / 1e6)
        };
        Ok(Memory {
            resident: line("Rss:")?,
            proportional: line("Pss:")?,
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A process that has ended cannot be killed, and that is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(mut command: Command) -> Result<Child, Fault> {
    command.spawn().map_err(|source| Fault::Missing {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}

/// Reads until a line that begins so tells an address, or a port alone. What comes after it goes nowhere.
fn told_port<R: Read + Send + 'static>(said: Option<R>, begins: &str) -> Option<u16> {
    let mut lines = BufReader::new(said?).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let address = line.strip_prefix(begins)?;
        address.rsplit(':').next()?.trim().parse().ok()
    });
    thread::spawn(move || lines.for_each(drop));
    port
}
