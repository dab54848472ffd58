//! Cron lines: which are understood, and when they are due where clocks change.

use std::collections::BTreeSet;

use bonded_kernel::Millis;
use bonded_workspace::Cron;
use bonded_workspace_rules::Instants as _;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use proptest::prelude::*;

fn cron(line: &str, zone: &str) -> Cron {
    Cron::parse(line, zone).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn at(text: &str) -> Millis {
    let moment: Timestamp = text.parse().expect("a moment");
    Millis(moment.as_millisecond() as u64)
}

fn shown(at: Millis) -> String {
    let moment = Timestamp::from_millisecond(at.0 as i64).expect("a moment");
    moment.to_string()
}

/// All instants after the one and up to the other.
fn between(cron: &Cron, after: Millis, until: Millis) -> Vec<Millis> {
    let next = |at: &Millis| cron.after(*at).filter(|next| *next <= until);
    std::iter::successors(next(&after), next).collect()
}

#[test]
fn lines_are_understood_as_everywhere() {
    let from = at("2026-11-15T12:00:00Z"); // A Sunday.
    let rows = [
        ("* * * * *", "2026-11-15T12:01:00Z"),
        ("*/15 * * * *", "2026-11-15T12:15:00Z"),
        ("7/20 * * * *", "2026-11-15T12:07:00Z"),
        ("0-30/10,45 13 * * *", "2026-11-15T13:00:00Z"),
        ("30 9 * * 1-5", "2026-11-16T09:30:00Z"),
        ("30 9 * * MON-FRI", "2026-11-16T09:30:00Z"),
        ("0 0 1 * *", "2026-12-01T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
        ("0 0 31 * *", "2026-12-31T00:00:00Z"),
        ("0 0 * feb,Mar *", "2027-02-01T00:00:00Z"),
        // Either of the two days is enough, where both are given.
        ("0 0 13 * 5", "2026-11-20T00:00:00Z"),
        ("0 0 16 * 5", "2026-11-16T00:00:00Z"),
        // But a star leaves it to the other.
        ("0 0 */2 * 1", "2026-11-23T00:00:00Z"),
        ("0 0 * * 7", "2026-11-22T00:00:00Z"),
        ("0 0 * * 0", "2026-11-22T00:00:00Z"),
        ("@hourly", "2026-11-15T13:00:00Z"),
        ("@daily", "2026-11-16T00:00:00Z"),
        ("@weekly", "2026-11-22T00:00:00Z"),
        ("@monthly", "2026-12-01T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("  5   4 * * *  ", "2026-11-16T04:05:00Z"),
    ];
    for (line, expected) in rows {
        let next = cron(line, "UTC").after(from).map(shown);
        assert_eq!(next.as_deref(), Some(expected), "{line}");
    }
}

#[test]
fn what_is_no_line_or_never_fires_is_refused_with_what_to_do() {
    let rows = [
        ("", "UTC", "five fields", "this one has 0"),
        ("* * * *", "UTC", "five fields", "this one has 4"),
        ("0 0 9 * * *", "UTC", "five fields", "this one has 6"),
        ("@sometimes", "UTC", "there is no", "@daily"),
        (
            "60 * * * *",
            "UTC",
            "the field minute cannot be \"60\"",
            "from 0 to 59",
        ),
        ("* 24 * * *", "UTC", "the field hour", "from 0 to 23"),
        (
            "* * 0 * *",
            "UTC",
            "the field day of the month",
            "from 1 to 31",
        ),
        (
            "* * * 13 *",
            "UTC",
            "the field month",
            "or a name from jan to dec",
        ),
        (
            "* * * * 8",
            "UTC",
            "the field day of the week",
            "or a name from sun to sat",
        ),
        (
            "* * * * FRI-MON",
            "UTC",
            "the field day of the week",
            "comma",
        ),
        (
            "*/0 * * * *",
            "UTC",
            "the field minute",
            "a step is a number from 1",
        ),
        ("1-2-3 * * * *", "UTC", "the field minute", "numbers"),
        (", * * * *", "UTC", "the field minute", "numbers"),
        ("-1 * * * *", "UTC", "the field minute", "numbers"),
        ("+1 * * * *", "UTC", "the field minute", "numbers"),
        (
            "99999999999999999999 * * * *",
            "UTC",
            "the field minute",
            "numbers",
        ),
        (
            "* * * * *",
            "Mars/Olympus",
            "no time zone \"Mars/Olympus\"",
            "Europe/Berlin",
        ),
        ("* * * * *", "../../etc/passwd", "no time zone", "tzdata"),
        ("0 0 30 2 *", "UTC", "never fires", "day of the month"),
        (
            "0 0 31 4,6,9,11 *",
            "UTC",
            "never fires",
            "day of the month",
        ),
    ];
    for (line, zone, what, hint) in rows {
        let error = Cron::parse(line, zone)
            .expect_err("it is refused")
            .to_string();
        assert!(
            error.contains(what) && error.contains(hint),
            "{line}: {error}"
        );
    }
}

#[test]
fn a_skipped_time_fires_when_it_is_skipped_and_a_repeated_one_fires_first() {
    let berlin = "Europe/Berlin";
    let rows = [
        // The clocks go from 02:00 to 03:00 at 01:00Z.
        (
            "30 2 * * *",
            berlin,
            "2026-03-28T12:00:00Z",
            vec!["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        (
            "*/20 2 * * *",
            berlin,
            "2026-03-28T12:00:00Z",
            vec!["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"],
        ),
        (
            "0 2,3 * * *",
            berlin,
            "2026-03-28T12:00:00Z",
            vec!["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"],
        ),
        (
            "30 * * * *",
            berlin,
            "2026-03-29T00:00:00Z",
            vec!["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"],
        ),
        // And back from 03:00 to 02:00, at 01:00Z too.
        (
            "30 2 * * *",
            berlin,
            "2026-10-24T12:00:00Z",
            vec!["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
        (
            "30 * * * *",
            berlin,
            "2026-10-25T00:00:00Z",
            vec![
                "2026-10-25T00:30:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-25T02:30:00Z",
            ],
        ),
        // Half an hour.
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04T00:00:00Z",
            vec!["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"],
        ),
        // Two hours.
        (
            "30 2 * * *",
            "Antarctica/Troll",
            "2026-10-24T12:00:00Z",
            vec!["2026-10-25T00:30:00Z", "2026-10-26T02:30:00Z"],
        ),
        (
            "30 * * * *",
            "Antarctica/Troll",
            "2026-10-25T00:00:00Z",
            vec![
                "2026-10-25T00:30:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-25T02:30:00Z",
            ],
        ),
        // Seven hours, back from midnight at 17:00Z.
        (
            "57 * * * *",
            "Antarctica/Vostok",
            "1994-01-31T10:40:00Z",
            vec![
                "1994-01-31T10:57:00Z",
                "1994-01-31T11:57:00Z",
                "1994-01-31T12:57:00Z",
                "1994-01-31T13:57:00Z",
                "1994-01-31T14:57:00Z",
                "1994-01-31T15:57:00Z",
                "1994-01-31T16:57:00Z",
                "1994-01-31T17:57:00Z",
            ],
        ),
        // A whole day that there never was.
        (
            "0 12 30 * *",
            "Pacific/Apia",
            "2011-12-01T00:00:00Z",
            vec!["2011-12-30T10:00:00Z", "2012-01-29T22:00:00Z"],
        ),
    ];
    for (line, zone, from, expected) in rows {
        let cron = cron(line, zone);
        let next = |at: &Millis| cron.after(*at);
        let found = std::iter::successors(next(&at(from)), next).take(expected.len());
        let found: Vec<String> = found.map(shown).collect();
        assert_eq!(found, expected, "{line} in {zone}");
    }
}

#[test]
fn a_day_that_comes_once_in_decades_is_waited_for() {
    let rows = [
        // A star with a step before it or after it: both fields must hold.
        ("0 0 */31 1 fri", "2026-11-15", "2027-01-01", "2021-01-01"),
        ("0 0 */28 2 3", "2024-01-01", "2034-02-01", "2023-02-01"),
        ("0 0 29 2 */7", "2033-01-01", "2060-02-29", "2032-02-29"),
        // 2100 has no such day.
        ("0 0 29 2 */7", "2089-01-01", "2128-02-29", "2088-02-29"),
        ("0 0 29 2 *", "2097-01-01", "2104-02-29", "2096-02-29"),
    ];
    for (line, from, next, last) in rows {
        let cron = cron(line, "UTC");
        let midnight = |day: &str| at(&format!("{day}T00:00:00Z"));
        let from = midnight(from);
        assert_eq!(cron.after(from), Some(midnight(next)), "{line}");
        assert_eq!(cron.latest(from), Some(midnight(last)), "{line}");
    }
}

#[test]
fn behind_a_day_that_there_never_was_the_last_instant_is_not_before_it() {
    // Samoa went from the 29th to the 31st of December at 10:00Z.
    let rows = [
        ("* * * * *", "2011-12-30T10:17:24Z", "2011-12-30T10:17:00Z"),
        ("11 * * * *", "2011-12-30T10:11:00Z", "2011-12-30T10:11:00Z"),
        ("11 * * * *", "2011-12-30T10:10:59Z", "2011-12-30T09:11:00Z"),
        (
            "*/46 3 * * *",
            "2011-12-30T13:50:00Z",
            "2011-12-30T13:46:00Z",
        ),
        (
            "43 23 * * *",
            "2011-12-30T12:00:00Z",
            "2011-12-30T10:00:00Z",
        ),
    ];
    for (line, until, last) in rows {
        let latest = cron(line, "Pacific/Apia").latest(at(until));
        assert_eq!(
            latest.map(shown).as_deref(),
            Some(last),
            "{line} at {until}"
        );
    }
}

/// Each minute of a span, and what the calendar shows then.
fn minutes(zone: &str, from: Millis, until: Millis) -> Vec<(Millis, DateTime)> {
    let zone = TimeZone::get(zone).expect("a zone");
    let shown = |at: u64| {
        let moment = Timestamp::from_millisecond(at as i64).expect("a moment");
        (Millis(at), zone.to_datetime(moment))
    };
    (from.0..=until.0).step_by(60_000).map(shown).collect()
}

/// What a line should come to, found by looking at each minute of the calendar: which times it shows, which it
/// leaves out, and which it shows again.
fn by_looking(
    matches: impl Fn(DateTime) -> bool,
    is_every_hour: bool,
    minutes: &[(Millis, DateTime)],
) -> Vec<Millis> {
    let mut seen = BTreeSet::new();
    let mut fired = vec![];
    for pair in minutes.windows(2) {
        let ((_, before), (at, time)) = (pair[0], pair[1]);
        let skipped = std::iter::successors(Some(before), |time| Some(*time + 1.minute()));
        let is_skipped = skipped.skip(1).take_while(|it| *it < time).any(&matches);
        // Only what is due can be due again.
        let is_due = matches(time) && (seen.insert(time) || is_every_hour);
        if is_due || (is_skipped && !is_every_hour) {
            fired.push(at);
        }
    }
    fired
}

#[test]
fn a_year_of_instants_is_what_the_calendar_shows() {
    type Matches = fn(DateTime) -> bool;
    let rows: [(&str, Matches, bool); 5] = [
        (
            "30 2 * * *",
            |it| it.hour() == 2 && it.minute() == 30,
            false,
        ),
        (
            "*/20 1-3 * * *",
            |it| (1..4).contains(&it.hour()) && it.minute() % 20 == 0,
            false,
        ),
        (
            "0 */2 * * 0",
            |it| {
                it.minute() == 0
                    && it.hour() % 2 == 0
                    && it.weekday() == jiff::civil::Weekday::Sunday
            },
            false,
        ),
        ("0 * * * *", |it| it.minute() == 0, true),
        (
            "*/10 * * 3,10 *",
            |it| it.minute() % 10 == 0 && [3, 10].contains(&it.month()),
            true,
        ),
    ];
    // Only the weeks around a change can go wrong; one zone is looked at for the whole year.
    let spans = [
        (
            "Europe/Berlin",
            "2026-01-01T00:00:00Z",
            "2027-01-01T00:00:00Z",
        ),
        (
            "America/New_York",
            "2026-03-01T00:00:00Z",
            "2026-03-15T00:00:00Z",
        ),
        (
            "America/New_York",
            "2026-10-25T00:00:00Z",
            "2026-11-08T00:00:00Z",
        ),
        (
            "Australia/Lord_Howe",
            "2026-03-29T00:00:00Z",
            "2026-04-12T00:00:00Z",
        ),
        (
            "Australia/Lord_Howe",
            "2026-09-27T00:00:00Z",
            "2026-10-11T00:00:00Z",
        ),
        (
            "Antarctica/Troll",
            "2026-03-22T00:00:00Z",
            "2026-04-05T00:00:00Z",
        ),
        (
            "Antarctica/Troll",
            "2026-10-18T00:00:00Z",
            "2026-11-01T00:00:00Z",
        ),
    ];
    for (zone, from, until) in spans {
        let (from, until) = (at(from), at(until));
        let minutes = minutes(zone, from, until);
        for (line, matches, is_every_hour) in rows {
            let cron = cron(line, zone);
            let found = between(&cron, from, until);
            let expected = by_looking(matches, is_every_hour, &minutes);
            assert_eq!(found, expected, "{line} in {zone}");
        }
    }
}

fn lines() -> impl Strategy<Value = String> {
    let member = |least: u8, most: u8| {
        prop_oneof![
            3 => Just("*".to_owned()),
            1 => (2..7_u8).prop_map(|step| format!("*/{step}")),
            3 => (least..=most).prop_map(|it| it.to_string()),
            1 => (least..=most, 0..4_u8).prop_map(move |(it, more)| format!("{it}-{}", (it + more).min(most))),
        ]
    };
    let fields = (
        member(0, 59),
        member(0, 23),
        member(1, 28),
        member(1, 12),
        member(0, 6),
    );
    fields.prop_map(|(a, b, c, d, e)| format!("{a} {b} {c} {d} {e}"))
}

proptest! {
    #[test]
    fn any_text_is_a_line_or_is_refused(line in "\\PC{0,40}", zone in "\\PC{0,20}") {
        let _ = Cron::parse(&line, "UTC");
        let _ = Cron::parse("* * * * *", &zone);
    }

    #[test]
    fn forwards_and_backwards_agree(
        line in lines(),
        (zone, year) in proptest::sample::select(vec![
            ("UTC", "2026"),
            ("Europe/Berlin", "2026"),
            ("Australia/Lord_Howe", "2026"),
            ("Antarctica/Troll", "2026"),
            ("Pacific/Apia", "2011"),
            ("Antarctica/Vostok", "1994"),
        ]),
        into_year in 0..31_536_000_000_u64,
    ) {
        let cron = cron(&line, zone);
        let from = at(&format!("{year}-01-01T00:00:00Z")).plus(into_year);
        let next = cron.after(from).expect("each of these fires");
        prop_assert!(next > from);
        prop_assert_eq!(cron.latest(next), Some(next));
        let last = cron.latest(Millis(next.0 - 1));
        prop_assert!(last.is_some_and(|last| last <= from), "{:?} {:?}", last.map(shown), shown(next));
        prop_assert_eq!(cron.latest(from), last);
    }

    #[test]
    fn no_moment_is_too_far(line in lines(), at in any::<u64>()) {
        let cron = cron(&line, "Europe/Berlin");
        let _ = cron.after(Millis(at));
        let _ = cron.latest(Millis(at));
    }
}
