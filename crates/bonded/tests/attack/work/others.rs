//! Other users of the machine, and trees that several share.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use super::desk::{Desk, Outcome};
use crate::person::{Person, finish, sh, start};

/// A group that two persons are in.
const GROUP: u32 = 62_500;

#[test]
fn somebody_who_locks_every_directory_that_he_may_open_stops_nobody() {
    let desk = Desk::new();
    let mut held = vec![];
    let tree = desk.tree();
    for dir in tree.ancestors() {
        let dir = fs::File::open(dir).expect("it can be opened");
        // The root of the machine may be held by another attack just now.
        let _ = flock(&dir, FlockOperation::NonBlockingLockExclusive);
        held.push(dir);
    }
    let outcome = desk.work(&[sh("echo made > made")], json!({}));
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    assert_eq!(desk.read("made").as_deref(), Some("made\n"));
}

#[test]
fn nobody_else_can_open_what_says_that_a_tree_is_worked_on() {
    let desk = Desk::new();
    // Even where the home is open to all.
    let outcome = desk.work(&[sh("echo made > made")], json!({}));
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    let stranger = Person::new();
    let own = desk.person.home().join(".local/share/bonded");
    for dir in [own.join("locks"), desk.kept()] {
        let mode = fs::metadata(&dir).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o077, 0, "{}", dir.display());
        let line = format!("flock -n '{}' true", dir.display());
        let is_other = rustix::process::geteuid().is_root();
        assert!(!is_other || stranger.shell(&line).code != Some(0), "{line}");
    }
}

/// A tree of two persons: directories hand their group down, and each wrote a part of it.
fn share(desk: &Desk, other: u32) {
    let tree = desk.tree();
    desk.write("theirs.txt", "theirs\n");
    desk.write("sub/theirs.txt", "theirs\n");
    desk.write("sub/mine.txt", "mine\n");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode can be set");
    };
    for (name, is_dir) in [
        ("", true),
        ("sub", true),
        ("theirs.txt", false),
        ("sub/theirs.txt", false),
        ("sub/mine.txt", false),
    ] {
        let path = tree.join(name);
        let owner = (!name.ends_with("mine.txt")).then_some(other);
        chown(&path, owner, Some(GROUP)).expect("root gives files away");
        mode(&path, if is_dir { 0o2775 } else { 0o664 });
    }
}

/// `bonded work` of the person, who is in the group too.
fn work_in_group(desk: &Desk, uid: u32, lines: &[Value]) -> Outcome {
    let words = desk.words(lines, json!({}), &[]);
    let (uid, group) = (uid.to_string(), GROUP.to_string());
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", &uid, "--regid", &uid, "--groups", &group])
        .arg(crate::person::program_dir().join("bonded"))
        .arg("work")
        .args(words)
        .current_dir(desk.tree())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", desk.person.home())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Outcome::of(finish(start(&mut command)))
}

#[test]
fn a_tree_that_a_group_shares_is_written_and_stays_the_groups() {
    if !rustix::process::geteuid().is_root() {
        // Only root can be two persons.
        return;
    }
    let desk = Desk::new();
    let own = fs::metadata(desk.person.home()).expect("it is there").uid();
    share(&desk, own + 700);
    let lines = [sh(
        "echo more >> theirs.txt; echo more >> sub/theirs.txt; echo more >> sub/mine.txt; \
         echo new > sub/new.txt; chmod 664 sub/new.txt",
    )];
    let outcome = work_in_group(&desk, own, &lines);
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    for (name, text) in [
        ("theirs.txt", "theirs\nmore\n"),
        ("sub/theirs.txt", "theirs\nmore\n"),
        ("sub/mine.txt", "mine\nmore\n"),
        ("sub/new.txt", "new\n"),
    ] {
        assert_eq!(desk.read(name).as_deref(), Some(text), "{name}");
        let there = fs::metadata(desk.tree().join(name)).expect("it is there");
        assert_eq!(there.gid(), GROUP, "{name}");
        assert_eq!(there.mode() & 0o7777, 0o664, "{name}");
    }
}

#[test]
fn an_item_on_a_tree_that_one_may_only_read_is_no_success() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let desk = Desk::new();
    let own = fs::metadata(desk.person.home()).expect("it is there").uid();
    desk.write("theirs.txt", "theirs\n");
    for name in ["", "theirs.txt"] {
        let path = desk.tree().join(name);
        lchown(&path, Some(own + 700), Some(own + 700)).expect("root gives files away");
    }
    let outcome = desk.work(&[sh("echo more >> theirs.txt")], json!({}));
    assert_eq!(outcome.status(), "failure", "{outcome:?}");
    assert_eq!(desk.read("theirs.txt").as_deref(), Some("theirs\n"));
}

#[test]
fn two_users_at_one_tree_both_get_their_work_into_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (first, second) = (Desk::new(), Desk::new());
    let tree = first.tree();
    fs::set_permissions(first.person.home(), fs::Permissions::from_mode(0o755))
        .expect("a mode can be set");
    fs::set_permissions(&tree, fs::Permissions::from_mode(0o777)).expect("a mode can be set");
    let holder = first.person.path("");
    fs::set_permissions(holder, fs::Permissions::from_mode(0o755)).expect("a mode can be set");
    let repo = tree.display().to_string();
    let starts = [(&first, "first"), (&second, "second")].map(|(desk, name)| {
        let line = sh(&format!("sleep 0.2; echo {name} > {name}"));
        start(&mut desk.command(&[line], json!({}), &["--repo", &repo]))
    });
    let [one, two] = starts.map(|child| Outcome::of(finish(child)));
    for (outcome, name) in [(&one, "first"), (&two, "second")] {
        let is_there = first.read(name).is_some();
        let is_success = outcome.status() == "success";
        assert_eq!(is_success, is_there, "{name}: {outcome:?}");
    }
    assert!(
        one.status() == "success" || two.status() == "success",
        "{one:?} {two:?}"
    );
}
