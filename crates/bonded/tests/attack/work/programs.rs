//! Programs that a repository names, and that nothing but its own git may start.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::desk::{Desk, Outcome};
use crate::person::{finish, sh, start};
use crate::witness::absent;

/// A repository of a stranger: whatever git could be told to run is told.
fn hostile(desk: &Desk) -> std::path::PathBuf {
    let said = desk.person.path("said");
    let tool = desk.person.path("tool");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", said.display());
    desk.person.write(&tool, script);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&tool, executable).expect("a mode can be set");
    desk.write(
        ".gitattributes",
        "*.up filter=up diff=up merge=up\n*.lfs filter=lfs\n",
    );
    desk.write("old.up", "old\n");
    desk.write("plain.txt", "plain\n");
    let made = desk.person.shell(
        "git init -q && git config user.name n && git config user.email e@example.org && git add -A \
         && git commit -qm first",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    let tool = tool.display().to_string();
    for key in [
        "filter.up.clean",
        "filter.up.smudge",
        "filter.lfs.process",
        "filter.lfs.clean",
        "diff.external",
        "diff.up.textconv",
        "diff.up.command",
        "merge.up.driver",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.alternateRefsCommand",
        "core.gitProxy",
        "credential.helper",
        "gpg.program",
        "gpg.ssh.program",
        "sequence.editor",
        "pager.status",
        "uploadpack.packObjectsHook",
    ] {
        let set = desk.person.shell(&format!("git config {key} '{tool}'"));
        assert_eq!(set.code, Some(0), "{key}: {set:?}");
    }
    let rest = desk.person.shell(&format!(
        "git config commit.gpgSign true && git config tag.gpgSign true && git config log.showSignature true && \
         git config filter.up.required true && git config core.hooksPath .git/own && mkdir .git/own && \
         git config remote.origin.url 'ext::{tool}' && git config remote.origin.promisor true && \
         git config core.repositoryFormatVersion 1 && git config extensions.partialClone origin && \
         for hook in pre-commit post-commit commit-msg prepare-commit-msg reference-transaction \
         post-index-change post-checkout; do cp '{tool}' .git/own/$hook; cp '{tool}' .git/hooks/$hook; done"
    ));
    assert_eq!(rest.code, Some(0), "{rest:?}");
    let _ = std::fs::remove_file(&said);
    said
}

fn commit(desk: &Desk, line: &str) -> Outcome {
    let mut command = desk.command(&[sh(line)], json!({}), &["--commit"]);
    Outcome::of(finish(start(&mut command)))
}

#[test]
fn a_commit_runs_no_program_that_the_repository_names() {
    let desk = Desk::new();
    let said = hostile(&desk);
    let line = "echo new > new.up; echo more >> old.up; echo x > big.lfs; echo more >> plain.txt";
    let outcome = commit(&desk, line);
    assert!(
        !said.exists(),
        "{:?} {outcome:?}",
        std::fs::read_to_string(&said)
    );
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    assert_eq!(desk.read("new.up").as_deref(), Some("new\n"));
    for path in ["new.up", "old.up", "big.lfs"] {
        let named = outcome
            .done
            .stderr
            .contains(&format!("{path} is published and not committed"));
        assert!(named, "{path}: {outcome:?}");
    }
    // Looked at without the repository's settings.
    let shown = desk.person.shell(
        "mv .git/config /tmp/config.$$ && git show --stat=200 --format=%s HEAD; mv /tmp/config.$$ .git/config",
    );
    assert!(shown.stdout.contains("plain.txt"), "{shown:?}");
}

#[test]
fn a_commit_runs_no_program_that_an_included_file_names() {
    let desk = Desk::new();
    let said = hostile(&desk);
    let moved = desk.person.shell(
        "mv .git/config ../included && printf '[include]\\n\\tpath = %s\\n' \"$(realpath ../included)\" > .git/config",
    );
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let outcome = commit(&desk, "echo new > new.up; echo more >> plain.txt");
    assert!(
        !said.exists(),
        "{:?} {outcome:?}",
        std::fs::read_to_string(&said)
    );
    assert_eq!(outcome.status(), "success", "{outcome:?}");
}

#[test]
fn a_repository_cannot_put_its_program_in_the_place_of_the_persons_own_filter() {
    let desk = Desk::new();
    let global = "[filter \"lfs\"]\n\tclean = tr a-z A-Z\n";
    desk.person
        .write(desk.person.home().join(".gitconfig"), global);
    let said = hostile(&desk);
    let outcome = commit(&desk, "echo x > big.lfs; echo more >> plain.txt");
    assert!(
        !said.exists(),
        "{:?} {outcome:?}",
        std::fs::read_to_string(&said)
    );
    assert_eq!(outcome.status(), "success", "{outcome:?}");
}

#[test]
fn the_persons_own_filter_holds_as_with_git_add() {
    let desk = Desk::new();
    let global =
        "[user]\n\tname = n\n\temail = e@example.org\n[filter \"mine\"]\n\tclean = tr a-z A-Z\n";
    desk.person
        .write(desk.person.home().join(".gitconfig"), global);
    desk.write(".gitattributes", "*.up filter=mine\n");
    let made = desk
        .person
        .shell("git init -q && git add -A && git commit -qm first");
    assert_eq!(made.code, Some(0), "{made:?}");
    let outcome = commit(&desk, "echo loud > new.up");
    assert_eq!(outcome.status(), "success", "{outcome:?}");
    let shown = desk.person.shell("git show HEAD:new.up");
    assert_eq!(shown.stdout, "LOUD\n", "{shown:?}");
}

#[test]
fn what_git_keeps_is_seen_in_a_copy_and_cannot_be_changed_there() {
    let desk = Desk::new();
    desk.write("plain.txt", "plain\n");
    let made = desk.person.shell(
        "git init -q && git config user.name n && git config user.email e@example.org && git add -A \
         && git commit -qm first",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    let lines = [sh(
        "git log --format=%s > log.txt; echo x > .git/hooks/post-commit; echo y > .git/config; true",
    )];
    let outcome = desk.work(&lines, json!({}));
    absent(desk.tree().join(".git/hooks/post-commit"));
    assert!(
        desk.read(".git/config")
            .is_some_and(|it| it.contains("[user]"))
    );
    if outcome.status() == "success" {
        assert_eq!(
            desk.read("log.txt").as_deref(),
            Some("first\n"),
            "{outcome:?}"
        );
    }
}
