//! What an item may leave in a tree, and who may read what is kept of it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::desk::{Desk, Outcome};
use crate::person::{finish, sh, start};
use crate::witness::absent;

fn all_below(dir: &Path) -> Vec<PathBuf> {
    let mut all = vec![];
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        if path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()));
        }
        all.push(path);
    }
    all
}

/// Whoever starts one of these would become its owner.
#[track_caller]
fn has_no_set_id(dir: &Path) {
    for path in all_below(dir) {
        let there = path.symlink_metadata().expect("it is there");
        let is_set = there.is_file() && there.mode() & 0o6000 != 0;
        assert!(!is_set, "{} has {:o}", path.display(), there.mode());
    }
}

#[test]
fn an_item_publishes_no_program_that_runs_with_its_owners_rights() {
    for bits in ["4755", "2755", "6711"] {
        let desk = Desk::new();
        let line = format!("cp /bin/sh shell; chmod {bits} shell; mkdir d; cp -p shell d/again");
        let outcome = desk.work(&[sh(&line)], json!({}));
        has_no_set_id(&desk.tree());
        let is_over = ["denied", "success"].contains(&outcome.status());
        assert!(is_over, "{outcome:?}");
        if outcome.status() == "denied" {
            let reason = outcome.result["denial_reason"].to_string();
            assert!(reason.contains("no_set_id"), "{reason}");
            absent(desk.tree().join("shell"));
        }
    }
}

#[test]
fn a_program_with_its_owners_rights_that_is_there_is_not_given_other_content() {
    let desk = Desk::new();
    desk.write("tool", "#!/bin/sh\nid\n");
    let tool = desk.tree().join("tool");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).expect("a mode can be set");
    let line = "cp tool new; echo 'rm -rf ~' >> new; chmod 4755 new; mv -f new tool";
    let outcome = desk.work(&[sh(line)], json!({}));
    let there = fs::metadata(&tool).expect("it is there");
    let is_as_it_was = desk.read("tool").as_deref() == Some("#!/bin/sh\nid\n");
    assert!(is_as_it_was || there.mode() & 0o6000 == 0, "{outcome:?}");
}

#[test]
fn an_item_publishes_no_pipe_and_no_device() {
    for line in ["mkfifo pipe", "mkfifo pipe; echo x > plain"] {
        let desk = Desk::new();
        let outcome = desk.work(&[sh(line)], json!({}));
        assert_eq!(outcome.status(), "denied", "{outcome:?}");
        absent(desk.tree().join("pipe"));
        absent(desk.tree().join("plain"));
    }
}

#[test]
fn what_is_kept_of_items_is_nobody_elses_whatever_the_umask_is() {
    let desk = Desk::new();
    desk.write("secret.txt", "a secret of the tree\n");
    let fields = json!({ "test_command": "cat secret.txt" });
    let words = desk.words(&[sh("echo made > made")], fields, &[]);
    let mut loose = desk.person.program("sh");
    let bonded = crate::person::program_dir().join("bonded");
    loose
        .args([
            "-c",
            "umask 0; program=$1; shift; exec \"$program\" work \"$@\"",
            "sh",
        ])
        .arg(bonded)
        .args(words);
    let outcome = Outcome::of(finish(start(&mut loose)));
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    let kept = desk.kept();
    let beside = kept.with_file_name("locks");
    let mut looked_at = 0;
    for path in all_below(&kept).into_iter().chain(all_below(&beside)) {
        let there = path.symlink_metadata().expect("it is there");
        // What lies in a closed directory is as closed; the directories that people look into say it themselves.
        let is_named = path.is_dir() || path.components().any(|it| it.as_os_str() == "items");
        if is_named {
            assert_eq!(
                there.mode() & 0o077,
                0,
                "{} {:o}",
                path.display(),
                there.mode()
            );
            looked_at += 1;
        }
    }
    assert!(looked_at > 10, "{looked_at}");
}
