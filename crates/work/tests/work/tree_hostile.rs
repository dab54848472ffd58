//! Trees that cannot be frozen are refused, named, and left as they are.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use bonded_work::tree::{Checkpoints, TreeError};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use crate::tree_world::World;

#[test]
fn what_is_no_directory_is_refused() {
    let world = World::new();
    world.write("file", "");
    let file = world.checkpoints.freeze(&world.path("file"));
    assert!(
        matches!(file, Err(TreeError::NoDirectory { .. })),
        "{file:?}"
    );
    let missing = world.checkpoints.freeze(&world.path("missing"));
    assert!(
        matches!(missing, Err(TreeError::Unreadable { .. })),
        "{missing:?}"
    );
}

#[test]
fn a_tree_that_holds_what_is_kept_about_it_is_refused() {
    let world = World::new();
    let inside = Checkpoints::open(&world.path("kept")).expect("it can be opened");
    let refused = inside.freeze(&world.root);
    assert!(
        matches!(refused, Err(TreeError::KeptInside { .. })),
        "{refused:?}"
    );
}

/// Makes directories one in the other, which is not bound by the length of a path.
fn nest(world: &World, name: &str, depth: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut dir = openat(CWD, &world.root, flags, Mode::empty()).expect("it is there");
    for _ in 0..depth {
        mkdirat(&dir, name, Mode::RWXU).expect("it can be made");
        dir = openat(&dir, name, flags, Mode::empty()).expect("it is there");
    }
}

#[test]
fn the_longest_path_is_frozen_and_a_longer_one_refused_with_its_name() {
    for (name, depth) in [("d", 2047), (&*"d".repeat(255), 15)] {
        let world = World::new();
        nest(&world, name, depth);
        let frozen = world.freeze();
        let empty = World::new().freeze();
        assert_eq!(empty.tree.changes_to(&frozen.tree).len(), depth);
    }
    let world = World::new();
    nest(&world, &"d".repeat(255), 17);
    let refused = world.try_freeze();
    let Err(TreeError::TooLong { path }) = refused else {
        panic!("{refused:?}");
    };
    assert!(path.starts_with(fs::canonicalize(&world.root).expect("it is there")));
}

/// Freezes a tree again and again while another thread changes it, until that is refused.
fn refused_while(world: &World, change: impl Fn(u64) + Sync) -> Option<TreeError> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                change(number);
            }
        });
        // A pass may fall between two changes, but not each time.
        let tries = (0..200).map(|_| world.try_freeze().err());
        let refused = tries.flatten().next();
        is_over.store(true, Ordering::Relaxed);
        refused
    })
}

#[test]
fn a_tree_that_keeps_changing_is_refused_with_the_path_that_changed() {
    let world = World::new();
    for number in 0..500 {
        world.write(&format!("many/{number}"), number.to_string());
    }
    let busy = world.path("many/busy");
    let comes_and_goes = refused_while(&world, |number| {
        fs::write(&busy, number.to_string()).expect("it can be written");
        fs::remove_file(&busy).expect("it can be removed");
    });
    // Its length and its name stay: only a second look can tell.
    world.write("many/busy", format!("{:020}", 0));
    let file = File::options()
        .write(true)
        .open(&busy)
        .expect("it is there");
    let is_rewritten = refused_while(&world, |number| {
        let written = file.write_all_at(format!("{number:020}").as_bytes(), 0);
        written.expect("it can be written");
    });
    for refused in [comes_and_goes, is_rewritten] {
        let Some(TreeError::Busy { path }) = refused else {
            panic!("{refused:?}");
        };
        let is_named = path.ends_with("many") || path.ends_with("many/busy");
        assert!(is_named, "{path:?}");
    }
    world.freeze();
}
