//! How long a server asks to be left alone, in all the ways in which servers say it.
//!
//! Services disagree about the header, the unit and whether it is a wait or a date, and some say it only in the
//! body. All of them are read, and the longest counts: to wait too long costs time, and to wait too short costs
//! another refusal. What no reader understands is as if nothing had been asked. The clock is passed in, so that
//! dates can be tested.

use std::time::SystemTime;

use http::header::HeaderMap;
use jiff::Timestamp;
use serde_json::Value;

/// A plain number below this is a wait in seconds; one above may be milliseconds or a date.
const SECONDS_MAX: f64 = 1e6;

/// The longest that is waited, whatever a server asks for: a wait holds a run, and in a server its place.
const RETRY_AFTER_MS_MAX: u64 = 10 * 60 * 1000;

/// What is waited of what a server asks for, and what a person is told where that is less.
///
/// A longer wait is cut and not refused: the next attempt may be answered, and if not, the failure says again
/// how long it takes.
pub(crate) fn bounded(asked_ms: Option<u64>) -> (Option<u64>, Option<String>) {
    let notice = asked_ms.filter(|ms| *ms > RETRY_AFTER_MS_MAX).map(|ms| {
        let (asked, kept) = (ms / 1000, RETRY_AFTER_MS_MAX / 1000);
        format!("it asks for a wait of {asked} s, of which {kept} s are kept")
    });
    (asked_ms.map(|ms| ms.min(RETRY_AFTER_MS_MAX)), notice)
}

/// The longest positive wait that the headers name, in milliseconds. Many servers say on every answer when
/// a full allowance is back, which nobody has to wait for unless a limit was hit.
///
/// `limited` says whether the status is one of a limit; only then do the headers that tell when an allowance is
/// full again count.
pub(crate) fn retry_after_ms(headers: &HeaderMap, limited: bool, now: SystemTime) -> Option<u64> {
    let text = |name: &&str| headers.get(*name)?.to_str().ok().map(str::trim);
    let asked_ms = ["retry-after-ms", "retry_after_ms"];
    let asked = ["retry-after", "retry_after", "x-ratelimit-retry-after"];
    let resets = [
        "x-ratelimit-reset",
        "x-ratelimit-reset-requests",
        "x-ratelimit-reset-tokens",
        "anthropic-ratelimit-requests-reset",
        "anthropic-ratelimit-tokens-reset",
        "anthropic-ratelimit-input-tokens-reset",
        "anthropic-ratelimit-output-tokens-reset",
    ];
    let asked_ms = asked_ms
        .iter()
        .filter_map(text)
        .filter_map(|ms| millis(ms, 1.0));
    let asked = asked.iter().filter_map(text);
    let asked = asked.filter_map(|wait| seconds_or_date(wait, now));
    let resets = resets.iter().filter(|_| limited).filter_map(text);
    let resets = resets.filter_map(|wait| reset_ms(wait, now));
    let waits = asked_ms.chain(asked).chain(resets);
    waits.filter(|ms| *ms > 0).max()
}

/// The longest positive wait that the body of an error names, in milliseconds.
///
/// A router repeats what the provider behind it said under `metadata`; Google has it as a duration among its
/// `details`.
pub(crate) fn retry_after_in(error: &Value) -> Option<u64> {
    let places = [Some(error), error.get("metadata")];
    let places = places.into_iter().flatten();
    let named = places.flat_map(|place| {
        let read = |name: &str, unit_ms| millis(&plain_text(place.get(name)?)?, unit_ms);
        [
            read("retry_after", 1000.0),
            read("retryAfter", 1000.0),
            read("retry_after_ms", 1.0),
            read("retryAfterMs", 1.0),
        ]
    });
    let details = error.get("details").and_then(Value::as_array);
    let details = details.into_iter().flatten();
    let delays = details.map(|part| duration_ms(part.get("retryDelay")?.as_str()?));
    named.chain(delays).flatten().filter(|ms| *ms > 0).max()
}

/// Some services write numbers as texts.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// When a limit is lifted: a wait with its unit, a date, or a number of which only the size tells what it
/// counts.
///
/// Below a million it is a number of seconds, below a thousand million one of milliseconds; what is larger
/// counts from 1970, in seconds or, from a million million on, in milliseconds.
fn reset_ms(text: &str, now: SystemTime) -> Option<u64> {
    let Some(ms) = millis(text, 1.0) else {
        return duration_ms(text).or_else(|| until(text.parse().ok()?, now));
    };
    let since_epoch = |at_ms: u64| {
        until(
            Timestamp::from_millisecond(i64::try_from(at_ms).ok()?).ok()?,
            now,
        )
    };
    match ms as f64 {
        number if number < SECONDS_MAX => millis(text, 1000.0),
        number if number < 1e9 => Some(ms),
        number if number < 1e12 => since_epoch(ms.saturating_mul(1000)),
        _ => since_epoch(ms),
    }
}

/// A date is that of HTTP, or else one of RFC 3339.
fn seconds_or_date(wait: &str, now: SystemTime) -> Option<u64> {
    if let Some(ms) = millis(wait, 1000.0) {
        return Some(ms);
    }
    let date = jiff::fmt::rfc2822::parse(wait).map(|date| date.timestamp());
    until(date.or_else(|_| wait.parse()).ok()?, now)
}

/// `None` where the date has passed. The clock of this machine may be wrong; then the wait is, and `bounded` is
/// what limits it.
fn until(date: Timestamp, now: SystemTime) -> Option<u64> {
    let now = Timestamp::try_from(now).ok()?;
    let ms = date.as_millisecond().saturating_sub(now.as_millisecond());
    u64::try_from(ms).ok()
}

/// Reads `1s`, `6m0s`, `1h2m3.5s`, `20ms`, or plain seconds.
///
/// A unit that is not known makes all of it unreadable: half a duration would be a wrong one.
fn duration_ms(text: &str) -> Option<u64> {
    if let Some(ms) = millis(text, 1000.0) {
        return Some(ms);
    }
    let mut rest = text;
    let mut total_ms: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let unit_ms = match unit {
            "ms" => 1.0,
            "s" => 1000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        total_ms = total_ms.saturating_add(millis(number, unit_ms)?);
        rest = tail;
    }
    (!text.is_empty()).then_some(total_ms)
}

/// A number of units as whole milliseconds, rounded up: a wait that is a little too short is refused again.
///
/// Only digits and a point are a number here; what else Rust reads as one, such as `inf` or `1e9`, is not.
fn millis(number: &str, unit_ms: f64) -> Option<u64> {
    let is_number = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = number.parse().ok().filter(|_| is_number)?;
    // The conversion saturates, and no wait is that long.
    Some((value * unit_ms).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::header::{HeaderName, HeaderValue};

    use super::*;

    fn wait(headers: &[(&'static str, &str)], limited: bool) -> Option<u64> {
        let pairs = headers.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).expect("a header value");
            (HeaderName::from_static(name), value)
        });
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        retry_after_ms(&pairs.collect(), limited, now)
    }

    #[test]
    fn a_wait_that_is_asked_for_is_bounded_and_a_person_is_told() {
        assert_eq!(bounded(None), (None, None));
        assert_eq!(bounded(Some(600_000)), (Some(600_000), None));
        let (kept, notice) = bounded(Some(999_999_999_000));
        assert_eq!(kept, Some(600_000));
        assert!(notice.is_some_and(|it| it.contains("999999999 s")));
    }

    #[test]
    fn every_way_of_naming_a_wait_is_understood() {
        let cases = [
            ("retry-after", "7", Some(7_000)),
            ("retry-after", "0.25", Some(250)),
            ("retry-after", "0", None),
            ("retry-after", "-3", None),
            ("retry-after", "soon", None),
            ("retry-after", "inf", None),
            ("retry-after", "99999999999999999999999", Some(u64::MAX)),
            ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT", Some(30_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT", None),
            ("retry-after-ms", "350", Some(350)),
            ("x-ratelimit-reset-requests", "1s", Some(1_000)),
            ("x-ratelimit-reset-requests", "20ms", Some(20)),
            ("x-ratelimit-reset-tokens", "6m0s", Some(360_000)),
            ("x-ratelimit-reset-tokens", "1h2m3.5s", Some(3_723_500)),
            ("x-ratelimit-reset-tokens", "1x", None),
            ("x-ratelimit-reset-tokens", "s", None),
            ("x-ratelimit-reset-tokens", "", None),
            ("retry_after", "7", Some(7_000)),
            ("retry_after_ms", "7", Some(7)),
            ("x-ratelimit-retry-after", "7", Some(7_000)),
            ("x-ratelimit-reset", "7", Some(7_000)),
            ("x-ratelimit-reset", "2000000", Some(2_000_000)),
            ("x-ratelimit-reset", "784111807", Some(784_111_807)),
            ("x-ratelimit-reset", "1784111777", Some(1_000_000_000_000)),
            ("x-ratelimit-reset", "784111807000", None),
            (
                "x-ratelimit-reset",
                "1784111777000",
                Some(1_000_000_000_000),
            ),
            (
                "anthropic-ratelimit-requests-reset",
                "1994-11-06T08:50:07Z",
                Some(30_000),
            ),
            (
                "anthropic-ratelimit-tokens-reset",
                "1994-11-06T08:49:07Z",
                None,
            ),
            ("anthropic-ratelimit-tokens-reset", "tomorrow", None),
        ];
        for (name, value, expected) in cases {
            assert_eq!(wait(&[(name, value)], true), expected, "{name}: {value}");
        }
    }

    #[test]
    fn every_header_that_says_when_a_limit_is_lifted_counts_only_if_one_was_hit() {
        let names = [
            "x-ratelimit-reset",
            "x-ratelimit-reset-requests",
            "x-ratelimit-reset-tokens",
            "anthropic-ratelimit-requests-reset",
            "anthropic-ratelimit-tokens-reset",
            "anthropic-ratelimit-input-tokens-reset",
            "anthropic-ratelimit-output-tokens-reset",
        ];
        for name in names {
            for value in ["30s", "30", "1994-11-06T08:50:07Z"] {
                assert_eq!(
                    wait(&[(name, value)], true),
                    Some(30_000),
                    "{name}: {value}"
                );
                assert_eq!(wait(&[(name, value)], false), None, "{name}: {value}");
            }
        }
    }

    #[test]
    fn the_longest_wait_wins() {
        let headers = [
            ("retry-after", "2"),
            ("retry-after-ms", "1500"),
            ("x-ratelimit-reset-tokens", "3s"),
        ];
        assert_eq!(wait(&headers, true), Some(3_000));
        assert_eq!(wait(&headers, false), Some(2_000), "no limit was hit");
        assert_eq!(wait(&[], true), None);
    }
}
