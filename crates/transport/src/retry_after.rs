//! How long a server asks to be left alone, in all the ways in which servers say it.

use std::time::SystemTime;

use jiff::Timestamp;
use reqwest::header::HeaderMap;

/// Waits that servers name only when a limit was hit; on other answers they say when a full allowance is
/// back, which nobody has to wait for.
const RESET_HEADERS: [&str; 2] = ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"];

/// The longest positive wait that the headers name, in milliseconds.
pub(crate) fn retry_after_ms(headers: &HeaderMap, limited: bool, now: SystemTime) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let asked = [
        text("retry-after-ms").and_then(|ms| millis(ms, 1.0)),
        text("retry-after").and_then(|wait| seconds_or_date(wait, now)),
    ];
    let resets = RESET_HEADERS.map(|name| text(name).filter(|_| limited).and_then(duration_ms));
    let waits = asked.into_iter().chain(resets).flatten();
    waits.filter(|ms| *ms > 0).max()
}

fn seconds_or_date(wait: &str, now: SystemTime) -> Option<u64> {
    if let Some(ms) = millis(wait, 1000.0) {
        return Some(ms);
    }
    let date = jiff::fmt::rfc2822::parse(wait).ok()?.timestamp();
    let now = Timestamp::try_from(now).ok()?;
    let ms = date.as_millisecond().saturating_sub(now.as_millisecond());
    u64::try_from(ms).ok()
}

/// Reads `1s`, `6m0s`, `1h2m3.5s`, `20ms`, or plain seconds.
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
fn millis(number: &str, unit_ms: f64) -> Option<u64> {
    let is_number = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = number.parse().ok().filter(|_| is_number)?;
    // The conversion saturates, and no wait is that long.
    Some((value * unit_ms).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{HeaderName, HeaderValue};

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
        ];
        for (name, value, expected) in cases {
            assert_eq!(wait(&[(name, value)], true), expected, "{name}: {value}");
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
