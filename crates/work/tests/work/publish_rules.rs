//! What is published, what is not, and what is never touched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bonded_kernel::Hash;
use bonded_work::publish::{NoFaults, Publish, PublishError, Settlement};
use bonded_work_rules::{Change, Node, Special, TreePath};

use crate::publish_world::{CrashAt, Edit, World, chmod, link, published, remove, sealed, write};

fn furnished() -> World {
    let world = World::new();
    for (path, content) in [("a", "1"), ("d/x", "2"), ("d/y", "3"), ("e/z", "4")] {
        write(&world.tree, path, content);
    }
    link(&world.tree, "l", "a");
    world
}

fn edit(copy: &Path) {
    write(copy, "a", "one");
    remove(copy, "d");
    write(copy, "d", "a file");
    chmod(copy, "e", 0o700);
    write(copy, "e/new", "new");
    write(copy, "f/g", "new");
    remove(copy, "l");
    link(copy, "l", "e");
}

#[test]
fn a_check_names_the_paths_that_another_changed() {
    let by_hand: [(&[&str], Edit); 13] = [
        (&[], |_| {}),
        (&[], |tree| write(tree, "elsewhere", "")),
        (&[], |tree| write(tree, "e/elsewhere", "")),
        (&[], |tree| {
            fs::create_dir(tree.join("f")).expect("a new directory");
        }),
        (&["a"], |tree| write(tree, "a", "2")),
        (&["a"], |tree| chmod(tree, "a", 0o755)),
        (&["a"], |tree| {
            remove(tree, "a");
            link(tree, "a", "e/z");
        }),
        (&["d/new"], |tree| write(tree, "d/new", "")),
        (&["d/x"], |tree| remove(tree, "d/x")),
        (&["e"], |tree| chmod(tree, "e", 0o711)),
        (&["e"], |tree| remove(tree, "e")),
        (&["e/new"], |tree| write(tree, "e/new", "new")),
        (&["l"], |tree| {
            remove(tree, "l");
            link(tree, "l", "b");
        }),
    ];
    for (expected, change_by_hand) in by_hand {
        let world = furnished();
        let changes = world.changes_of(edit);
        change_by_hand(&world.tree);
        let clashes = world
            .publish(&NoFaults)
            .check(&changes)
            .expect("it can be read");
        let paths: Vec<_> = clashes.iter().map(|clash| clash.path.to_string()).collect();
        assert_eq!(paths, expected);
        // The kernel says the same of the same state.
        let fits = world.freeze().with_changes(&changes).is_ok();
        assert_eq!(fits, expected.is_empty(), "{expected:?}");
    }
}

#[test]
fn a_link_put_on_the_way_does_not_lead_out_of_the_tree() {
    let world = furnished();
    let changes = world.changes_of(|copy| {
        write(copy, "d/x", "changed");
        write(copy, "d/new", "new");
        write(copy, "d/sub/new", "new");
        remove(copy, "d/y");
    });
    let outside = world.beside("outside");
    for (path, content) in [("x", "2"), ("y", "3")] {
        write(&outside, path, content);
    }
    let prepared = world.publish(&NoFaults);
    let prepared = prepared
        .prepare(&changes, sealed(), None)
        .expect("it is as it was");
    remove(&world.tree, "d");
    link(&world.tree, "d", "../outside");
    let settled = prepared.apply().expect("it can be undone");
    assert!(
        matches!(settled.settlement(), Settlement::Undone { .. }),
        "{settled:?}"
    );
    settled.finish().expect("the journal can be removed");
    let mut left: Vec<_> = fs::read_dir(&outside)
        .expect("it can be read")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["x", "y"]);
    assert_eq!(fs::read_to_string(outside.join("x")).expect("a file"), "2");
    assert!(world.tree.join("d").is_symlink());
}

#[test]
fn a_file_that_appears_where_a_new_one_is_to_be_is_kept() {
    let world = furnished();
    let changes = world.changes_of(edit);
    let before = world.freeze();
    let publish = world.publish(&NoFaults);
    let prepared = publish
        .prepare(&changes, sealed(), None)
        .expect("it is as it was");
    write(&world.tree, "e/new", "by hand");
    let settled = prepared.apply().expect("it can be undone");
    let foreign = vec![path_of("e/new")];
    assert_eq!(settled.settlement(), &Settlement::Undone { foreign });
    let left = before.changes_to(&world.freeze());
    let left: Vec<_> = left.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(left, ["e/new"]);
}

#[test]
fn what_is_made_is_not_looked_at_again() {
    let world = furnished();
    let changes = world.changes_of(edit);
    let publish = world.publish(&NoFaults);
    let prepared = publish.prepare(&changes, sealed(), None);
    let settled = prepared.expect("it fits").apply();
    // The process dies before it has finished.
    drop(settled.expect("it can be made"));
    write(&world.tree, "a", "by hand");
    let now = world.freeze();
    assert_eq!(world.recovered(), Some(published()));
    assert_eq!(world.freeze(), now);
}

#[test]
fn a_directory_that_another_made_alike_is_not_taken_away_again() {
    let world = furnished();
    let changes = world.changes_of(edit);
    fs::create_dir(world.tree.join("f")).expect("a new directory");
    let publish = world.publish(&NoFaults);
    let prepared = publish.prepare(&changes, sealed(), None).expect("it fits");
    write(&world.tree, "a", "by hand");
    let settled = prepared.apply().expect("it can be undone");
    assert!(matches!(settled.settlement(), Settlement::Undone { .. }));
    assert!(world.tree.join("f").is_dir());
}

#[test]
fn pipes_set_id_bits_and_names_of_our_own_are_refused() {
    let world = furnished();
    let special = Node::Special {
        special: Special::Fifo,
    };
    for (path, node, is_special) in [
        ("pipe", special, true),
        (".bonded-publish", Node::Directory { mode: 0o755 }, false),
        (
            "shell",
            Node::File {
                mode: 0o4755,
                bytes: 0,
                content: world.kept.keep(vec![]),
            },
            false,
        ),
        (
            "d/.bonded-publish-0",
            Node::Directory { mode: 0o755 },
            false,
        ),
    ] {
        let change = Change {
            path: path_of(path),
            before: None,
            after: Some(node),
        };
        let error = world
            .publish_all(&[change], &NoFaults)
            .expect_err("it is refused");
        let expected = match error {
            PublishError::Special { .. } => is_special,
            PublishError::Reserved { .. } | PublishError::SetId { .. } => !is_special,
            _ => false,
        };
        assert!(expected, "{path}: {error}");
        assert!(!world.journal.exists());
    }
}

#[test]
fn contents_that_are_missing_or_damaged_leave_the_tree_as_it_was() {
    let world = furnished();
    let before = world.freeze();
    let of = |content, bytes| Node::File {
        mode: 0o644,
        bytes,
        content,
    };
    let kept = world.kept.keep(b"kept".to_vec());
    for node in [of(Hash::of(b"missing"), 7), of(kept, 3), of(kept, 5)] {
        let change = Change {
            path: path_of("new/file"),
            before: None,
            after: Some(node),
        };
        let above = Change {
            path: path_of("new"),
            before: None,
            after: Some(Node::Directory { mode: 0o755 }),
        };
        let error = world
            .publish_all(&[above, change], &NoFaults)
            .expect_err("it is refused");
        assert!(matches!(error, PublishError::Untouched { .. }), "{error}");
        assert!(error.to_string().contains("new/file"), "{error}");
        assert_eq!(world.freeze(), before);
    }
}

#[test]
fn a_tree_half_published_by_another_store_is_refused_until_that_has_recovered() {
    let mut refused = 0;
    for operation in 0.. {
        let world = furnished();
        let changes = world.changes_of(|copy| remove(copy, "d"));
        let crash = CrashAt::operation(operation);
        let _ = world.publish_all(&changes, &crash);
        let _ = world.recover(&CrashAt::operation(operation % 5));
        let is_there = ["d", "d/x", "d/y"].map(|path| world.tree.join(path).exists());
        let is_half = is_there != [true; 3] && is_there != [false; 3];
        let other = world.beside("other/journal.json");
        let second = Publish::new(&world.tree, &other, &*world.kept).expect("it can be opened");
        match second.recover() {
            Err(error @ PublishError::OtherStore { .. }) => {
                assert!(error.to_string().contains("store/journal.json"), "{error}");
                refused += 1;
            }
            recovered => {
                assert!(recovered.expect("nothing is in the way").is_none());
                assert!(!is_half, "operation {operation}");
            }
        }
        world.recovered();
        assert!(second.recover().expect("it is free").is_none());
        if !crash.crashed() {
            break;
        }
    }
    assert!(refused > 3, "{refused}");
}

#[test]
fn a_directory_of_somebody_with_our_name_is_left_and_named() {
    let world = furnished();
    write(&world.tree, ".bonded-publish/mine", "mine");
    let error = world
        .publish(&NoFaults)
        .recover()
        .expect_err("it is in the way");
    assert!(matches!(error, PublishError::StageTaken { .. }), "{error}");
    assert!(
        error.to_string().contains(".bonded-publish is in the way"),
        "{error}"
    );
    let mine = fs::read_to_string(world.tree.join(".bonded-publish/mine"));
    assert_eq!(mine.expect("it is there"), "mine");
}

#[test]
fn a_journal_that_cannot_be_read_is_named_and_stays() {
    for content in ["", "{}", "no journal", r#"{"format": 2}"#] {
        let world = furnished();
        let before = world.freeze();
        let above = world.journal.parent().expect("it has a directory");
        write(above, "journal.json", content);
        let error = world
            .publish(&NoFaults)
            .recover()
            .expect_err("it is no journal");
        assert!(matches!(error, PublishError::BadJournal { .. }), "{error}");
        let changes = world.changes_of(edit);
        let error = world
            .publish_all(&changes, &NoFaults)
            .expect_err("it is not recovered");
        assert!(matches!(error, PublishError::Unrecovered { .. }), "{error}");
        assert_eq!(world.freeze(), before);
        assert!(world.journal.exists());
    }
}

#[test]
fn a_tree_without_git_is_published_to_and_nothing_of_ours_is_left_after_a_crash() {
    for operation in 0.. {
        let world = furnished();
        let changes = world.changes_of(edit);
        let before = world.freeze();
        let after = before.with_changes(&changes).expect("they fit");
        let crash = CrashAt::operation(operation);
        let is_done = world.publish_all(&changes, &crash).is_ok() || world.journal.exists();
        world.recovered();
        let wanted = if is_done { after } else { before };
        assert_eq!(
            world.freeze().changes_to(&wanted),
            [],
            "operation {operation}"
        );
        if !crash.crashed() {
            break;
        }
    }
}

#[test]
fn a_new_file_gets_the_group_that_its_directory_hands_down() {
    use std::os::unix::fs::MetadataExt;
    let world = furnished();
    let changes = world.changes_of(|copy| write(copy, "e/new", "new"));
    let group = fs::metadata(&world.tree).expect("it is there").gid() + 1;
    let directory = world.tree.join("e");
    if std::os::unix::fs::chown(&directory, None, Some(group)).is_err() {
        // Only root, or a member of that group, can set this up.
        return;
    }
    let permissions = fs::Permissions::from_mode(0o2755);
    fs::set_permissions(&directory, permissions).expect("a mode can be set");
    world
        .publish_all(&changes, &NoFaults)
        .expect("it can be published");
    let made = fs::metadata(directory.join("new")).expect("it is there");
    assert_eq!(made.gid(), group);
}

fn path_of(path: &str) -> TreePath {
    TreePath::new(path).expect("it is a path")
}
