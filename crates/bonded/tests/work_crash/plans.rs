//! The tree that is worked on, and the plans that are worked off.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{call, done, with};

const REPLY_DELAY_MS: u64 = 3;

/// How often the last command is given: whatever two kills interrupt, one is left that brings the tree to its end.
const SETTLED: usize = 3;

/// A repository with everything that somebody would miss: tracked, untracked, ignored and staged files, modes,
/// links, an empty directory, a stash, a second branch.
pub(crate) fn furnish(root: &Path) {
    for (path, content) in [
        (".gitignore", "ignored/\n*.log\n"),
        ("tracked.txt", "first\nmark\n"),
        ("removed.txt", "two\n"),
        ("renamed.txt", "three\n"),
        ("program", "#!/bin/sh\n"),
        ("folder/deep/file", "four\n"),
        ("folder/other", "five\n"),
        ("swapped/inside", "six\n"),
        ("to_folder", "seven\n"),
    ] {
        write(root, path, content);
    }
    link(root, "link", "tracked.txt");
    git(root, &["init", "-q", "-b", "main"]);
    git(root, &["config", "user.name", "T"]);
    git(root, &["config", "user.email", "t@example.org"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "first"]);
    git(root, &["branch", "other"]);
    write(root, "stashed.txt", "stashed\n");
    git(root, &["add", "stashed.txt"]);
    git(root, &["stash", "-q"]);
    write(root, "staged.txt", "staged\n");
    git(root, &["add", "staged.txt"]);
    write(root, "untracked.txt", "eight\n");
    write(root, "ignored/kept", "nine\n");
    write(root, "a.log", "ten\n");
    fs::create_dir(root.join("empty")).expect("a directory can be made");
    chmod(root, "folder", 0o750);
}

/// Nothing here is done again that is done: a command that is interrupted must not take away what an earlier one made.
const WORDS: &str = "\
put() { [ -f \"$1\" ] && [ \"$(cat \"$1\")\" = \"$2\" ] || { rm -rf \"$1\"; printf '%s\\n' \"$2\" > \"$1\"; }; }
point() { [ \"$(readlink \"$1\")\" = \"$2\" ] || { rm -f \"$1\"; ln -s \"$2\" \"$1\"; }; }";

/// The item that touches all of it.
const ALL: &str = "\
put tracked.txt \"$(printf 'first\\nMARK')\"
put untracked.txt noted
put ignored/kept IGNORED
put ignored/new new
[ ! -s a.log ] || : > a.log
chmod 755 program
chmod 700 folder
point link program
rm -f removed.txt
mkdir -p moved
[ ! -e renamed.txt ] || mv renamed.txt moved/renamed.txt
rm -rf folder/deep empty
put swapped 'now a file'
[ -d to_folder ] || rm -f to_folder
mkdir -p to_folder/a
put to_folder/a/b b";

/// Goes after the one above, and takes some of it away again.
const AFTER: &str = "put c.txt c; rm -rf moved; chmod 600 program; point link folder";

/// Comes to nothing, because its tests fail.
const IN_VAIN: &str = "rm -rf folder ignored; put b.txt b; chmod 777 program";

/// What every item is told. They know which they are by the directory that they work in.
pub(crate) fn script() -> Vec<Value> {
    let (a, b, c) = (ALL, IN_VAIN, AFTER);
    let command = |number: usize| {
        format!(
            "# {number}\n{WORDS}\ncase $(basename \"$(dirname \"$PWD\")\") in\na)\n{a}\n;;\nb)\n{b}\n;;\nc)\n{c}\n;;\nesac"
        )
    };
    let mut lines = vec![
        call(
            "write",
            json!({ "path": "untracked.txt", "content": "noted\n" }),
        ),
        call(
            "edit",
            json!({ "path": "tracked.txt", "old": "mark\n", "new": "MARK\n" }),
        ),
    ];
    lines.extend((0..SETTLED).map(|number| call("run", json!({ "command": command(number) }))));
    lines.push(done("ok"));
    let delayed = lines
        .into_iter()
        .map(|line| with(line, "delay_ms", REPLY_DELAY_MS));
    delayed.collect()
}

fn item(id: &str, dependencies: &[&str], test_command: &str) -> Value {
    json!({
        "id": id,
        "agent_id": "agent-1",
        "description": format!("do {id}"),
        "dependencies": dependencies,
        "constraints": { "max_files": 100, "max_tool_ops": 100, "max_delta_size": 1000, "timeout_ms": 60000 },
        "test_command": test_command,
    })
}

/// Tests leave something behind too, which nobody wants.
const TESTS: &str =
    "echo tested >> tests-were-here.txt; sleep 0.05; test -x program && grep -q MARK tracked.txt";

/// One item, which touches all of the tree.
pub(crate) fn one_item() -> Value {
    json!([item("a", &[], TESTS)])
}

const FAILING_TESTS: &str = "echo tested >> b.txt; sleep 0.02; exit 3";

/// One item, which comes to nothing.
pub(crate) fn failing_item() -> Value {
    json!([item("b", &[], FAILING_TESTS)])
}

/// Two levels: one item succeeds beside one that fails, and a third goes on from there.
pub(crate) fn three_items() -> Value {
    let last = "echo tested > tests-were-here.txt; test -f c.txt";
    json!([
        item("a", &[], TESTS),
        item("b", &[], FAILING_TESTS),
        item("c", &["a"], last)
    ])
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    let above = path.parent().expect("it lies in the tree");
    fs::create_dir_all(above).expect("a directory can be made");
    fs::write(path, content).expect("a file can be written");
}

fn link(root: &Path, path: &str, target: &str) {
    symlink(target, root.join(path)).expect("a link can be made");
}

fn chmod(root: &Path, path: &str, mode: u32) {
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(root.join(path), mode).expect("a mode can be set");
}

/// What git says.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git can be started");
    assert!(done.status.success(), "git {arguments:?}: {done:?}");
    String::from_utf8(done.stdout).expect("git says UTF-8")
}
