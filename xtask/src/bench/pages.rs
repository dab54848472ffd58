//! Pages: what two hundred open ones cost a server while a run and a note change ten times a second, and how a run of
//! 100,000 calls is served.

mod http;
mod listeners;
mod long_run;
mod note_pages;
mod run_pages;

use std::thread;
use std::time::Duration;

use super::figure::{Figure, Goal};
use super::rig::Rig;
use super::served::Served;
use crate::fault::Fault;
use listeners::Listeners;

const PAGES: usize = 200;
/// Of one core.
const CPU_PERCENT_MAX: f64 = 10.0;
const MEMORY_KB_MAX: f64 = 1000.0;

/// How long each server is watched.
const WATCHED: Duration = Duration::from_secs(20);
/// New connections have settled after this.
const SETTLES: Duration = Duration::from_secs(3);

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut figures = run_pages::measure(rig)?;
    figures.extend(note_pages::measure(rig)?);
    figures.extend(long_run::measure(rig)?);
    Ok(figures)
}

/// What pages cost a server.
struct Cost {
    cpu_percent: f64,
    memory_kb: f64,
    /// What a page is sent in a second.
    bytes: u64,
}

impl Cost {
    /// The CPU with the pages less that without them: what changes goes on changing.
    fn of(served: &Served, open: impl FnOnce() -> Result<Listeners, Fault>) -> Result<Self, Fault> {
        let without = percent(served)?;
        let memory = served.memory()?.resident;
        let listeners = open()?;
        thread::sleep(SETTLES);
        let before = listeners.bytes();
        let with = percent(served)?;
        let heard = listeners.bytes() - before;
        listeners.check_open()?;
        let memory = served.memory()?.resident - memory;
        Ok(Self {
            cpu_percent: with - without,
            memory_kb: memory * 1e3 / PAGES as f64,
            bytes: heard / WATCHED.as_secs() / PAGES as u64,
        })
    }

    /// Beside a server that sends as many bytes to as many, and does nothing else.
    fn figures(&self, rig: &Rig, what: &str) -> Result<Vec<Figure>, Fault> {
        let served = Served::pages_floor(rig, self.bytes / 10)?;
        let floor = Self::of(&served, || {
            Listeners::open(PAGES, |_| http::request(served.port, "GET /", "", ""))
        })?;
        Ok(vec![
            Figure::new(
                format!("CPU of {PAGES} live pages of {what}"),
                "%",
                self.cpu_percent,
                Goal::AtMost(CPU_PERCENT_MAX),
            )
            .beside(floor.cpu_percent),
            Figure::new(
                format!("memory of a live page of {what}"),
                "KB",
                self.memory_kb,
                Goal::AtMost(MEMORY_KB_MAX),
            )
            .beside(floor.memory_kb),
        ])
    }
}

/// The share of a core that a server takes.
fn percent(served: &Served) -> Result<f64, Fault> {
    let before = served.cpu()?;
    thread::sleep(WATCHED);
    Ok((served.cpu()? - before).as_secs_f64() / WATCHED.as_secs_f64() * 100.0)
}
