//! Cron lines: a line that is accepted fires after every moment, its instants forwards and backwards are the same, none
//! lies between two neighbours, and in UTC they are those that a walk from minute to minute finds. The first byte
//! chooses the zone, the next four the moment.

#![no_main]

use bonded_workspace::Cron;
use bonded_kernel::Millis;
use bonded_workspace_rules::Instants as _;
use libfuzzer_sys::fuzz_target;

/// Zones whose clocks change by an hour, half an hour, two hours, seven and a day, and one that changes them for a month.
const ZONES: [&str; 9] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Antarctica/Vostok",
];

const MINUTE_MS: u64 = 60_000;
/// 1971 and some days.
const FIRST_SECOND: u64 = 34_000_000;
/// How far the plain walk goes.
const WALK_MINUTES: u64 = 3 * 24 * 60;

/// Whether a number is one that a field names; written down anew, and as plainly as can be.
fn names(field: &str, number: i8, least: i8, most: i8, words: &[&str]) -> bool {
    let value = |text: &str| -> i8 {
        let word = words
            .iter()
            .position(|word| text.eq_ignore_ascii_case(word));
        word.map_or_else(|| text.parse().expect("a number"), |at| at as i8 + least)
    };
    field.split(',').any(|member| {
        let (range, step) = member
            .split_once('/')
            .map_or((member, None), |(a, b)| (a, Some(b)));
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((first, last)) => (value(first), value(last)),
            None if step.is_some() => (value(range), most),
            None => (value(range), value(range)),
        };
        let step: i8 = step.map_or(1, |step| step.parse().expect("a step"));
        (first..=last).contains(&number) && (number - first) % step == 0
    })
}

/// Whether a line of five fields fires at a minute in UTC.
fn fires(fields: &[&str], at: jiff::civil::DateTime) -> bool {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let weekday = at.weekday().to_sunday_zero_offset();
    let on_day = names(fields[2], at.day(), 1, 31, &[]);
    let on_weekday = names(fields[4], weekday, 0, 7, &WEEKDAYS)
        || weekday == 0 && names(fields[4], 7, 0, 7, &WEEKDAYS);
    let is_day = match fields[2].starts_with('*') || fields[4].starts_with('*') {
        true => on_day && on_weekday,
        false => on_day || on_weekday,
    };
    is_day
        && names(fields[0], at.minute(), 0, 59, &[])
        && names(fields[1], at.hour(), 0, 23, &[])
        && names(fields[3], at.month(), 1, 12, &MONTHS)
}

fn check_walk(line: &str, cron: &Cron, from: Millis) {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if fields.len() != 5 {
        return;
    }
    let first = from.0 / MINUTE_MS + 1;
    let walked = (first..first + WALK_MINUTES).find(|minute| {
        let at = jiff::Timestamp::from_second(*minute as i64 * 60).expect("in the calendar");
        fires(&fields, jiff::tz::Offset::UTC.to_datetime(at))
    });
    let found = cron
        .after(from)
        .filter(|at| at.0 < (first + WALK_MINUTES) * MINUTE_MS);
    assert_eq!(
        found,
        walked.map(|minute| Millis(minute * MINUTE_MS)),
        "{line:?} after {from:?}"
    );
}

fn check_neighbours(line: &str, zone: &str, cron: &Cron, at: Millis) {
    let told = || format!("{line:?} in {zone} around {at:?}");
    let after = cron
        .after(at)
        .unwrap_or_else(|| panic!("{}: nothing follows", told()));
    assert!(after > at && after.0 % 1000 == 0, "{}", told());
    assert_eq!(cron.latest(after), Some(after), "{}", told());
    let before = cron.latest(Millis(after.0 - 1));
    assert!(
        before.is_none_or(|before| before <= at),
        "{}: {before:?} was left out",
        told()
    );
    if let Some(before) = cron.latest(at) {
        assert!(before <= at, "{}", told());
        assert_eq!(cron.after(before), Some(after), "{}: neighbours", told());
    }
}

fuzz_target!(|input: &[u8]| {
    let Some(([zone, seconds @ ..], line)) = input.split_first_chunk::<5>() else {
        return;
    };
    let Ok(line) = std::str::from_utf8(line) else {
        return;
    };
    let zone = ZONES[usize::from(*zone) % ZONES.len()];
    let Ok(cron) = Cron::parse(line, zone) else {
        return;
    };
    let at = Millis((FIRST_SECOND + u64::from(u32::from_le_bytes(*seconds))) * 1000);
    check_neighbours(line, zone, &cron, at);
    if zone == "UTC" {
        check_walk(line, &cron, at);
    }
});
