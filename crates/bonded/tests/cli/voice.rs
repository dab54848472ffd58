//! Texts that people read are in plain English: none of them has the marks of what reads as translated.

use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::reference::subcommands;

/// Pronouns where the noun exists, and phrases that are not idiomatic.
const MARKS: [&str; 30] = [
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "goes on",
    "go on",
    "gone on",
    "going on",
    "is none",
    "are none",
    "that is none",
    "by itself",
    "by themselves",
    "who wants",
    "who asks",
    "work off",
    "works off",
    "worked off",
    "anew",
    "is well",
    "are well",
    "says something about",
    "not to be had",
    "had back",
    "have back",
    "has back",
    "is usual",
    "are usual",
    "belongs into",
];

/// What may come after `is no`: elsewhere `is not a` is idiomatic.
const AFTER_NO: [&str; 3] = ["longer", "more", "less"];

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|letter: char| !letter.is_alphanumeric() && !['\'', '_', ':'].contains(&letter))
        .filter(|word| !word.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

/// `it is no list` for `it is not a list`; `there is no list` is idiomatic.
fn is_no(words: &[String]) -> bool {
    words.windows(4).any(|at| {
        let [before, is, no, after] = at else {
            return false;
        };
        before != "there"
            && ["is", "are", "was", "were"].contains(&is.as_str())
            && no == "no"
            && !AFTER_NO.contains(&after.as_str())
    })
}

fn marks_in(text: &str) -> Vec<&'static str> {
    let words = words(text);
    let text = format!(" {} ", words.join(" "));
    let is_in = |mark: &&&str| text.contains(&format!(" {mark} "));
    let mut marks: Vec<_> = MARKS.iter().filter(is_in).copied().collect();
    if is_no(&words) {
        marks.push("is no");
    }
    marks
}

#[test]
fn the_marks_are_found() {
    assert_eq!(
        marks_in("It goes\non, whoever asks."),
        ["whoever", "goes on"]
    );
    assert!(marks_in("The client goes away; it is nonetheless fine.").is_empty());
    assert_eq!(marks_in("the message is no JSON object"), ["is no"]);
    assert!(marks_in("there is no run; it is no longer kept").is_empty());
    // Names in code are not words.
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

/// Pages whose words are not ours to choose.
const QUOTES: [&str; 1] = [
    // The clauses of the contract that the program was written to.
    "docs/contract.md",
];

#[test]
fn pages_are_in_plain_english() {
    let mut pages = files(&root().join("docs"), "md");
    assert!(pages.len() > 100, "{pages:?}");
    let top = [
        "README",
        "ARCHITECTURE",
        "CONTRIBUTING",
        "SECURITY",
        "CHANGELOG",
    ];
    pages.extend(top.map(|name| root().join(name).with_extension("md")));
    let mut marked = vec![];
    for page in pages.iter().filter(|page| !is_one_of(page, &QUOTES)) {
        for paragraph in read(page).split("\n\n") {
            // A test's name may have any words: it is a name.
            let prose: Vec<_> = paragraph.split('`').step_by(2).collect();
            let marks = marks_in(&prose.join(" x "));
            if !marks.is_empty() {
                marked.push(format!("{}: {marks:?} in\n{paragraph}", page.display()));
            }
        }
    }
    assert!(marked.is_empty(), "{}", marked.join("\n\n"));
}

fn is_one_of(path: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| path.ends_with(name))
}

/// The quoted parts of a line of source that is not a comment.
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

/// The source without its tests, each text on one line.
fn texts_of(source: &Path) -> String {
    let text = read(source);
    let (code, _tests) = text.split_once("#[cfg(test)]\nmod ").unwrap_or((&text, ""));
    let mut joined = String::new();
    for line in code.lines() {
        match line.strip_suffix('\\') {
            Some(head) => joined.push_str(head.trim_start()),
            None => {
                joined.push_str(line.trim_start());
                joined.push('\n');
            }
        }
    }
    joined
}

/// Sources of the kernel with texts that are in logs and requests: a log must replay byte for byte, and a request
/// must keep its digest.
const LOGGED: [&str; 9] = [
    "kernel/src/accepts.rs",
    "kernel/src/check.rs",
    "kernel/src/memory.rs",
    "kernel/src/policy.rs",
    "kernel/src/profile/agent.rs",
    "kernel/src/profile/plain.rs",
    "kernel/src/report/slack.rs",
    "kernel/src/step/ask.rs",
    "kernel/src/uuid.rs",
];

/// `testkit` is for tests alone, and nothing of it is in the program.
const NOT_IN_THE_PROGRAM: [&str; 1] = ["testkit"];

#[test]
fn what_the_program_says_is_in_plain_english() {
    let mut marked = vec![];
    let crates = root().join("crates");
    for entry in crates.read_dir().expect("it can be read") {
        let dir = entry.expect("it can be read").path();
        if is_one_of(&dir, &NOT_IN_THE_PROGRAM) {
            continue;
        }
        for source in files(&dir.join("src"), "rs") {
            if is_one_of(&source, &LOGGED) || source.ends_with("tests.rs") {
                continue;
            }
            let text = texts_of(&source);
            // What is expected is for programmers.
            let said = text.lines().filter(|line| !line.contains("expect"));
            let said = said.map(|line| (line, marks_in(&quoted(line))));
            let said = said.filter(|(_, marks)| !marks.is_empty());
            marked.extend(
                said.map(|(line, marks)| format!("{}: {marks:?}: {line}", source.display())),
            );
        }
    }
    assert!(marked.is_empty(), "{}", marked.join("\n"));
}
