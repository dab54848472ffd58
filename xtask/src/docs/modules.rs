//! `docs/modules.md`: what each crate is for and what each of its top modules is for, in the words of their own sources.
//!
//! The page is written by `cargo xtask modules` and never by hand, and a page that differs from the sources is a finding.

use std::fs;
use std::path::{Path, PathBuf};

use super::read;
use crate::fault::Fault;

const PAGE: &str = "docs/modules.md";
const COMMAND: &str = "`cargo xtask modules` writes it anew";

const HEAD: &str = "\
# Modules

Every crate with its top modules, each in the first sentence of its own source. `cargo xtask modules` writes this page
from the sources, and `cargo xtask check-docs` holds it to them. How the crates stand to each other is in
[ARCHITECTURE.md](../ARCHITECTURE.md), and what the words mean is in [glossary.md](glossary.md).
";

/// Where a crate is, and where its modules lie in it.
struct Crate {
    dir: String,
    sources: PathBuf,
}

/// What the page says of a crate or a module, or what keeps it from saying anything.
type Line = Result<String, String>;

/// Writes the page.
pub(crate) fn write(root: &Path) -> Result<(), Fault> {
    let page = page(root)?.map_err(|findings| Fault::Found { findings })?;
    let path = root.join(PAGE);
    fs::write(&path, page).map_err(Fault::file(&path))
}

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let written = read(&root.join(PAGE))?;
    Ok(match page(root)? {
        Ok(page) => differences(&page, &written),
        Err(findings) => findings,
    })
}

/// The page as the sources have it, or everything in the sources that it cannot be written from.
fn page(root: &Path) -> Result<Result<String, Vec<String>>, Fault> {
    let mut lines: Vec<Line> = vec![];
    for krate in crates(root)? {
        lines.extend(section(root, &krate)?);
    }
    let (good, bad): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(Result::is_ok);
    let bad: Vec<String> = bad.into_iter().filter_map(Line::err).collect();
    if !bad.is_empty() {
        return Ok(Err(bad));
    }
    let good: Vec<String> = good.into_iter().flatten().collect();
    Ok(Ok(format!("{HEAD}{}\n", good.join("\n"))))
}

/// Every crate of ours: those of the workspace, and the fuzz targets, which are no member of it.
fn crates(root: &Path) -> Result<Vec<Crate>, Fault> {
    let mut crates = vec![];
    for dir in entries(&root.join("crates"))? {
        let name = name_of(&dir);
        crates.push(Crate {
            dir: format!("crates/{name}"),
            sources: dir.join("src"),
        });
    }
    for (dir, sources) in [("fuzz", "fuzz/fuzz_targets"), ("xtask", "xtask/src")] {
        crates.push(Crate {
            dir: dir.to_owned(),
            sources: root.join(sources),
        });
    }
    Ok(crates)
}

/// The heading of a crate, its description, and the table of its modules and programs.
fn section(root: &Path, krate: &Crate) -> Result<Vec<Line>, Fault> {
    let manifest = read(&root.join(&krate.dir).join("Cargo.toml"))?;
    let field = |name| {
        let found = quoted_field(&manifest, name);
        found.ok_or_else(|| format!("{}/Cargo.toml: it has no {name}", krate.dir))
    };
    let mut lines = vec![
        field("name").map(|name| format!("\n## {name}\n")),
        field("description").map(|text| format!("`{}`: {text}\n", krate.dir)),
        Ok("| module | what it is for |\n|---|---|".to_owned()),
    ];
    for (name, file) in modules(&krate.sources)? {
        let place = file.strip_prefix(root).unwrap_or(&file).display();
        let line = first_sentence(&read(&file)?)
            .map(|sentence| format!("| `{name}` | {} |", cell(&sentence)))
            .ok_or_else(|| {
                format!("{place}: it does not begin with a `//!` that says what it is for")
            });
        lines.push(line);
    }
    Ok(lines)
}

/// The top modules below a directory and then the programs beside them, each with the file that describes it.
fn modules(sources: &Path) -> Result<Vec<(String, PathBuf)>, Fault> {
    let mut found = vec![];
    for path in entries(sources)? {
        let name = name_of(&path);
        let stem = name.strip_suffix(".rs");
        match stem {
            Some("lib" | "main") => {}
            Some(stem) => found.push((stem.to_owned(), path)),
            None if path.join("mod.rs").is_file() => found.push((name, path.join("mod.rs"))),
            None => {}
        }
    }
    let programs = sources.join("bin");
    if programs.is_dir() {
        for path in entries(&programs)? {
            let name = name_of(&path);
            let stem = name.strip_suffix(".rs");
            let file = stem.map_or_else(|| path.join("main.rs"), |_| path.clone());
            found.push((format!("bin/{}", stem.unwrap_or(&name)), file));
        }
    }
    Ok(found)
}

/// What lies in a directory, in order.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let entries = fs::read_dir(dir).map_err(Fault::file(dir))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(Fault::file(dir))?;
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The value of the first `name = "value"` of a manifest.
fn quoted_field(manifest: &str, name: &str) -> Option<String> {
    let value = |line: &str| {
        Some(
            line.strip_prefix(name)?
                .trim_start()
                .strip_prefix('=')?
                .trim()
                .to_owned(),
        )
    };
    let value = manifest.lines().find_map(value)?;
    Some(value.trim_matches('"').to_owned())
}

/// The first sentence of the docs that a source begins with.
fn first_sentence(source: &str) -> Option<String> {
    let docs = source.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph: Vec<&str> = docs
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let end = sentence_end(&paragraph);
    (!paragraph.is_empty()).then(|| paragraph[..end].to_owned())
}

/// Where the first sentence of a paragraph ends: after the first full stop before a space that is not inside backticks.
fn sentence_end(paragraph: &str) -> usize {
    let mut in_code = false;
    for (at, letter) in paragraph.char_indices() {
        in_code ^= letter == '`';
        if letter == '.' && !in_code && paragraph[at + 1..].starts_with(' ') {
            return at + 1;
        }
    }
    paragraph.len()
}

/// A sentence as a cell of a table: links to items lead nowhere on a page, and a bar would end the cell.
fn cell(sentence: &str) -> String {
    let plain = sentence.replace("[`", "`").replace("`]", "`");
    plain.replace('|', "\\|")
}

/// The lines that the page lacks, and those that it has too many.
fn differences(page: &str, written: &str) -> Vec<String> {
    if page == written {
        return vec![];
    }
    let only_in = |one: &str, other: &str| -> Vec<String> {
        let missing = |line: &&str| !other.lines().any(|known| known == *line);
        one.lines().filter(missing).map(str::to_owned).collect()
    };
    let missing = only_in(page, written)
        .into_iter()
        .map(|line| format!("{PAGE}: it lacks {line:?}; {COMMAND}"));
    let left_over = only_in(written, page)
        .into_iter()
        .map(|line| format!("{PAGE}: the sources do not say {line:?}; {COMMAND}"));
    let findings: Vec<String> = missing.chain(left_over).collect();
    match findings.is_empty() {
        true => vec![format!(
            "{PAGE}: its lines are not in order, or not each there once; {COMMAND}"
        )],
        false => findings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_described_by_the_first_sentence_of_its_docs() {
        let cases = [
            ("//! One. Two.\nmod a;", Some("One.")),
            (
                "//! Over two\n//! lines. Then more.\n",
                Some("Over two lines."),
            ),
            (
                "//! Reads `a. b` and 0.5 of it: all.\n//!\n//! More.",
                Some("Reads `a. b` and 0.5 of it: all."),
            ),
            ("//! No full stop\n//!\n//! More.", Some("No full stop")),
            ("//!\n//! Late.", None),
            ("// No docs.\nmod a;", None),
            ("", None),
        ];
        for (source, expected) in cases {
            assert_eq!(first_sentence(source).as_deref(), expected, "{source:?}");
        }
    }

    #[test]
    fn a_cell_has_no_links_and_no_bars() {
        let sentence = "The [`Store`] keeps `[[a|b]]`.";
        assert_eq!(cell(sentence), "The `Store` keeps `[[a\\|b]]`.");
    }

    #[test]
    fn a_page_that_lacks_a_line_or_has_one_too_many_is_found() {
        let page = "# M\n| `a` | A. |\n| `b` | B. |\n";
        assert!(differences(page, page).is_empty());
        for written in [
            "# M\n| `a` | A. |\n",
            "# M\n| `a` | A. |\n| `b` | B. |\n| `c` | C. |\n",
            "# M\n| `a` | A. |\n| `b` | Other. |\n",
            "# M\n| `b` | B. |\n| `a` | A. |\n",
            "# M\n| `a` | A. |\n| `b` | B. |\n| `b` | B. |\n",
        ] {
            assert!(!differences(page, written).is_empty(), "{written:?}");
        }
    }

    #[test]
    fn a_manifest_gives_its_name_and_description() {
        let manifest =
            "[package]\nname = \"bonded-x\"\ndescription = \"An x.\"\n[[bin]]\nname = \"y\"\n";
        assert_eq!(quoted_field(manifest, "name").as_deref(), Some("bonded-x"));
        assert_eq!(
            quoted_field(manifest, "description").as_deref(),
            Some("An x.")
        );
        assert_eq!(quoted_field(manifest, "licence"), None);
    }
}
