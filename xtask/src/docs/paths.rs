//! Paths that pages name in backticks, and the places of words in the glossary: whatever is named is there.

use std::path::{Path, PathBuf};

use super::{files_below, read};
use crate::fault::Fault;

/// The pages at the root. The changelog is none of them: it tells of what was.
const PAGES: [&str; 4] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
];

const GLOSSARY: &str = "docs/glossary.md";

/// How a path begins that is one of ours.
const TOPS: [&str; 4] = ["crates/", "docs/", "fuzz/", "xtask/"];

/// What stands for a part that somebody fills in.
const BLANKS: [&str; 6] = ["NAME", "CODE", "NNN", "{", "*", "…"];

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|page| root.join(page)).collect();
    pages.extend(files_below(&root.join("docs"), ".md")?);
    let mut findings = vec![];
    for page in pages {
        let text = read(&page)?;
        let page = page.strip_prefix(root).unwrap_or(&page).display();
        let missing = paths(&text).filter(|path| !root.join(path).exists());
        findings.extend(missing.map(|path| format!("{page}: there is no {path}")));
    }
    let glossary = read(&root.join(GLOSSARY))?;
    let missing = places(&glossary).filter(|place| !is_module(root, place));
    findings.extend(missing.map(|place| format!("{GLOSSARY}: there is no module {place}")));
    Ok(findings)
}

/// The paths that a page names, without the names of tests behind them.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    let paths = quoted(page).filter(|word| TOPS.iter().any(|top| word.starts_with(top)));
    let paths = paths.filter(|word| !BLANKS.iter().any(|blank| word.contains(blank)));
    paths.map(|word| word.split("::").next().unwrap_or(word))
}

/// The places in the last column of the glossary's tables, as `crates/CRATE/src/MODULE`.
fn places(glossary: &str) -> impl Iterator<Item = String> {
    let rows = glossary.lines().filter_map(last_of_four);
    rows.flat_map(|cell| cell.split(';')).flat_map(|place| {
        let mut words = quoted(place);
        let krate = words.next().unwrap_or_default();
        // A name that begins with a capital is that of a type.
        let modules = words.filter(|word| !word.starts_with(char::is_uppercase));
        let places = modules.map(|module| format!("crates/{krate}/src/{module}"));
        places.collect::<Vec<_>>()
    })
}

/// The last cell of a row of a table with four columns.
fn last_of_four(line: &str) -> Option<&str> {
    let row = line.strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = row.split('|').collect();
    (cells.len() == 4).then(|| cells[3])
}

fn is_module(root: &Path, place: &str) -> bool {
    let path = root.join(place);
    path.is_dir() || path.with_extension("rs").is_file()
}

/// What stands between backticks, each on one line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines();
    lines.flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_paths_of_ours_and_no_others() {
        let page = "See `crates/a/src/b.rs`, `crates/a/tests/c.rs::d` and `docs/`;\n`cargo test`, `src/x.rs` and \
                    crates/none/x.rs, `docs/errors/CODE.md` and `crates/{a,b}/src` are none.";
        let found: Vec<&str> = paths(page).collect();
        assert_eq!(found, ["crates/a/src/b.rs", "crates/a/tests/c.rs", "docs/"]);
    }

    #[test]
    fn the_glossary_says_where_each_word_lives() {
        let page = "| word | means | not | where |\n|---|---|---|---|\n\
                    | a | A | | `kernel`: `event`, `step/wave`; `tools`: `registry` (`CallGuard`) |\n\
                    | b | B | c | everywhere |\n| three | cells | `kernel`: `gone` |\n";
        let found: Vec<String> = places(page).collect();
        let expected = [
            "kernel/src/event",
            "kernel/src/step/wave",
            "tools/src/registry",
        ];
        assert_eq!(found, expected.map(|place| format!("crates/{place}")));
    }
}
