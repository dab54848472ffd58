//! Times as the wire has them: RFC 3339 in UTC, with milliseconds.

use bonded_kernel::Millis;
use serde_json::Value;

/// The time as text. What lies beyond the calendar is shown as its last moment.
pub(crate) fn rfc3339(at: Millis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let stamp = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
    format!("{stamp:.3}")
}

/// The time, or null.
pub(crate) fn shown(at: Option<Millis>) -> Value {
    at.map_or(Value::Null, |at| rfc3339(at).into())
}

/// Reads what `rfc3339` wrote, and other times in that form.
pub(crate) fn parse(text: &str) -> Option<Millis> {
    let stamp: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_millisecond()).ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_with_milliseconds_and_read_back() {
        let rows = [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_763_230_000_007, "2025-11-15T18:06:40.007Z"),
        ];
        for (millis, text) in rows {
            assert_eq!(rfc3339(Millis(millis)), text);
            assert_eq!(parse(text), Some(Millis(millis)));
        }
        assert!(rfc3339(Millis(u64::MAX)).starts_with("9999-12-3"));
        assert_eq!(parse("yesterday"), None);
    }
}
