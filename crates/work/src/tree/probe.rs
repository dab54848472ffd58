//! Which kind of copy this machine allows. It is tried for real, in this process or in one of its own.
//!
//! Whether overlays work depends on the kernel, on its settings, on the file system and on what surrounds the
//! process, and no version number tells it. So a small tree is copied and changed in the ways that need help
//! from the file system. The trial can run in a process of its own, because entering a namespace cannot be
//! undone.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::ioctl_ficlone;
use serde::{Deserialize, Serialize};

use super::checkpoints::Checkpoints;
use super::copies::{Copies, OwnPlace};
use super::isolation::Isolation;
use super::namespace::{enter_namespace, failed};
use super::watcher;

/// The hidden words that start this program to try an overlay.
const WORD: &str = "__work";
const PROBE: &str = "probe";

/// What works here; where something does not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolations {
    /// Whether a copy can be a mount over the tree.
    pub overlay: Result<(), String>,
    /// Whether a copy can share the contents of its files.
    pub reflink: Result<(), String>,
}

impl Isolations {
    /// The one that costs least.
    pub fn best(&self) -> Isolation {
        match self {
            Self {
                overlay: Ok(()), ..
            } => Isolation::Overlay,
            Self {
                reflink: Ok(()), ..
            } => Isolation::Reflink,
            _ => Isolation::Copy,
        }
    }

    /// What works in this process, which has [entered](enter_namespace) its namespace or tells why it could not.
    pub fn here(entered: &Result<(), String>, root: &Path, copies: &Path) -> Self {
        Self {
            overlay: entered.clone().and_then(|()| try_overlay(root, copies)),
            reflink: try_reflink(root, copies),
        }
    }

    /// What works for a process of `program`, which [`enter`]s the trial when it is started so. Nothing is changed
    /// in this process.
    pub fn probe(program: &Path, root: &Path, copies: &Path) -> Self {
        let mut child = Command::new(program);
        child.args([WORD, PROBE]).arg(root).arg(copies);
        let answer = child.stdin(Stdio::null()).stderr(Stdio::null()).output();
        let overlay = match answer.map(|output| serde_json::from_slice(&output.stdout)) {
            Ok(Ok(overlay)) => overlay,
            Ok(Err(_)) => Err("the trial did not answer".into()),
            Err(error) => Err(format!("the trial could not be started: {error}")),
        };
        Self {
            overlay,
            reflink: try_reflink(root, copies),
        }
    }
}

/// Acts as the trial of an overlay, or as a [`Watcher`](super::Watcher), if the arguments, the program's own name
/// first, say so. A program calls this before it does anything else.
pub fn enter(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    let (word, what) = (args.next()?, args.next()?);
    if [word.as_os_str(), what.as_os_str()] == watcher::WORDS {
        return Some(watcher::answer());
    }
    if word != WORD || what != PROBE {
        return None;
    }
    let (root, copies) = (args.next()?, args.next()?);
    let tried = enter_namespace().and_then(|()| try_overlay(root.as_ref(), copies.as_ref()));
    let text = serde_json::to_vec(&tried).unwrap_or_default();
    let sent = std::io::stdout().write_all(&text);
    Some(ExitCode::from(u8::from(sent.is_err())))
}

/// Makes a copy of a small tree and changes it in the ways that need help from the file system; then one of the
/// tree that is meant.
fn try_overlay(root: &Path, copies: &Path) -> Result<(), String> {
    let place = scratch(copies)?;
    let dir = &place.path().join("trial");
    let below = dir.join("tree");
    fs::create_dir_all(below.join("dir/inner")).map_err(failed("make a small tree"))?;
    fs::write(below.join("file"), "below").map_err(failed("make a small tree"))?;
    let checkpoints = Checkpoints::open(&dir.join("kept")).map_err(|it| it.to_string())?;
    let frozen = checkpoints.freeze(&below).map_err(|it| it.to_string())?;
    let all = dir.join("copies");
    let copies = Copies::open(&all, "trial", Isolation::Overlay).map_err(|it| it.to_string())?;
    let copy = copies.make(&checkpoints, &frozen, "small");
    let copy = copy.map_err(|it| it.to_string())?;
    change(copy.path()).map_err(failed("change an overlay"))?;
    let changed = copy.changes().map_err(|it| it.to_string())?;
    if changed.changes.len() != 3 || fs::read(below.join("file")).is_err() {
        return Err("an overlay does not keep changes as it should".into());
    }
    super::copies::try_mount_over(root, &place.path().join("over"))
}

/// A removed file, a directory that was removed and made again, and a new file: each is told by the overlay in
/// another way.
fn change(copy: &Path) -> std::io::Result<()> {
    fs::remove_file(copy.join("file"))?;
    fs::remove_dir_all(copy.join("dir"))?;
    fs::create_dir(copy.join("dir"))?;
    fs::write(copy.join("new"), "above")
}

/// Clones a file of the tree.
fn try_reflink(root: &Path, copies: &Path) -> Result<(), String> {
    let place = scratch(copies)?;
    let Some(original) = first_file(root) else {
        return Err("the tree has no file to try it with".into());
    };
    let from = File::open(&original).map_err(failed(&format!("open {}", original.display())))?;
    let to = File::create(place.path().join("clone")).map_err(failed("make a file"))?;
    ioctl_ficlone(&to, &from).map_err(failed("clone a file"))
}

/// A file that is not empty and can be read, near the top.
fn first_file(root: &Path) -> Option<PathBuf> {
    /// Enough to find one in any tree that has work to be done in it.
    const LOOKS_MAX: usize = 1000;
    let mut left = std::collections::VecDeque::from([root.to_owned()]);
    let mut looks = 0;
    while let Some(dir) = left.pop_front() {
        for entry in fs::read_dir(dir).ok()?.flatten() {
            looks += 1;
            let Ok(metadata) = entry.path().symlink_metadata() else {
                continue;
            };
            if metadata.is_dir() {
                left.push_back(entry.path());
            } else if metadata.is_file() && metadata.len() > 0 && File::open(entry.path()).is_ok() {
                return Some(entry.path());
            }
            if looks == LOOKS_MAX {
                return None;
            }
        }
    }
    None
}

/// A directory for trials. What is left in it is removed with it, as copies are.
fn scratch(copies: &Path) -> Result<OwnPlace, String> {
    let name = format!("trial-{}", uuid::Uuid::new_v4());
    OwnPlace::make(copies, &name).map_err(|it| it.to_string())
}
