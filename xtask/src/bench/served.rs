//! A server that is measured while it runs: ours, or the floor.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::rig::Rig;
use crate::cpu;
use crate::fault::Fault;

/// A server that has hardly used the CPU for so long has nothing to do any more. It looks for what other processes
/// wrote ten times a second, and on a busy machine it may have to wait for its turn.
const QUIET: Duration = Duration::from_secs(3);
const QUIET_CPU_MAX: Duration = Duration::from_millis(10);
/// How long one may work after its start.
const SETTLING_MAX: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Served {
    process: Child,
    pub(crate) port: u16,
}

/// Memory of a process, in MB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) resident: f64,
    /// What it shares with others is divided by their number.
    pub(crate) proportional: f64,
}

impl Served {
    /// Our server on a data directory, in its usual settings.
    pub(crate) fn ours(rig: &Rig, data: &Path) -> Result<Self, Fault> {
        let mut command = Command::new(&rig.programs.bonded);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data).stderr(Stdio::piped());
        let mut process = spawn(command)?;
        let stderr = process.stderr.take();
        let port = told_port(stderr, "listening on http://");
        Self::begun(process, port)
    }

    /// The bare server on a copy of the store.
    pub(crate) fn floor(rig: &Rig, store: &Path) -> Result<Self, Fault> {
        let mut command = Command::new(&rig.programs.workspace_floor);
        command.arg(store).stdout(Stdio::piped());
        // It ends when its stdin closes.
        command.stdin(Stdio::piped());
        let mut process = spawn(command)?;
        let stdout = process.stdout.take();
        let port = told_port(stdout, "");
        Self::begun(process, port)
    }

    /// The pages of a store, and the link that opens them.
    pub(crate) fn pages(rig: &Rig, store: &Path) -> Result<(Self, String), Fault> {
        let mut command = rig.bonded(store);
        command.args(["ui", "--no-open", "--listen", "127.0.0.1:0"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = spawn(command)?;
        let link = process
            .stdout
            .take()
            .and_then(|it| told(it, "http://127.0.0.1:"));
        let parts = link.as_deref().and_then(|it| it.split_once("/#enter="));
        let (port, secret) = parts.ok_or_else(|| Fault::unmeasured("the pages told no link"))?;
        let served = Self::begun(process, port.parse().ok())?;
        Ok((served, secret.trim().to_owned()))
    }

    /// A server that sends so many bytes to everybody who is connected, ten times a second, and does nothing else.
    pub(crate) fn pages_floor(rig: &Rig, bytes: u64) -> Result<Self, Fault> {
        let mut command = Command::new(&rig.programs.pages_floor);
        command.arg(bytes.to_string()).stdout(Stdio::piped());
        command.stdin(Stdio::piped());
        let mut process = spawn(command)?;
        let port = told_port(process.stdout.take(), "");
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
    pub(crate) fn settle(&self) -> Result<(), Fault> {
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

    pub(crate) fn cpu(&self) -> Result<Duration, Fault> {
        cpu::of_process(self.process.id())
    }

    pub(crate) fn memory(&self) -> Result<Memory, Fault> {
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

/// Reads until a line that begins so tells an address, or a port alone.
fn told_port<R: Read + Send + 'static>(said: Option<R>, begins: &str) -> Option<u16> {
    let address = told(said?, begins)?;
    address.rsplit(':').next()?.trim().parse().ok()
}

/// Reads until a line that holds this, and gives what follows it. What comes after that line goes nowhere.
fn told<R: Read + Send + 'static>(said: R, begins: &str) -> Option<String> {
    let mut lines = BufReader::new(said).lines();
    let told = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once(begins)?;
        Some(rest.to_owned())
    });
    thread::spawn(move || lines.for_each(drop));
    told
}
