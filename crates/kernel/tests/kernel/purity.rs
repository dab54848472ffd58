//! The kernel is pure: no clock, no IO, no randomness, no async, and no way around its checks.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the ban is on the kernel; this test reads the kernel's own source"
)]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file of this crate")
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(dir).expect("a directory of this crate") {
        let path = entry.expect("a readable directory").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The lines of a file that are code.
fn code(path: &Path) -> Vec<String> {
    let text = read(path);
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(is_code).map(str::to_owned).collect()
}

#[test]
fn the_source_names_no_clock_no_io_no_randomness_and_no_unordered_map() {
    let banned_words = [
        "SystemTime",
        "Instant",
        "HashMap",
        "HashSet",
        "async",
        "await",
        "rand",
        "tokio",
        "Mutex",
        "RwLock",
        "thread",
        "unsafe",
        "println",
        "eprintln",
    ];
    let banned_paths = [
        "std::time::",
        "std::fs",
        "std::env",
        "std::net",
        "std::io",
        "std::process",
        "std::thread",
    ];
    let files = sources(&root().join("src"));
    assert!(files.len() > 20, "the search found the source: {files:?}");
    for path in files {
        for line in code(&path) {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let word = words.find(|word| banned_words.contains(word));
            let banned = banned_paths.iter().find(|banned| line.contains(**banned));
            assert_eq!((word, banned), (None, None), "{}: {line}", path.display());
        }
    }
}

#[test]
fn the_kernel_depends_on_ten_pure_libraries_and_on_no_crate_of_ours() {
    let manifest = read(&root().join("Cargo.toml"));
    let (_, after) = manifest
        .split_once("\n[dependencies]\n")
        .expect("it has dependencies");
    let section = after.split("\n[").next().unwrap_or_default();
    let names: Vec<&str> = section
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(
        names,
        [
            "aho-corasick",
            "base64",
            "blake3",
            "bonded-schema",
            "icu_normalizer",
            "regex",
            "serde",
            "serde_json",
            "strsim",
            "thiserror"
        ]
    );
    let others = ["build-dependencies", "target.", "features"];
    assert!(
        !others
            .iter()
            .any(|other| manifest.contains(&format!("[{other}")))
    );
}

#[test]
fn nothing_outside_the_kernel_can_make_an_invocation_a_step_or_a_run() {
    for (file, declared) in [
        ("src/step/invoke.rs", "pub struct Invocation {"),
        ("src/step/effect.rs", "pub struct Step {"),
        ("src/run.rs", "pub struct Run {"),
        ("src/decode/looped.rs", "pub struct RecordedReply {"),
    ] {
        let code = code(&root().join(file)).join("\n");
        let (before, after) = code.split_once(declared).expect("declared there");
        let attributes = before.rsplit("\n\n").next().unwrap_or_default();
        assert!(
            !attributes.contains("Deserialize"),
            "{file}: reading one in is a way around"
        );
        assert!(
            !attributes.contains("Default"),
            "{file}: a default is a way around"
        );
        let fields = after.split('}').next().unwrap_or_default();
        assert!(
            !fields.contains("pub "),
            "{file}: a public field is a way around"
        );
        assert!(
            !code.contains("pub fn new("),
            "{file}: a public constructor is a way around"
        );
    }
}
