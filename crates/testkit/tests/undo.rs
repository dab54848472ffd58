//! What the file tools themselves change in random trees is undone to the byte, and a person's edits in between stay.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_changes::{Recorder, Records, Undone, Wanted};
use bonded_kernel::{Limits, Mask, RunId};
use bonded_testkit::invocation;
use bonded_testkit::rng::{Rng, number, seed, tell};
use bonded_tools::sandbox::{Launcher, SandboxPolicy};
use bonded_tools::{Registry, Sandbox, Workdir, builtin};
use serde_json::json;

const WORLDS_DEFAULT: u64 = 150;

/// Paths of which some are there: in directories that may have to be made, too.
const PATHS: [&str; 9] = [
    "a",
    "b",
    "d/a",
    "d/b",
    "d/e/a",
    "new/a",
    "new/deep/b",
    "linked",
    "d/twin",
];

/// By path what is there: contents, modes, names of one file, and the times of directories.
fn seen(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    let mut first = BTreeMap::new();
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
            format!("dir {mode:o} {}.{}", stat.mtime(), stat.mtime_nsec())
        } else {
            let content = fs::read(dir.join(&at)).expect("it can be read");
            let name = first.entry(stat.ino()).or_insert_with(|| at.clone());
            format!("file {mode:o} {content:?} {}", name.display())
        };
        seen.insert(at, what);
    }
    seen
}

struct World {
    temp: tempfile::TempDir,
    registry: Registry,
    run: RunId,
    runtime: tokio::runtime::Runtime,
}

impl World {
    fn new(rng: &mut Rng) -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = temp.path().join("work");
        fs::create_dir_all(dir.join("d/e")).expect("it can be made");
        for path in PATHS {
            let is_there = rng.below(2) == 0 && !path.starts_with("new") && !path.contains("twin");
            if is_there {
                let content: Vec<u8> = (0..rng.below(30)).map(|_| rng.below(256) as u8).collect();
                fs::write(dir.join(path), content).expect("it can be written");
                let mode = [0o644, 0o755, 0o600, 0o4711][rng.below(4) as usize];
                let rights = fs::Permissions::from_mode(mode);
                fs::set_permissions(dir.join(path), rights).expect("it is ours");
            }
        }
        if dir.join("linked").exists() {
            fs::hard_link(dir.join("linked"), dir.join("d/twin")).expect("it can be linked");
        }
        let records = Records::at(temp.path().join("records"));
        let recorder = Recorder::new(records, dir.clone(), None);
        let workdir = Workdir::open(&dir).expect("it can be opened");
        let workdir = workdir.recorded_by(Arc::new(recorder));
        let sandbox = Sandbox::prepare(SandboxPolicy::default(), &dir, &Launcher::None);
        let tools = builtin(workdir, &Arc::new(sandbox.expect("it can be prepared")));
        Self {
            registry: Registry::new(tools).expect("the specs are usable"),
            run: RunId::new("test").expect("an id"),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime"),
            temp,
        }
    }

    fn dir(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    /// A call of a file tool, which may fail.
    fn call(&self, rng: &mut Rng) {
        let path = PATHS[rng.below(PATHS.len() as u64) as usize];
        let content = "ab\n".repeat(rng.below(6) as usize);
        let (tool, arguments) = match rng.below(3) {
            0 => ("write", json!({ "path": path, "content": content })),
            1 => ("append", json!({ "path": path, "content": content })),
            _ => ("edit", json!({ "path": path, "old": "ab\nab", "new": "c" })),
        };
        let call = invocation(&self.registry, &Limits::default(), tool, &arguments);
        self.runtime
            .block_on(self.registry.invoke(&call, &Mask::default()));
    }

    fn undo(&self, wanted: &Wanted, partial: bool) -> Undone {
        let records = Records::at(self.temp.path().join("records"));
        let undone = records.undo(&self.run, wanted, partial, &|_, turn| Some(turn));
        undone.expect("nothing goes wrong")
    }
}

#[test]
fn random_calls_over_random_trees_are_undone_to_the_byte_and_redone() {
    let worlds = number("BONDED_UNDO_WORLDS").unwrap_or(WORLDS_DEFAULT);
    let seed = seed("BONDED_UNDO_SEED");
    let mut undone = 0;
    for world in 0..worlds {
        let mut rng = Rng::of(seed, world);
        let world = World::new(&mut rng);
        let before = seen(&world.dir());
        for _ in 0..rng.below(12) {
            world.call(&mut rng);
        }
        let after = seen(&world.dir());
        let first = world.undo(&Wanted::All, false);
        assert_eq!(seen(&world.dir()), before, "BONDED_UNDO_SEED={seed}");
        let Undone::Done { .. } = first else { continue };
        undone += 1;
        world.undo(&Wanted::Redo, false);
        assert_eq!(seen(&world.dir()), after, "BONDED_UNDO_SEED={seed}");
    }
    tell(&format!(
        "{undone} of {worlds} worlds had something to undo, BONDED_UNDO_SEED={seed}"
    ));
}

#[test]
fn a_persons_edits_between_calls_and_after_them_are_never_lost() {
    let worlds = number("BONDED_UNDO_WORLDS").unwrap_or(WORLDS_DEFAULT);
    let seed = seed("BONDED_UNDO_SEED");
    for number in 0..worlds {
        let mut rng = Rng::of(seed, worlds + number);
        let world = World::new(&mut rng);
        let mut last: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        for step in 0..rng.below(16) {
            if rng.below(3) > 0 {
                let before = seen(&world.dir());
                world.call(&mut rng);
                // What a call changed is the run's again, from what the person had left there.
                let now = seen(&world.dir());
                last.retain(|path, _| before.get(path) == now.get(path));
                continue;
            }
            let path = PATHS[rng.below(5) as usize];
            let text = format!("a person's words {step}").into_bytes();
            let full = world.dir().join(path);
            fs::write(&full, &text).expect("it can be written");
            last.insert(path.into(), text);
        }
        world.undo(&Wanted::All, rng.below(2) == 0);
        for (path, text) in &last {
            let found = fs::read(world.dir().join(path)).expect("it is there");
            assert_eq!(&found, text, "{}: BONDED_UNDO_SEED={seed}", path.display());
        }
    }
}
