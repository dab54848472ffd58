//! Which instants of a schedule fire: in time, after a while of nothing, and when the clock is set.

use bonded_kernel::Millis;
use bonded_workspace_rules::{
    CAUGHT_UP_MAX, CLOCK_CORRECTED_MS, CatchUp, Due, Instants, ON_TIME_MS, Overlap, Schedule, due,
};
use proptest::prelude::*;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// Due every so many milliseconds.
struct Every(u64);

impl Instants for Every {
    fn after(&self, at: Millis) -> Option<Millis> {
        Some(Millis((at.0 / self.0 + 1) * self.0))
    }

    fn latest(&self, until: Millis) -> Option<Millis> {
        Some(Millis(until.0 / self.0 * self.0))
    }
}

fn schedule(catch_up: CatchUp, overlap: Overlap) -> Schedule {
    Schedule {
        cron: "0 * * * *".into(),
        timezone: "UTC".into(),
        catch_up,
        overlap,
    }
}

fn hours(due: &Due) -> Vec<u64> {
    due.instants.iter().map(|at| at.0 / HOUR).collect()
}

#[test]
fn the_policy_decides_what_becomes_of_missed_instants() {
    let late = ON_TIME_MS + 1;
    let rows = [
        // In time, all policies are one.
        (CatchUp::Skip, 9, 10 * HOUR + 5, vec![10]),
        (CatchUp::Once, 9, 10 * HOUR + 5, vec![10]),
        (CatchUp::All, 9, 10 * HOUR + 5, vec![10]),
        // Nothing was due.
        (CatchUp::All, 9, 10 * HOUR - 1, vec![]),
        // Down for five hours, back between two instants.
        (CatchUp::Skip, 9, 14 * HOUR + late, vec![]),
        (CatchUp::Once, 9, 14 * HOUR + late, vec![14]),
        (CatchUp::All, 9, 14 * HOUR + late, vec![10, 11, 12, 13, 14]),
        // Down for five hours, back just at one.
        (CatchUp::Skip, 9, 14 * HOUR, vec![14]),
        (CatchUp::Once, 9, 14 * HOUR, vec![14]),
        // The last one came in time, and the ones before it are under way.
        (CatchUp::All, 9, 14 * HOUR, vec![10, 11, 12, 13]),
    ];
    for (catch_up, considered, now, expected) in rows {
        let schedule = schedule(catch_up, Overlap::Skip);
        let due = due(
            &schedule,
            Millis(considered * HOUR),
            Millis(now),
            false,
            &Every(HOUR),
        );
        assert_eq!(hours(&due), expected, "{catch_up:?} at {now}");
        assert_eq!(due.considered_until, Millis(now));
    }
}

#[test]
fn an_instant_in_time_that_meets_a_run_waits_or_is_left_out() {
    let rows = [
        (CatchUp::Once, Overlap::Skip, 10 * HOUR, vec![]),
        (CatchUp::Once, Overlap::Queue, 10 * HOUR, vec![10]),
        // What was missed waits for its turn, because that is what catching up means.
        (CatchUp::All, Overlap::Skip, 12 * HOUR, vec![10, 11]),
        (CatchUp::All, Overlap::Queue, 12 * HOUR, vec![10, 11, 12]),
        (
            CatchUp::Once,
            Overlap::Skip,
            12 * HOUR + ON_TIME_MS + 1,
            vec![12],
        ),
    ];
    for (catch_up, overlap, now, expected) in rows {
        let schedule = schedule(catch_up, overlap);
        let due = due(&schedule, Millis(9 * HOUR), Millis(now), true, &Every(HOUR));
        assert_eq!(hours(&due), expected, "{catch_up:?} {overlap:?} at {now}");
    }
}

#[test]
fn a_clock_that_goes_back_fires_nothing_again_unless_it_had_been_wrong_by_a_day() {
    let schedule = schedule(CatchUp::All, Overlap::Queue);
    let considered = Millis(100 * HOUR);
    for back in [0, 1, HOUR, CLOCK_CORRECTED_MS - 1] {
        let now = Millis(considered.0 - back);
        let due = due(&schedule, considered, now, false, &Every(HOUR));
        assert_eq!(due.instants, [], "{back}");
        assert_eq!(due.considered_until, considered, "{back}");
    }
    let now = Millis(considered.0 - CLOCK_CORRECTED_MS);
    let due = due(&schedule, considered, now, false, &Every(HOUR));
    assert_eq!(due.instants, []);
    assert_eq!(due.considered_until, now);
}

#[test]
fn of_very_many_missed_instants_the_latest_fire_and_the_others_are_named() {
    let schedule = schedule(CatchUp::All, Overlap::Queue);
    let rows = [
        (100, None),
        (101, Some((1, 1))),
        (250, Some((1, 150))),
        (20_000, Some((1, 19_900))),
    ];
    for (minutes, left_out) in rows {
        let now = Millis(minutes * MINUTE);
        let due = due(&schedule, Millis(0), now, false, &Every(MINUTE));
        let first = minutes + 1 - CAUGHT_UP_MAX as u64;
        let expected: Vec<Millis> = (first..=minutes).map(|it| Millis(it * MINUTE)).collect();
        assert_eq!(due.instants, expected);
        assert_eq!(
            due.considered_until, now,
            "nothing of it is looked at again"
        );
        let told = due
            .left_out
            .map(|it| (it.first.0 / MINUTE, it.last.0 / MINUTE));
        assert_eq!(told, left_out, "{minutes}");
        let count = left_out.map(|(first, last)| (last + 1 - first).min(10_000));
        assert_eq!(due.left_out.map(|it| it.count), count);
    }
}

proptest! {
    /// Whatever the clock does, an instant fires once at most, and with `all` exactly once.
    #[test]
    fn an_instant_fires_once_at_most(
        looks in proptest::collection::vec((0..40 * MINUTE, prop::bool::weighted(0.1)), 1..60),
        catch_up in proptest::sample::select(vec![CatchUp::Skip, CatchUp::Once, CatchUp::All]),
        is_busy in any::<bool>(),
    ) {
        let schedule = schedule(catch_up, Overlap::Queue);
        let (mut now, mut considered) = (1000 * HOUR, Millis(1000 * HOUR));
        let mut fired: Vec<Millis> = vec![];
        for (step, goes_back) in looks {
            now = if goes_back { now - step } else { now + step };
            let due = due(&schedule, considered, Millis(now), is_busy, &Every(MINUTE));
            prop_assert!(due.considered_until >= considered);
            considered = due.considered_until;
            fired.extend(due.instants);
        }
        prop_assert!(fired.windows(2).all(|pair| pair[0] < pair[1]), "{fired:?}");
        if catch_up == CatchUp::All {
            let count = (considered.0 - 1000 * HOUR) / MINUTE;
            prop_assert_eq!(fired.len() as u64, count);
        }
    }
}
