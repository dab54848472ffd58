//! One way to write JSON (RFC 8785), so that the same value always has the same hash.

use icu_normalizer::ComposingNormalizerBorrowed;
use serde::Serialize;
use serde_json::{Map, Number, Value};

use bonded_kernel::Hash;

/// A value in its one form: keys sorted by their UTF-16 units, no white space, numbers as ECMAScript writes
/// them. Whole numbers keep all their digits.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The hash of the one form of what is given. A hash of something that is no JSON is that of `null`; nothing here
/// has keys that are no texts.
pub(super) fn hash_of(given: &impl Serialize) -> Hash {
    let value = serde_json::to_value(given).unwrap_or_default();
    Hash::of(canonical(&value).as_bytes())
}

/// The hash of JSON text in its one form, its texts composed (NFC): however an editor wrote the same letters. What
/// is no JSON is hashed as the text that it is.
pub(super) fn hash_of_text(text: &str) -> Hash {
    let written = match serde_json::from_str(text) {
        Ok(value) => canonical(&composed(value)),
        Err(_) => nfc(text),
    };
    Hash::of(written.as_bytes())
}

fn composed(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(nfc(&text)),
        Value::Array(values) => values.into_iter().map(composed).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields: Map<String, Value> = fields
                .map(|(key, value)| (nfc(&key), composed(value)))
                .collect();
            Value::Object(fields)
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

fn nfc(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc()
        .normalize(text)
        .into_owned()
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                separate(index, out);
                write(value, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in fields.into_iter().enumerate() {
                separate(index, out);
                write_text(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
    }
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn write_number(number: &Number, out: &mut String) {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => write_float(float, out),
        None => out.push_str(&number.to_string()),
    }
}

/// As ECMAScript's Number::toString: the fewest digits that mean this number, and where the point goes.
fn write_float(float: f64, out: &mut String) {
    if float == 0.0 {
        return out.push('0');
    }
    // Rust's `{:e}` has those digits: `d.ddde-7`.
    let shortest = format!("{:e}", float.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if float < 0.0 {
        out.push('-');
    }
    let (count, point) = (digits.len() as i32, exponent + 1);
    if (count..=21).contains(&point) {
        out.push_str(&digits);
        out.push_str(&"0".repeat((point - count) as usize));
    } else if (1..=21).contains(&point) {
        let (whole, rest) = digits.split_at(point as usize);
        out.push_str(&format!("{whole}.{rest}"));
    } else if (-5..=0).contains(&point) {
        out.push_str(&format!("0.{}{digits}", "0".repeat(-point as usize)));
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        out.push_str(&format!("{first}{dot}{rest}e{exponent:+}"));
    }
}
