//! Times as the wire has them: RFC 3339 in UTC, with milliseconds.
//!
//! They are written and read here alone, so that all answers have the same form.

use bonded_kernel::Millis;
use bonded_workspace_rules::title_from_clock;
use serde_json::Value;

/// 9999-12-31T23:59:59.999Z: later years have five digits, and not all who read them can.
const LAST: Millis = Millis(253_402_300_799_999);

/// The time as text. What lies beyond the last moment is shown as that. It is written often, in lists of notes, so the
/// large library for time is left alone.
pub fn rfc3339(at: Millis) -> String {
    let at = at.min(LAST);
    let mut text = title_from_clock(at).replacen(' ', "T", 1);
    text.push_str(&format!(".{:03}Z", at.0 % 1000));
    text
}

/// The time, or null.
pub fn shown(at: Option<Millis>) -> Value {
    at.map_or(Value::Null, |at| rfc3339(at).into())
}

/// Reads what `rfc3339` wrote, and other times in that form.
pub fn parse(text: &str) -> Option<Millis> {
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
        for beyond in [LAST.0, LAST.0 + 1, u64::MAX] {
            assert_eq!(rfc3339(Millis(beyond)), "9999-12-31T23:59:59.999Z");
        }
        assert_eq!(parse("yesterday"), None);
    }
}
