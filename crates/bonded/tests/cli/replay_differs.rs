//! A build in which one rule was changed on purpose: its replay finds the first step that differs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::place::{Place, call, finish, start};
use crate::watch::write;

/// The rule: so many turns without a valid action end a run, not one more.
const RULE: Change = Change {
    file: "crates/kernel/src/progress.rs",
    from: "if self.idle_turns >= max {",
    to: "if self.idle_turns > max {",
};

/// Cargo tells the packages of two workspaces apart by name and version only, so in a shared target directory
/// the changed ones need another version, and the changed program another name. It is the only one.
const APART: [Change; 2] = [
    Change {
        file: "Cargo.toml",
        from: concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n"),
        to: "\nversion = \"0.0.0-changed-rule\"\n",
    },
    Change {
        file: "crates/bonded/Cargo.toml",
        from: "default-run = \"bonded\"\n",
        to: "autobins = false\n\n[[bin]]\nname = \"bonded-changed-rule\"\npath = \"src/main.rs\"\n",
    },
];

struct Change {
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

#[test]
fn a_build_with_one_changed_rule_reports_the_first_step_that_differs() {
    let place = Place::new();
    let idle = ["launch", "fly", "land"].map(|tool| call(tool, json!({})));
    assert_eq!(place.play(&idle).code, Some(1));
    place.passes_the_audit("run");
    let changed = changed_build();
    let replay = |flags: &[&str]| {
        let words = [&["replay", "run"], flags].concat();
        finish(start(&mut place.command_of(&changed, &words)))
    };
    let said = replay(&[]);
    said.fails_with(1, "replay-differs");
    // Three replies: the first step starts the run, the fourth ends it.
    for part in [
        "step 4 (entry 8, turn 3)",
        "recorded: {\"run_ended\"",
        "computed: {\"attempt_started\"",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    let said = replay(&["--json"]).json();
    assert_eq!(
        (&said["equal"], &said["step"], &said["seq"]),
        (&json!(false), &json!(4), &json!(8))
    );
    let verified = finish(start(&mut place.command_of(&changed, &["verify", "run"])));
    assert_eq!(
        verified.code,
        Some(7),
        "the log itself is whole, and nothing is there to compare it with: {verified:?}"
    );
}

/// Builds the sources with the rule changed. They lie at the same place each time and share the compiled
/// dependencies with this build, so that only what changed is compiled.
fn changed_build() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = scratch
        .parent()
        .expect("the scratch directory lies in the target directory");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copy = scratch.join("changed-rule");
    fs::create_dir_all(&copy).expect("a directory can be made");
    for part in ["Cargo.toml", "Cargo.lock", "crates", "xtask", "docs"] {
        mirror(&root, &copy, Path::new(part));
    }
    let profile = if cfg!(debug_assertions) {
        "dev"
    } else {
        "release"
    };
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--offline",
            "--quiet",
            "-p",
            "bonded",
            "--profile",
            profile,
            "--target-dir",
        ])
        .arg(target)
        .current_dir(&copy)
        .output()
        .expect("cargo can be started");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let dir = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    target.join(dir).join("bonded-changed-rule")
}

/// Makes a part of the copy the same as in the sources, but for the changes, and touches no file that is
/// right already.
fn mirror(root: &Path, copy: &Path, part: &Path) {
    let (from, to) = (root.join(part), copy.join(part));
    if !from.is_dir() {
        let content = changed(part, fs::read(from).expect("a source can be read"));
        if fs::read(&to).ok().as_ref() != Some(&content) {
            write(&to, content);
        }
        return;
    }
    fs::create_dir_all(&to).expect("a directory can be made");
    let wanted = names(&from);
    for stale in names(&to).iter().filter(|name| !wanted.contains(name)) {
        let stale = to.join(stale);
        let is_dir = stale.is_dir();
        let removed = if is_dir {
            fs::remove_dir_all(stale)
        } else {
            fs::remove_file(stale)
        };
        removed.expect("what is stale can be removed");
    }
    for name in wanted {
        mirror(root, copy, &part.join(name));
    }
}

fn names(dir: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(dir).expect("the directory can be read");
    let names = entries.map(|entry| entry.expect("an entry can be read").file_name());
    names.collect()
}

fn changed(part: &Path, content: Vec<u8>) -> Vec<u8> {
    let changes = APART.iter().chain([&RULE]);
    let Some(change) = changes
        .into_iter()
        .find(|change| Path::new(change.file) == part)
    else {
        return content;
    };
    let text = String::from_utf8(content).expect("sources are UTF-8");
    let places = text.matches(change.from).count();
    assert_eq!(places, 1, "{part:?} must have {:?} once", change.from);
    text.replace(change.from, change.to).into_bytes()
}
