//! A copy is the tree, what is done to it is known, and the tree is none the wiser.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use bonded_host::sandbox::{Launcher, Sandbox, SandboxPolicy};
use bonded_work::tree::{Checkpoints, Copies, Isolation, Isolations, TreeCopy, TreeError};
use bonded_work_rules::{Change, Node};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use crate::tree_process::{launcher, not_tested, with_own_mounts};
use crate::tree_world::World;

/// The kinds of copies that can be made here.
pub(crate) fn kinds(world: &World) -> Vec<Isolation> {
    let dir = world.dir.path().join("trial");
    match Isolations::here(&Ok(()), &world.root, &dir).overlay {
        Ok(()) => vec![Isolation::Overlay, Isolation::Copy],
        Err(why) => {
            not_tested(&why);
            vec![Isolation::Copy]
        }
    }
}

pub(crate) fn copies(world: &World, kind: Isolation) -> Copies {
    let all = world.checkpoints.dir().join("copies");
    Copies::open(&all, "plan", kind).expect("it can be opened")
}

fn make(world: &World, copies: &Copies) -> TreeCopy {
    let frozen = world.freeze();
    let copy = copies.make(&world.checkpoints, &frozen, "item");
    copy.expect("a copy can be made")
}

/// Looks at a copy of a full tree, once for each kind of copies.
fn with_a_copy_of_each_kind(test: &str, look: impl Fn(&World, TreeCopy, Isolation)) {
    with_own_mounts(test, || {
        let world = World::new();
        world.fill();
        world.write(".git/config", "");
        let before = world.hash();
        for kind in kinds(&world) {
            let copies = copies(&world, kind);
            look(&world, make(&world, &copies), kind);
            assert_eq!(world.hash(), before, "{kind}");
        }
    });
}

fn changes(copy: &TreeCopy) -> Vec<Change> {
    copy.changes().expect("it can be read").changes
}

fn paths(changes: &[Change]) -> Vec<String> {
    changes
        .iter()
        .map(|change| change.path.to_string())
        .collect()
}

#[test]
fn a_copy_is_the_tree_with_everything_that_it_holds() {
    let test = "tree_copies::a_copy_is_the_tree_with_everything_that_it_holds";
    with_a_copy_of_each_kind(test, |world, copy, kind| {
        assert_eq!(changes(&copy), [], "{kind}");
        assert_eq!(world.hash_of(copy.path()), world.hash(), "{kind}");
        let head = fs::read(copy.path().join("nested/.git/HEAD"));
        assert_eq!(head.expect("git has its own"), b"ref: refs/heads/main");
        let path = copy.path().to_owned();
        copy.remove().expect("it can be removed");
        assert!(!path.exists(), "{kind}");
    });
}

#[test]
fn what_is_done_to_a_copy_is_known_and_can_be_kept() {
    let test = "tree_copies::what_is_done_to_a_copy_is_known_and_can_be_kept";
    with_a_copy_of_each_kind(test, |world, copy, kind| {
        let at = |name: &str| copy.path().join(name);
        fs::write(at("plain.txt"), "other").expect("it can be written");
        fs::write(at("src/new"), "new").expect("it can be written");
        fs::remove_dir_all(at("nothing")).expect("it can be removed");
        fs::remove_file(at("empty.txt")).expect("it can be removed");
        fs::create_dir(at("empty.txt")).expect("it can be made");
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(at("src/program"), mode).expect("it can be set");
        // Written again with what it had.
        fs::write(at("Case"), "upper").expect("it can be written");
        let changes = changes(&copy);
        let expected = [
            "empty.txt",
            "nothing",
            "nothing/in",
            "nothing/in/here",
            "plain.txt",
            "src/new",
            "src/program",
        ];
        assert_eq!(paths(&changes), expected, "{kind}");
        copy.keep(&world.checkpoints, &changes)
            .expect("it can be kept");
        for change in &changes {
            if let Some(Node::File { content, .. }) = change.after {
                assert!(world.checkpoints.has(content), "{kind}: {}", change.path);
            }
        }
        // A change that came after the others were read is not kept in their place.
        fs::write(at("src/new"), "NEW").expect("it can be written");
        let kept = copy.keep(&world.checkpoints, &changes);
        assert!(
            matches!(kept, Err(TreeError::Busy { .. })),
            "{kind}: {kept:?}"
        );
    });
}

#[test]
fn what_a_copy_does_to_git_is_told_apart() {
    let test = "tree_copies::what_a_copy_does_to_git_is_told_apart";
    with_a_copy_of_each_kind(test, |world, copy, kind| {
        fs::write(copy.path().join(".git/config"), "hostile").expect("it can be written");
        fs::write(copy.path().join("nested/.git/new"), "").expect("it can be written");
        let changed = copy.changes().expect("it can be read");
        assert_eq!(changed.changes, [], "{kind}");
        let git: Vec<String> = changed.git.iter().map(ToString::to_string).collect();
        assert_eq!(git, [".git/config", "nested/.git/new"], "{kind}");
        let config = fs::read(world.path(".git/config")).expect("it is there");
        assert_eq!(config, b"", "{kind}");
    });
}

#[test]
fn commands_in_the_sandbox_work_on_a_copy() {
    let test = "tree_copies::commands_in_the_sandbox_work_on_a_copy";
    with_a_copy_of_each_kind(test, |_, copy, kind| {
        let launcher = Launcher::Program(launcher());
        let sandbox = Sandbox::prepare(SandboxPolicy::default(), copy.path(), &launcher);
        let sandbox = sandbox.expect("it can be prepared");
        let script = "cat plain.txt && echo more >> plain.txt && mkdir -p made/in \
            && mv src/program made/in && rm empty.txt && ! echo x > nested/.git/HEAD";
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let output = runtime.expect("it can be made").block_on(async {
            let confined = sandbox.command("sh", ["-c", script], copy.path());
            let mut confined = confined.expect("there is a shell");
            confined.command.output().await.expect("it can be started")
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{kind}: {said}");
        assert_eq!(output.stdout, b"plain", "{kind}: {said}");
        let expected = [
            "empty.txt",
            "made",
            "made/in",
            "made/in/program",
            "plain.txt",
            "src/program",
        ];
        assert_eq!(paths(&changes(&copy)), expected, "{kind}");
    });
}

#[test]
fn copies_have_places_with_odd_names() {
    let test = "tree_copies::copies_have_places_with_odd_names";
    with_own_mounts(test, || {
        let world = World::new();
        let root = world
            .path("a,b:c\\d \"e\",upperdir=x")
            .join("n".repeat(255))
            .join("m".repeat(255));
        fs::create_dir_all(&root).expect("it can be made");
        fs::write(root.join("file"), "content").expect("it can be written");
        let dir = world.dir.path().join("kept:,\\");
        let checkpoints = Checkpoints::open(&dir).expect("it can be opened");
        let frozen = checkpoints.freeze(&root).expect("it can be frozen");
        for kind in kinds(&world) {
            let copies = Copies::open(&dir.join("copies"), "../a plan,", kind);
            let copies = copies.expect("it can be opened");
            let copy = copies
                .make(&checkpoints, &frozen, "an/item:")
                .expect("it can be made");
            fs::write(copy.path().join("file"), "other").expect("it can be written");
            assert_eq!(paths(&changes(&copy)), ["file"], "{kind}");
        }
        let left = fs::read_dir(dir.join("copies"))
            .expect("it is there")
            .count();
        assert_eq!(left, 0);
        assert_eq!(
            fs::read(root.join("file")).expect("it is there"),
            b"content"
        );
    });
}

#[test]
fn what_a_crash_left_behind_is_removed_and_what_is_in_use_is_not() {
    let world = World::new();
    world.fill();
    let copies = copies(&world, Isolation::Copy);
    let copy = make(&world, &copies);
    let all = world.checkpoints.dir().join("copies");
    let left = all.join("crashed/item/work/work");
    fs::create_dir_all(&left).expect("it can be made");
    crate::tree_world::chmod(&left, 0o000);
    nest(&all.join("crashed/item"), 3000);
    let other = Copies::open(&all, "other", Isolation::Copy).expect("it can be opened");
    assert!(!all.join("crashed").exists());
    assert!(copy.path().exists());
    let taken = Copies::open(&all, "plan", Isolation::Copy);
    assert!(matches!(taken, Err(TreeError::NoCopy { .. })), "{taken:?}");
    drop((copy, copies, other));
    assert_eq!(fs::read_dir(&all).expect("it is there").count(), 0);
}

/// Deeper than any path is long.
fn nest(dir: &std::path::Path, depth: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut dir = openat(CWD, dir, flags, Mode::empty()).expect("it is there");
    for _ in 0..depth {
        mkdirat(&dir, "deep", Mode::RWXU).expect("it can be made");
        dir = openat(&dir, "deep", flags, Mode::empty()).expect("it is there");
    }
}

#[test]
fn a_kept_change_is_read_back_as_it_was_written() {
    let world = World::new();
    world.write("file", "before");
    let copies = copies(&world, Isolation::Copy);
    let copy = make(&world, &copies);
    fs::write(copy.path().join("file"), "after").expect("it can be written");
    let changes = changes(&copy);
    copy.keep(&world.checkpoints, &changes)
        .expect("it can be kept");
    world.checkpoints.sync().expect("it can be synced");
    let contents = [&changes[0].before, &changes[0].after].map(|node| {
        let Some(Node::File { content, .. }) = node else {
            panic!("it is a file");
        };
        let mut text = String::new();
        let read = world
            .reopened()
            .read(*content)
            .expect("it is there")
            .read_to_string(&mut text);
        read.expect("it is as it was put");
        text
    });
    assert_eq!(contents, ["before", "after"]);
}
