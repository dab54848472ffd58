//! Whatever is done to a copy of whatever tree: the changes are those that a look at all of it would find, and the
//! tree stays as it was.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use bonded_work::tree::Isolation;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::tree_copies::{copies, kinds};
use crate::tree_process::with_own_mounts;
use crate::tree_world::{World, chmod};

/// Something that is done to a tree. What cannot be done is not done.
#[derive(Clone, Debug)]
enum Edit {
    Write(String, String),
    Truncate(String),
    Chmod(String, u32),
    Remove(String),
    Rename(String, String),
    Link(String, String),
    HardLink(String, String),
    Directory(String),
    DirectoryInstead(String),
    FileInstead(String),
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[abc]", 1..4).prop_map(|names| names.join("/"))
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (path(), "[xyz]{0,3}").prop_map(|(path, text)| Edit::Write(path, text)),
        1 => path().prop_map(Edit::Truncate),
        1 => (path(), 0o0_u32..0o1000).prop_map(|(path, mode)| Edit::Chmod(path, mode)),
        2 => path().prop_map(Edit::Remove),
        3 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (path(), path()).prop_map(|(target, path)| Edit::Link(target, path)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::HardLink(from, to)),
        3 => path().prop_map(Edit::Directory),
        2 => path().prop_map(Edit::DirectoryInstead),
        2 => path().prop_map(Edit::FileInstead),
    ]
}

fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}

impl Edit {
    fn make(&self, root: &Path) {
        let at = |path: &str| root.join(path);
        let _ = match self {
            Self::Write(path, text) => fs::write(at(path), text),
            Self::Truncate(path) => {
                let file = fs::File::options().write(true).open(at(path));
                file.and_then(|file| file.set_len(1))
            }
            Self::Chmod(path, mode) => {
                // The owner stays able to look, whoever runs the tests.
                if at(path).symlink_metadata().is_ok_and(|it| !it.is_symlink()) {
                    chmod(&at(path), mode | 0o700);
                }
                Ok(())
            }
            Self::Remove(path) => {
                remove(&at(path));
                Ok(())
            }
            Self::Rename(from, to) => fs::rename(at(from), at(to)),
            Self::Link(target, path) => symlink(target, at(path)),
            Self::HardLink(from, to) => fs::hard_link(at(from), at(to)),
            Self::Directory(path) => fs::create_dir_all(at(path)),
            Self::DirectoryInstead(path) => {
                remove(&at(path));
                fs::create_dir(at(path))
            }
            Self::FileInstead(path) => {
                remove(&at(path));
                fs::write(at(path), path)
            }
        };
    }
}

fn check(kind: Isolation, tree: &[Edit], edits: &[Vec<Edit>]) {
    let world = World::new();
    tree.iter().for_each(|edit| edit.make(&world.root));
    let frozen = world.freeze();
    let copies = copies(&world, kind);
    let copy = copies
        .make(&world.checkpoints, &frozen, "item")
        .expect("it can be made");
    for edits in edits {
        edits.iter().for_each(|edit| edit.make(copy.path()));
        let changed = copy.changes().expect("it can be read");
        let now = world
            .checkpoints
            .freeze(copy.path())
            .expect("it can be frozen")
            .tree;
        assert_eq!(changed.changes, frozen.tree.changes_to(&now), "{kind}");
        let made = frozen.tree.with_changes(&changed.changes);
        assert_eq!(
            made.expect("nobody else changed anything").hash(),
            now.hash()
        );
        copy.keep(&world.checkpoints, &changed.changes)
            .expect("it can be kept");
    }
    drop(copy);
    assert_eq!(world.hash(), frozen.tree.hash(), "{kind}");
}

#[test]
fn the_changes_of_a_copy_are_those_that_a_look_at_all_of_it_finds() {
    let test = "tree_copies_random::the_changes_of_a_copy_are_those_that_a_look_at_all_of_it_finds";
    with_own_mounts(test, || {
        for kind in kinds(&World::new()) {
            let tree = proptest::collection::vec(edit(), 0..30);
            let edits = proptest::collection::vec(proptest::collection::vec(edit(), 0..12), 1..4);
            let config = Config {
                cases: 64,
                failure_persistence: None,
                ..Config::default()
            };
            let ran = TestRunner::new(config).run(&(tree, edits), |(tree, edits)| {
                check(kind, &tree, &edits);
                Ok(())
            });
            if let Err(error) = ran {
                panic!("{kind}: {error}");
            }
        }
    });
}
