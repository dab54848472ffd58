//! Requests to a server with 100,000 notes, beside a bare one with the same rows.

use std::fs;

use super::load::{Load, Loaded, PEOPLE};
use super::served::{Memory, Served};
use super::{Rig, data_dir, fill, store_of};
use crate::bench::figure::{Figure, Goal, median};
use crate::fault::Fault;

const NOTES: u64 = 100_000;

/// What people do: half of it is reading. 200 requests a second in all, for 20 seconds.
const MIX: &str = "read,list,read,search,read,create,list,read,patch,read";
const MIX_REQUESTS: u64 = 4000;
const PAUSE_MS: u64 = 500;

const CLIENTS: u64 = 100;

/// The kinds of requests: what each is called, how long it may take, and how often it is asked without a pause. A
/// search takes so long that a hundred at once would wait for each other beyond all patience.
const KINDS: [Kind; 5] = [
    Kind::new("read", "reading a note", 20.0, 5000, CLIENTS),
    Kind::new("list", "listing 50 notes", 20.0, 2000, CLIENTS),
    Kind::new("create", "creating a note", 20.0, 2000, CLIENTS),
    Kind::new("patch", "patching a note", 20.0, 2000, CLIENTS),
    Kind::new("search", "searching", 50.0, 600, 10),
];

/// So many notes are there for each load to patch.
const BLOCK: u64 = 2000;
const LOADS_PER_ROUND: u64 = 1 + KINDS.len() as u64;
/// After so many there are no notes left that were not patched.
const ROUNDS_MAX: usize = (NOTES / BLOCK / LOADS_PER_ROUND) as usize;

const RATIO_MAX: f64 = 2.0;
const MEMORY_MB_MAX: f64 = 60.0;

struct Kind {
    word: &'static str,
    name: &'static str,
    p95_ms_max: f64,
    requests: u64,
    clients: u64,
}

impl Kind {
    const fn new(
        word: &'static str,
        name: &'static str,
        p95_ms_max: f64,
        requests: u64,
        clients: u64,
    ) -> Self {
        Self {
            word,
            name,
            p95_ms_max,
            requests,
            clients,
        }
    }
}

/// The same load on both servers.
struct Pair {
    ours: Loaded,
    floor: Loaded,
}

/// All loads of a round.
struct Round {
    mix: Pair,
    /// Without a pause, one for each kind.
    kinds: Vec<Pair>,
}

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let data = data_dir(rig, "workspace")?;
    fill(rig, &data, "notes", &[NOTES, PEOPLE])?;
    let copy = rig.path("workspace-floor.db");
    fs::copy(store_of(&data), &copy).map_err(Fault::file(&copy))?;
    let (ours, floor) = (Served::ours(rig, &data)?, Served::floor(rig, &copy)?);
    let at_start = [ours.memory()?, floor.memory()?];
    let rounds = (0..rig.rounds.min(ROUNDS_MAX) as u64)
        .map(|round| measure_round(rig, &ours, &floor, round))
        .collect::<Result<Vec<_>, _>>()?;
    let after_load = [ours.memory()?, floor.memory()?];
    let mut figures = vec![];
    for (index, kind) in KINDS.iter().enumerate() {
        figures.extend(of_kind(&rounds, index, kind));
    }
    figures.push(of_mix(&rounds));
    figures.extend(of_memory("after the start", at_start));
    figures.extend(of_memory("after the load", after_load));
    Ok(figures)
}

fn measure_round(rig: &Rig, ours: &Served, floor: &Served, round: u64) -> Result<Round, Fault> {
    let first = |load: u64| (round * LOADS_PER_ROUND + load) * BLOCK;
    let both = |load: Load<'_>| {
        let pair = Pair {
            ours: load.on(rig, ours)?,
            floor: load.on(rig, floor)?,
        };
        Ok::<Pair, Fault>(pair)
    };
    let mix = both(Load {
        kinds: MIX,
        requests: MIX_REQUESTS,
        clients: CLIENTS,
        pause_ms: PAUSE_MS,
        notes: NOTES,
        first: first(0),
    })?;
    let kinds = KINDS.iter().zip(1..).map(|(kind, load)| {
        both(Load {
            kinds: kind.word,
            requests: kind.requests,
            clients: kind.clients,
            pause_ms: 0,
            notes: NOTES,
            first: first(load),
        })
    });
    Ok(Round {
        mix,
        kinds: kinds.collect::<Result<_, _>>()?,
    })
}

/// The middle of all rounds, ours and the floor's.
fn medians<'a>(
    pairs: impl Iterator<Item = &'a Pair>,
    value: impl Fn(&Loaded) -> f64,
) -> (f64, f64) {
    let values = pairs.map(|pair| (value(&pair.ours), value(&pair.floor)));
    let (ours, floor): (Vec<f64>, Vec<f64>) = values.unzip();
    (median(ours), median(floor))
}

fn of_kind(rounds: &[Round], index: usize, kind: &Kind) -> [Figure; 3] {
    let (word, name) = (kind.word, kind.name);
    let alone = || rounds.iter().map(|round| &round.kinds[index]);
    let p95 = medians(rounds.iter().map(|round| &round.mix), |it| it.p95_ms(word));
    let cpu = medians(alone(), |it| it.cpu_per_request_ms);
    let rate = medians(alone(), |it| it.requests_per_second);
    let figure = |what: &str, unit, (ours, floor): (f64, f64), goal| {
        Figure::new(format!("{name}: {what}"), unit, ours, goal).beside(floor)
    };
    let p95_goal = Goal::AtMostAndRatio(kind.p95_ms_max, RATIO_MAX);
    [
        figure("95 of 100 within", "ms", p95, p95_goal),
        figure("CPU", "ms", cpu, Goal::RatioAtMost(RATIO_MAX)),
        figure("without a pause", "1/s", rate, Goal::Nothing),
    ]
}

fn of_mix(rounds: &[Round]) -> Figure {
    let mixes = rounds.iter().map(|round| &round.mix);
    let (ours, floor) = medians(mixes, |it| it.cpu_per_request_ms);
    Figure::new(
        "all of these mixed: CPU of a request",
        "ms",
        ours,
        Goal::RatioAtMost(RATIO_MAX),
    )
    .beside(floor)
}

fn of_memory(when: &str, [ours, floor]: [Memory; 2]) -> [Figure; 2] {
    let resident = format!("memory with 100,000 notes, {when}");
    let proportional = format!("the same, proportional, {when}");
    let goal = Goal::AtMost(MEMORY_MB_MAX);
    [
        Figure::new(resident, "MB", ours.resident, goal).beside(floor.resident),
        Figure::new(proportional, "MB", ours.proportional, goal).beside(floor.proportional),
    ]
}
