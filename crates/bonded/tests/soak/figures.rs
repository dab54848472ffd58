//! What is measured all the time, and what is said of it at the end.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::growth::{Growth, Judged};
use crate::process::Look;
use crate::world::World;

/// So often at least a look is taken in all of the time.
const LOOKS: u32 = 360;

/// Shorter soaks say nothing about what grows. A quarter is for warming up, and at this load it takes up to ten minutes
/// until what has a bound is full: the 4 MiB that the workspace's writer keeps of its file, the 256 sessions of MCP clients
/// that left without a word, and the memory that the system's allocator has for each thread.
const JUDGED_FROM: Duration = Duration::from_secs(2_400);

/// A figure of a look, and by how much a minute it may grow before that is a leak.
struct Figure {
    name: &'static str,
    of: fn(&Look) -> f64,
    allowed_a_minute: f64,
}

/// A WAL fills up to 16 MiB and is used again from its beginning; a larger one is never emptied.
const WAL_KB_MAX: f64 = 20_000.0;

/// What is kept for ever, the logs and notes themselves, has no bound, and WALs have one of their own.
const FIGURES: [Figure; 6] = [
    Figure {
        name: "memory (kB)",
        of: |look| look.memory_kb,
        allowed_a_minute: 100.0,
    },
    Figure {
        name: "descriptors",
        of: |look| look.descriptors,
        allowed_a_minute: 0.1,
    },
    Figure {
        name: "threads",
        of: |look| look.threads,
        allowed_a_minute: 0.1,
    },
    Figure {
        name: "files",
        of: |look| look.files,
        allowed_a_minute: 0.1,
    },
    Figure {
        name: "wal (kB)",
        of: |look| look.wal_kb,
        allowed_a_minute: f64::INFINITY,
    },
    Figure {
        name: "all files (kB)",
        of: |look| look.bytes_kb,
        allowed_a_minute: f64::INFINITY,
    },
];

/// Looks, with the minute of each.
type Looks = Vec<(f64, Look)>;

pub(crate) struct Figures {
    time: Duration,
    /// Of each process: its name, and its looks.
    series: Vec<(&'static str, Looks)>,
}

/// Looks until the time is over.
pub(crate) fn measure(world: &World) -> Figures {
    let interval = (world.time / LOOKS).max(Duration::from_millis(200));
    let began = Instant::now();
    let names = world.processes().map(|process| process.name);
    let mut series: Vec<_> = names.into_iter().map(|name| (name, vec![])).collect();
    while began.elapsed() < world.time {
        for ((_, looks), process) in series.iter_mut().zip(world.processes()) {
            looks.push((began.elapsed().as_secs_f64() / 60.0, process.look()));
        }
        std::thread::sleep(interval);
    }
    Figures {
        time: world.time,
        series,
    }
}

impl Figures {
    fn growths(&self) -> impl Iterator<Item = (&'static str, &'static Figure, Growth)> {
        self.series.iter().flat_map(|(name, looks)| {
            FIGURES.iter().filter_map(move |figure| {
                let points: Vec<(f64, f64)> = looks
                    .iter()
                    .map(|(at, look)| (*at, (figure.of)(look)))
                    .collect();
                Some((*name, figure, Growth::of(&points)?))
            })
        })
    }

    pub(crate) fn report(&self) -> String {
        let mut lines = format!("figures of {} s\n", self.time.as_secs());
        for (process, figure, growth) in self.growths() {
            let verdict = match growth.judged(figure.allowed_a_minute) {
                Judged::Steady => "steady",
                Judged::Grows => "GROWS",
            };
            // Writing to a text cannot fail.
            let _ = writeln!(
                lines,
                "  {process:<14} {:<15} {verdict:<7} {growth}",
                figure.name
            );
        }
        lines
    }

    /// What grows by more than it may.
    pub(crate) fn grown(&self) -> Vec<String> {
        if self.time < JUDGED_FROM {
            return vec![];
        }
        let of_wals = self.series.iter().filter_map(|(process, looks)| {
            let most = looks
                .iter()
                .map(|(_, look)| look.wal_kb)
                .fold(0.0, f64::max);
            (most > WAL_KB_MAX).then(|| format!("{process}: a WAL of {most:.0} kB"))
        });
        self.growths()
            .filter(|(_, figure, growth)| {
                matches!(growth.judged(figure.allowed_a_minute), Judged::Grows)
            })
            .map(|(process, figure, growth)| format!("{process}: {} grows: {growth}", figure.name))
            .chain(of_wals)
            .collect()
    }
}
