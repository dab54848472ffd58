//! A run of a thousand turns: how it grows, how fast it is loaded, how soon it goes on after a kill.

use std::path::{Path, PathBuf};

use super::disk::kept_bytes;
use super::figure::{Figure, Goal, median};
use super::rig::Rig;
use super::start::next_request_ms;
use crate::fault::Fault;

const LENGTHS: [u64; 3] = [250, 500, 1000];

/// Growth is linear when the later half costs no more a turn than the earlier one, within the noise.
const LINEAR: Goal = Goal::AtMost(1.3);

/// What a turn may add to the memory. An allocator gives memory back when it likes, so halves cannot be
/// compared; but a run that kept its requests would add hundreds of times as much.
const RESIDENT_KB_MAX: f64 = 4.0;

/// Where the run stands when it is killed.
const KILLED_AT: u64 = 990;

/// What a run of some length takes.
#[derive(Clone, Copy, Debug)]
struct Size {
    turns: f64,
    disk_bytes: f64,
    resident_kb: f64,
}

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let mut sizes = vec![];
    let mut longest = PathBuf::new();
    for turns in LENGTHS {
        let (store, size) = grow(rig, turns)?;
        sizes.push(size);
        longest = store;
    }
    let mut figures = growth(&sizes);
    let (load_ms, floor_load_ms) = load(rig, &longest)?;
    figures.push(
        Figure::new(
            "load and replay of 1000 turns",
            "ms",
            load_ms,
            Goal::AtMost(10.0),
        )
        .beside(floor_load_ms),
    );
    let restart_ms = restart(rig)?;
    figures.push(Figure::new(
        "restart to next request, 990 turns",
        "ms",
        restart_ms,
        Goal::AtMost(30.0),
    ));
    Ok(figures)
}

/// Makes a run that waits in its last turn, looks at its memory, lets it end, and looks at its store.
fn grow(rig: &Rig, turns: u64) -> Result<(PathBuf, Size), Fault> {
    let store = rig.fresh(&format!("long-{turns}"))?;
    let model = format!("turns-{turns}+hang-at-{turns}");
    let running = rig.hanging(rig.ours(&store, "long", &model), turns + 1)?;
    let resident_kb = running.resident_kb()?;
    rig.server.release()?;
    running.wait()?;
    let size = Size {
        turns: turns as f64,
        disk_bytes: kept_bytes(&store)?,
        resident_kb,
    };
    Ok((store, size))
}

fn growth(sizes: &[Size]) -> Vec<Figure> {
    let [first, second, third] = sizes else {
        return vec![];
    };
    let disk = |a: &Size, b: &Size| (b.disk_bytes - a.disk_bytes) / (b.turns - a.turns);
    let kept = third.disk_bytes / third.turns;
    let resident = (third.resident_kb - first.resident_kb) / (third.turns - first.turns);
    vec![
        Figure::new(
            "kept of a turn, 1000 turns",
            "bytes",
            kept,
            Goal::AtMost(1024.0),
        ),
        Figure::new(
            "memory of a turn, 1000 turns",
            "KB",
            resident,
            Goal::AtMost(RESIDENT_KB_MAX),
        ),
        Figure::new(
            "disk, turns 500-1000 to 250-500",
            "ratio",
            disk(second, third) / disk(first, second),
            LINEAR,
        ),
    ]
}

/// Our time to load and replay the run, and the floor's to load and parse it.
fn load(rig: &Rig, store: &Path) -> Result<(f64, f64), Fault> {
    let (mut ours, mut floor) = (vec![], vec![]);
    for _ in 0..rig.rounds {
        let [took_us, ..] = rig.load(store, "long")?;
        ours.push(took_us as f64 / 1e3);
        let [took_us, _] = rig.floor_load(store)?;
        floor.push(took_us as f64 / 1e3);
    }
    Ok((median(ours), median(floor)))
}

/// Kills a long run near its end, again and again, and takes the time until the resumed one asks.
fn restart(rig: &Rig) -> Result<f64, Fault> {
    let store = rig.fresh("restart")?;
    let model = format!("turns-1000+hang-at-{KILLED_AT}");
    let command = rig.ours(&store, "long", &model);
    // Dropped at once, which kills it in the middle of a request.
    drop(rig.hanging(command, KILLED_AT + 1)?);
    let mut times = vec![];
    for _ in 0..rig.rounds {
        let (running, took_ms) = next_request_ms(rig, rig.resume(&store, "long"))?;
        drop(running);
        times.push(took_ms);
    }
    Ok(median(times))
}
