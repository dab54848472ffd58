//! What the seed of a fleet means.

use std::time::Duration;

use crate::rng::Rng;

/// A part of the protocol that is left out, to see that it is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FleetSabotage {
    #[default]
    None,
    /// An append moves the head whoever's claim it names.
    AppendWithoutEpoch,
    /// A lease is counted from when its renewal was answered.
    CountedFromAnswer,
    /// A driver does not ask whether its lease is over.
    DriverGoesOn,
    /// A process does not look for runs that it holds without knowing it.
    StraysAreKept,
    /// What became of an append whose answer was lost is read, and no claim is renewed.
    SettledByRead,
    /// Who takes a run over leaves its epoch as it was.
    TakenWithoutEpoch,
}

/// Everything about a fleet that is fixed before it begins.
#[derive(Clone, Debug)]
pub struct FleetPlan {
    pub members: u32,
    /// How many turns each run has before its model says that it is done.
    pub turns: Vec<u32>,
    pub lease: Duration,
    /// How many runs a process drives at once.
    pub places: usize,
    /// How long things go wrong, twice, each time followed by a calm in which every run must find a driver.
    pub trouble: Duration,
    /// How often something happens to a process or to the server, on average.
    pub pause: Duration,
    /// Of a thousand awaits of a process, how many end its life.
    pub crash: u32,
    /// And in how many it stands still.
    pub freeze: u32,
    /// Of a thousand statements, how many lose their connection.
    pub cut: u32,
    /// And how many wait for a lock.
    pub lock: u32,
    /// Of a thousand events, how many are a cancel by a guest.
    pub cancel: u32,
    pub sabotage: FleetSabotage,
}

impl FleetPlan {
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::derive(seed, "fleet", &[]);
        let rng = &mut rng;
        let runs = rng.between(1, 3);
        Self {
            members: rng.between(2, 4) as u32,
            turns: (0..runs).map(|_| rng.between(3, 14) as u32).collect(),
            lease: Duration::from_secs(rng.pick(&[2, 3, 6])),
            places: rng.between(1, 2) as usize,
            trouble: Duration::from_secs(rng.pick(&[3, 8, 15])),
            pause: Duration::from_millis(rng.pick(&[300, 1_000, 3_000])),
            crash: rng.pick(&[0, 1, 4]),
            freeze: rng.pick(&[0, 2, 6]),
            cut: rng.pick(&[0, 20, 60, 150]),
            lock: rng.pick(&[0, 30, 100]),
            cancel: rng.pick(&[0, 0, 50, 150]),
            sabotage: FleetSabotage::None,
        }
    }
}
