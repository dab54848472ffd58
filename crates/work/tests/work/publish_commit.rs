//! One commit for one publish.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use bonded_work::publish::{
    CommitError, CommitPlan, DiskOperation, Faults, MadeCommit, NoFaults, PublishError, Settlement,
};
use bonded_work_rules::Change;

use crate::publish_world::{
    CrashAt, Setup, World, chmod, git, link, remove, run, sealed, text, write,
};

const RECEIPT: &str = "4f1c";
const AT_SECONDS: u64 = 1_700_000_000;

fn furnish(world: &World, options: &[&str]) {
    let tree = &world.tree;
    let init = [&["init", "-q", "-b", "main"], options].concat();
    match init.as_slice() {
        [a, b, c, d] => world.git([a, b, c, d]),
        [a, b, c, d, e] => world.git([a, b, c, d, e]),
        _ => panic!("no such options"),
    };
    world.git(["config", "user.name", "Some Body"]);
    world.git(["config", "user.email", "some@body"]);
    write(tree, ".gitignore", "*.log\n");
    for path in [
        "edited",
        "removed",
        "program",
        "folder/a",
        "to_folder",
        "staged",
        "unstaged",
    ] {
        write(tree, path, path);
    }
}

fn first_commit(world: &World) {
    world.git(["add", "-A"]);
    world.git(["commit", "-qm", "first"]);
    change_by_hand(world);
}

/// What the user is in the middle of.
fn change_by_hand(world: &World) {
    write(&world.tree, "staged", "by hand");
    world.git(["add", "staged"]);
    write(&world.tree, "unstaged", "by hand");
    write(&world.tree, "untracked", "by hand");
}

fn edit(copy: &Path) {
    write(copy, "edited", "edited again");
    remove(copy, "removed");
    chmod(copy, "program", 0o755);
    remove(copy, "folder");
    link(copy, "folder", "to_folder");
    remove(copy, "to_folder");
    write(copy, "to_folder/new", "new");
    write(copy, "ignored.log", "ignored");
}

/// What `git ls-tree` says of a commit on top of [`furnish`], [`edit`] and nothing else.
const LISTED: [(&str, &str); 7] = [
    ("100644", ".gitignore"),
    ("100644", "edited"),
    ("120000", "folder"),
    ("100755", "program"),
    ("100644", "staged"),
    ("100644", "to_folder/new"),
    ("100644", "unstaged"),
];

fn publish(
    world: &World,
    changes: &[Change],
    faults: &dyn Faults,
) -> Result<MadeCommit, PublishError> {
    let plan = plan(world).expect("a commit can be made");
    let publish = world.publish(faults);
    let settled = publish.prepare(changes, sealed(), Some(plan))?.apply()?;
    let committed = committed(settled.settlement());
    settled.finish()?;
    Ok(committed)
}

fn plan(world: &World) -> Result<CommitPlan, CommitError> {
    let description = "\n  Do the work \nand more of it";
    CommitPlan::new(&world.tree, description, RECEIPT, AT_SECONDS)
}

fn committed(outcome: &Settlement) -> MadeCommit {
    match outcome {
        Settlement::Published {
            commit: Some(commit),
        } => commit.clone(),
        outcome => panic!("{outcome:?} is no commit"),
    }
}

fn listed(world: &World) -> Vec<(String, String)> {
    let listing = world.git(["ls-tree", "-r", "HEAD"]);
    let entries = listing.lines().map(|line| {
        let (head, path) = line.split_once('\t').expect("an entry has a path");
        (head[..6].to_owned(), path.to_owned())
    });
    entries.collect()
}

fn as_listed() -> Vec<(String, String)> {
    let own = |(mode, path): (&str, &str)| (mode.to_owned(), path.to_owned());
    LISTED.map(own).to_vec()
}

/// The published paths are as committed; what the user had begun is as he left it.
const STATUS: &str = "M  staged\n M unstaged\n?? untracked\n";

#[test]
fn a_commit_holds_what_was_published_and_nothing_that_the_user_began() {
    let kinds: [(&str, &[&str], Setup); 4] = [
        ("on a branch", &[], |_| {}),
        ("sha256", &["--object-format=sha256"], |_| {}),
        ("detached", &[], |world| {
            world.git(["checkout", "-q", "--detach"]);
        }),
        ("with signing", &[], |world| {
            world.git(["config", "commit.gpgSign", "true"]);
        }),
    ];
    for (kind, options, prepare) in kinds {
        let world = World::new();
        furnish(&world, options);
        first_commit(&world);
        prepare(&world);
        let branch = world.git(["rev-parse", "--abbrev-ref", "HEAD"]);
        let parent = world.git(["rev-parse", "HEAD"]);
        let changes = world.changes_of(edit);
        let done = publish(&world, &changes, &NoFaults).expect("it can be committed");
        let head = world.git(["rev-parse", "HEAD"]);
        assert_eq!(done.id.as_deref(), Some(head.trim()), "{kind}");
        let left_out: Vec<_> = done.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(left_out, ["ignored.log"], "{kind}");
        assert_eq!(listed(&world), as_listed(), "{kind}");
        assert_eq!(world.git(["status", "--porcelain"]), STATUS, "{kind}");
        assert_eq!(world.git(["rev-parse", "HEAD~1"]), parent, "{kind}");
        assert_eq!(
            world.git(["rev-parse", "--abbrev-ref", "HEAD"]),
            branch,
            "{kind}"
        );
        let message = world.git(["log", "-1", "--format=%an %ae %at %ct%n%B"]);
        let expected =
            "Some Body some@body 1700000000 1700000000\nDo the work\n\nBonded-Receipt: 4f1c\n";
        assert_eq!(message.trim_end(), expected.trim_end(), "{kind}");
        assert_eq!(world.git(["show", "HEAD:edited"]), "edited again", "{kind}");
        let found = world.git(["fsck", "--full", "--unreachable"]);
        assert_eq!(found, "", "{kind}");
    }
}

#[test]
fn the_first_commit_of_a_repository_holds_only_what_was_published() {
    let world = World::new();
    furnish(&world, &[]);
    world.git(["add", "staged"]);
    let changes = world.changes_of(edit);
    let done = publish(&world, &changes, &NoFaults).expect("it can be committed");
    let head = world.git(["rev-parse", "main"]);
    assert_eq!(done.id.as_deref(), Some(head.trim()));
    let paths: Vec<_> = listed(&world).into_iter().map(|(_, path)| path).collect();
    assert_eq!(paths, ["folder", "to_folder/new"]);
    assert_eq!(world.git(["rev-list", "--count", "HEAD"]), "1\n");
    // Whose file is in no commit, of that nothing is committed.
    let overlapping: Vec<_> = done.overlapping.iter().map(ToString::to_string).collect();
    assert_eq!(overlapping, ["edited", "program"]);
    let status = world.git(["status", "--porcelain"]);
    assert_eq!(
        status,
        "A  staged\n?? .gitignore\n?? edited\n?? program\n?? unstaged\n"
    );
}

#[test]
fn a_linked_work_tree_and_a_part_of_one_are_committed_in() {
    let world = World::new();
    furnish(&world, &[]);
    first_commit(&world);
    let linked = world.beside("linked");
    world.git(["worktree", "add", "-q", "-b", "side", text(&linked)]);
    let mut side = world.copied();
    run("rm", ["-rf", text(&side.tree)]);
    side.tree = linked.join("folder");
    let changes = side.changes_of(|copy| {
        write(copy, "a", "changed");
        write(copy, "deep/b", "new");
    });
    let main = world.git(["rev-parse", "main"]);
    publish(&side, &changes, &NoFaults).expect("it can be committed");
    assert_eq!(world.git(["rev-parse", "main"]), main);
    let changed = world.git(["diff", "--name-status", "main", "side"]);
    assert_eq!(changed, "M\tfolder/a\nA\tfolder/deep/b\n");
    assert_eq!(side.git(["status", "--porcelain"]), "");
    side.tree = linked;
    assert_eq!(side.git(["status", "--porcelain"]), "");
}

#[test]
fn a_crash_at_any_operation_ends_in_the_one_commit_or_in_none() {
    let template = World::new();
    furnish(&template, &[]);
    first_commit(&template);
    let changes = template.changes_of(edit);
    let undisturbed = template.copied();
    let expected = publish(&undisturbed, &changes, &NoFaults)
        .expect("it can be committed")
        .id;
    let parent = template.git(["rev-parse", "HEAD"]);
    for operation in 0.. {
        let world = template.copied();
        let crash = CrashAt::operation(operation);
        let is_done = publish(&world, &changes, &crash).is_ok() || world.journal.exists();
        let recovered = world.recovered();
        let head = world.git(["rev-parse", "HEAD"]);
        if is_done {
            assert_eq!(
                Some(head.trim()),
                expected.as_deref(),
                "operation {operation}"
            );
            assert_eq!(
                world.git(["status", "--porcelain"]),
                STATUS,
                "operation {operation}"
            );
            let made = recovered.map(|outcome| committed(&outcome).id);
            assert!(made.is_none_or(|made| made == expected));
        } else {
            assert_eq!(head, parent, "operation {operation}");
        }
        let left = fs::read_dir(world.journal.parent().expect("it has a directory"));
        let left = left.map_or(0, Iterator::count);
        assert_eq!(left, 0, "operation {operation}");
        if !crash.crashed() {
            break;
        }
    }
}

#[test]
fn a_commit_by_hand_between_the_crash_and_the_recovery_is_built_upon() {
    for operation in 0..4 {
        let world = World::new();
        furnish(&world, &[]);
        first_commit(&world);
        let changes = world.changes_of(edit);
        let at_git = CrashAtGit(AtomicU32::new(operation));
        publish(&world, &changes, &at_git).expect_err("it has crashed");
        world.git(["commit", "-q", "--only", "-m", "by hand", "staged"]);
        let by_hand = world.git(["rev-parse", "HEAD"]);
        let recovered = world.recovered().expect("there is something to do");
        assert!(committed(&recovered).id.is_some());
        assert_eq!(world.git(["rev-parse", "HEAD~1"]), by_hand);
        assert_eq!(listed(&world), as_listed());
    }
}

/// Dies at one of the steps of the commit.
#[derive(Debug)]
struct CrashAtGit(AtomicU32);

impl Faults for CrashAtGit {
    fn before(&self, operation: DiskOperation) -> io::Result<()> {
        if operation != DiskOperation::RunGit || self.0.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        Err(io::Error::other("crashed"))
    }
}

#[test]
fn no_hook_and_no_filter_of_the_repository_runs_and_line_ends_hold() {
    let world = World::new();
    furnish(&world, &[]);
    write(
        &world.tree,
        ".gitattributes",
        "*.txt text\n*.up filter=upper\n",
    );
    first_commit(&world);
    let said = world.beside("said");
    let filter = format!("tee -a {}", text(&said));
    world.git(["config", "filter.upper.clean", &filter]);
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
    ] {
        let script = format!("#!/bin/sh\necho {hook} >> {}\n", text(&said));
        write(&world.tree, &format!(".git/hooks/{hook}"), &script);
        chmod(&world.tree, &format!(".git/hooks/{hook}"), 0o755);
    }
    let changes = world.changes_of(|copy| {
        write(copy, "lines.txt", "one\r\ntwo\r\n");
        write(copy, "sub/shout.up", "loud");
    });
    let monitor = world.tree.join(".git/hooks/post-commit");
    world.git(["config", "core.fsmonitor", text(&monitor)]);
    let _ = fs::remove_file(&said);
    let outcome = publish(&world, &changes, &NoFaults).expect("it can be committed");
    assert!(!said.exists(), "{:?}", fs::read_to_string(&said));
    assert_eq!(world.git(["show", "HEAD:lines.txt"]), "one\ntwo\n");
    let left_out: Vec<_> = outcome.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left_out, ["sub/shout.up"]);
    let lines = fs::read_to_string(world.tree.join("lines.txt"));
    assert_eq!(lines.expect("a file"), "one\r\ntwo\r\n");
}

#[test]
fn what_lies_in_a_repository_of_its_own_is_left_out() {
    let world = World::new();
    furnish(&world, &[]);
    for module in ["absent", "module"] {
        make_nested(&world, module);
        world.git(["-c", "advice.addEmbeddedRepo=false", "add", module]);
    }
    first_commit(&world);
    // As a submodule is before it is fetched.
    remove(&world.tree, "absent/.git");
    make_nested(&world, "nested");
    let changes = world.changes_of(|copy| {
        for path in [
            "nested/file",
            "absent/new",
            "module/file",
            "module/new",
            "edited",
        ] {
            write(copy, path, "2");
        }
    });
    let done = publish(&world, &changes, &NoFaults).expect("it can be committed");
    let left_out: Vec<_> = done.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        ["absent/new", "module/file", "module/new", "nested/file"]
    );
    assert_eq!(
        world.git(["diff", "--name-only", "HEAD~1", "HEAD"]),
        "edited\n"
    );
    assert!(
        world
            .git(["ls-tree", "HEAD", "module"])
            .starts_with("160000")
    );
}

fn make_nested(world: &World, name: &str) {
    let nested = world.tree.join(name);
    write(&nested, "file", "1");
    git(&nested, ["init", "-q"]);
    git(&nested, ["add", "-A"]);
    git(&nested, ["commit", "-qm", "nested"]);
}

#[test]
fn changes_that_git_does_not_see_make_no_commit() {
    let world = World::new();
    furnish(&world, &[]);
    first_commit(&world);
    let head = world.git(["rev-parse", "HEAD"]);
    let changes = world.changes_of(|copy| {
        write(copy, "x.log", "ignored");
        fs::create_dir(copy.join("empty")).expect("a new directory");
    });
    let done = publish(&world, &changes, &NoFaults).expect("it can be published");
    assert_eq!(done.id, None);
    assert_eq!(world.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn a_locked_index_stops_before_the_commit_and_the_next_command_goes_on() {
    let world = World::new();
    furnish(&world, &[]);
    first_commit(&world);
    let head = world.git(["rev-parse", "HEAD"]);
    let changes = world.changes_of(edit);
    write(&world.tree, ".git/index.lock", "");
    let error = publish(&world, &changes, &NoFaults).expect_err("the index is locked");
    assert!(matches!(error, PublishError::Uncommitted { .. }), "{error}");
    assert!(error.to_string().contains("index.lock"), "{error}");
    assert_eq!(world.git(["rev-parse", "HEAD"]), head);
    remove(&world.tree, ".git/index.lock");
    let recovered = world.recovered().expect("there is something to do");
    assert!(committed(&recovered).id.is_some());
    assert_eq!(listed(&world), as_listed());
    assert_eq!(world.git(["status", "--porcelain"]), STATUS);
}

#[test]
fn where_no_commit_can_be_made_that_is_said_before() {
    let cases: [(&str, Setup); 6] = [
        ("is not the work tree", |world| {
            run("rm", ["-rf", text(&world.tree.join(".git"))]);
        }),
        ("is not the work tree", |world| {
            world.git(["config", "core.bare", "true"]);
        }),
        ("in the middle of a merge", |world| {
            write(&world.tree, ".git/MERGE_HEAD", "");
        }),
        ("in the middle of a rebase", |world| {
            write(&world.tree, ".git/rebase-merge/done", "");
        }),
        ("in the middle of a cherry-pick", |world| {
            write(&world.tree, ".git/CHERRY_PICK_HEAD", "");
        }),
        ("set user.name", |world| {
            world.git(["config", "user.name", ""]);
        }),
    ];
    for (expected, prepare) in cases {
        let world = World::new();
        furnish(&world, &[]);
        first_commit(&world);
        prepare(&world);
        let error = plan(&world).expect_err("no commit can be made");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// A repository with one file of some lines, which the user has changed and not committed.
fn begun_by_hand(committed: &str, staged: &str, saved: &str) -> World {
    let world = World::new();
    furnish(&world, &[]);
    write(&world.tree, "lines", committed);
    world.git(["add", "-A"]);
    world.git(["commit", "-qm", "first"]);
    write(&world.tree, "lines", staged);
    world.git(["add", "lines"]);
    write(&world.tree, "lines", saved);
    world
}

/// The file with the words in the places of others.
fn with_words(text: &str, words: &[(&str, &str)]) -> String {
    let replaced = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
    words.iter().fold(text.to_owned(), replaced)
}

#[test]
fn a_commit_holds_the_lines_of_the_item_alone() {
    let staged = with_words(LINES, &[("one", "staged by hand")]);
    let saved = with_words(&staged, &[("seven", "saved by hand")]);
    let done = with_words(&saved, &[("four", "by the item")]);
    let committed = with_words(LINES, &[("four", "by the item")]);
    let is_staged = with_words(&staged, &[("four", "by the item")]);
    for options in [&[][..], &["lines text eol=crlf\n"]] {
        let (saved, done) = match options {
            [] => (saved.clone(), done.clone()),
            _ => (saved.replace('\n', "\r\n"), done.replace('\n', "\r\n")),
        };
        let world = begun_by_hand(LINES, &staged, &saved);
        for attributes in options {
            write(&world.tree, ".gitattributes", attributes);
            world.git(["add", ".gitattributes"]);
            world.git(["commit", "-qm", "attributes", ".gitattributes"]);
        }
        let changes = world.changes_of(|copy| write(copy, "lines", &done));
        let outcome = publish(&world, &changes, &NoFaults).expect("it can be committed");
        assert_eq!(outcome.overlapping, []);
        assert_eq!(world.git(["show", "HEAD:lines"]), committed);
        assert_eq!(world.git(["show", ":lines"]), is_staged);
        let there = fs::read_to_string(world.tree.join("lines"));
        assert_eq!(there.expect("a file"), done);
        assert_eq!(world.git(["status", "--porcelain"]), "MM lines\n");
        assert!(!world.journal.with_extension("objects").exists());
    }
}

#[test]
fn a_crash_at_any_operation_ends_in_a_commit_of_the_lines_of_the_item_alone() {
    let staged = with_words(LINES, &[("one", "staged by hand")]);
    let saved = with_words(&staged, &[("seven", "saved by hand")]);
    let done = with_words(&saved, &[("four", "by the item")]);
    let template = begun_by_hand(LINES, &staged, &saved);
    let changes = template.changes_of(|copy| write(copy, "lines", &done));
    for operation in 0.. {
        let world = template.copied();
        let crash = CrashAt::operation(operation);
        let is_done = publish(&world, &changes, &crash).is_ok() || world.journal.exists();
        world.recovered();
        if is_done {
            let shown = |what: &str| world.git(["show", what]);
            assert!(!shown("HEAD:lines").contains("by hand"), "{operation}");
            assert!(shown("HEAD:lines").contains("by the item"), "{operation}");
            assert!(shown(":lines").contains("staged by hand"), "{operation}");
            assert!(!shown(":lines").contains("saved by hand"), "{operation}");
        }
        if !crash.crashed() {
            break;
        }
    }
}

#[test]
fn what_meets_lines_that_are_not_committed_is_left_out_and_named() {
    let by_hand = with_words(LINES, &[("four", "by hand")]);
    let rows = [
        // Saved, staged, and staged with another saved.
        (LINES.to_owned(), by_hand.clone()),
        (by_hand.clone(), by_hand.clone()),
        (by_hand, LINES.to_owned()),
    ];
    for (staged, saved) in rows {
        let world = begun_by_hand(LINES, &staged, &saved);
        let changes = world.changes_of(|copy| {
            let done = with_words(
                &saved,
                &[("four", "by the item"), ("by hand", "by the item")],
            );
            write(copy, "lines", &done);
            write(copy, "new", "new");
        });
        let outcome = publish(&world, &changes, &NoFaults).expect("it can be committed");
        let overlapping: Vec<_> = outcome
            .overlapping
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(overlapping, ["lines"]);
        assert_eq!(world.git(["show", "HEAD:lines"]), LINES);
        assert_eq!(world.git(["show", ":lines"]), staged);
        let listed = world.git(["diff", "--name-only", "HEAD~1", "HEAD"]);
        assert_eq!(listed, "new\n");
    }
}

#[test]
fn who_may_start_a_file_is_committed_where_the_item_changed_that() {
    let saved = with_words(LINES, &[("seven", "by hand")]);
    for (by_hand, by_item, committed) in [
        (0o644, 0o755, "100755"),
        (0o755, 0o755, "100644"),
        (0o644, 0o644, "100644"),
    ] {
        let world = begun_by_hand(LINES, LINES, &saved);
        chmod(&world.tree, "lines", by_hand);
        let changes = world.changes_of(|copy| {
            write(copy, "lines", &with_words(&saved, &[("one", "1")]));
            chmod(copy, "lines", by_item);
        });
        publish(&world, &changes, &NoFaults).expect("it can be committed");
        let listed = world.git(["ls-tree", "HEAD", "lines"]);
        assert!(listed.starts_with(committed), "{listed}");
        let expected = with_words(LINES, &[("one", "1")]);
        assert_eq!(world.git(["show", "HEAD:lines"]), expected);
    }
}
