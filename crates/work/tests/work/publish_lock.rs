//! One process at a time works on a tree.

use std::fs;
use std::path::Path;

use bonded_work::tree::{LockError, TreeLock};

use crate::publish_world::{World, link};

fn acquire(world: &World, tree: &Path) -> Result<TreeLock, LockError> {
    TreeLock::acquire(tree, &world.beside("locks"))
}

#[test]
fn a_tree_and_what_holds_it_and_its_parts_exclude_each_other_and_others_do_not() {
    let world = World::new();
    for path in ["repo/sub/deep", "other"] {
        fs::create_dir_all(world.tree.join(path)).expect("directories can be made");
    }
    link(&world.tree, "alias", "repo");
    for (held, asked, is_free) in [
        ("repo", "repo", false),
        ("repo", "alias", false),
        ("repo", "repo/sub", false),
        ("repo", "repo/sub/deep", false),
        ("repo/sub/deep", "repo", false),
        ("repo/sub/deep", "repo/sub", false),
        ("repo/sub", "other", true),
        ("repo", "other", true),
    ] {
        let (held_path, asked_path) = (world.tree.join(held), world.tree.join(asked));
        let lock = acquire(&world, &held_path).expect("nobody holds it");
        let second = acquire(&world, &asked_path);
        assert_eq!(second.is_ok(), is_free, "{held} and then {asked}");
        if let Err(error) = &second {
            let real = asked_path.canonicalize().expect("it is there");
            assert!(
                error.to_string().starts_with(&real.display().to_string()),
                "{error}"
            );
        }
        drop((lock, second));
        acquire(&world, &asked_path).expect("it is free again");
    }
}

#[test]
fn a_program_that_is_started_does_not_hold_the_tree_and_nothing_is_written_into_it() {
    let world = World::new();
    let lock = acquire(&world, &world.tree).expect("nobody holds it");
    let mut program = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .expect("a program can be started");
    drop(lock);
    let again = acquire(&world, &world.tree);
    program.kill().expect("it can be stopped");
    program.wait().expect("it has ended");
    assert!(again.is_ok());
    let left = fs::read_dir(&world.tree).expect("it can be read").count();
    assert_eq!(left, 0);
}

#[test]
fn what_is_no_directory_is_refused() {
    let world = World::new();
    fs::write(world.tree.join("file"), "").expect("a file can be written");
    for path in ["file", "missing"] {
        let error = acquire(&world, &world.tree.join(path)).expect_err("it is none");
        assert!(matches!(error, LockError::Unusable { .. }), "{error}");
    }
}
