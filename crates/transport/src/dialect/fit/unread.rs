//! Keys in arguments that are almost JSON. The kernel mends those and checks what it read by the tool's own schema, so that
//! the keys must be the tool's own before: they are changed where they stand, and everything else stays as it is.

/// Arguments with the keys of the outermost object changed; `None` where none of them is.
pub(super) fn swap(arguments: &str, other: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    // An object that was written as a text.
    if let Ok(inner) = serde_json::from_str::<String>(arguments) {
        let swapped = swap(&inner, other)?;
        return serde_json::to_string(&swapped).ok();
    }
    let begun = arguments.find('{')? + 1;
    let mut swapped = arguments[..begun].to_owned();
    let (mut rest, mut any) = (&arguments[begun..], false);
    while !rest.is_empty() {
        let (key, after) = key_in(rest);
        let (gap, written) = key;
        swapped.push_str(gap);
        match other(bare(written)) {
            Some(other) => {
                any = true;
                swapped.push_str(&serde_json::to_string(&other).ok()?);
            }
            None => swapped.push_str(written),
        }
        let value = &after[..value_len(after)];
        swapped.push_str(value);
        rest = &after[value.len()..];
    }
    any.then_some(swapped)
}

/// What stands before a key, the key as it is written, and what follows it.
fn key_in(text: &str) -> ((&str, &str), &str) {
    let begun = text.len() - text.trim_start().len();
    let (gap, rest) = text.split_at(begun);
    let len = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted_len(rest, quote),
        _ => rest
            .find([':', ',', '}'])
            .map_or(rest.len(), |at| rest[..at].trim_end().len()),
    };
    let (key, after) = rest.split_at(len);
    ((gap, key), after)
}

/// A key without its quotes; one with escapes is none that was made here.
fn bare(key: &str) -> &str {
    let quotes = ['"', '\''];
    key.strip_prefix(quotes)
        .and_then(|key| key.strip_suffix(quotes))
        .unwrap_or(key)
}

/// How long a text in quotes is, with them.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = true;
    for (at, c) in text.char_indices() {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        // The first quote begins it.
        escaped = c == '\\' && !escaped && at > 0;
    }
    text.len()
}

/// How far it is to the next key: beyond the comma that stands in no text and in nothing inside.
fn value_len(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => {
                at += quoted_len(&text[at..], c);
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return at + 1,
            _ => {}
        }
        at += c.len_utf8();
    }
    at
}
