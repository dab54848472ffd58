//! A crash or a full disk at every single operation.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use bonded_work::publish::{DiskOperation, Faults, NoFaults, PublishError, Settlement};
use bonded_work_rules::{Change, TreePath};

use crate::publish_world::{CrashAt, Edit, FullAt, World, chmod, link, published, remove, write};

/// Tracked, untracked, ignored, with modes, links, read-only and empty directories.
fn furnish(world: &World) {
    let tree = &world.tree;
    write(tree, ".gitignore", "ignored/\n*.log\n");
    for (path, content) in [
        ("tracked", "one"),
        ("removed", "two"),
        ("renamed", "three"),
        ("program", "#!/bin/sh"),
        ("folder/inner/deep", "four"),
        ("folder/other", "five"),
        ("swapped/inside", "six"),
        ("to_folder", "seven"),
        ("closed/first", "eight"),
        ("closed/second", "nine"),
    ] {
        write(tree, path, content);
    }
    link(tree, "link", "tracked");
    link(tree, "to_file", "folder");
    world.git(["init", "-q"]);
    world.git(["add", "-A"]);
    world.git(["commit", "-qm", "first"]);
    write(tree, "stashed", "s");
    world.git(["add", "stashed"]);
    world.git(["stash", "-q"]);
    write(tree, "staged", "staged");
    world.git(["add", "staged"]);
    write(tree, "untracked", "ten");
    write(tree, "ignored/kept", "eleven");
    write(tree, "a.log", "twelve");
    write(tree, "empty/gone", "");
    remove(tree, "empty/gone");
    chmod(tree, "closed", 0o555);
}

fn edit(copy: &Path) {
    write(copy, "tracked", "ONE");
    write(copy, "untracked", "TEN");
    write(copy, "ignored/kept", "ELEVEN");
    write(copy, "ignored/new", "new");
    write(copy, "a.log", "");
    remove(copy, "removed");
    remove(copy, "renamed");
    write(copy, "moved/renamed", "three");
    chmod(copy, "program", 0o755);
    remove(copy, "link");
    link(copy, "link", "program");
    remove(copy, "to_file");
    write(copy, "to_file", "a file");
    remove(copy, "tracked");
    link(copy, "tracked", "/etc/hostname");
    remove(copy, "folder/inner");
    chmod(copy, "folder", 0o700);
    remove(copy, "swapped");
    write(copy, "swapped", "now a file");
    remove(copy, "to_folder");
    write(copy, "to_folder/a/b", "now a folder");
    chmod(copy, "to_folder/a", 0o500);
    remove(copy, "empty");
    chmod(copy, "closed", 0o755);
    write(copy, "closed/first", "EIGHT");
    remove(copy, "closed/second");
    write(copy, "closed/third", "third");
    chmod(copy, "closed", 0o555);
}

/// Furnished once, copied for each crash.
struct Furnished {
    world: World,
    changes: Vec<Change>,
}

impl Furnished {
    fn new() -> Self {
        let world = World::new();
        furnish(&world);
        let changes = world.changes_of(edit);
        Self { world, changes }
    }

    fn fresh(&self) -> (World, Vec<Change>) {
        (self.world.copied(), self.changes.clone())
    }
}

/// Publishes with a crash, if the operation is reached, and says whether it was.
fn crash_at(world: &World, changes: &[Change], operation: u32) -> bool {
    let crash = CrashAt::operation(operation);
    let outcome = world.publish_all(changes, &crash);
    assert_eq!(outcome.is_err(), crash.crashed());
    crash.crashed()
}

#[test]
fn after_a_crash_at_any_operation_the_tree_is_before_or_after_and_the_repository_untouched() {
    let furnished = Furnished::new();
    let mut outcomes = (0, 0);
    for operation in 0.. {
        let (world, changes) = furnished.fresh();
        let before = world.freeze();
        let after = before.with_changes(&changes).expect("they fit");
        let repository = world.repository();
        let has_crashed = crash_at(&world, &changes, operation);
        match world.recovered() {
            Some(outcome) => {
                assert_eq!(outcome, published(), "operation {operation}");
                assert_eq!(
                    world.freeze().changes_to(&after),
                    [],
                    "operation {operation}"
                );
                outcomes.1 += 1;
            }
            None if has_crashed && outcomes.1 == 0 => {
                assert_eq!(
                    world.freeze().changes_to(&before),
                    [],
                    "operation {operation}"
                );
                outcomes.0 += 1;
            }
            None => assert_eq!(world.freeze(), after, "operation {operation}"),
        }
        assert_eq!(world.repository(), repository, "operation {operation}");
        if !has_crashed {
            break;
        }
    }
    let (before, after) = outcomes;
    assert!(
        before > 20 && after > 40,
        "{outcomes:?} crashes are too few"
    );
}

#[test]
fn a_crash_in_the_recovery_is_recovered_from() {
    let furnished = Furnished::new();
    for operation in (30..110).step_by(5) {
        for second in (0..70).step_by(6) {
            let (world, changes) = furnished.fresh();
            let before = world.freeze();
            let after = before.with_changes(&changes).expect("they fit");
            crash_at(&world, &changes, operation);
            let is_committed = world.journal.exists();
            let _ = world.recover(&CrashAt::operation(second));
            world.recovered();
            let is_as_it_was = world.freeze() == before && !is_committed;
            assert!(
                is_as_it_was || world.freeze() == after,
                "crashes at {operation} and {second}"
            );
        }
    }
}

#[test]
fn what_another_changed_between_the_crash_and_the_recovery_stays_and_all_else_is_undone() {
    let furnished = Furnished::new();
    let foreign: [(&str, Edit); 6] = [
        ("untracked", |tree| write(tree, "untracked", "by hand")),
        ("a.log", |tree| remove(tree, "a.log")),
        ("program", |tree| chmod(tree, "program", 0o711)),
        ("ignored/new", |tree| {
            write(tree, "ignored/new", "by hand");
        }),
        ("closed/third", |tree| write_closed(tree, "closed/third")),
        ("link", |tree| {
            remove(tree, "link");
            link(tree, "link", "elsewhere");
        }),
    ];
    for operation in (0..110).step_by(4) {
        for (path, change_by_hand) in foreign {
            let (world, changes) = furnished.fresh();
            let before = world.freeze();
            if !crash_at(&world, &changes, operation) || !world.journal.exists() {
                continue;
            }
            let is_settled = is_settled(&world);
            change_by_hand(&world.tree);
            let by_hand = world.freeze().node(&path_of(path));
            let recovered = world.recovered();
            let now = world.freeze();
            assert_eq!(now.node(&path_of(path)), by_hand, "{path} at {operation}");
            if is_settled {
                assert_eq!(recovered, Some(published()));
                continue;
            }
            let foreign = vec![path_of(path)];
            assert_eq!(
                recovered,
                Some(Settlement::Undone { foreign }),
                "{path} at {operation}"
            );
            let others: Vec<_> = before.changes_to(&now);
            let others: Vec<_> = others
                .iter()
                .map(|change| change.path.to_string())
                .collect();
            assert_eq!(others, [path], "at {operation}");
        }
    }
}

/// Writes into a directory that is closed, and stays so.
fn write_closed(tree: &Path, path: &str) {
    let above = tree.join(path);
    let above = above.parent().expect("it has a directory");
    let mode = std::fs::metadata(above).expect("it is there").permissions();
    chmod(above, "", 0o755);
    write(tree, path, "by hand");
    std::fs::set_permissions(above, mode).expect("a mode can be set");
}

/// Whether the journal says that the changes are made; then later changes are nobody's business.
fn is_settled(world: &World) -> bool {
    let journal = std::fs::read_to_string(&world.journal).expect("it is there");
    journal.contains(r#""state":"made""#)
}

#[test]
fn a_file_put_into_a_directory_that_goes_is_kept() {
    let furnished = Furnished::new();
    for operation in 0.. {
        let (world, changes) = furnished.fresh();
        let before = world.freeze();
        if !crash_at(&world, &changes, operation) {
            break;
        }
        let is_there = world.tree.join("swapped").is_dir();
        if !world.journal.exists() || !is_there {
            continue;
        }
        write(&world.tree, "swapped/by_hand", "by hand");
        let recovered = world.recovered();
        let foreign = vec![path_of("swapped/by_hand")];
        assert_eq!(recovered, Some(Settlement::Undone { foreign }));
        let others = before.changes_to(&world.freeze());
        assert_eq!(others.len(), 1, "{others:?} at {operation}");
    }
}

#[test]
fn a_full_disk_before_the_commit_point_leaves_no_trace_and_after_it_the_next_command_goes_on() {
    let furnished = Furnished::new();
    let mut seen = (0, 0);
    for operation in 0.. {
        let (world, changes) = furnished.fresh();
        let before = world.freeze();
        let after = before.with_changes(&changes).expect("they fit");
        let repository = world.repository();
        let full = FullAt(AtomicU32::new(operation));
        match world.publish_all(&changes, &full) {
            Ok(outcome) => assert_eq!(outcome, published()),
            Err(error @ PublishError::Untouched { .. }) => {
                seen.0 += 1;
                assert!(error.to_string().contains("which is unchanged"), "{error}");
                assert_eq!(world.repository(), repository, "at {operation}");
                assert_eq!(world.freeze(), before, "at {operation}");
                assert!(!world.journal.exists());
                assert_eq!(world.recovered(), None);
                let again = world.publish_all(&changes, &NoFaults);
                assert_eq!(again.expect("there is room again"), published());
            }
            Err(error @ PublishError::Unfinished { .. }) => {
                seen.1 += 1;
                let message = error.to_string();
                assert!(
                    message.contains("the next command on this tree continues"),
                    "{error}"
                );
                assert_eq!(world.recovered(), Some(published()));
            }
            Err(error) => panic!("{error} at {operation}"),
        }
        assert_eq!(world.freeze(), after, "at {operation}");
        assert_eq!(world.repository(), repository, "at {operation}");
        if !full.was_reached() {
            break;
        }
    }
    assert!(seen.0 > 20 && seen.1 > 20, "{seen:?}");
}

#[test]
fn where_renames_cannot_reach_files_are_written_in_place_and_a_crash_is_recovered_from() {
    let furnished = Furnished::new();
    for operation in 0.. {
        let (world, changes) = furnished.fresh();
        let before = world.freeze();
        let after = before.with_changes(&changes).expect("they fit");
        let other_device = OtherDevice {
            renames: AtomicU32::new(0),
            crash: CrashAt::operation(operation),
        };
        let outcome = world.publish_all(&changes, &other_device);
        let is_committed = world.journal.exists() || outcome.is_ok();
        world.recovered();
        let wanted = if is_committed { after } else { before };
        assert_eq!(
            world.freeze().changes_to(&wanted),
            [],
            "operation {operation}"
        );
        if !other_device.crash.crashed() {
            break;
        }
    }
}

/// Nothing that is staged can be renamed into the tree.
#[derive(Debug)]
struct OtherDevice {
    renames: AtomicU32,
    crash: CrashAt,
}

impl Faults for OtherDevice {
    fn before(&self, operation: DiskOperation) -> io::Result<()> {
        self.crash.before(operation)?;
        let renames = match operation {
            DiskOperation::Rename => self.renames.fetch_add(1, Ordering::SeqCst),
            _ => 1,
        };
        // Every second one is the one in place.
        match renames % 2 {
            0 => Err(rustix::io::Errno::XDEV.into()),
            _ => Ok(()),
        }
    }
}

fn path_of(path: &str) -> TreePath {
    TreePath::new(path).expect("it is a path")
}

/// Notes what is done, in its order.
#[derive(Debug, Default)]
struct Noted(std::sync::Mutex<Vec<DiskOperation>>);

impl Faults for Noted {
    fn before(&self, operation: DiskOperation) -> io::Result<()> {
        let mut noted = self.0.lock().expect("nobody panics with it");
        noted.push(operation);
        Ok(())
    }
}

#[test]
fn while_a_tree_is_between_two_states_names_are_changed_and_nothing_else_is_done() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        write(&world.tree, name, "before");
    }
    let changes = world.changes_of(|copy| {
        for name in ["a", "b", "c", "new"] {
            write(copy, name, "after");
        }
    });
    let noted = Noted::default();
    world
        .publish_all(&changes, &noted)
        .expect("it can be published");
    let done = noted.0.into_inner().expect("nobody panics with it");
    let is_rename = |operation: &DiskOperation| *operation == DiskOperation::Rename;
    let first = done.iter().position(is_rename).expect("names are changed");
    let last = done.iter().rposition(is_rename).expect("names are changed");
    assert_eq!(done[first..=last], [DiskOperation::Rename; 4], "{done:?}");
}

#[test]
fn whoever_meets_a_tree_that_is_half_published_finds_a_notice() {
    use bonded_work::publish::notice_at;
    let template = World::new();
    for name in ["a", "b", "deep/c"] {
        write(&template.tree, name, "before");
    }
    let changes = template.changes_of(|copy| {
        for name in ["a", "b", "deep/c"] {
            write(copy, name, "after");
        }
    });
    let (before, mut halves) = (template.freeze(), 0);
    for operation in 0.. {
        let world = template.copied();
        let crash = CrashAt::operation(operation);
        let _ = world.publish_all(&changes, &crash);
        let text = |name: &str| std::fs::read_to_string(world.tree.join(name)).expect("a file");
        let is_new = ["a", "b", "deep/c"].map(|name| text(name) == "after");
        if is_new.contains(&true) && is_new.contains(&false) {
            halves += 1;
            let notice = notice_at(&world.tree.join("deep")).expect("a notice");
            let said = std::fs::read_to_string(notice).expect("a text");
            assert!(said.contains("bonded work --resume"), "{said}");
        }
        world.recovered();
        assert_eq!(notice_at(&world.tree), None, "operation {operation}");
        if !crash.crashed() {
            break;
        }
        let after = before.with_changes(&changes).expect("they fit");
        let found = world.freeze();
        assert!(found == before || found == after, "operation {operation}");
    }
    assert!(halves > 0, "no crash left a tree half published");
}
