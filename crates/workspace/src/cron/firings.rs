//! The next times at which a line is due, as a person in its time zone reads them, with the changes of the clocks between
//! them.

use bonded_kernel::Millis;
use bonded_workspace_rules::Instants as _;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::{Cron, timestamp};

/// A time at which a line is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiringTime {
    /// The instant.
    pub at: Millis,
    /// What the clocks of the zone show then, with the offset.
    pub local: String,
    /// How the clocks change between the time before and this one, where they do.
    pub clock_change: Option<String>,
}

impl Cron {
    /// The next times after this one.
    pub fn next_firings(&self, after: Millis, most: usize) -> Vec<FiringTime> {
        let mut times = vec![];
        let mut before = after;
        while times.len() < most {
            let Some(at) = self.after(before).filter(|at| *at > before) else {
                break;
            };
            times.extend(self.firing_time(before, at));
            before = at;
        }
        times
    }

    fn firing_time(&self, before: Millis, at: Millis) -> Option<FiringTime> {
        let moment = timestamp(at)?;
        Some(FiringTime {
            at,
            local: local(&self.zone, moment),
            clock_change: self.clock_change(timestamp(before)?, moment),
        })
    }

    /// The last change of the clocks after one moment and not after another. A transition that changes only a name is
    /// none.
    fn clock_change(&self, after: Timestamp, until: Timestamp) -> Option<String> {
        let changes = self.zone.following(after);
        let changes = changes.take_while(|change| change.timestamp() <= until);
        let changes = changes.filter_map(|change| {
            let moment = change.timestamp();
            let before = moment.checked_sub(1.second()).ok()?;
            let seconds = change.offset().seconds() - self.zone.to_offset(before).seconds();
            (seconds != 0).then_some((moment, seconds))
        });
        let (moment, seconds) = changes.last()?;
        let direction = if seconds > 0 { "forward" } else { "back" };
        let minutes = seconds.unsigned_abs().div_ceil(60);
        Some(format!(
            "the clocks go {direction} by {minutes} minutes; after that they show {}",
            local(&self.zone, moment)
        ))
    }
}

/// As RFC 3339 has it, with the offset of the zone.
fn local(zone: &TimeZone, at: Timestamp) -> String {
    let zoned = at.to_zoned(zone.clone());
    zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times;

    fn next(line: &str, zone: &str, after: &str) -> Vec<(String, Option<String>)> {
        let cron = Cron::parse(line, zone).expect("the line is one");
        let after = times::parse(after).expect("a time");
        let times = cron.next_firings(after, 3);
        times
            .into_iter()
            .map(|time| (time.local, time.clock_change))
            .collect()
    }

    #[test]
    fn a_time_is_told_in_its_zone_and_a_change_of_the_clocks_is_named() {
        let spring = next("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z");
        let locals: Vec<&str> = spring.iter().map(|(local, _)| local.as_str()).collect();
        // The time that the clocks skip fires at the moment at which they skip it.
        assert_eq!(
            locals,
            [
                "2026-03-28T02:30:00+01:00",
                "2026-03-29T03:00:00+02:00",
                "2026-03-30T02:30:00+02:00"
            ]
        );
        let changes: Vec<bool> = spring.iter().map(|(_, change)| change.is_some()).collect();
        assert_eq!(changes, [false, true, false]);
        let change = spring[1].1.as_deref().unwrap_or_default();
        assert!(change.contains("forward by 60 minutes"), "{change}");
        let autumn = next("0 9 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z");
        let change = autumn[0].1.as_deref().unwrap_or_default();
        assert!(change.contains("back by 60 minutes"), "{change}");
        assert_eq!(autumn[0].0, "2026-10-25T09:00:00+01:00");
        let never = next("0 9 * * *", "UTC", "2026-10-24T12:00:00Z");
        assert!(never.iter().all(|(_, change)| change.is_none()));
    }
}
