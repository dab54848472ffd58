//! JSON of strangers, bounded in depth and in the number of its values, whichever server it is sent to.

use serde_json::Value;

/// How deep arrays and objects may lie in each other.
pub const DEPTH_MAX: usize = 64;

/// How many values a text may hold, counted by what separates them: each takes far more memory than the bytes in which
/// it is written.
pub const VALUES_MAX: usize = 100_000;

/// Why a text is not taken as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The byte that belongs to no character.
    NotUtf8(usize),
    /// Deeper than `DEPTH_MAX`. Found by counting brackets, before a parser recurses over it.
    TooDeep,
    /// More than `VALUES_MAX`. Refused before a single value is built.
    TooManyValues,
    /// What the parser says of it, with line and column.
    NotJson(String),
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotUtf8(at) => write!(f, "is not UTF-8: byte {at} belongs to no character"),
            Self::TooDeep => write!(f, "is nested deeper than {DEPTH_MAX} levels"),
            Self::TooManyValues => {
                write!(
                    f,
                    "holds more than {VALUES_MAX} values; send less at a time"
                )
            }
            Self::NotJson(why) => write!(f, "is not JSON: {why}"),
        }
    }
}

/// Reads JSON that is UTF-8, not too deep and not too much. Nothing is built before that is known.
pub fn parse(bytes: &[u8]) -> Result<Value, Unread> {
    let text = std::str::from_utf8(bytes).map_err(|error| Unread::NotUtf8(error.valid_up_to()))?;
    let measure = Measure::of(text);
    if measure.depth > DEPTH_MAX {
        return Err(Unread::TooDeep);
    }
    if measure.values > VALUES_MAX {
        return Err(Unread::TooManyValues);
    }
    serde_json::from_str(text).map_err(|error| Unread::NotJson(error.to_string()))
}

/// What a text will cost as JSON; found in one pass, whatever the text is.
#[derive(Debug, Default)]
struct Measure {
    /// How deep brackets lie in each other, outside strings.
    depth: usize,
    /// Brackets that open, and commas: no fewer than there are values, but for one.
    values: usize,
}

impl Measure {
    /// Counts without judging: for a text that is no JSON the figures mean nothing, and the parser refuses it
    /// afterwards.
    fn of(text: &str) -> Self {
        let mut measure = Self::default();
        let (mut now, mut in_string, mut escaped) = (0_usize, false, false);
        for byte in text.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'[' | b'{' => {
                    now += 1;
                    measure.depth = measure.depth.max(now);
                    measure.values += 1;
                }
                b',' => measure.values += 1,
                b']' | b'}' => now = now.saturating_sub(1),
                _ => {}
            }
        }
        measure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_and_everything_else_is_refused() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let objects = |count: usize| format!("[{}1]", "{\"a\":1},".repeat(count)).into_bytes();
        let rows: [(Vec<u8>, Option<&str>); 11] = [
            (objects(VALUES_MAX / 2 - 1), None),
            (objects(VALUES_MAX / 2), Some("more than 100000 values")),
            (
                format!("\"{}\"", ",[{".repeat(VALUES_MAX)).into_bytes(),
                None,
            ),
            (br#"{"a": [1, "]]]]"]}"#.to_vec(), None),
            (deep(DEPTH_MAX).into_bytes(), None),
            (deep(DEPTH_MAX + 1).into_bytes(), Some("deeper than 64")),
            ("[".repeat(1_000_000).into_bytes(), Some("deeper than 64")),
            (br#""\"[[[""#.to_vec(), None),
            (b"\"\xff\"".to_vec(), Some("not UTF-8")),
            (b"{".to_vec(), Some("not JSON")),
            (b"{} {}".to_vec(), Some("not JSON")),
        ];
        for (bytes, expected) in rows {
            let refused = parse(&bytes).err().map(|unread| unread.to_string());
            let fits = match (&refused, expected) {
                (None, None) => true,
                (Some(message), Some(part)) => message.contains(part),
                _ => false,
            };
            assert!(fits, "{refused:?}, not {expected:?}");
        }
    }
}
