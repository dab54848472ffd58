//! Cron lines in a time zone: five fields, or a word such as `@daily`.
//!
//! What happens when the clocks change:
//! - a line that names hours fires once for each time that it names: a time that the clocks skip fires at the moment
//!   at which they skip it, and a time that comes twice fires the first time;
//! - a line for every hour goes by real time: it fires at each time that exists, also when that comes twice.

mod days;
mod error;
mod firings;
mod line;

use bonded_kernel::Millis;
use bonded_workspace_rules::Instants;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, ToSpan as _};

use days::{hours_from, hours_until};
use line::CronLine;

pub use error::BadCron;
pub use firings::FiringTime;

/// How far a change of the clocks reaches: since 1970 no hour came again later than that. Vostok's clocks went back by
/// seven hours once.
const CHANGE_HOURS: i64 = 8;

/// When a cron line is due in a time zone.
#[derive(Clone, Debug)]
pub struct Cron {
    line: CronLine,
    zone: TimeZone,
}

impl Cron {
    /// Reads a line. One that never fires is refused.
    pub fn parse(line: &str, timezone: &str) -> Result<Self, BadCron> {
        let line = CronLine::parse(line)?;
        if !days::has_any(&line) {
            return Err(BadCron::Never);
        }
        let zone = TimeZone::get(timezone).map_err(|_| BadCron::Zone {
            name: timezone.chars().take(64).collect(),
        })?;
        Ok(Self { line, zone })
    }

    /// The offset that holds at a moment.
    fn offset(&self, at: Timestamp) -> Offset {
        self.zone.to_offset(at)
    }

    /// Whether the clocks change near this moment.
    fn is_near_change(&self, at: Timestamp) -> bool {
        let span = CHANGE_HOURS.hours();
        let (before, after) = (at.checked_sub(span), at.checked_add(span));
        match (before, after) {
            (Ok(before), Ok(after)) => self.offset(before) != self.offset(after),
            _ => true,
        }
    }

    /// The instants of one hour of the calendar, in order.
    fn of_hour(&self, date: Date, hour: i8) -> Vec<Millis> {
        let minutes = self.line.minutes();
        if let Some(start) = self.plain_hour(date, hour) {
            return minutes.map(|it| start.plus(it as u64 * 60_000)).collect();
        }
        let times = minutes.map(|minute| date.at(hour, minute, 0, 0));
        let mut instants: Vec<Millis> = times.flat_map(|time| self.of_time(time)).collect();
        instants.sort_unstable();
        instants.dedup();
        instants
    }

    /// The beginning of an hour in which the clocks do not change, as in almost all of them.
    fn plain_hour(&self, date: Date, hour: i8) -> Option<Millis> {
        let at = |minute| {
            let time = date.at(hour, minute, 0, 0);
            match self.zone.to_ambiguous_timestamp(time).offset() {
                AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(time).ok(),
                _ => None,
            }
        };
        let (first, last) = (millis(at(0)?)?, millis(at(59)?)?);
        (last - first == 59 * 60_000).then_some(first)
    }

    /// The instants that a time of the calendar stands for.
    fn of_time(&self, time: DateTime) -> impl Iterator<Item = Millis> + use<> {
        let at = |offset: Offset| offset.to_timestamp(time).ok().and_then(millis);
        let (first, second) = match self.zone.to_ambiguous_timestamp(time).offset() {
            AmbiguousOffset::Unambiguous { offset } => (at(offset), None),
            AmbiguousOffset::Fold { before, after } if self.line.is_every_hour() => {
                (at(before), at(after))
            }
            AmbiguousOffset::Fold { before, .. } => (at(before), None),
            AmbiguousOffset::Gap { .. } if self.line.is_every_hour() => (None, None),
            AmbiguousOffset::Gap { before, .. } => {
                let skipped = before.to_timestamp(time).ok();
                (skipped.and_then(|at| self.last_change(at)), None)
            }
        };
        first.into_iter().chain(second)
    }

    /// When the clocks changed last.
    fn last_change(&self, at: Timestamp) -> Option<Millis> {
        let after = at.checked_add(1.second()).ok()?;
        let change = self.zone.preceding(after).next()?;
        millis(change.timestamp())
    }

    /// The instants of the hours around a moment near which the clocks change. Where they skip a whole day, the hours
    /// before and after it are around the moment all the same.
    fn around(&self, at: Timestamp) -> Option<Vec<Millis>> {
        let span = CHANGE_HOURS.hours();
        let from = self.local(at.checked_sub(span).ok()?);
        let until = from.checked_add((CHANGE_HOURS * 3).hours()).ok()?;
        let until = until.max(self.local(at.checked_add(span).ok()?));
        let hours = hours_from(&self.line, from);
        let hours = hours.take_while(|(date, hour)| date.at(*hour, 0, 0, 0) <= until);
        let instants = hours.flat_map(|(date, hour)| self.of_hour(date, hour));
        Some(instants.collect())
    }

    /// What the clock on the wall shows at a moment.
    fn local(&self, at: Timestamp) -> DateTime {
        self.offset(at).to_datetime(at)
    }
}

impl Instants for Cron {
    /// Away from a change of the clocks the calendar is walked hour by hour. Near one the order of the calendar is not
    /// that of time, so all instants around it are gathered and the smallest is taken.
    fn after(&self, at: Millis) -> Option<Millis> {
        let moment = timestamp(at)?;
        if self.is_near_change(moment) {
            let near = self.around(moment)?;
            if let Some(next) = near.into_iter().filter(|it| *it > at).min() {
                return Some(next);
            }
        }
        let hours = hours_from(&self.line, self.local(moment));
        let instants = hours.flat_map(|(date, hour)| self.of_hour(date, hour));
        instants.into_iter().find(|it| *it > at)
    }

    /// The same in the other direction.
    fn latest(&self, until: Millis) -> Option<Millis> {
        let moment = timestamp(until)?;
        if self.is_near_change(moment) {
            let near = self.around(moment)?;
            if let Some(last) = near.into_iter().filter(|it| *it <= until).max() {
                return Some(last);
            }
        }
        let hours = hours_until(&self.line, self.local(moment));
        let instants = hours.flat_map(|(date, hour)| self.of_hour(date, hour).into_iter().rev());
        instants.into_iter().find(|it| *it <= until)
    }
}

/// None for times that no calendar here reaches.
fn timestamp(at: Millis) -> Option<Timestamp> {
    let milliseconds = i64::try_from(at.0).ok()?;
    Timestamp::from_millisecond(milliseconds).ok()
}

/// None for times before 1970.
fn millis(at: Timestamp) -> Option<Millis> {
    u64::try_from(at.as_millisecond()).ok().map(Millis)
}
