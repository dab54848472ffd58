//! Durations and sizes as people write them: `90s`, `1h30m`, `64k`. The one reader of both, and the writer that goes
//! with it.
//!
//! A bare number keeps the unit of the option that it stands for. Nothing is rounded, guessed or passed over: what is not
//! exactly such an amount is refused, with an example of one.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::{Mistake, short};

/// What an amount counts, and so what a number without a unit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A duration in milliseconds; a bare number counts milliseconds.
    Ms,
    /// A duration in milliseconds; a bare number counts seconds.
    Seconds,
    /// A size in bytes; `k` is 1024 of them.
    Bytes,
    /// A number of tokens; `k` is a thousand of them.
    Tokens,
}

/// What was written is no such amount, or one outside of its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMeasure {
    measure: Measure,
    /// As it was written, shortened.
    found: String,
    problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    NotOne,
    /// Less than this.
    Below(u64),
    /// More than this.
    Above(u64),
}

impl Measure {
    /// Reads an amount within bounds: milliseconds, bytes or tokens.
    pub fn read(self, text: &str, range: RangeInclusive<u64>) -> Result<u64, BadMeasure> {
        match self.amount(text) {
            Some(amount) => self.within(amount, text, range),
            None => Err(self.bad(text, Problem::NotOne)),
        }
    }

    /// The same for JSON: a number counts what a bare number counts, a text may have a unit.
    pub fn of(self, value: &Value, range: RangeInclusive<u64>) -> Result<u64, Mistake> {
        match value {
            Value::String(text) => Ok(self.read(text, range)?),
            Value::Number(number) => {
                let bare = number.as_u64().map(u128::from);
                let scale = self.bare_scale();
                match bare.and_then(|bare| bare.checked_mul(scale)) {
                    Some(amount) => Ok(self.within(amount, &number.to_string(), range)?),
                    None => Err(self.bad(&number.to_string(), Problem::NotOne).into()),
                }
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                Err(Mistake::wrong_type(self.expected(), value))
            }
        }
    }

    /// An amount as one would type it, in the largest units that say it exactly. [`Self::read`] gives it back.
    pub fn written(self, amount: u64) -> String {
        match self {
            Self::Ms | Self::Seconds => written_duration(amount),
            Self::Bytes | Self::Tokens => {
                let kilo = self.kilo();
                let units = SIZE_UNITS.iter().enumerate().rev();
                let fitting = units
                    .map(|(power, unit)| (kilo.pow(power as u32 + 1), unit))
                    .find(|(scale, _)| amount > 0 && u128::from(amount) % scale == 0);
                match fitting {
                    Some((scale, unit)) => format!("{}{unit}", u128::from(amount) / scale),
                    None => amount.to_string(),
                }
            }
        }
    }

    /// For a message, after "must be".
    pub fn expected(self) -> String {
        format!("{} such as {}", self.noun(), self.examples())
    }

    /// What [`Self::of`] takes as JSON Schema. The bounds are those of numbers: no pattern says whether a text is within
    /// them, nor whether its fraction comes to a whole amount.
    pub fn schema(self, range: RangeInclusive<u64>) -> Value {
        let scale = self.bare_scale() as u64;
        json!({
            "type": ["integer", "string"],
            "minimum": range.start().div_ceil(scale),
            "maximum": range.end() / scale,
            "pattern": format!("^{}$", self.pattern()),
        })
    }

    /// A regular expression for what [`Self::read`] takes, without anchors.
    pub fn pattern(self) -> String {
        format!(r"(?!\S{{{}}})(?:{})", LENGTH_MAX + 1, self.forms())
    }

    fn forms(self) -> String {
        const NUMBER: &str = r"[0-9]+(?:\.[0-9]+)?";
        match self {
            Self::Ms | Self::Seconds => {
                let part = |(unit, _): &(&str, u128)| format!("(?:{NUMBER}{unit})?");
                let parts: String = TIME_UNITS.iter().map(part).collect();
                // Something must be there, and after a fraction there is nothing.
                let (some, last) = ("(?=[0-9])", r"(?!.*\.[0-9]+[a-z]+[0-9])");
                format!("[0-9]+|{some}{last}{parts}")
            }
            Self::Bytes | Self::Tokens => {
                let both = |unit: &&str| format!("{}{}", unit.to_lowercase(), unit.to_uppercase());
                let letters: String = SIZE_UNITS.iter().map(both).collect();
                let (byte, kilobyte) = match self {
                    Self::Bytes => ("B?", "(?:i?B)?"),
                    Self::Tokens | Self::Ms | Self::Seconds => ("", ""),
                };
                format!("[0-9]+{byte}|{NUMBER}[{letters}]{kilobyte}")
            }
        }
    }

    fn within(
        self,
        amount: u128,
        text: &str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, BadMeasure> {
        match u64::try_from(amount) {
            Ok(amount) if amount < *range.start() => {
                Err(self.bad(text, Problem::Below(*range.start())))
            }
            Ok(amount) if range.contains(&amount) => Ok(amount),
            Ok(_) | Err(_) => Err(self.bad(text, Problem::Above(*range.end()))),
        }
    }

    fn bad(self, text: &str, problem: Problem) -> BadMeasure {
        BadMeasure {
            measure: self,
            found: short(text),
            problem,
        }
    }

    fn amount(self, text: &str) -> Option<u128> {
        if text.len() > LENGTH_MAX {
            return None;
        }
        match self {
            Self::Ms | Self::Seconds => duration(text, self.bare_scale()),
            Self::Bytes | Self::Tokens => size(text, self),
        }
    }

    /// What a bare number is multiplied with.
    fn bare_scale(self) -> u128 {
        match self {
            Self::Seconds => 1000,
            Self::Ms | Self::Bytes | Self::Tokens => 1,
        }
    }

    fn kilo(self) -> u128 {
        match self {
            Self::Bytes => 1024,
            Self::Tokens | Self::Ms | Self::Seconds => 1000,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Ms | Self::Seconds => "a duration",
            Self::Bytes => "a size",
            Self::Tokens => "a number of tokens",
        }
    }

    fn examples(self) -> &'static str {
        match self {
            Self::Ms | Self::Seconds => "90s, 10m or 1h",
            Self::Bytes => "4096, 64k or 1M",
            Self::Tokens => "8000, 64k or 1M",
        }
    }

    /// The words for too little and too much of it.
    fn extremes(self) -> (&'static str, &'static str) {
        match self {
            Self::Ms | Self::Seconds => ("short", "long"),
            Self::Bytes | Self::Tokens => ("small", "large"),
        }
    }
}

impl std::fmt::Display for BadMeasure {
    /// A sentence whose subject is what was written: the caller puts the name of the option before it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
        let found = match self.found.is_empty() || !self.found.chars().all(is_plain) {
            true => format!("{:?}", self.found),
            false => self.found.clone(),
        };
        let (little, much) = self.measure.extremes();
        match self.problem {
            Problem::NotOne => {
                let (noun, examples) = (self.measure.noun(), self.measure.examples());
                write!(f, "{found} is not {noun}. Write {examples}.")
            }
            Problem::Below(least) => {
                let least = self.measure.written(least);
                write!(f, "{found} is too {little}. The least is {least}.")
            }
            Problem::Above(most) => {
                let most = self.measure.written(most);
                write!(f, "{found} is too {much}. The most is {most}.")
            }
        }
    }
}

impl std::error::Error for BadMeasure {}

impl From<BadMeasure> for Mistake {
    fn from(bad: BadMeasure) -> Self {
        Self::BadMeasure(bad)
    }
}

impl BadMeasure {
    /// What was expected, for a message that must not show what was written.
    pub(super) fn expected(&self) -> String {
        self.measure.expected()
    }
}

/// More digits than any bound has; what is longer is not worth reading.
const LENGTH_MAX: usize = 40;

/// From the largest down: the order in which they are written, each at most once.
const TIME_UNITS: [(&str, u128); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// The first is one kilo, each further one a kilo of the one before.
const SIZE_UNITS: [&str; 4] = ["k", "M", "G", "T"];

/// Reads `90s`, `1h30m`, `1.5h` or a bare number.
fn duration(text: &str, bare_scale: u128) -> Option<u128> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse::<u128>().ok()?.checked_mul(bare_scale);
    }
    let mut sum: u128 = 0;
    let mut units = TIME_UNITS.as_slice();
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let letters = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let at = units.iter().position(|(name, _)| *name == unit)?;
        sum = sum.checked_add(times(number, units[at].1)?)?;
        // A fraction says the rest already.
        let is_last = number.contains('.');
        units = &units[at + 1..];
        rest = after;
        if is_last && !rest.is_empty() {
            return None;
        }
    }
    Some(sum)
}

/// Reads `64k`, `1.5M`, `16GiB` (bytes alone have such a name) or a bare number.
fn size(text: &str, measure: Measure) -> Option<u128> {
    let (number, unit) = split_number(text)?;
    let unit = match measure {
        Measure::Bytes => without_byte(unit),
        Measure::Tokens | Measure::Ms | Measure::Seconds => unit,
    };
    if unit.is_empty() {
        return times(number, 1).filter(|_| !number.contains('.'));
    }
    let power = SIZE_UNITS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(unit))?;
    times(number, measure.kilo().pow(power as u32 + 1))
}

fn without_byte(unit: &str) -> &str {
    let bare = unit.strip_suffix("iB").filter(|bare| !bare.is_empty());
    bare.or_else(|| unit.strip_suffix('B')).unwrap_or(unit)
}

/// A number, perhaps with a fraction, and what follows it.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    (!number.is_empty()).then_some((number, rest))
}

/// A number times a scale, if that is whole.
fn times(number: &str, scale: u128) -> Option<u128> {
    let digits = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u128>().ok()).flatten()
    };
    let Some((whole, fraction)) = number.split_once('.') else {
        return digits(number)?.checked_mul(scale);
    };
    let parts = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let small = digits(fraction)?.checked_mul(scale)?;
    let whole = digits(whole)?.checked_mul(scale)?;
    (small % parts == 0).then(|| whole.checked_add(small / parts))?
}

fn written_duration(ms: u64) -> String {
    let mut rest = u128::from(ms);
    let mut text = String::new();
    for (unit, scale) in TIME_UNITS {
        if rest >= scale {
            text.push_str(&format!("{}{unit}", rest / scale));
            rest %= scale;
        }
    }
    match text.is_empty() {
        true => "0s".into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ALL: [Measure; 4] = [
        Measure::Ms,
        Measure::Seconds,
        Measure::Bytes,
        Measure::Tokens,
    ];

    fn read(measure: Measure, text: &str) -> Option<u64> {
        measure.read(text, 0..=u64::MAX).ok()
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        use Measure::{Bytes, Ms, Seconds, Tokens};
        let rows = [
            (Ms, "500", 500),
            (Seconds, "500", 500_000),
            (Ms, "500ms", 500),
            (Seconds, "500ms", 500),
            (Ms, "90s", 90_000),
            (Ms, "10m", 600_000),
            (Ms, "1h30m", 5_400_000),
            (Ms, "2d", 172_800_000),
            (Ms, "1h0m5s", 3_605_000),
            (Ms, "1.5h", 5_400_000),
            (Ms, "0.25s", 250),
            (Seconds, "0", 0),
            (Bytes, "64k", 65_536),
            (Bytes, "32K", 32_768),
            (Bytes, "1M", 1_048_576),
            (Bytes, "1.5M", 1_572_864),
            (Bytes, "16GiB", 17_179_869_184),
            (Bytes, "4kB", 4_096),
            (Bytes, "12B", 12),
            (Bytes, "1T", 1 << 40),
            (Tokens, "64k", 64_000),
            (Tokens, "1M", 1_000_000),
            (Tokens, "1.5K", 1_500),
            (Tokens, "200000", 200_000),
        ];
        for (measure, text, expected) in rows {
            assert_eq!(read(measure, text), Some(expected), "{measure:?} {text}");
        }
    }

    #[test]
    fn what_is_not_exactly_an_amount_is_refused() {
        let texts = [
            "",
            " ",
            "5 m",
            " 5m",
            "5m ",
            "-5",
            "-5s",
            "+5",
            "1e9",
            "5x",
            "m",
            "s5",
            "1m1h",
            "5m5m",
            "1.5",
            "1.5h5m",
            "1.",
            ".5s",
            "1..5s",
            "0.0001s",
            "5M5",
            "5MS",
            "5min",
            "1_000",
            "1,000",
            "٣s",
            "64kk",
            "0x10",
            "NaN",
            "inf",
            "99999999999999999999999999999999999999999999999999s",
        ];
        for text in texts {
            assert_eq!(read(Measure::Ms, text), None, "{text:?}");
            assert_eq!(read(Measure::Seconds, text), None, "{text:?}");
        }
        let texts = [
            "", " ", "5 k", "k", "-1", "1e9", "1.5", "1.0001k", "64kk", "64ki", "64iB", "1KB5",
            "5s", "1.k",
        ];
        for text in texts {
            assert_eq!(read(Measure::Bytes, text), None, "{text:?}");
            assert_eq!(read(Measure::Tokens, text), None, "{text:?}");
        }
        assert_eq!(read(Measure::Tokens, "64kB"), None);
    }

    #[test]
    fn the_schema_has_the_bounds_of_numbers() {
        let takes = |measure: Measure, value: Value| {
            let is_valid = jsonschema::is_valid(&measure.schema(1500..=9000), &value);
            assert_eq!(is_valid, measure.of(&value, 1500..=9000).is_ok(), "{value}");
            is_valid
        };
        assert!(!takes(Measure::Ms, json!(1499)) && takes(Measure::Ms, json!(1500)));
        assert!(takes(Measure::Bytes, json!(9000)) && !takes(Measure::Bytes, json!(9001)));
        assert!(!takes(Measure::Seconds, json!(1)) && takes(Measure::Seconds, json!(2)));
        assert!(takes(Measure::Seconds, json!(9)) && !takes(Measure::Seconds, json!(10)));
        assert!(!takes(Measure::Ms, json!("5 s")) && takes(Measure::Ms, json!("5s")));
        let long = format!("{}5s", "0".repeat(LENGTH_MAX));
        assert!(!takes(Measure::Ms, json!(long)) && takes(Measure::Ms, json!(long[2..])));
    }

    #[test]
    fn a_refusal_says_what_to_write() {
        let said = |measure: Measure, text: &str| {
            let bad = measure.read(text, 1..=86_400_000);
            bad.expect_err("none of these is an amount").to_string()
        };
        let rows = [
            (
                Measure::Seconds,
                "5x",
                "5x is not a duration. Write 90s, 10m or 1h.",
            ),
            (
                Measure::Ms,
                "",
                "\"\" is not a duration. Write 90s, 10m or 1h.",
            ),
            (
                Measure::Ms,
                "5 m",
                "\"5 m\" is not a duration. Write 90s, 10m or 1h.",
            ),
            (Measure::Ms, "0s", "0s is too short. The least is 1ms."),
            (Measure::Ms, "25h", "25h is too long. The most is 1d."),
            (
                Measure::Seconds,
                "18446744073709551615",
                "18446744073709551615 is too long. The most is 1d.",
            ),
            (
                Measure::Bytes,
                "big",
                "big is not a size. Write 4096, 64k or 1M.",
            ),
            (Measure::Bytes, "9T", "9T is too large. The most is 84375k."),
            (Measure::Tokens, "0", "0 is too small. The least is 1."),
        ];
        for (measure, text, expected) in rows {
            assert_eq!(said(measure, text), expected);
        }
    }

    #[test]
    fn json_has_numbers_and_texts_and_nothing_else() {
        let of = |value: Value| Measure::Ms.of(&value, 1..=100_000);
        assert_eq!(of(json!(500)), Ok(500));
        assert_eq!(of(json!("90s")), Ok(90_000));
        assert_eq!(of(json!("500")), Ok(500));
        for bad in [
            json!(0),
            json!(-1),
            json!(1.5),
            json!(true),
            json!([]),
            json!("2m"),
            json!(u64::MAX),
        ] {
            assert!(of(bad.clone()).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(amount in any::<u64>(), small in 0_u64..100_000) {
            for measure in ALL {
                for amount in [amount, small, small * 1000, small * 1024] {
                    // A bare number of seconds is never written.
                    let text = measure.written(amount);
                    prop_assert_eq!(read(measure, &text), Some(amount), "{:?} {}", measure, text);
                }
            }
        }

        #[test]
        fn a_bare_number_is_what_it_was(amount in any::<u32>()) {
            let text = amount.to_string();
            let amount = u64::from(amount);
            prop_assert_eq!(read(Measure::Ms, &text), Some(amount));
            prop_assert_eq!(read(Measure::Seconds, &text), Some(amount * 1000));
            prop_assert_eq!(read(Measure::Bytes, &text), Some(amount));
            prop_assert_eq!(read(Measure::Tokens, &text), Some(amount));
        }

        #[test]
        fn nothing_panics_and_no_sum_is_wrong(text in "[0-9a-zA-Z. kMshmd-]{0,45}", other in any::<String>()) {
            for measure in ALL {
                for text in [&text, &other] {
                    let within = measure.read(text, 0..=1_000_000);
                    prop_assert!(within.is_err() || read(measure, text) == within.ok());
                }
            }
        }

        #[test]
        fn the_schema_takes_what_is_read(
            text in "([0-9]{0,3}(\\.[0-9]{0,2})?(d|h|m|s|ms|k|K|M|GiB|kB|B|iB|)){0,3}",
        ) {
            for measure in ALL {
                let is_valid = jsonschema::is_valid(&measure.schema(0..=u64::MAX), &json!(text));
                // Only a fraction can come to an amount that is not whole.
                let may_differ = text.contains('.') && is_valid;
                let is_read = read(measure, &text).is_some();
                prop_assert!(is_read == is_valid || may_differ, "{measure:?} {text:?} {is_valid}");
            }
        }

        #[test]
        fn parts_of_a_duration_add_up(h in 0_u64..1000, m in 0_u64..1000, s in 0_u64..1000, ms in 0_u64..5000) {
            let expected = h * 3_600_000 + m * 60_000 + s * 1000 + ms;
            let text = format!("{h}h{m}m{s}s{ms}ms");
            prop_assert_eq!(read(Measure::Ms, &text), Some(expected));
        }
    }
}
