//! `docs/errors`: one page for each code of the command line and of the workspace, and none for a code that is gone.

use std::collections::BTreeSet;
use std::path::Path;

use super::{files_below, read};
use crate::fault::Fault;

/// Where codes are listed, how a line of the list begins, and where the pages lie.
const BOOKS: [(&str, &str, &str); 2] = [
    ("crates/bonded/src/error/code.rs", " = \"", "docs/errors"),
    (WORKSPACE_CODES, " = \"", "docs/errors/workspace"),
];

/// The one list of the workspace's codes.
const WORKSPACE_CODES: &str = "crates/workspace-rules/src/code.rs";

/// Where the workspace's codes are known by their list: none is written out here again.
const USERS: [&str; 6] = [
    "crates/workspace-rules/src",
    "crates/workspace/src",
    "crates/serve/src/json_api",
    "crates/serve/src/workspace",
    "crates/bonded/src/workspace",
    "crates/bonded/src/commands",
];

/// What lies below the list and writes codes for what stands above; each must be in it.
const BELOW: [&str; 3] = [
    "crates/kernel/src/config/looping",
    "crates/kernel/src/profile/looping",
    "crates/host/src/memory_file.rs",
];

/// Words in capitals that are no codes: how serde names things.
const NO_CODES: [&str; 1] = ["SCREAMING_SNAKE_CASE"];

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let mut findings = vec![];
    for (listed_in, mark, dir) in BOOKS {
        findings.extend(check_book(root, listed_in, mark, dir)?);
    }
    let (_, mark, _) = BOOKS[1];
    let listed = codes(&read(&root.join(WORKSPACE_CODES))?, mark);
    for (name, source) in sources(root, &USERS)? {
        let again = texts(&source).filter(|text| listed.contains(*text));
        let again = again.map(|code| format!("{name}: write {code} as a Code, not as a text"));
        findings.extend(again.filter(|_| name != WORKSPACE_CODES));
    }
    for (name, source) in sources(root, &BELOW)? {
        let missing = words_in_capitals(&source).filter(|word| !listed.contains(*word));
        findings.extend(missing.map(|code| format!("{name}: {code} is not in {WORKSPACE_CODES}")));
    }
    Ok(findings)
}

/// The sources at these places, each with its path.
fn sources(root: &Path, places: &[&str]) -> Result<Vec<(String, String)>, Fault> {
    let mut found = vec![];
    for place in places {
        let path = root.join(place);
        let files = match path.is_dir() {
            true => files_below(&path, ".rs")?,
            false => vec![path],
        };
        for file in files {
            let name = file.strip_prefix(root).unwrap_or(&file);
            found.push((name.display().to_string(), read(&file)?));
        }
    }
    Ok(found)
}

/// Holds the codes of one list to the pages of one directory.
fn check_book(root: &Path, listed_in: &str, mark: &str, dir: &str) -> Result<Vec<String>, Fault> {
    let codes = codes(&read(&root.join(listed_in))?, mark);
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

/// The codes of a list, each written once after its mark.
fn codes(source: &str, mark: &str) -> BTreeSet<String> {
    let pieces = source.split(mark).skip(1);
    pieces
        .filter_map(|piece| Some(piece.split_once('"')?.0.to_owned()))
        .collect()
}

/// What stands between quotation marks, and what stands between two of them.
fn texts(source: &str) -> impl Iterator<Item = &str> {
    source.split('"')
}

/// Texts of a source that are words in capitals, joined by `_`: that is how a code of the workspace is written.
fn words_in_capitals(source: &str) -> impl Iterator<Item = &str> {
    texts(source).filter(|text| {
        let is_capital = |c: char| c.is_ascii_uppercase() || c == '_';
        let is_whole = text.starts_with(|c: char| c.is_ascii_uppercase());
        let is_word = is_whole && text.contains('_') && text.chars().all(is_capital);
        is_word && !NO_CODES.contains(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_from_the_source() {
        let source = "Self::A => page!(\"no-model\", 4),\n Self::B => page!(\"usage\", 4),";
        let found: Vec<String> = codes(source, "page!(\"").into_iter().collect();
        assert_eq!(found, ["no-model", "usage"]);
    }

    #[test]
    fn codes_of_the_workspace_are_read_from_their_table() {
        let source =
            "/// Gone.\n NoteGone = \"NOTE_GONE\", Some(404), CHANGED;\n A = \"A\", None, AGAIN;";
        let found: Vec<String> = codes(source, " = \"").into_iter().collect();
        assert_eq!(found, ["A", "NOTE_GONE"]);
    }

    #[test]
    fn a_code_is_found_wherever_it_is_written() {
        let source = "refuse(\"NOTE_GONE\", \"it is gone\"); const A: &str = \"SCREAMING_SNAKE_CASE\"; \"OK\"";
        let found: Vec<&str> = words_in_capitals(source).collect();
        assert_eq!(found, ["NOTE_GONE"]);
    }
}
