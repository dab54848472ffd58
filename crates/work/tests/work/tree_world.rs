//! A tree that is worked on, and a place where things about it are kept.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bonded_kernel::Hash;
use bonded_work::tree::{Checkpoints, Frozen, TreeError};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// Longer than the clock of a file system needs for one tick.
pub(crate) const SETTLED: Duration = Duration::from_millis(40);

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) checkpoints: Checkpoints,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let root = dir.path().join("tree");
        fs::create_dir(&root).expect("it can be made");
        let checkpoints = Checkpoints::open(&dir.path().join("kept")).expect("it can be opened");
        Self {
            dir,
            root,
            checkpoints,
        }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        let dir = path.parent().expect("it lies in the tree");
        fs::create_dir_all(dir).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    pub(crate) fn chmod(&self, name: impl AsRef<Path>, mode: u32) {
        chmod(&self.path(name), mode);
    }

    pub(crate) fn freeze(&self) -> Frozen {
        self.try_freeze().expect("the tree can be frozen")
    }

    pub(crate) fn try_freeze(&self) -> Result<Frozen, TreeError> {
        self.checkpoints.freeze(&self.root)
    }

    pub(crate) fn hash(&self) -> Hash {
        self.freeze().tree.hash()
    }

    /// Freezes a directory that lies elsewhere.
    pub(crate) fn hash_of(&self, dir: &Path) -> Hash {
        let frozen = self.checkpoints.freeze(dir);
        frozen.expect("it can be frozen").tree.hash()
    }

    /// Opens what is kept once more, as the next process does.
    pub(crate) fn reopened(&self) -> Checkpoints {
        Checkpoints::open(self.checkpoints.dir()).expect("it can be opened")
    }

    /// One of everything that a tree may hold.
    pub(crate) fn fill(&self) {
        self.write("plain.txt", "plain");
        self.write("empty.txt", "");
        self.write("src/deep/er/file.rs", "fn main() {}");
        self.write("src/program", "#!/bin/sh\n");
        self.chmod("src/program", 0o755);
        self.write("secret", "nobody reads this");
        self.write("large", vec![7; 5 * 1024 * 1024]);
        fs::create_dir_all(self.path("nothing/in/here")).expect("it can be made");
        self.write("read-only/file", "stays");
        self.write(&"n".repeat(255), "a long name");
        let odd = self.path(OsStr::from_bytes(b"not \xff utf-8"));
        fs::write(odd, "odd").expect("it can be written");
        self.write("Case", "upper");
        self.write("case", "lower");
        self.write("nested/.git/HEAD", "ref: refs/heads/main");
        self.write("nested/file", "in a repository of its own");
        for (target, name) in [
            ("plain.txt", "link"),
            ("/nowhere", "dangling"),
            ("src", "to-dir"),
        ] {
            symlink(target, self.path(name)).expect("it can be made");
        }
        fs::hard_link(self.path("plain.txt"), self.path("second-name")).expect("it can be made");
        make_special(&self.path("pipe"), FileType::Fifo);
        make_special(&self.path("socket"), FileType::Socket);
        self.chmod("secret", 0o000);
        self.chmod("read-only", 0o555);
        self.chmod("nothing/in", 0o1777);
    }
}

/// Some trees are deeper, and some directories less writable, than a temporary directory can remove by itself.
impl Drop for World {
    fn drop(&mut self) {
        let mut remove = Command::new("sh");
        remove.args(["-c", "chmod -R u+rwX \"$0\"; rm -rf \"$0\""]);
        let _ = remove.arg(self.dir.path()).stderr(Stdio::null()).status();
    }
}

pub(crate) fn chmod(path: &Path, mode: u32) {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).expect("its mode can be set");
}

pub(crate) fn make_special(path: &Path, kind: FileType) {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path, kind, mode, 0).expect("it can be made");
}
