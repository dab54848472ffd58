//! Nothing that a command writes configures what starts later: repositories in every form, our own files, agent files.

mod served;

use super::output_of;
use crate::person::Person;
use crate::witness::{Canary, absent};

/// Makes a repository whose settings start a program at the person's next `git status`.
const EVIL: &str = "evil() { mkdir -p \"$1/objects\" \"$1/refs\" && echo 'ref: refs/heads/main' > \"$1/HEAD\" && \
     printf '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = .\\n\\tbare = false\\n\\tfsmonitor = touch {mark}\\n' \
     > \"$1/config\"; }; ";

struct Trap {
    person: Person,
}

impl Trap {
    fn new() -> Self {
        let trap = Self {
            person: Person::new(),
        };
        // The trap works where nothing keeps a command from laying it.
        let probe = trap.person.path("probe");
        trap.person.make_dir(&probe);
        let laid = format!(
            "cd {} && {} evil .git; git status",
            probe.display(),
            trap.evil()
        );
        trap.person.shell(&laid);
        assert!(trap.mark().exists(), "the trap is none");
        std::fs::remove_file(trap.mark()).expect("it is there");
        trap
    }

    fn mark(&self) -> std::path::PathBuf {
        self.person.path("ran-outside")
    }

    fn evil(&self) -> String {
        EVIL.replace("{mark}", &self.mark().display().to_string())
    }

    /// A command lays it.
    #[track_caller]
    fn is_not_laid_by(&self, command: &str) -> String {
        let tried = format!("{}{command}; echo tried", self.evil());
        let said = output_of(&self.person, &[], &tried);
        assert!(said.contains("tried\\n"), "{said}");
        self.is_not_sprung();
        said
    }

    /// The person asks git in every directory.
    #[track_caller]
    fn is_not_sprung(&self) {
        let ask = "find . -type d -not -path '*/.git/*' | while read -r dir; do (cd \"$dir\" && git status) ; done";
        self.person.shell(ask);
        absent(self.mark());
    }
}

#[test]
fn a_repository_that_is_made_anywhere_is_inert() {
    let trap = Trap::new();
    let said = trap.is_not_laid_by(
        "evil .git; mkdir -p a/b/c/d/e/f; evil a/b/c/d/e/f/.git; evil a/.git; git init -q a/b",
    );
    assert!(said.contains("inert-git"), "{said}");
}

#[test]
fn a_bare_layout_that_is_made_anywhere_is_inert() {
    let trap = Trap::new();
    trap.is_not_laid_by("evil .; evil sub/deep");
    let trap = Trap::new();
    trap.is_not_laid_by("evil kept/x; mkdir w; echo 'ref: refs/heads/main' > w/HEAD; echo ../kept/x > w/commondir; cp kept/x/config w/");
}

#[test]
fn a_repository_in_a_directory_that_may_not_be_listed_is_inert() {
    let trap = Trap::new();
    trap.is_not_laid_by("mkdir blind; evil blind/.git; chmod 111 blind; mkdir closed; evil closed/.git; chmod 555 closed");
}

#[test]
fn a_git_that_is_a_link_stays_the_link() {
    let trap = Trap::new();
    let person = &trap.person;
    person.shell("git init -q real && mv real/.git store && rmdir real && ln -s store .git");
    trap.is_not_laid_by("rm -f .git; evil .git; mv .git away; ln -sfn elsewhere .git; evil elsewhere; echo '[core]' >> store/config");
    let link = std::fs::read_link(person.work().join(".git"));
    assert_eq!(
        link.expect("it is still a link"),
        std::path::Path::new("store")
    );
}

#[test]
fn the_parent_of_a_nested_repository_is_not_renamed_away() {
    let trap = Trap::new();
    let person = &trap.person;
    person.shell("mkdir -p vendor/one && git init -q vendor/one && echo kept > vendor/one/file");
    trap.is_not_laid_by("mv vendor/one vendor/old; mv vendor other; cp -r vendor/old vendor/one; rm -rf vendor/one/.git; evil vendor/one/.git");
    let config = std::fs::read_to_string(person.work().join("vendor/one/.git/config"));
    assert!(!config.expect("it is there").contains("fsmonitor"));
}

#[test]
fn none_of_many_nested_repositories_is_writable() {
    let trap = Trap::new();
    let person = &trap.person;
    person.shell("for i in $(seq 100); do mkdir -p r/$((i % 7))/$i && git init -q r/$((i % 7))/$i; done; git init -q a/b/c/d/e/f/g");
    trap.is_not_laid_by(
        "find . -name config -path '*/.git/*' | while read -r c; do evil \"$(dirname $c)\"; done",
    );
    let changed = person.shell("grep -rl 'fsmonitor = touch' . | wc -l");
    assert_eq!(changed.stdout.trim(), "0");
}

#[test]
fn hooks_of_a_repository_are_not_made() {
    let trap = Trap::new();
    trap.person.shell("git init -q .");
    trap.is_not_laid_by("printf '#!/bin/sh\\ntouch x' > .git/hooks/pre-commit; git config core.fsmonitor 'touch x'; git commit --allow-empty -m x");
    absent(trap.person.work().join(".git/hooks/pre-commit"));
}

#[test]
fn no_configuration_and_no_agent_file_is_left_or_changed() {
    let person = Person::new();
    let ours = Canary::put(
        &person,
        person.work().join("sub/writer.ai"),
        "---\n---\nwrite",
    );
    let said = output_of(
        &person,
        &[],
        "echo '{\"defaults\":{\"sandbox\":\"full\"}}' > .ai-agent.json; echo K=v > sub/.ai-agent.env; \
         printf -- '---\\ntools: run\\n---\\n' > evil.ai; mkdir -p x/y; cp evil.ai x/y/deep.ai; ln -s evil.ai linked.ai; \
         echo evil > sub/writer.ai; rm -f sub/writer.ai; mv sub gone; echo tried",
    );
    assert!(
        said.contains("tried") && said.contains("person approved"),
        "{said}"
    );
    for path in [
        ".ai-agent.json",
        "sub/.ai-agent.env",
        "evil.ai",
        "x/y/deep.ai",
        "linked.ai",
    ] {
        absent(person.work().join(path));
    }
    ours.lives();
}

#[test]
fn a_command_that_ends_by_its_time_leaves_nothing_either() {
    let trap = Trap::new();
    let attempt = format!(
        "{}evil .git; evil sub; echo x > evil.ai; sleep 60",
        trap.evil()
    );
    let line = crate::person::call(
        "run",
        serde_json::json!({ "command": attempt, "timeout_ms": 2000 }),
    );
    trap.person.run(&[], &[line, crate::person::done()]);
    trap.person.shell("git status; cd sub && git status");
    absent(trap.mark());
    absent(trap.person.work().join("evil.ai"));
}

#[test]
fn what_a_person_approves_is_done() {
    let person = Person::new();
    let lines = [
        crate::person::sh("git init -q sub && echo x > agent.ai && echo made"),
        crate::person::done(),
    ];
    let script = person.script(&lines);
    let words = [
        "run", "--id", "run", "--ask", "run", "--model", &script, "goal",
    ];
    let waits = person.bonded(&words);
    assert_ne!(waits.code, Some(0), "{waits:?}");
    absent(person.work().join("agent.ai"));
    let approved = person.approve();
    let resumed = person.bonded(&["resume", "run"]);
    assert!(
        person.work().join("sub/.git/HEAD").exists(),
        "{approved:?} {resumed:?}"
    );
    assert!(person.work().join("agent.ai").exists(), "{resumed:?}");
}
