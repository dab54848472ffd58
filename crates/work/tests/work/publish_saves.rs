//! Somebody saves at every single operation of a publish, in each of the ways that editors have.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use bonded_work::publish::{DiskOperation, Faults, NoFaults, ReplacedFile, Settlement};
use bonded_work::tree::{FileId, Processes, Writers};

use crate::publish_world::{World, chmod, remove, sealed, write};

const SAVED: &str = "a person's own words";

/// How somebody saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Save {
    /// A new file in the place of the old one.
    Rename,
    /// Opened, emptied, written.
    InPlace,
    /// Opened before the publish began, written now.
    OpenBefore,
}

/// Saves once, before the operation with a number.
#[derive(Debug)]
struct SaveAt {
    left: AtomicU32,
    how: Save,
    path: PathBuf,
    opened: Mutex<Option<File>>,
    is_saved: Mutex<bool>,
}

impl SaveAt {
    fn new(operation: u32, how: Save, path: PathBuf) -> Self {
        let is_open = how == Save::OpenBefore;
        let opened = OpenOptions::new().write(is_open).read(!is_open).open(&path);
        let opened = opened.ok().filter(|_| is_open);
        Self {
            left: AtomicU32::new(operation),
            how,
            path,
            opened: Mutex::new(opened),
            is_saved: Mutex::new(false),
        }
    }

    fn was_reached(&self) -> bool {
        self.left.load(Ordering::SeqCst) > u32::MAX / 2
    }

    fn is_saved(&self) -> bool {
        *self.is_saved.lock().expect("no thread panics with it")
    }

    fn save(&self) -> io::Result<()> {
        match self.how {
            Save::Rename => {
                let new = self.path.with_file_name("person's new file");
                fs::write(&new, SAVED)?;
                fs::rename(new, &self.path)
            }
            Save::InPlace => {
                let mut options = OpenOptions::new();
                let mut file = options.write(true).truncate(true).open(&self.path)?;
                file.write_all(SAVED.as_bytes())
            }
            Save::OpenBefore => {
                let opened = self.opened.lock().expect("no thread panics with it");
                let file = opened.as_ref().ok_or(io::ErrorKind::NotFound)?;
                file.set_len(0)?;
                file.write_all_at(SAVED.as_bytes(), 0)
            }
        }
    }
}

impl Faults for SaveAt {
    fn before(&self, _: DiskOperation) -> io::Result<()> {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            *self.is_saved.lock().expect("no thread panics with it") = self.save().is_ok();
        }
        Ok(())
    }
}

/// Who may look at nobody's processes.
#[derive(Debug)]
struct Blind;

impl Writers for Blind {
    fn written(&self, _: &[FileId]) -> Vec<FileId> {
        vec![]
    }
}

fn furnished() -> World {
    let world = World::new();
    for (path, content) in [("changed", "1"), ("gone", "2"), ("mode", "3"), ("d/x", "4")] {
        write(&world.tree, path, content);
    }
    world
}

fn edit(copy: &Path) {
    write(copy, "changed", "the item's");
    remove(copy, "gone");
    write(copy, "new", "the item's");
    chmod(copy, "mode", 0o755);
    write(copy, "d/x", "the item's");
}

/// Publishes, and says what came of it and what was replaced.
fn publish(
    world: &World,
    faults: &SaveAt,
    writers: &dyn Writers,
) -> (Settlement, Vec<ReplacedFile>) {
    let changes = world.changes_of(edit);
    let publish = world.publish(faults).with_writers(writers);
    let prepared = publish.prepare(&changes, sealed(), None);
    let settled = prepared.expect("nothing fails").apply();
    let mut settled = settled.expect("nothing fails");
    let replaced = settled.take_replaced();
    let outcome = settled.settlement().clone();
    settled.finish().expect("the journal can be removed");
    (outcome, replaced)
}

fn is_in(replaced: &[ReplacedFile]) -> bool {
    let written = |it: &ReplacedFile| it.written().expect("it can be read").is_some();
    replaced.iter().any(written)
}

#[test]
fn a_save_at_any_moment_is_in_the_tree_or_found_afterwards() {
    let (mut undone, mut on_top, mut late) = (0, 0, 0);
    for path in ["changed", "gone", "new", "mode", "d/x"] {
        for how in [Save::Rename, Save::InPlace, Save::OpenBefore] {
            for operation in 0.. {
                let world = furnished();
                let place = world.tree.join(path);
                let faults = SaveAt::new(operation, how, place.clone());
                let (outcome, replaced) = publish(&world, &faults, &Blind);
                let now = fs::read_to_string(&place).unwrap_or_default();
                let case = format!("{path} {how:?} at {operation}: {outcome:?}");
                if faults.is_saved() {
                    match (&outcome, now == SAVED) {
                        (Settlement::Undone { .. }, is_there) => {
                            assert!(is_there, "{case}");
                            undone += 1;
                        }
                        (Settlement::Published { .. }, true) => on_top += 1,
                        (Settlement::Published { .. }, false) => {
                            assert!(is_in(&replaced), "{case}");
                            late += 1;
                        }
                    }
                }
                if matches!(outcome, Settlement::Undone { .. }) {
                    assert!(!world.tree.join(".bonded-publish").exists(), "{case}");
                }
                if !faults.was_reached() {
                    break;
                }
            }
        }
    }
    assert!(
        undone > 50 && on_top > 20 && late > 0,
        "{undone} {on_top} {late}"
    );
}

#[test]
fn a_file_that_is_put_back_is_the_very_file_that_its_writer_has_open() {
    let world = furnished();
    let changes = world.changes_of(edit);
    let publish = world.publish(&NoFaults);
    let prepared = publish.prepare(&changes, sealed(), None).expect("it fits");
    let mut opened = OpenOptions::new();
    let opened = opened.append(true).open(world.tree.join("changed"));
    let mut opened = opened.expect("it is there");
    write(&world.tree, "new", "in the way");
    let settled = prepared.apply().expect("it can be undone");
    assert!(matches!(settled.settlement(), Settlement::Undone { .. }));
    settled.finish().expect("the journal can be removed");
    opened.write_all(b" and more").expect("it is open");
    let now = fs::read_to_string(world.tree.join("changed")).expect("it is there");
    assert_eq!(now, "1 and more");
}

#[test]
fn a_file_that_somebody_has_open_for_writing_is_not_replaced() {
    for path in ["changed", "gone", "d/x"] {
        for operation in [0, 5, 20, 1_000] {
            let world = furnished();
            let before = world.freeze();
            let place = world.tree.join(path);
            let faults = SaveAt::new(operation, Save::OpenBefore, place.clone());
            let (outcome, _) = publish(&world, &faults, &Processes);
            assert!(matches!(outcome, Settlement::Undone { .. }), "{path}");
            if !faults.is_saved() {
                assert_eq!(world.freeze(), before, "{path}");
                faults.save().expect("it is open");
            }
            let now = fs::read_to_string(&place).expect("it is there");
            assert_eq!(now, SAVED, "{path} at {operation}");
        }
    }
}
