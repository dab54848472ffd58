//! Where in a file a key stands, for whoever has to mend it.

/// The line of a key below others, counted from 1; that of the last one that was found where a key is not.
pub(super) fn line_of(text: &str, keys: &[&str]) -> usize {
    let mut from = 0;
    for key in keys {
        let Some(at) = key_after(text, from, key) else {
            break;
        };
        from = at;
    }
    1 + text[..from].bytes().filter(|byte| *byte == b'\n').count()
}

/// Where a quoted key with a colon after it stands.
fn key_after(text: &str, from: usize, key: &str) -> Option<usize> {
    let quoted = serde_json::to_string(key).ok()?;
    let mut found = text[from..].match_indices(&quoted).map(|(at, _)| from + at);
    found.find(|at| {
        let after = &text[at + quoted.len()..];
        after.trim_start().starts_with(':')
    })
}
