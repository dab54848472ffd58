//! Everything that a tree is: names, bytes, modes, links and empty directories, the repository's own included.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::world::World;

/// The mode and the content of each path. Two that are equal are the same tree, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State(BTreeMap<PathBuf, (u32, Vec<u8>)>);

impl State {
    pub(crate) fn of(root: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut open = vec![root.to_owned()];
        while let Some(path) = open.pop() {
            let meta = fs::symlink_metadata(&path).expect("what is listed is there");
            let content = match meta.file_type() {
                kind if kind.is_dir() => {
                    let listed = fs::read_dir(&path).expect("a directory can be listed");
                    open.extend(listed.map(|entry| entry.expect("it can be read").path()));
                    vec![]
                }
                kind if kind.is_symlink() => {
                    let target = fs::read_link(&path).expect("a link can be read");
                    target.into_os_string().into_encoded_bytes()
                }
                _ => fs::read(&path).expect("a file can be read"),
            };
            let name = path.strip_prefix(root).expect("it lies below").to_owned();
            found.insert(name, (meta.mode(), content));
        }
        Self(found)
    }

    /// Asserts that nothing differs, and says what does.
    #[track_caller]
    pub(crate) fn expect_same(&self, now: &Self, when: &str) {
        let differs = |path: &&PathBuf| self.0.get(*path) != now.0.get(*path);
        let mut all: Vec<&PathBuf> = self.0.keys().chain(now.0.keys()).filter(differs).collect();
        all.dedup();
        assert!(all.is_empty(), "{when}: {all:?}");
    }
}

impl World {
    pub(crate) fn state(&self) -> State {
        State::of(&self.tree())
    }

    /// A repository with something of every kind: staged, changed, untracked and ignored files, a stash, links,
    /// modes, names that are no text, and empty directories.
    pub(crate) fn with_everything() -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        use std::os::unix::fs::PermissionsExt as _;
        let world = Self::repository();
        world.write(".gitignore", "ignored/\n");
        world.write("src/program.sh", "#!/bin/sh\n");
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "--message", "second"]);
        world.write("kept.txt", "stashed\n");
        world.git(&["stash", "--quiet"]);
        world.write("staged.txt", "staged\n");
        world.git(&["add", "staged.txt"]);
        world.write("kept.txt", "changed, not staged\n");
        world.write("untracked.txt", "untracked\n");
        world.write("ignored/built.o", [0, 159, 146, 150]);
        symlink("kept.txt", world.path("link")).expect("a link can be made");
        symlink("/nowhere", world.path("dangling")).expect("a link can be made");
        fs::create_dir_all(world.path("empty/below")).expect("a directory can be made");
        let strange = std::ffi::OsStr::from_bytes(b"no \xff text");
        fs::write(world.tree().join(strange), "x").expect("a file can be written");
        for (name, mode) in [("src/program.sh", 0o751), ("untracked.txt", 0o400)] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(world.path(name), mode).expect("a mode can be set");
        }
        world
    }
}
