use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bonded_kernel::RunId;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::frame::{ChangedBy, PathChange};
use crate::moment::fault;
use crate::node::look;

/// Everything that an undo must give back: by path what is there, with modes, links and the times of directories.
type Seen = BTreeMap<PathBuf, String>;

fn seen(dir: &Path) -> Seen {
    let mut seen = Seen::new();
    let mut inodes = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(at) = left.pop() {
        let stat = fs::symlink_metadata(dir.join(&at)).expect("it is there");
        let mode = stat.mode() & 0o7777;
        let what = if stat.is_dir() {
            let entries = fs::read_dir(dir.join(&at)).expect("it can be listed");
            let mut names: Vec<_> = entries
                .map(|it| it.expect("an entry").file_name())
                .collect();
            names.sort();
            left.extend(names.iter().rev().map(|name| at.join(name)));
            format!("dir {mode:o} {} {}", stat.mtime(), stat.mtime_nsec())
        } else if stat.is_symlink() {
            let target = fs::read_link(dir.join(&at)).expect("it is a link");
            format!("link {}", target.display())
        } else {
            let content = fs::read(dir.join(&at)).expect("it can be read");
            let first = inodes.entry(stat.ino()).or_insert_with(|| at.clone());
            format!("file {mode:o} {content:?} first {}", first.display())
        };
        seen.insert(at, what);
    }
    seen
}

/// A directory that a run works in, and the records beside it.
struct Scene {
    temp: tempfile::TempDir,
    run: RunId,
}

impl Scene {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(temp.path().join("work")).expect("it can be made");
        let run = RunId::new("run").expect("an id");
        Self { temp, run }
    }

    fn dir(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    fn records(&self) -> Records {
        Records::at(self.temp.path().join("records"))
    }

    fn undo(&self, wanted: &Wanted) -> Result<Undone, ChangesError> {
        self.records()
            .undo(&self.run, wanted, false, &|_, turn| Some(turn))
    }

    /// A file tool writes to a path, as far as the record knows of it: all names of the file are given.
    fn write(&self, turn: u32, paths: &[&str], content: &[u8], killed: bool) {
        let dir = self.dir();
        let mut record = self
            .records()
            .begin(&self.run, &dir)
            .expect("it can be begun");
        let root = open_root(&dir).expect("it is there");
        let from = {
            let (above, name) = parent(&root, Path::new(paths[0])).expect("it is there");
            look(&above, name).expect("it can be looked at")
        };
        if let Some(hash) = from.content() {
            let bytes = fs::read(dir.join(paths[0])).expect("it can be read");
            let frame = Frame::Kept { hash, base: None };
            record
                .append(&[(&frame, &bytes)], false)
                .expect("it can be written");
        }
        let hash = Hash::of(content);
        let kept = Frame::Kept { hash, base: None };
        let mode = match &from {
            Node::File(file) => file.mode,
            _ => Some(0o644),
        };
        let to = Node::File(crate::node::FileNode {
            bytes: content.len() as u64,
            hash: Some(hash),
            mode,
            owner: None,
        });
        let changes: Vec<PathChange> = paths
            .iter()
            .map(|path| PathChange {
                path: PathBuf::from(path),
                from: from.clone(),
                to: to.clone(),
                names: (paths.len() > 1).then_some(1),
            })
            .collect();
        let set = ChangeSet {
            set: record.next_set(),
            by: ChangedBy::Call {
                run: self.run.clone(),
                turn,
                call: 0,
                tool: "write".into(),
            },
            dirs: dirs_of(&root, changes.iter().filter_map(|it| it.path.parent())),
            changes,
            times: vec![],
            leftovers: vec![],
        };
        let number = set.set;
        let dirs = set.dirs.clone();
        let changing = Frame::Changing(set);
        record
            .append(&[(&kept, content), (&changing, &[])], true)
            .expect("it can be written");
        let new = dir
            .join(paths[0])
            .with_file_name(".bonded-000000000000000000000000.tmp");
        fs::write(&new, content).expect("it can be written");
        let mode = mode.expect("it is known");
        fs::set_permissions(&new, fs::Permissions::from_mode(mode)).expect("it is ours");
        fs::rename(&new, dir.join(paths[0])).expect("it can be renamed");
        for other in &paths[1..] {
            fs::remove_file(dir.join(other)).expect("it is there");
            fs::hard_link(dir.join(paths[0]), dir.join(other)).expect("it can be linked");
        }
        if !killed {
            let dirs = dirs_now(&root, &dirs);
            let outcome = Outcome::Made { rights: None, dirs };
            let changed = Frame::Changed {
                set: number,
                outcome,
            };
            record
                .append(&[(&changed, &[])], false)
                .expect("it can be written");
        }
    }
}

/// A tree of a few files, one of them with two names, one a program, and a link.
fn planted(scene: &Scene) {
    let dir = scene.dir();
    for sub in ["a", "a/deep", "b"] {
        fs::create_dir(dir.join(sub)).expect("it can be made");
    }
    for (path, content) in [
        ("a/one", &b"one\n"[..]),
        ("a/deep/two", b"\xff\x00two"),
        ("b/three", b"three"),
        ("program", b"#!/bin/sh\n"),
    ] {
        fs::write(dir.join(path), content).expect("it can be written");
    }
    fs::hard_link(dir.join("b/three"), dir.join("a/also")).expect("it can be linked");
    let rights = fs::Permissions::from_mode(0o755);
    fs::set_permissions(dir.join("program"), rights).expect("it is ours");
    symlink("a/one", dir.join("link")).expect("it can be linked");
}

const PLACES: [&[&str]; 6] = [
    &["a/one"],
    &["a/deep/two"],
    &["b/three", "a/also"],
    &["program"],
    &["a/new"],
    &["fresh"],
];

/// Undoes, killed after so many moments; whether it was killed.
fn killed_undo(scene: &Scene, wanted: &Wanted, after: u32) -> bool {
    fault::LEFT.with(|left| left.set(Some(after)));
    let undone = catch_unwind(AssertUnwindSafe(|| scene.undo(wanted)));
    fault::LEFT.with(|left| left.set(None));
    match undone {
        Err(_) => true,
        Ok(undone) => {
            undone.expect("nothing else goes wrong");
            false
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn an_undo_gives_back_every_byte_mode_link_and_time_and_a_redo_takes_it_away_again(
        writes in prop::collection::vec((any::<Index>(), "[a-c\n]{0,40}"), 1..12),
        killed in any::<bool>(),
        from in 1_u32..12,
    ) {
        let scene = Scene::new();
        planted(&scene);
        let mut before = vec![seen(&scene.dir())];
        for (turn, (place, content)) in (1..).zip(&writes) {
            let is_last = turn as usize == writes.len();
            scene.write(turn, PLACES[place.index(PLACES.len())], content.as_bytes(), killed && is_last);
            before.push(seen(&scene.dir()));
        }
        let (first, last) = (before[0].clone(), before[writes.len()].clone());
        scene.undo(&Wanted::All).expect("nothing is in the way");
        prop_assert_eq!(&seen(&scene.dir()), &first);
        scene.undo(&Wanted::Redo).expect("nothing is in the way");
        prop_assert_eq!(&seen(&scene.dir()), &last);
        let turn = from.min(writes.len() as u32);
        scene.undo(&Wanted::FromTurn(turn)).expect("nothing is in the way");
        prop_assert_eq!(&seen(&scene.dir()), &before[turn as usize - 1]);
    }

    #[test]
    fn an_undo_that_is_killed_at_any_step_is_completed_by_the_next_command(
        writes in prop::collection::vec((any::<Index>(), "[a-c\n]{0,40}"), 1..6),
    ) {
        for after in 0.. {
            let scene = Scene::new();
            planted(&scene);
            let before = seen(&scene.dir());
            for (turn, (place, content)) in (1..).zip(&writes) {
                scene.write(turn, PLACES[place.index(PLACES.len())], content.as_bytes(), false);
            }
            let run_left = seen(&scene.dir());
            let killed = killed_undo(&scene, &Wanted::All, after);
            scene.records().settle_all().expect("it can be settled");
            let now = seen(&scene.dir());
            prop_assert!(now == before || (killed && now == run_left), "after {after}: {now:#?}");
            scene.undo(&Wanted::All).expect("nothing is in the way");
            prop_assert_eq!(&seen(&scene.dir()), &before);
            if !killed {
                break;
            }
        }
    }

    #[test]
    fn what_a_person_writes_before_or_after_a_kill_is_never_lost(
        writes in prop::collection::vec((any::<Index>(), "[a-c\n]{0,40}"), 1..6),
        place in any::<Index>(),
        is_before in any::<bool>(),
    ) {
        let theirs = PLACES[place.index(PLACES.len())][0];
        for after in 0..60 {
            let scene = Scene::new();
            planted(&scene);
            for (turn, (place, content)) in (1..).zip(&writes) {
                scene.write(turn, PLACES[place.index(PLACES.len())], content.as_bytes(), false);
            }
            let edit = || fs::write(scene.dir().join(theirs), "a person's own words").expect("it can be written");
            if is_before {
                edit();
            }
            let killed = killed_undo(&scene, &Wanted::All, after);
            if !is_before {
                edit();
            }
            scene.records().settle_all().expect("it can be settled");
            let _ = scene.undo(&Wanted::All).expect("it ends");
            let found = fs::read_to_string(scene.dir().join(theirs)).expect("it is there");
            prop_assert_eq!(found, "a person's own words");
            let left = seen(&scene.dir());
            let ours = left.keys().filter(|it| it.to_string_lossy().contains(".bonded-"));
            prop_assert_eq!(ours.count(), 0, "after {}: {:#?}", after, left);
            if !killed {
                break;
            }
        }
    }
}

#[test]
fn everything_is_put_back_where_one_file_cannot_be_exchanged() {
    let scene = Scene::new();
    planted(&scene);
    for (turn, place) in (1..).zip(PLACES) {
        scene.write(turn, place, b"new", false);
    }
    let left = seen(&scene.dir());
    // The content that `program` had is gone from the record: the third of six cannot be made.
    let path = scene.records().path_of(&scene.run);
    let mut bytes = fs::read(&path).expect("it is there");
    let at = bytes.windows(10).position(|it| it == b"#!/bin/sh\n");
    bytes[at.expect("it was kept")] = b'!';
    fs::write(&path, bytes).expect("it can be written");
    let error = scene.undo(&Wanted::All).expect_err("the record is damaged");
    assert!(matches!(error, ChangesError::Damaged { .. }), "{error}");
    assert_eq!(seen(&scene.dir()), left);
}

#[test]
fn half_of_a_frame_at_the_end_counts_as_not_written_and_is_written_over() {
    let scene = Scene::new();
    planted(&scene);
    let before = seen(&scene.dir());
    scene.write(1, PLACES[0], b"new", false);
    let path = scene.records().path_of(&scene.run);
    let whole = fs::read(&path).expect("it is there");
    for cut in [1, 10, 100] {
        let mut bytes = whole.clone();
        bytes.extend_from_slice(&whole[..cut]);
        fs::write(&path, bytes).expect("it can be written");
        let record = scene.records().of_run(&scene.run).expect("it can be read");
        assert_eq!(record.expect("it is there").sets().count(), 1);
    }
    scene.undo(&Wanted::All).expect("nothing is in the way");
    assert_eq!(seen(&scene.dir()), before);
    let record = scene.records().of_run(&scene.run).expect("it can be read");
    record.expect("it is there").check().expect("it is whole");
}

#[test]
fn no_link_on_the_way_is_followed_whoever_put_it_there() {
    let scene = Scene::new();
    planted(&scene);
    let far = scene.temp.path().join("far");
    fs::create_dir(&far).expect("it can be made");
    scene.write(1, PLACES[4], b"new", false);
    scene.write(2, PLACES[0], b"new", false);
    for name in ["one", "new"] {
        fs::write(far.join(name), "new").expect("it can be written");
    }
    fs::rename(scene.dir().join("a"), scene.dir().join("moved")).expect("it can be renamed");
    symlink(&far, scene.dir().join("a")).expect("it can be linked");
    let Ok(Undone::Refused(obstacles)) = scene.undo(&Wanted::All) else {
        panic!("a link is in the way");
    };
    assert_eq!(obstacles.len(), 2, "{obstacles:?}");
    assert!(far.join("one").exists() && far.join("new").exists());
}

#[test]
fn a_redo_gives_back_the_time_of_a_directory_whose_files_came_to_be_what_they_were() {
    let scene = Scene::new();
    fs::create_dir(scene.dir().join("kept")).expect("it can be made");
    fs::write(scene.dir().join("kept/f"), "was").expect("it can be written");
    let before = seen(&scene.dir());
    scene.write(1, &["kept/f"], b"new", false);
    scene.write(2, &["kept/f"], b"was", false);
    scene.write(3, &["other"], b"new", false);
    let after = seen(&scene.dir());
    scene.undo(&Wanted::All).expect("nothing is in the way");
    assert_eq!(seen(&scene.dir()), before);
    scene.undo(&Wanted::Redo).expect("nothing is in the way");
    assert_eq!(seen(&scene.dir()), after);
}
