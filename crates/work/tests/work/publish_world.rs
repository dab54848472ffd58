//! A tree to publish to, the contents that are kept of it, and crashes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bonded_kernel::Hash;
use bonded_work::publish::{DiskOperation, Faults, NoFaults, Publish, PublishError, Settlement};
use bonded_work::tree::Contents;
use bonded_work_rules::{Change, Child, Directory, Node, Tree};
use serde_json::{Value, json};

/// Changes files below a directory.
pub(crate) type Edit = fn(&Path);
/// Makes a world what a case needs.
pub(crate) type Setup = fn(&World);

/// Contents in memory.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<BTreeMap<String, Vec<u8>>>);

impl Kept {
    pub(crate) fn keep(&self, bytes: Vec<u8>) -> Hash {
        let hash = Hash::of(&bytes);
        let mut kept = self.0.lock().expect("no test panics while it holds this");
        kept.insert(hash.to_string(), bytes);
        hash
    }
}

impl Contents for Kept {
    fn read(&self, content: &Hash) -> io::Result<Box<dyn Read + '_>> {
        let kept = self.0.lock().expect("no test panics while it holds this");
        match kept.get(&content.to_string()) {
            Some(bytes) => Ok(Box::new(io::Cursor::new(bytes.clone()))),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Dies before the operation with a number, and stays dead.
#[derive(Debug)]
pub(crate) struct CrashAt {
    left: AtomicU32,
    pub(crate) has_crashed: AtomicBool,
}

impl CrashAt {
    pub(crate) fn operation(number: u32) -> Self {
        Self {
            left: AtomicU32::new(number),
            has_crashed: AtomicBool::new(false),
        }
    }

    pub(crate) fn crashed(&self) -> bool {
        self.has_crashed.load(Ordering::SeqCst)
    }
}

impl Faults for CrashAt {
    fn before(&self, _operation: DiskOperation) -> io::Result<()> {
        let less = |left: u32| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(_) => Ok(()),
            Err(_) => {
                self.has_crashed.store(true, Ordering::SeqCst);
                Err(io::Error::other("crashed"))
            }
        }
    }
}

/// The disk is full for one operation.
#[derive(Debug)]
pub(crate) struct FullAt(pub(crate) AtomicU32);

impl FullAt {
    /// The count goes round when it is.
    pub(crate) fn was_reached(&self) -> bool {
        self.0.load(Ordering::SeqCst) > u32::MAX / 2
    }
}

impl Faults for FullAt {
    fn before(&self, operation: DiskOperation) -> io::Result<()> {
        let frees = matches!(
            operation,
            DiskOperation::RemoveFile
                | DiskOperation::RemoveDirectory
                | DiskOperation::RemoveJournal
        );
        match self.0.fetch_sub(1, Ordering::SeqCst) {
            0 if !frees => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

pub(crate) struct World {
    _temp: tempfile::TempDir,
    pub(crate) tree: PathBuf,
    pub(crate) journal: PathBuf,
    pub(crate) kept: Arc<Kept>,
}

impl World {
    pub(crate) fn new() -> Self {
        // Syncing costs nothing there.
        let memory = Path::new("/dev/shm");
        let temp = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let temp = temp.expect("a directory for the test");
        let tree = temp.path().join("tree");
        fs::create_dir(&tree).expect("a new directory");
        Self {
            tree,
            journal: temp.path().join("store/journal.json"),
            kept: Arc::default(),
            _temp: temp,
        }
    }

    /// Another tree like this one.
    pub(crate) fn copied(&self) -> Self {
        let mut copy = Self::new();
        copy.kept = Arc::clone(&self.kept);
        fs::remove_dir(&copy.tree).expect("it is empty");
        run("cp", ["-a", text(&self.tree), text(&copy.tree)]);
        copy
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.tree.with_file_name(name)
    }

    /// The tree as it is, without its `.git`; its contents are kept.
    pub(crate) fn freeze(&self) -> Tree {
        freeze(&self.tree, &self.kept)
    }

    /// What an edit to a copy of the tree changes; the tree stays as it is.
    pub(crate) fn changes_of(&self, edit: impl FnOnce(&Path)) -> Vec<Change> {
        let copy = self.beside("copy");
        run("cp", ["-a", text(&self.tree), text(&copy)]);
        edit(&copy);
        let after = freeze(&copy, &self.kept);
        open_all(&copy);
        fs::remove_dir_all(&copy).expect("it can be removed");
        self.freeze().changes_to(&after)
    }

    pub(crate) fn publish<'a>(&'a self, faults: &'a dyn Faults) -> Publish<'a> {
        let publish = Publish::new(&self.tree, &self.journal, &*self.kept);
        publish.expect("the tree can be opened").with_faults(faults)
    }

    /// From the check to the end, as a caller does it.
    pub(crate) fn publish_all(
        &self,
        changes: &[Change],
        faults: &dyn Faults,
    ) -> Result<Settlement, PublishError> {
        let publish = self.publish(faults);
        let settled = publish.prepare(changes, sealed(), None)?.apply()?;
        let outcome = settled.settlement().clone();
        settled.finish()?;
        Ok(outcome)
    }

    /// Recovers as a caller does it; what was sealed must have come through.
    pub(crate) fn recover(&self, faults: &dyn Faults) -> Result<Option<Settlement>, PublishError> {
        let publish = self.publish(faults);
        let Some(settled) = publish.recover()? else {
            return Ok(None);
        };
        assert_eq!(settled.sealed(), &sealed());
        let outcome = settled.settlement().clone();
        settled.finish()?;
        Ok(Some(outcome))
    }

    pub(crate) fn recovered(&self) -> Option<Settlement> {
        let recovered = self.recover(&NoFaults).expect("recovery works");
        let again = self.recover(&NoFaults).expect("recovery works again");
        assert_eq!(again, None, "recovery left something to do");
        recovered
    }

    /// Everything of the repository itself, and that nothing is staged in the tree.
    pub(crate) fn repository(&self) -> Tree {
        freeze(&self.tree.join(".git"), &Kept::default())
    }

    pub(crate) fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        git(&self.tree, arguments)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.tree.is_dir() {
            open_all(&self.tree);
        }
    }
}

pub(crate) fn sealed() -> Value {
    json!({"receipt": "of the test"})
}

pub(crate) fn published() -> Settlement {
    Settlement::Published { commit: None }
}

/// Git as somebody with a name, without his settings.
pub(crate) fn git<const N: usize>(tree: &Path, arguments: [&str; N]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(tree)
        .args(["-c", "user.name=Somebody", "-c", "user.email=some@body"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn run<const N: usize>(program: &str, arguments: [&str; N]) {
    let status = Command::new(program).args(arguments).status();
    assert!(status.expect("the program can be run").success());
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

pub(crate) fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    let above = path.parent().expect("a file has a directory");
    fs::create_dir_all(above).expect("directories can be made");
    fs::write(path, content).expect("a file can be written");
}

pub(crate) fn link(root: &Path, path: &str, target: &str) {
    symlink(target, root.join(path)).expect("a link can be made");
}

pub(crate) fn chmod(root: &Path, path: &str, mode: u32) {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(root.join(path), permissions).expect("a mode can be set");
}

pub(crate) fn remove(root: &Path, path: &str) {
    let path = root.join(path);
    let removed = match path.symlink_metadata().expect("it is there").is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    removed.expect("it can be removed");
}

/// So that what is closed can be removed.
pub(crate) fn open_all(directory: &Path) {
    for entry in fs::read_dir(directory).expect("it can be read") {
        let path = entry.expect("an entry").path();
        if !path.is_symlink() && path.is_dir() {
            chmod(&path, "", 0o755);
            open_all(&path);
        }
    }
}

pub(crate) fn freeze(root: &Path, kept: &Kept) -> Tree {
    Tree::new(children(root, kept, true))
}

fn children(directory: &Path, kept: &Kept, is_root: bool) -> Vec<(Box<[u8]>, Child)> {
    let mut children = vec![];
    for entry in fs::read_dir(directory).expect("a directory can be read") {
        let entry = entry.expect("an entry can be read");
        let name: Box<[u8]> = entry.file_name().as_bytes().into();
        if is_root && *name == *b".git" {
            continue;
        }
        let path = entry.path();
        let metadata = path.symlink_metadata().expect("it is there");
        let mode = metadata.permissions().mode() & 0o7777;
        let child = if metadata.is_dir() {
            let below = self::children(&path, kept, false);
            Child::Directory(Directory::new(mode, below).into())
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).expect("a link can be read");
            let target = target.as_os_str().as_bytes().into();
            Child::Leaf(Node::Link { target })
        } else {
            let bytes = fs::read(&path).expect("a file can be read");
            Child::Leaf(Node::File {
                mode,
                bytes: bytes.len() as u64,
                content: kept.keep(bytes),
            })
        };
        children.push((name, child));
    }
    children
}
