//! Percent-encoding, and what it cannot disarm.

/// Whether one of the parts of a path is a step.
pub(super) fn steps_up(value: &str) -> bool {
    value.split(['/', '\\']).any(is_step)
}

/// Whether a server reads the segment as this directory or the one above.
pub(super) fn is_step(segment: &str) -> bool {
    segment == "." || segment == ".."
}

/// Percent-encodes everything that is not a letter, a digit, `-`, `_`, `.` or `~`.
pub(in crate::rest) fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escape = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escape = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escape {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a `%` begins no escape: it could begin one together with an argument.
pub(super) fn has_loose_percent(text: &str) -> bool {
    text.split('%').skip(1).any(|after| {
        let digits = after.as_bytes().get(..2);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}
