//! A year of a schedule in virtual time: clocks that change, a clock that is set back, and a server that was down.

use std::collections::BTreeSet;

use bonded_kernel::Millis;
use bonded_workspace::Cron;
use bonded_workspace_rules::{
    CLOCK_CORRECTED_MS, CatchUp, Instants, ON_TIME_MS, Overlap, Schedule, due,
};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// 2026-01-01T00:00:00Z
const NEW_YEAR: u64 = 1_767_225_600_000;

/// A server that looks at its schedule every minute while it is up, on a clock of its own.
struct Server {
    schedule: Schedule,
    cron: Cron,
    considered_until: Millis,
    next: Option<Millis>,
    fired: Vec<Millis>,
    /// How long a run takes.
    run_ms: u64,
    /// When the last run that was fired will have ended.
    busy_until: u64,
}

impl Server {
    fn new(schedule: &Schedule, run_ms: u64) -> Self {
        let cron = Cron::parse(&schedule.cron, &schedule.timezone).expect("a line");
        Self {
            schedule: schedule.clone(),
            next: cron.after(Millis(NEW_YEAR)),
            cron,
            considered_until: Millis(NEW_YEAR),
            fired: vec![],
            run_ms,
            busy_until: 0,
        }
    }

    /// Whether there is anything to look at.
    fn is_time(&self, now: u64) -> bool {
        let was_ahead = self.considered_until - Millis(now) >= CLOCK_CORRECTED_MS;
        was_ahead || self.next.is_some_and(|next| next.0 <= now)
    }

    fn look(&mut self, now: u64) {
        while self.is_time(now) {
            let is_busy = self.busy_until > now;
            let (considered, now) = (self.considered_until, Millis(now));
            let due = due(&self.schedule, considered, now, is_busy, &self.cron);
            for _ in &due.instants {
                self.busy_until = self.busy_until.max(now.0) + self.run_ms;
            }
            self.fired.extend(due.instants);
            self.considered_until = due.considered_until;
            self.next = self.cron.after(due.considered_until);
        }
    }
}

/// All instants of the year, by the calendar alone.
fn instants(schedule: &Schedule) -> Vec<Millis> {
    let cron = Cron::parse(&schedule.cron, &schedule.timezone).expect("a line");
    let until = Millis(NEW_YEAR + 365 * DAY);
    let next = |at: &Millis| cron.after(*at).filter(|next| *next <= until);
    std::iter::successors(next(&Millis(NEW_YEAR)), next).collect()
}

fn schedule(catch_up: CatchUp, overlap: Overlap) -> Schedule {
    Schedule {
        cron: "0 */3 * * *".into(),
        timezone: "Europe/Berlin".into(),
        catch_up,
        overlap,
    }
}

const POLICIES: [(CatchUp, Overlap); 6] = [
    (CatchUp::Skip, Overlap::Skip),
    (CatchUp::Skip, Overlap::Queue),
    (CatchUp::Once, Overlap::Skip),
    (CatchUp::Once, Overlap::Queue),
    (CatchUp::All, Overlap::Skip),
    (CatchUp::All, Overlap::Queue),
];

#[test]
fn in_a_year_without_mishaps_each_instant_fires_once_whatever_the_policy() {
    for (catch_up, overlap) in POLICIES {
        let schedule = schedule(catch_up, overlap);
        let mut server = Server::new(&schedule, MINUTE);
        for minute in 0..=365 * 24 * 60 {
            server.look(NEW_YEAR + minute * MINUTE + 7);
        }
        assert_eq!(
            server.fired,
            instants(&schedule),
            "{catch_up:?} {overlap:?}"
        );
    }
}

#[test]
fn a_server_that_was_down_for_a_day_does_what_the_policy_says() {
    // Down from noon of the day on which the clocks change; back a day later, ten minutes past noon.
    let down = NEW_YEAR + 87 * DAY + 12 * HOUR + 10 * MINUTE;
    let up = down + DAY;
    for (catch_up, overlap) in POLICIES {
        let schedule = schedule(catch_up, overlap);
        let mut server = Server::new(&schedule, MINUTE);
        let minutes = (NEW_YEAR..=NEW_YEAR + 365 * DAY).step_by(MINUTE as usize);
        for now in minutes.filter(|now| !(down..up).contains(now)) {
            server.look(now);
        }
        let (missed, others): (Vec<Millis>, Vec<Millis>) = instants(&schedule)
            .into_iter()
            .partition(|at| (down..up - ON_TIME_MS).contains(&at.0));
        assert!(missed.len() >= 7, "{missed:?}");
        let caught_up = match catch_up {
            CatchUp::Skip => vec![],
            CatchUp::Once => missed.last().copied().into_iter().collect(),
            CatchUp::All => missed,
        };
        let mut expected: Vec<Millis> = others.into_iter().chain(caught_up).collect();
        expected.sort();
        assert_eq!(server.fired, expected, "{catch_up:?} {overlap:?}");
    }
}

#[test]
fn a_clock_that_jumps_back_an_hour_fires_nothing_twice_and_leaves_nothing_out() {
    for (catch_up, overlap) in POLICIES {
        let schedule = schedule(catch_up, overlap);
        let mut server = Server::new(&schedule, MINUTE);
        // The jump comes ten minutes after an instant, and the hour is lived again.
        let jump = NEW_YEAR + 200 * DAY + 13 * HOUR + 10 * MINUTE;
        let before = (NEW_YEAR..=jump).step_by(MINUTE as usize);
        let after = (jump - HOUR..=NEW_YEAR + 365 * DAY).step_by(MINUTE as usize);
        for now in before.chain(after) {
            server.look(now);
        }
        assert_eq!(
            server.fired,
            instants(&schedule),
            "{catch_up:?} {overlap:?}"
        );
    }
}

#[test]
fn an_instant_that_meets_a_run_waits_or_is_left_out_as_the_rule_says() {
    for (catch_up, overlap) in POLICIES {
        let schedule = schedule(catch_up, overlap);
        // A run takes longer than from one instant to the next.
        let mut server = Server::new(&schedule, 4 * HOUR);
        for now in (NEW_YEAR..NEW_YEAR + 30 * DAY).step_by(MINUTE as usize) {
            server.look(now);
        }
        let mut instants = instants(&schedule);
        instants.retain(|at| at.0 < NEW_YEAR + 30 * DAY);
        let expected: Vec<Millis> = match overlap {
            Overlap::Queue => instants,
            Overlap::Skip => instants.into_iter().step_by(2).collect(),
        };
        assert_eq!(server.fired, expected, "{catch_up:?} {overlap:?}");
    }
}

#[test]
fn a_clock_that_was_a_year_ahead_and_was_set_right_goes_on_from_there() {
    let schedule = schedule(CatchUp::Once, Overlap::Queue);
    let mut server = Server::new(&schedule, MINUTE);
    server.look(NEW_YEAR + 365 * DAY);
    let day = (NEW_YEAR + DAY..NEW_YEAR + 2 * DAY).step_by(MINUTE as usize);
    for now in day {
        server.look(now);
    }
    let once: BTreeSet<Millis> = server.fired.iter().copied().collect();
    assert_eq!(once.len(), server.fired.len());
    let in_day = server.fired.iter().filter(|at| at.0 < NEW_YEAR + 2 * DAY);
    assert_eq!(in_day.count(), 8);
}
