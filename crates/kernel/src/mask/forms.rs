//! The ways in which a value is commonly written.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// Below this, what is left of a value inside of something encoded could be anything.
const CORE_BYTES_MIN: usize = 16;

/// As the value is, and as it looks where texts quote it.
pub(super) fn plain(value: &str) -> Vec<String> {
    let in_json = serde_json::to_string(value).unwrap_or_default();
    // Without the quotes around it; one at the end of the value itself stays.
    let in_json = in_json.get(1..in_json.len().saturating_sub(1));
    let in_json = in_json.unwrap_or_default().to_owned();
    let forms = [
        value.to_owned(),
        in_json,
        percent_encoded(value),
        in_markup(value),
        STANDARD.encode(value),
    ];
    let mut forms: Vec<String> = forms.into_iter().filter(|it| !it.is_empty()).collect();
    forms.sort();
    forms.dedup();
    forms
}

/// Those, and the value inside of longer texts that were encoded as a whole.
pub(super) fn every(value: &str) -> Vec<String> {
    let mut forms = plain(value);
    if value.is_empty() {
        return forms;
    }
    forms.push(hex(value));
    for skipped in 0..3 {
        for encoded in [
            STANDARD.encode(shifted(value, skipped)),
            URL_SAFE.encode(shifted(value, skipped)),
        ] {
            forms.extend(core(&encoded, skipped, value.len()));
        }
    }
    forms
}

fn shifted(value: &str, by: usize) -> Vec<u8> {
    [&vec![0; by], value.as_bytes()].concat()
}

/// The letters that depend on the value alone, and not on what stands before or after it.
fn core(encoded: &str, skipped: usize, bytes: usize) -> Option<String> {
    let first = (skipped * 8).div_ceil(6);
    let last = (skipped + bytes) * 8 / 6;
    let core = encoded.get(first..last)?;
    (core.len() >= CORE_BYTES_MIN).then(|| core.to_owned())
}

fn hex(value: &str) -> String {
    value.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn in_markup(value: &str) -> String {
    let escaped = value.replace('&', "&amp;").replace('<', "&lt;");
    escaped.replace('>', "&gt;").replace('"', "&quot;")
}

fn percent_encoded(value: &str) -> String {
    value.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}
