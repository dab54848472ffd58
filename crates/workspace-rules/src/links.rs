//! Links between notes: `[[title]]`, `[[id]]`, `[[title|shown]]`.
//!
//! Here is only read what is written; whether a target is an id or a title, and which note it is, the store resolves.

use std::collections::BTreeSet;

use super::note::TITLE_CHARS_MAX;
use super::text::prose;

/// How many different links of one note are followed.
pub const LINKS_MAX: usize = 2000;

/// What the links of a text lead to, as it is written there: each once, in the order of their first mention. Links
/// in code are none.
pub fn links(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for part in prose(markdown) {
        for written in part.split("[[").skip(1) {
            let Some((inner, _)) = written.split_once("]]") else {
                continue;
            };
            let target = inner.split('|').next().unwrap_or_default().trim();
            if is_target(target) && seen.insert(target) {
                found.push(target.to_owned());
            }
            if found.len() == LINKS_MAX {
                return found;
            }
        }
    }
    found
}

/// What is longer than any title cannot be one. Bytes are counted first, because that is cheap.
fn is_target(target: &str) -> bool {
    !target.is_empty()
        && !target.contains(['\n', '\r'])
        && target.len() <= TITLE_CHARS_MAX * 4
        && target.chars().count() <= TITLE_CHARS_MAX
}
