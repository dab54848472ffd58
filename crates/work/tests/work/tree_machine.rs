//! Mounts, full disks and other users' files.

use std::fs;
use std::path::Path;

use bonded_work::tree::{Checkpoints, Isolation, Isolations, TreeError};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount};

use crate::tree_process::{launcher, with_own_mounts, without_rights};
use crate::tree_world::World;

fn mount_memory(at: &Path, options: &std::ffi::CStr) {
    mount("tmpfs", at, "tmpfs", MountFlags::empty(), options).expect("it can be mounted");
}

fn unmount(at: &Path) {
    rustix::mount::unmount(at, UnmountFlags::empty()).expect("nobody uses it");
}

#[test]
fn another_file_system_inside_the_tree_is_refused_with_its_name() {
    let test = "tree_machine::another_file_system_inside_the_tree_is_refused_with_its_name";
    with_own_mounts(test, || {
        let world = World::new();
        world.write("a/b/file", "");
        mount_memory(&world.path("a/b"), c"size=1m");
        let refused = world.try_freeze();
        let Err(TreeError::Mount { path }) = refused else {
            panic!("{refused:?}");
        };
        assert!(path.ends_with("a/b"), "{path:?}");
        unmount(&world.path("a/b"));
        // A file that is mounted over another one, from the same file system.
        let world = World::new();
        world.write("a/file", "");
        world.write("other", "");
        mount_bind(world.path("other"), world.path("a/file")).expect("it can be mounted");
        let refused = world.try_freeze();
        let Err(TreeError::Mount { path }) = refused else {
            panic!("{refused:?}");
        };
        assert!(path.ends_with("a/file"), "{path:?}");
        unmount(&world.path("a/file"));
    });
}

#[test]
fn a_full_disk_ends_a_freeze_clearly_and_nothing_half_written_is_used_later() {
    let test =
        "tree_machine::a_full_disk_ends_a_freeze_clearly_and_nothing_half_written_is_used_later";
    with_own_mounts(test, || {
        let world = World::new();
        for number in 0..30 {
            world.write(&format!("{number}"), vec![number; 100_000]);
        }
        world.write("long", vec![1; 6_000_000]);
        let before = world.hash();
        let disk = world.dir.path().join("disk");
        fs::create_dir(&disk).expect("it can be made");
        mount_memory(&disk, c"size=2m");
        let kept = Checkpoints::open(&disk.join("kept")).expect("it can be opened");
        let full = kept.freeze(&world.root).expect_err("there is no room");
        let said = full.to_string();
        for part in [
            "No space left on device",
            "free some space",
            "the tree is untouched",
            "disk",
        ] {
            assert!(said.contains(part), "{said}");
        }
        let flags = MountFlags::empty();
        mount_remount(&disk, flags, c"size=32m").expect("it can be made larger");
        // There is room now, but others may count on what could not be written then.
        kept.sync().expect_err("not everything is there");
        drop(kept);
        let kept = Checkpoints::open(&disk.join("kept")).expect("it can be opened");
        let frozen = kept.freeze(&world.root).expect("there is room");
        assert_eq!(frozen.tree.hash(), before);
        kept.sync().expect("it can be synced");
        let restored = world.dir.path().join("restored");
        kept.restore(&frozen.tree, &restored).expect("all is there");
        assert_eq!(world.hash_of(&restored), before);
        drop(kept);
        unmount(&disk);
    });
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let test = "tree_machine::a_file_that_cannot_be_read_is_named";
    without_rights(test, || {
        let world = World::new();
        world.write("dir/secret", "nobody reads this");
        for (name, mode) in [("dir/secret", 0o000), ("dir", 0o300)] {
            world.chmod(name, mode);
            let refused = world.try_freeze();
            world.chmod(name, 0o700);
            let Err(TreeError::Unreadable { path, .. }) = refused else {
                panic!("{refused:?}");
            };
            assert!(path.ends_with(name), "{path:?}");
        }
    });
}

#[test]
fn the_kinds_of_copies_that_work_are_found_and_the_others_explained() {
    let world = World::new();
    world.write("file", "content");
    let copies = world.dir.path().join("copies");
    let before = world.hash();
    let found = Isolations::probe(&launcher(), &world.root, &copies);
    assert_eq!(found.overlay.is_ok(), found.best() == Isolation::Overlay);
    let none = Isolations::probe(Path::new("/bin/true"), &world.root, &copies);
    let why = none.overlay.expect_err("that program does not answer");
    assert!(why.contains("did not answer"), "{why}");
    for why in [found.overlay, found.reflink]
        .into_iter()
        .flat_map(Result::err)
    {
        assert!(why.starts_with("could not"), "{why}");
    }
    let left = fs::read_dir(&copies).expect("it is there").count();
    assert_eq!((left, world.hash()), (0, before));
}
