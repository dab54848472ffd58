//! Trees that cannot be frozen are refused, named, and left as they are.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use bonded_host::work::tree::{Checkpoints, TreeError};
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

#[test]
fn a_tree_that_keeps_changing_is_refused_with_the_path_that_changed() {
    let world = World::new();
    for number in 0..500 {
        world.write(&format!("many/{number}"), number.to_string());
    }
    let is_over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                world.write("many/busy", number.to_string());
                let _ = fs::remove_file(world.path("many/busy"));
            }
        });
        // A pass may fall between two changes, but not each time.
        let tries = (0..200).map(|_| world.try_freeze().err());
        let seen = tries.flatten().next();
        is_over.store(true, Ordering::Relaxed);
        seen
    });
    let Some(TreeError::Busy { path }) = seen else {
        panic!("{seen:?}");
    };
    assert!(
        path.ends_with("many") || path.ends_with("many/busy"),
        "{path:?}"
    );
    world.freeze();
}
