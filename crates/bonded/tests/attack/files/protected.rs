//! What configures later programs is not written.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use bonded_testkit::disturbance::EndsDisturbance;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::{all_ok, all_refused, append, edit, outcomes, play, text, write};
use crate::person::{Person, call, done};
use crate::witness::rounds;
use crate::witness::{Canary, absent};

const CONFIG: &str = "[core]\n\tbare = false\n";

/// Every tool that writes, on each path.
fn writes(paths: &[&str]) -> Vec<Value> {
    let each = |path: &&str| {
        [
            write(path, "evil"),
            append(path, "evil"),
            edit(path, "core", "evil"),
        ]
    };
    paths.iter().flat_map(each).collect()
}

#[test]
fn a_directory_that_is_exchanged_with_a_link_to_git_does_not_lead_there() {
    let person = Person::new();
    let work = person.work();
    let canary = Canary::put(&person, work.join(".git/config"), CONFIG);
    person.make_dir(&work.join("d"));
    symlink(".git", work.join("link")).expect("it can be made");
    // A run that is refused the same thing again and again is ended, so that something else is done in between.
    // One run makes all of the writes: more than these take longer than a run is waited for.
    let lines: Vec<Value> = (0..rounds(4).min(60))
        .map(|line| {
            let calls = (1..=50).flat_map(|at| {
                let other = call("list", json!({ "limit": at }));
                [write("d/config", &format!("evil {line} {at}")), other]
            });
            let calls: Vec<Value> = calls.map(|it| it["calls"][0].clone()).collect();
            json!({ "calls": calls })
        })
        .chain([done()])
        .collect();
    let turns = (lines.len() + 1).to_string();
    let stop = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (d, link) = (work.join("d"), work.join("link"));
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &d, CWD, &link, RenameFlags::EXCHANGE).expect("both are there");
            }
        });
        let _exchanging = EndsDisturbance(&stop);
        person.run(&["--max-turns", &turns, "--max-calls", "100"], &lines)
    });
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    canary.lives();
    let entries = std::fs::read_dir(work.join(".git")).expect("it is there");
    assert_eq!(entries.count(), 1, "something was made in .git");
}

#[test]
fn git_is_not_written_by_any_of_its_names() {
    let person = Person::new();
    let work = person.work();
    let canary = Canary::put(&person, work.join(".git/config"), CONFIG);
    let nested = Canary::put(&person, work.join("a/b/c/d/e/.git/config"), CONFIG);
    symlink(".git", work.join("way_in")).expect("it can be made");
    let paths = [
        ".git/config",
        "./a/../.git/config",
        "way_in/config",
        "a/b/c/d/e/.git/config",
        ".git",
    ];
    all_refused(&play(&person, &[], &writes(&paths)), "protected");
    let made = [
        ".git/hooks/pre-commit",
        ".GIT/config",
        "new/.git/config",
        "new/.Git",
        "git~1/config",
        ".g\u{200d}it/config",
        ".git\u{feff}/config",
        ".git./config",
        ".hg/hgrc",
    ];
    let calls: Vec<Value> = made.iter().map(|path| write(path, "evil")).collect();
    let again = Person::new();
    all_refused(&play(&again, &[], &calls), "protected");
    assert!(
        std::fs::read_dir(again.work())
            .expect("it is there")
            .next()
            .is_none()
    );
    canary.lives();
    nested.lives();
}

#[test]
fn the_directory_that_a_git_link_or_file_leads_to_is_not_written() {
    let person = Person::new();
    let work = person.work();
    let linked = Canary::put(&person, work.join("one/elsewhere/config"), CONFIG);
    symlink("elsewhere", work.join("one/.git")).expect("it can be made");
    let pointed = Canary::put(&person, work.join("two/kept/config"), CONFIG);
    person.write(work.join("two/.git"), "gitdir: kept\n");
    let calls = writes(&["one/elsewhere/config", "one/.git/config", "two/kept/config"]);
    all_refused(&play(&person, &[], &calls), "protected");
    linked.lives();
    pointed.lives();
}

/// Whether the person's own git starts what a repository here says.
fn git_runs_evil(person: &Person) -> bool {
    person.shell("git status; git -C sub status; git -C a/b status");
    person.path("evil").exists()
}

fn evil_config(person: &Person) -> String {
    let evil = person.path("evil");
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {}\n\tfsmonitor = touch {}\n",
        person.work().display(),
        evil.display()
    )
}

#[test]
fn a_repository_cannot_be_made_out_of_plain_files() {
    let head = ("HEAD", "ref: refs/heads/main\n");
    let orders: [[(&str, &str); 3]; 3] = [
        [head, ("objects/x", "x"), ("refs/x", "x")],
        [("objects/x", "x"), ("refs/x", "x"), head],
        [("refs/x", "x"), head, ("objects/info/x", "x")],
    ];
    for order in orders {
        for top in ["", "sub/"] {
            let person = Person::new();
            let config = evil_config(&person);
            let files = [("config", config.as_str())].into_iter().chain(order);
            let calls: Vec<Value> = files
                .map(|(name, content)| write(&format!("{top}{name}"), content))
                .collect();
            let outcomes = play(&person, &[], &calls);
            all_refused(&outcomes[3..], "protected");
            assert!(!git_runs_evil(&person), "{order:?} in {top:?}");
        }
    }
}

#[test]
fn a_repository_cannot_be_made_of_a_head_and_a_shared_directory() {
    let person = Person::new();
    let config = evil_config(&person);
    let calls = [
        write("sub/common/config", &config),
        write("sub/common/objects/x", "x"),
        write("sub/common/refs/x", "x"),
        write("sub/commondir", "common\n"),
        write("sub/HEAD", "ref: refs/heads/main\n"),
    ];
    let outcomes = play(&person, &[], &calls);
    all_refused(&outcomes[4..], "protected");
    assert!(!git_runs_evil(&person));
}

#[test]
fn a_bare_repository_that_is_there_is_not_written() {
    let person = Person::new();
    let made = person.shell("git init -q --bare kept && cp kept/config before");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let calls = [
        append("kept/config", "[core]\n\tfsmonitor = touch evil\n"),
        write("kept/hooks/post-update", "#!/bin/sh\ntouch evil\n"),
    ];
    all_refused(&play(&person, &[], &calls), "protected");
    let work = person.work();
    assert_eq!(text(work.join("kept/config")), text(work.join("before")));
    absent(work.join("kept/hooks/post-update"));
}

#[test]
fn settings_and_agents_of_later_runs_are_not_written() {
    let person = Person::new();
    let work = person.work();
    let canary = Canary::put(&person, work.join("helper.ai"), "core");
    let made = [
        ".ai-agent.json",
        ".AI-Agent.json",
        "sub/.ai-agent.env",
        ".ai-agent.j\u{17f}on",
        ".ai-agent/ai-agent.json",
        "new.ai",
        "sub/New.AI",
    ];
    let calls: Vec<Value> = made.iter().map(|path| write(path, "{}")).collect();
    all_refused(&play(&person, &[], &calls), "protected");
    for path in made {
        absent(work.join(path));
    }
    let again = Person::new();
    again.write(again.work().join("helper.ai"), "core");
    all_refused(&play(&again, &[], &writes(&["helper.ai"])), "protected");
    assert_eq!(text(again.work().join("helper.ai")), "core");
    canary.lives();
}

#[test]
fn a_file_with_a_protected_name_too_is_not_written() {
    let person = Person::new();
    let work = person.work();
    let canary = Canary::put(&person, work.join(".git/config"), CONFIG);
    std::fs::hard_link(canary.path(), work.join("plain")).expect("it can be made");
    all_refused(&play(&person, &[], &writes(&["plain"])), "protected");
    canary.lives();
}

#[test]
fn what_a_person_approves_is_written() {
    let person = Person::new();
    let calls = [write(".ai-agent.json", "{}"), done()];
    let waits = person.run(&["--ask", "write"], &calls);
    assert_eq!(waits.code, Some(6), "{}", waits.stderr);
    absent(person.work().join(".ai-agent.json"));
    let approved = person.approve();
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert_eq!(text(person.work().join(".ai-agent.json")), "{}");
    all_ok(&outcomes(&person, "run", 1));
}
