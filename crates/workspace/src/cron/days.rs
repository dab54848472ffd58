//! The hours of the calendar that a line names, forwards and backwards.
//!
//! Both directions end after a bounded number of years, so that a line which names no day at all ends too.

use jiff::civil::{Date, DateTime, date};

use super::line::CronLine;

/// In so many years every day comes at least once, on each day of the week: the 29th of February is a Sunday every 28
/// years, and where a century without a leap year lies between, after 40.
const YEARS: i16 = 40;

/// Whether any day is named at all.
pub(super) fn has_any(line: &CronLine) -> bool {
    let first = date(2000, 1, 1);
    days_from(line, first).next().is_some()
}

/// The hours from that of a moment on.
pub(super) fn hours_from(
    line: &CronLine,
    from: DateTime,
) -> impl Iterator<Item = (Date, i8)> + use<'_> {
    let is_later = move |(date, hour): &(Date, i8)| *date > from.date() || *hour >= from.hour();
    let hours = days_from(line, from.date()).flat_map(|date| hours_of(line, date));
    hours.filter(is_later)
}

/// The hours from that of a moment backwards.
pub(super) fn hours_until(
    line: &CronLine,
    until: DateTime,
) -> impl Iterator<Item = (Date, i8)> + use<'_> {
    let is_earlier = move |(date, hour): &(Date, i8)| *date < until.date() || *hour <= until.hour();
    let last = until.year() - YEARS;
    let days = std::iter::successors(Some(until.date()), |date| date.yesterday().ok());
    let days = days.take_while(move |date| date.year() >= last);
    let days = days.filter(|date| line.has_day(*date));
    let hours = days.flat_map(|date| hours_of(line, date).rev());
    hours.filter(is_earlier)
}

/// Up to the bound; a line that names no day yields nothing.
fn days_from(line: &CronLine, from: Date) -> impl Iterator<Item = Date> + use<'_> {
    let last = from.year().saturating_add(YEARS);
    let days = std::iter::successors(Some(from), |date| date.tomorrow().ok());
    let days = days.take_while(move |date| date.year() <= last);
    days.filter(|date| line.has_day(*date))
}

/// The hours that the line names, on one day.
fn hours_of(line: &CronLine, date: Date) -> impl DoubleEndedIterator<Item = (Date, i8)> + use<'_> {
    line.hours().map(move |hour| (date, hour))
}
