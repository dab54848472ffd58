//! Env files: `KEY=value` lines, `export` before them or not, quotes around values or not, `#` comments.
//!
//! No value is expanded and no command is run: it is data, whatever a shell would make of it.

/// The variables of a text, or the line (from 1) that is none.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let line = line.trim();
            let says_nothing = line.is_empty() || line.starts_with('#');
            (!says_nothing).then(|| variable(line).ok_or(index + 1))
        })
        .collect()
}

/// A name is letters, digits and `_`, and does not begin with a digit.
fn variable(line: &str) -> Option<(String, String)> {
    let exported = line
        .strip_prefix("export")
        .filter(|rest| rest.starts_with([' ', '\t']));
    let (name, value) = exported.unwrap_or(line).split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name.to_owned(), unquoted(value.trim()).to_owned()))
}

/// The value without its quotes, or up to a comment. What stands in quotes may hold a `#`.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote)
            && let Some(end) = inside.rfind(quote)
        {
            let after = inside[end + 1..].trim_start();
            if after.is_empty() || after.starts_with('#') {
                return &inside[..end];
            }
        }
    }
    let comment = value
        .match_indices('#')
        .find(|(at, _)| value[..*at].ends_with([' ', '\t']));
    match comment {
        Some((at, _)) => value[..at].trim_end(),
        None => value,
    }
}
