//! What was admitted before, on whatever tree of the workshop: the same change to the same state is admitted once.
//!
//! A plan that was started twice, or on two clones of a tree, is admitted once. The histories of all trees are
//! searched as text, and nothing is kept in memory: others write them meanwhile.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use bonded_kernel::Hash;
use bonded_work_rules::WorkStatus;
use rustix::fs::{FlockOperation, flock};

use crate::files::{PRIVATE_FILE, make_private_directory, read_if_there};
use crate::plan::{HISTORY, HistoryLine, PlanRecord, Workshop};

/// The receipt of an admitted run with this content, and the tree that it was on where that is not this one, in words.
///
/// Histories of other trees are read without their locks; only whole lines that can be read count.
pub(crate) fn find(workshop: &Workshop, root: &Path, content: &Hash) -> io::Result<Option<String>> {
    let trees = match std::fs::read_dir(workshop.trees_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        trees => trees?,
    };
    for tree in trees {
        let lines = read_if_there(&tree?.path().join(HISTORY))?.unwrap_or_default();
        if let Some(line) = line_of(&lines, content) {
            return Ok(Some(in_words(workshop, root, &line)));
        }
    }
    Ok(None)
}

/// A line that is being written is not looked at: whoever writes it holds the lock.
///
/// The digits of the hash are looked for first, so that only lines that hold them are parsed.
fn line_of(lines: &[u8], content: &Hash) -> Option<HistoryLine> {
    let content = content.to_string();
    let has = |line: &&[u8]| {
        let mut parts = line.windows(content.len());
        parts.any(|part| part == content.as_bytes())
    };
    let lines = lines.split(|byte| *byte == b'\n').filter(has);
    let mut lines = lines.filter_map(|line| serde_json::from_slice::<HistoryLine>(line).ok());
    lines
        .find(|line| line.status == WorkStatus::Success && line.content_hash.to_string() == content)
}

/// It becomes a part of the reason for a denial.
fn in_words(workshop: &Workshop, root: &Path, line: &HistoryLine) -> String {
    let id = &line.receipt_id;
    match PlanRecord::read(workshop, &line.plan) {
        Ok(Some(plan)) if plan.root != root => format!("{id} on {}", plan.root.display()),
        _ => id.clone(),
    }
}

/// Held from the last look at what was admitted until what is published is remembered: plans on two trees must not
/// both admit the same. It ends with the process.
#[derive(Debug)]
pub(crate) struct AdmissionLock {
    _file: File,
}

impl AdmissionLock {
    /// Waits for whoever has it: as long as publishing one item takes.
    pub(crate) fn acquire(workshop: &Workshop) -> io::Result<Self> {
        make_private_directory(workshop.dir())?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(PRIVATE_FILE)
            .open(workshop.dir().join("admitting.lock"))?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                locked => return locked.map(|()| Self { _file: file }).map_err(Into::into),
            }
        }
    }
}
