//! A frozen tree is what the directory was, and cheap to freeze again.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use bonded_work::tree::{TreeError, read_tree, write_tree};
use bonded_work_rules::{Node, TreePath};
use rustix::fs::FileType;

use crate::tree_world::{SETTLED, World, make_special};

#[test]
fn the_same_state_has_the_same_hash_whatever_its_times_and_place() {
    let (one, other) = (World::new(), World::new());
    for world in [&one, &other] {
        world.fill();
    }
    let long_ago = SystemTime::UNIX_EPOCH;
    let file = fs::File::options()
        .write(true)
        .open(other.path("plain.txt"));
    let file = file.expect("it is there");
    file.set_modified(long_ago).expect("its time can be set");
    assert_eq!(one.hash(), other.hash());
    assert_eq!(one.hash(), one.hash());
}

#[test]
fn an_empty_directory_can_be_frozen() {
    let world = World::new();
    let frozen = world.freeze();
    assert_eq!(frozen.tree.root().children().len(), 0);
}

#[test]
fn every_change_of_the_state_changes_the_hash() {
    type Edit = (&'static str, fn(&World));
    let edits: [Edit; 9] = [
        ("content", |world| world.write("plain.txt", "PLAIN")),
        ("a new file", |world| world.write("new", "")),
        ("a file is gone", |world| remove(world, "plain.txt")),
        ("mode", |world| world.chmod("plain.txt", 0o600)),
        ("mode of a directory", |world| world.chmod("src", 0o700)),
        ("an empty directory", |world| {
            fs::create_dir(world.path("new")).expect("it can be made");
        }),
        ("target of a link", |world| {
            remove(world, "link");
            symlink("elsewhere", world.path("link")).expect("it can be made");
        }),
        ("a pipe", |world| {
            make_special(&world.path("new"), FileType::Fifo);
        }),
        ("name", |world| {
            let renamed = fs::rename(world.path("plain.txt"), world.path("renamed"));
            renamed.expect("it can be renamed");
        }),
    ];
    for (what, edit) in edits {
        let world = World::new();
        world.fill();
        let before = world.hash();
        edit(&world);
        assert_ne!(world.hash(), before, "{what}");
    }
}

fn remove(world: &World, name: &str) {
    fs::remove_file(world.path(name)).expect("it can be removed");
}

#[test]
fn what_git_keeps_is_no_part_of_the_tree_at_any_depth() {
    let world = World::new();
    world.fill();
    let before = world.hash();
    world.write(".git/index", "anything");
    world.write("nested/.git/config", "anything");
    world.write("src/deep/.git", "gitdir: elsewhere");
    // Making the file touched the directory's time, which is no part either.
    assert_eq!(world.hash(), before);
    world.write(".gitignore", "target");
    assert_ne!(world.hash(), before);
}

#[test]
fn a_tree_is_restored_as_it_was_frozen() {
    let world = World::new();
    world.fill();
    let frozen = world.freeze();
    world.checkpoints.sync().expect("it can be synced");
    let scratch = world.dir.path().join("scratch");
    let restored = world.reopened().restore(&frozen.tree, &scratch);
    restored.expect("it can be restored");
    let hash = world.hash_of(&scratch);
    assert_eq!(hash, frozen.tree.hash());
    let again = world.checkpoints.restore(&frozen.tree, &scratch);
    assert!(
        matches!(again, Err(TreeError::NotEmpty { .. })),
        "{again:?}"
    );
}

#[test]
fn a_tree_is_read_from_its_file_as_it_was_written() {
    let world = World::new();
    world.fill();
    let tree = world.freeze().tree;
    let path = world.dir.path().join("tree-file");
    write_tree(&tree, &path).expect("it can be written");
    assert_eq!(read_tree(&path).expect("it can be read"), tree);
    fs::write(&path, "bonded tree 1\nnot so").expect("it can be written");
    let damaged = read_tree(&path);
    assert!(
        matches!(damaged, Err(TreeError::Damaged { .. })),
        "{damaged:?}"
    );
}

#[test]
fn an_unchanged_file_is_not_read_again_and_a_changed_one_is() {
    let world = World::new();
    world.fill();
    std::thread::sleep(SETTLED);
    let first = world.freeze();
    assert!(first.files_read >= 10, "{}", first.files_read);
    assert_eq!(world.freeze().files_read, 0);
    // The same length and the same time of change as before, as far as a program can set it.
    let path = world.path("plain.txt");
    let modified = fs::metadata(&path).and_then(|it| it.modified());
    fs::write(&path, "PLAIN").expect("it can be written");
    let file = fs::File::options()
        .write(true)
        .open(&path)
        .expect("it is there");
    file.set_modified(modified.expect("it has a time"))
        .expect("its time can be set");
    let second = world.freeze();
    // Both of its names.
    assert_eq!(second.files_read, 2);
    assert_ne!(second.tree.hash(), first.tree.hash());
}

#[test]
fn a_change_in_the_same_moment_as_the_freeze_is_seen_by_the_next_one() {
    let world = World::new();
    for round in 0..200 {
        world.write("file", format!("{round:09}"));
        let before = world.hash();
        world.write("file", format!("{:09}", round + 1_000_000));
        assert_ne!(world.hash(), before, "round {round}");
    }
}

#[test]
fn a_node_says_what_lies_at_a_path() {
    let world = World::new();
    world.fill();
    let tree = world.freeze().tree;
    let node = |path: &[u8]| tree.node(&TreePath::new(path).expect("it is a path"));
    let Some(Node::File { mode, bytes, .. }) = node(b"src/program") else {
        panic!("it is a file");
    };
    assert_eq!((mode, bytes), (0o755, 10));
    assert_eq!(node(b"nothing/in"), Some(Node::Directory { mode: 0o1777 }));
    let target = b"/nowhere".as_slice().into();
    assert_eq!(node(b"dangling"), Some(Node::Link { target }));
    assert!(node(b"not \xff utf-8").is_some());
    assert!(node(b"nested/.git").is_none());
}
