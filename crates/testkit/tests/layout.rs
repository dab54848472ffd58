//! The arrows between the crates are those of ARCHITECTURE.md, and there are no others.

use std::path::{Path, PathBuf};

/// Each crate, and those of ours that it may use.
const ARROWS: [(&str, &[&str]); 22] = [
    ("crates/schema", &[]),
    ("crates/kernel", &["bonded-schema"]),
    ("crates/work-rules", &["bonded-kernel"]),
    ("crates/workspace-rules", &["bonded-kernel"]),
    ("crates/outbound", &[]),
    ("crates/tools", &["bonded-kernel", "bonded-outbound"]),
    ("crates/changes", &["bonded-kernel", "bonded-tools"]),
    ("crates/state", &["bonded-kernel"]),
    ("crates/postgres", &["bonded-kernel", "bonded-state"]),
    ("crates/transport", &["bonded-kernel", "bonded-outbound"]),
    (
        "crates/host",
        &[
            "bonded-changes",
            "bonded-kernel",
            "bonded-state",
            "bonded-tools",
            "bonded-transport",
        ],
    ),
    (
        "crates/work",
        &[
            "bonded-host",
            "bonded-kernel",
            "bonded-state",
            "bonded-tools",
            "bonded-transport",
            "bonded-work-rules",
        ],
    ),
    (
        "crates/workspace",
        &[
            "bonded-host",
            "bonded-kernel",
            "bonded-outbound",
            "bonded-state",
            "bonded-tools",
            "bonded-transport",
            "bonded-workspace-rules",
        ],
    ),
    (
        "crates/telemetry",
        &["bonded-host", "bonded-kernel", "bonded-outbound"],
    ),
    ("crates/web", &["bonded-kernel"]),
    ("crates/mcp", &["bonded-kernel", "bonded-web"]),
    ("crates/pages", &[]),
    (
        "crates/serve",
        &[
            "bonded-host",
            "bonded-kernel",
            "bonded-mcp",
            "bonded-pages",
            "bonded-state",
            "bonded-telemetry",
            "bonded-web",
            "bonded-work",
            "bonded-work-rules",
            "bonded-workspace",
            "bonded-workspace-rules",
        ],
    ),
    (
        "crates/bonded",
        &[
            "bonded-host",
            "bonded-kernel",
            "bonded-mcp",
            "bonded-postgres",
            "bonded-serve",
            "bonded-state",
            "bonded-telemetry",
            "bonded-transport",
            "bonded-work",
            "bonded-work-rules",
            "bonded-workspace",
            "bonded-workspace-rules",
        ],
    ),
    (
        "crates/testkit",
        &[
            "bonded-changes",
            "bonded-host",
            "bonded-installed",
            "bonded-kernel",
            "bonded-state",
            "bonded-tools",
            "bonded-transport",
            "bonded-work",
            "bonded-workspace",
            "bonded-workspace-rules",
        ],
    ),
    ("crates/installed", &[]),
    ("xtask", &[]),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The crates of ours that a manifest names in its `[dependencies]`.
fn uses(manifest: &str) -> Vec<String> {
    let section = manifest
        .split("\n[")
        .find(|section| section.starts_with("dependencies]"))
        .unwrap_or_default();
    section
        .lines()
        .filter(|line| line.starts_with("bonded"))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_crate_uses_only_what_the_architecture_lets_it_use() {
    for (path, allowed) in ARROWS {
        let manifest = root().join(path).join("Cargo.toml");
        let manifest = std::fs::read_to_string(&manifest).expect("every crate has a manifest");
        for used in uses(&manifest) {
            assert!(allowed.contains(&used.as_str()), "{path} uses {used}");
        }
    }
}

#[test]
fn there_are_no_other_crates() {
    let mut found: Vec<String> = std::fs::read_dir(root().join("crates"))
        .expect("the crates lie in one directory")
        .map(|entry| entry.expect("it can be read").file_name())
        .map(|name| format!("crates/{}", name.to_string_lossy()))
        .collect();
    found.push("xtask".into());
    found.sort();
    let mut known: Vec<&str> = ARROWS.iter().map(|(path, _)| *path).collect();
    known.sort_unstable();
    assert_eq!(found, known);
}

/// The crates that only decide, and the libraries that these may use: none of them reads, waits or draws.
const PURE: [&str; 4] = ["schema", "kernel", "work-rules", "workspace-rules"];
const PURE_LIBRARIES: [&str; 12] = [
    "aho-corasick",
    "base64",
    "blake3",
    "bonded-kernel",
    "bonded-schema",
    "icu_normalizer",
    "jsonschema",
    "regex",
    "serde",
    "serde_json",
    "strsim",
    "thiserror",
];

#[test]
fn the_crates_that_decide_carry_the_kernels_bans_and_use_nothing_that_acts() {
    let read = |name: &str, file: &str| {
        let path = root().join("crates").join(name).join(file);
        std::fs::read_to_string(path).expect("every crate that decides has it")
    };
    let bans = read("kernel", "clippy.toml");
    for name in PURE {
        assert_eq!(read(name, "clippy.toml"), bans, "{name}");
        let manifest = read(name, "Cargo.toml");
        let section = manifest
            .split("\n[")
            .find(|section| section.starts_with("dependencies]"))
            .unwrap_or_default();
        let libraries = section.lines().skip(1).filter(|line| !line.is_empty());
        for library in libraries.filter_map(|line| line.split(['.', ' ', '=']).next()) {
            assert!(PURE_LIBRARIES.contains(&library), "{name} uses {library}");
        }
    }
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("it can be listed") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// Writes tables of the kernel, for the automaton that the kernel has, and is built without any crate of ours.
const GENERATOR: &str = "xtask/src/tokens/measure.rs";

#[test]
fn no_crate_takes_the_sources_of_another() {
    let attribute = concat!("#[", "path = \"");
    for (name, _) in ARROWS {
        let home = root().join(name).canonicalize().expect("it is there");
        let mut found = vec![];
        sources(&home, &mut found);
        for path in found.iter().filter(|it| !it.ends_with(GENERATOR)) {
            let text = std::fs::read_to_string(path).expect("it is text");
            for line in text
                .lines()
                .filter_map(|it| it.trim().strip_prefix(attribute))
            {
                let taken = line.trim_end_matches("\"]");
                let taken = path.parent().expect("a directory").join(taken);
                let taken = taken.canonicalize().expect("it leads to a file");
                assert!(
                    taken.starts_with(&home),
                    "{} takes {taken:?}",
                    path.display()
                );
            }
        }
    }
}
