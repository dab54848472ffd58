//! `docs/errors`: one page for each code of the command line and of the workspace, and none for a code that is gone.

use std::collections::BTreeSet;
use std::path::Path;

use super::{files_below, read};
use crate::fault::Fault;

/// Where codes are listed with their pages, and where the pages lie.
const BOOKS: [(&str, &str); 2] = [
    ("crates/bonded/src/error.rs", "docs/errors"),
    (
        "crates/serve/src/workspace/pages.rs",
        "docs/errors/workspace",
    ),
];

/// Where codes of the workspace are written; each must have a page.
const SOURCES: [&str; 6] = [
    "crates/kernel/src/config/looping",
    "crates/kernel/src/profile/looping",
    "crates/workspace-rules/src",
    "crates/workspace/src",
    "crates/bonded/src/workspace",
    "crates/serve/src/workspace",
];

/// Words in capitals that are no codes: how serde names things.
const NO_CODES: [&str; 1] = ["SCREAMING_SNAKE_CASE"];

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let mut findings = vec![];
    for (listed_in, dir) in BOOKS {
        findings.extend(check_book(root, listed_in, dir)?);
    }
    let (listed_in, _) = BOOKS[1];
    let known = codes(&read(&root.join(listed_in))?);
    for source in SOURCES {
        let path = root.join(source);
        let files = match path.is_dir() {
            true => files_below(&path, ".rs")?,
            false => vec![path],
        };
        for file in files {
            let written = words_in_capitals(&read(&file)?);
            let missing = written.difference(&known).map(|code| {
                let file = file.strip_prefix(root).unwrap_or(&file).display();
                format!("{file}: {code} has no page in {listed_in}")
            });
            findings.extend(missing);
        }
    }
    Ok(findings)
}

/// Holds the codes of one list to the pages of one directory.
fn check_book(root: &Path, listed_in: &str, dir: &str) -> Result<Vec<String>, Fault> {
    let codes = codes(&read(&root.join(listed_in))?);
    if codes.is_empty() {
        return Ok(vec![format!("{listed_in}: no codes were found")]);
    }
    let mut pages = BTreeSet::new();
    let place = root.join(dir);
    for file in files_below(&place, ".md")? {
        let stem = file.file_stem().filter(|_| file.parent() == Some(&place));
        pages.extend(stem.map(|stem| stem.to_string_lossy().into_owned()));
    }
    // A page that introduces the others is no page of a code.
    pages.remove("README");
    let missing = codes
        .difference(&pages)
        .map(|code| format!("{dir}/{code}.md: missing, but {listed_in} has the code"));
    let left_over = pages
        .difference(&codes)
        .map(|page| format!("{dir}/{page}.md: {listed_in} has no such code"));
    Ok(missing.chain(left_over).collect())
}

/// The codes, each written once as `page!("code", ..)`.
fn codes(source: &str) -> BTreeSet<String> {
    let pieces = source.split("page!(\"").skip(1);
    pieces
        .filter_map(|piece| Some(piece.split_once('"')?.0.to_owned()))
        .collect()
}

/// Texts of a source that are words in capitals, joined by `_`: that is how a code of the workspace is written.
fn words_in_capitals(source: &str) -> BTreeSet<String> {
    let is_code = |text: &&str| {
        let is_capital = |c: char| c.is_ascii_uppercase() || c == '_';
        let is_whole = text.starts_with(|c: char| c.is_ascii_uppercase());
        let is_word = is_whole && text.contains('_') && text.chars().all(is_capital);
        is_word && !NO_CODES.contains(text)
    };
    let texts = source.split('"').filter(is_code);
    texts.map(str::to_owned).collect()
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

    #[test]
    fn a_code_is_found_wherever_it_is_written() {
        let source = "refuse(\"NOTE_GONE\", \"it is gone\"); const A: &str = \"SCREAMING_SNAKE_CASE\"; \"OK\"";
        let found: Vec<String> = words_in_capitals(source).into_iter().collect();
        assert_eq!(found, ["NOTE_GONE"]);
    }
}
