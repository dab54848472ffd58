//! Texts that people read are in plain English: none of them has the marks of what reads as translated.

use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::reference::subcommands;

/// Pronouns where the noun exists, and phrases that are not idiomatic.
const MARKS: [&str; 14] = [
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "goes on",
    "go on",
    "gone on",
    "is none",
    "are none",
    "by itself",
    "who wants",
    "work off",
    "works off",
    "worked off",
];

fn marks_in(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text
        .split(|letter: char| !letter.is_alphanumeric() && !['\'', '_', ':'].contains(&letter))
        .filter(|word| !word.is_empty())
        .collect();
    let text = format!(" {} ", words.join(" "));
    let is_in = |mark: &&&str| text.contains(&format!(" {mark} "));
    MARKS.iter().filter(is_in).copied().collect()
}

#[test]
fn the_marks_are_found() {
    assert_eq!(
        marks_in("It goes\non, whoever asks."),
        ["whoever", "goes on"]
    );
    assert!(marks_in("The client goes away; it is nonetheless fine.").is_empty());
    // Names in code are no words.
    assert!(marks_in("Option::is_none").is_empty());
}

#[test]
fn help_is_in_plain_english() {
    let place = Place::new();
    let help = |words: &[&str]| place.bonded(&[words, &["--help"]].concat()).stdout;
    let top = help(&[]);
    assert_eq!(marks_in(&top), [""; 0], "{top}");
    for command in subcommands(&top) {
        let text = help(&[&command]);
        assert_eq!(marks_in(&text), [""; 0], "{text}");
        for inner in subcommands(&text) {
            let text = help(&[&command, &inner]);
            assert_eq!(marks_in(&text), [""; 0], "{text}");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in dir.read_dir().expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("it can be read")
}

#[test]
fn the_readme_and_the_pages_of_errors_are_in_plain_english() {
    let mut pages = files(&root().join("docs/errors"), "md");
    assert!(pages.len() > 50, "{pages:?}");
    pages.push(root().join("README.md"));
    for page in pages {
        assert_eq!(marks_in(&read(&page)), [""; 0], "{}", page.display());
    }
}

/// The quoted parts of a line of source that is no comment.
fn quoted(line: &str) -> String {
    match line.trim_start().starts_with("//") {
        true => String::new(),
        false => line
            .split('"')
            .skip(1)
            .step_by(2)
            .collect::<Vec<_>>()
            .join(" . "),
    }
}

#[test]
fn what_the_command_line_says_is_in_plain_english() {
    for source in files(&root().join("crates/bonded/src"), "rs") {
        for (number, line) in read(&source).lines().enumerate() {
            let place = format!("{}:{}: {line}", source.display(), number + 1);
            assert_eq!(marks_in(&quoted(line)), [""; 0], "{place}");
        }
    }
}
