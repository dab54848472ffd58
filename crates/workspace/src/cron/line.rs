//! The text of a cron line: five fields of numbers, names, ranges, steps and lists.
//!
//! Each field becomes a set of bits, so that a look is one shift. It is read as the usual cron does it, the odd rule
//! about the two fields for days included.

use jiff::civil::Date;

use super::error::BadCron;

/// Bit `n` stands for the number `n`.
type Set = u64;

/// A line that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CronLine {
    minutes: Set,
    hours: Set,
    days: Set,
    months: Set,
    weekdays: Set,
    /// Whether one of the two fields for days begins with a star: then both must hold, else one is enough.
    both_days: bool,
}

/// What a field may hold.
struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    /// The first stands for `least`.
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A row of the table below.
const fn field(name: &'static str, least: u32, most: u32, names: &'static [&'static str]) -> Field {
    Field {
        name,
        least,
        most,
        names,
    }
}

/// In the order in which they stand in a line.
const FIELDS: [Field; 5] = [
    field("minute", 0, 59, &[]),
    field("hour", 0, 23, &[]),
    field("day of the month", 1, 31, &[]),
    field("month", 1, 12, &MONTHS),
    // Sunday is 0, and 7 too.
    field("day of the week", 0, 7, &WEEKDAYS),
];

/// All 24 bits.
const EVERY_HOUR: Set = (1 << 24) - 1;

impl CronLine {
    /// Sunday may be written as 0 or as 7, and is looked up as 0.
    pub(super) fn parse(written: &str) -> Result<Self, BadCron> {
        let written = match written.trim() {
            word if word.starts_with('@') => meant(word)?,
            line => line,
        };
        let parts: Vec<&str> = written.split_whitespace().collect();
        let Ok([minutes, hours, days, months, weekdays]) = <[&str; 5]>::try_from(parts.clone())
        else {
            let found = parts.len();
            return Err(BadCron::Fields { found });
        };
        let set = |index: usize, part: &str| FIELDS[index].parse(part);
        let weekday_set = set(4, weekdays)?;
        Ok(Self {
            minutes: set(0, minutes)?,
            hours: set(1, hours)?,
            days: set(2, days)?,
            months: set(3, months)?,
            weekdays: weekday_set | (weekday_set >> 7 & 1),
            both_days: days.starts_with('*') || weekdays.starts_with('*'),
        })
    }

    /// Whether the line goes by real time when the clocks change.
    pub(super) fn is_every_hour(&self) -> bool {
        self.hours == EVERY_HOUR
    }

    /// In ascending order.
    pub(super) fn minutes(&self) -> impl Iterator<Item = i8> + use<> {
        let minutes = self.minutes;
        (0..60).filter(move |minute| minutes >> minute & 1 == 1)
    }

    /// In ascending order; the other way round for a look backwards.
    pub(super) fn hours(&self) -> impl DoubleEndedIterator<Item = i8> + use<> {
        let hours = self.hours;
        (0..24).filter(move |hour| hours >> hour & 1 == 1)
    }

    /// By the month and by the fields for days.
    pub(super) fn has_day(&self, date: Date) -> bool {
        let has = |set: Set, number: i8| set >> number & 1 == 1;
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let day = has(self.days, date.day());
        let is_day = match self.both_days {
            true => day && weekday,
            false => day || weekday,
        };
        is_day && has(self.months, date.month())
    }
}

/// The line that a word stands for.
fn meant(word: &str) -> Result<&'static str, BadCron> {
    Ok(match word {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        _ => {
            let word = word.chars().take(32).collect();
            return Err(BadCron::Word { word });
        }
    })
}

impl Field {
    /// What was written is cut to 64 characters in the message.
    fn bad(&self, written: &str, why: impl Into<String>) -> BadCron {
        BadCron::Field {
            field: self.name,
            written: written.chars().take(64).collect(),
            why: why.into(),
        }
    }

    /// Members of a list are united.
    fn parse(&self, written: &str) -> Result<Set, BadCron> {
        let mut members = written.split(',').map(|member| self.member(member));
        members.try_fold(0, |set, member| Ok(set | member?))
    }

    /// `*`, `5`, `1-5`, and with a step `*/15`, `0-30/10`, `5/20`.
    fn member(&self, written: &str) -> Result<Set, BadCron> {
        let (range, step) = match written.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step, written)?)),
            None => (written, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.least, self.most),
            Some((first, last)) => (self.number(first, written)?, self.number(last, written)?),
            None => {
                let first = self.number(range, written)?;
                let last = if step.is_some() { self.most } else { first };
                (first, last)
            }
        };
        if first > last {
            let why = "a range goes from a smaller number to a larger one; separate the parts with a comma";
            return Err(self.bad(written, why));
        }
        let numbers = (first..=last).step_by(step.unwrap_or(1));
        Ok(numbers.fold(0, |set, number| set | 1 << number))
    }

    /// A step of 0 would never end.
    fn step(&self, step: &str, written: &str) -> Result<usize, BadCron> {
        let step = plain_number(step).filter(|it| (1..=self.most).contains(it));
        let most = self.most;
        let bad = || self.bad(written, format!("a step is a number from 1 to {most}"));
        step.map(|it| it as usize).ok_or_else(bad)
    }

    /// A number, or a name where the field has names.
    fn number(&self, text: &str, written: &str) -> Result<u32, BadCron> {
        let lower = text.to_ascii_lowercase();
        let named = (self.least..).zip(self.names);
        let named = named.into_iter().find(|(_, name)| **name == lower);
        let number = named.map(|(number, _)| number).or(plain_number(text));
        let (least, most) = (self.least, self.most);
        let bad = || {
            let names = self.names.first().zip(self.names.last());
            let or = names.map_or(String::new(), |(a, b)| {
                format!(" or a name from {a} to {b}")
            });
            self.bad(
                written,
                format!("it takes numbers from {least} to {most}{or}"),
            )
        };
        number
            .filter(|it| (least..=most).contains(it))
            .ok_or_else(bad)
    }
}

/// Digits alone: neither signs nor blanks.
fn plain_number(text: &str) -> Option<u32> {
    let is_plain = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}
