//! One thread of a pass: what it looks with, and how it reads files.

use std::sync::Mutex;

use bonded_work_rules::{Child, Node, Tree};
use rustix::process::{getegid, geteuid};

use super::fault::PassFault;
use super::job::{Batch, FileRead, Findings, Unread};
use super::pending::part_done;
use super::queue::Queue;
use super::root::Pass;
use crate::tree::content::{FileReader, ReadOutcome};
use crate::tree::error::TreeError;
use crate::tree::looks::Looking;
use crate::tree::stat_cache::StatCache;

/// For a good many names at once.
const BUFFER_BYTES: usize = 32 * 1024;

/// One thread of a pass.
pub(super) struct Worker<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) cache: &'a StatCache,
    /// Where in the cache the last file was found.
    pub(super) near: usize,
    pub(super) queue: &'a Queue,
    pub(super) tree: &'a Mutex<Option<Tree>>,
    pub(super) reader: FileReader<'a>,
    pub(super) buffer: Vec<u8>,
    pub(super) looking: Option<Looking<'a>>,
    pub(super) found: Findings,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        pass: &'a Pass<'a>,
        cache: &'a StatCache,
        queue: &'a Queue,
        tree: &'a Mutex<Option<Tree>>,
        begun_ns: i64,
    ) -> Self {
        let own = (geteuid().as_raw(), getegid().as_raw());
        Self {
            looking: pass.eye.map(|eye| Looking { eye, begun_ns, own }),
            pass,
            cache,
            near: 0,
            queue,
            tree,
            reader: FileReader::new(pass.objects),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            found: Findings::default(),
        }
    }

    /// Reads files of one directory.
    pub(super) fn read(&mut self, batch: &Batch) -> Result<(), PassFault> {
        let mut children = Vec::with_capacity(batch.files.len());
        for file in &batch.files {
            children.push(self.read_file(batch, file)?);
        }
        batch.dir.add(children);
        part_done(&batch.dir, self.tree);
        Ok(())
    }

    fn read_file(&mut self, batch: &Batch, file: &Unread) -> Result<(Box<[u8]>, Child), PassFault> {
        let path = || batch.dir.child(file.name.to_bytes());
        let read = self.reader.read(&batch.open, &file.name, file.stamp.bytes);
        let content = match read {
            ReadOutcome::Content(content) => content,
            ReadOutcome::Changed => return Err(self.pass.changed(&path())),
            ReadOutcome::Unreadable(source) => {
                let path = self.pass.full(&path());
                return Err(PassFault::Refused(TreeError::Unreadable { path, source }));
            }
            ReadOutcome::NotKept(error) => return Err(PassFault::Refused(error)),
        };
        self.found.files.push(FileRead {
            dir: batch.dir.clone(),
            name: file.name.clone(),
            stamp: file.stamp,
            content,
        });
        let node = Node::File {
            mode: file.stamp.permissions(),
            bytes: file.stamp.bytes,
            content,
        };
        Ok((file.name.to_bytes().into(), Child::Leaf(node)))
    }
}
