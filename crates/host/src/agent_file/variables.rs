//! Variables in a prompt: `${NAME}` and `{{NAME}}`.
//!
//! Only names of capital letters and `_` that have a value are replaced; everything else in braces is
//! text, so that a prompt may show code. A value is never looked into, so that no value can pull in
//! another one.

use std::collections::BTreeMap;

/// The values by name, such as DATETIME, DAY, TIMEZONE, MAX_TURNS, FORMAT, OS, ARCH, KERNEL, CD,
/// HOSTNAME and USER.
pub type Variables = BTreeMap<String, String>;

/// Puts the values in. A name that has none stays as it is written, and values are not looked into.
pub(crate) fn substitute(text: &str, variables: &Variables) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from_brace) = rest.split_at(at);
        let dollar = before.strip_suffix('$').and_then(|before| {
            let found = named(from_brace, "{", "}", variables)?;
            Some((before, found))
        });
        let found = dollar.or_else(|| {
            let found = named(from_brace, "{{", "}}", variables)?;
            Some((before, found))
        });
        match found {
            Some((before, (value, after))) => {
                done.push_str(before);
                done.push_str(value);
                rest = after;
            }
            None => {
                done.push_str(before);
                done.push('{');
                rest = &from_brace[1..];
            }
        }
    }
    done.push_str(rest);
    done
}

/// The value of the variable at the start of the text, and the text after it.
fn named<'t, 'v>(
    text: &'t str,
    opening: &str,
    closing: &str,
    variables: &'v Variables,
) -> Option<(&'v str, &'t str)> {
    let inside = text.strip_prefix(opening)?;
    let end = inside
        .bytes()
        .position(|byte| !(byte.is_ascii_uppercase() || byte == b'_'))?;
    let after = inside[end..].strip_prefix(closing)?;
    let value = variables.get(&inside[..end])?;
    Some((value, after))
}
