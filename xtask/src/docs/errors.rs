//! `docs/errors`: one page for each code of the command line, and none for a code that is gone.

use std::collections::BTreeSet;
use std::path::Path;

use super::{files_below, read};
use crate::fault::Fault;

const CODES: &str = "crates/bonded/src/error.rs";
const PAGES: &str = "docs/errors";

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let source = read(&root.join(CODES))?;
    let codes = codes(&source);
    if codes.is_empty() {
        return Ok(vec![format!("{CODES}: no codes were found")]);
    }
    let mut pages = BTreeSet::new();
    for file in files_below(&root.join(PAGES), ".md")? {
        pages.extend(
            file.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned()),
        );
    }
    // A page that introduces the others is no page of a code.
    pages.remove("README");
    let missing = codes
        .difference(&pages)
        .map(|code| format!("{PAGES}/{code}.md: missing, but {CODES} has the code"));
    let left_over = pages
        .difference(&codes)
        .map(|page| format!("{PAGES}/{page}.md: {CODES} has no such code"));
    Ok(missing.chain(left_over).collect())
}

/// The codes, each written once as `page!("code", ..)`.
fn codes(source: &str) -> BTreeSet<String> {
    let pieces = source.split("page!(\"").skip(1);
    pieces
        .filter_map(|piece| Some(piece.split_once('"')?.0.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_from_the_source() {
        let source = "Self::A => page!(\"no-model\", 4),\n Self::B => page!(\"usage\", 4),";
        let found: Vec<String> = codes(source).into_iter().collect();
        assert_eq!(found, ["no-model", "usage"]);
    }
}
