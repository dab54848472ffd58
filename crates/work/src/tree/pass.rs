//! One pass over a tree: what lies where, and what is in it. Several threads share the directories among them.
//!
//! Threads take directories and batches of files from a common queue. Each directory counts its parts, and
//! becomes a part of the one above when the last of them is done, so that nobody waits for anybody. When all is
//! done, everything that was read is looked at once more: only if nothing moved was the tree ever as it was
//! found.

mod fault;
mod job;
mod listing;
mod overlay;
mod pending;
mod queue;
mod root;
mod verify;
mod worker;

use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism};

use bonded_work_rules::Tree;

use super::looks::Looks;
use super::stamp::now_ns;
use super::stat_cache::{Record, StatCache};
pub(super) use fault::PassFault;
use job::{Findings, PassJob};
use pending::Pending;
use queue::Queue;
pub(super) use root::{Extent, Pass};
use worker::Worker;

/// More threads than this wait for each other.
const THREADS_MAX: usize = 8;

/// What a pass found.
#[derive(Debug)]
pub(super) struct PassResult {
    pub(super) tree: Result<Tree, PassFault>,
    /// The files that had to be read and had settled; also of a pass that came to nothing.
    pub(super) fresh: Vec<Record>,
    pub(super) files_read: usize,
    /// What is named `.git` and was left out.
    pub(super) git: Vec<Box<[u8]>>,
    /// Nothing where nobody asked for them.
    pub(super) looks: Looks,
}

impl Pass<'_> {
    /// Goes over the tree once. What the cache knows is not read.
    pub(super) fn run(&self, cache: &StatCache) -> PassResult {
        let begun_ns = now_ns();
        let tree = Mutex::new(None);
        let queue = Queue::new(Pending::root(self.over.map(Tree::root)));
        let threads = self.threads();
        let worker = || {
            let mut worker = Worker::new(self, cache, &queue, &tree, begun_ns);
            work_off(&mut worker);
            worker.found
        };
        let found: Vec<Findings> = std::thread::scope(|scope| {
            // Where the system gives no more threads, those that there are do it all.
            let others = (1..threads).flat_map(|_| Builder::new().spawn_scoped(scope, worker));
            let others: Vec<_> = others.collect();
            let mut found = vec![worker()];
            let joined = others.into_iter().map(|other| other.join());
            found.extend(joined.map(|found| found.expect("a worker does not panic")));
            found
        });
        let fault = queue.into_fault();
        let verdict = fault.map_or_else(|| verify::unchanged(self, &found), Err);
        let tree = tree.into_inner().unwrap_or_else(PoisonError::into_inner);
        PassResult {
            tree: verdict.map(|()| tree.expect("the root is done when everything is")),
            fresh: settled(&found, begun_ns),
            files_read: found.iter().map(|found| found.files.len()).sum(),
            looks: found
                .iter()
                .fold(Looks::default(), |all, it| all.and(it.looks)),
            git: found.into_iter().flat_map(|found| found.git).collect(),
        }
    }

    /// An upper directory is small, and there may be many at a time.
    fn threads(&self) -> usize {
        match self.over {
            Some(_) => 1,
            None => available_parallelism().map_or(1, |it| it.get().min(THREADS_MAX)),
        }
    }
}

/// Does what is left to do, with the other threads, until nothing is.
fn work_off(worker: &mut Worker<'_>) {
    while let Some(job) = worker.queue.next() {
        let done = match job {
            PassJob::List(dir) => worker.list(&dir),
            PassJob::Read(batch) => worker.read(&batch),
        };
        worker.queue.done(done.err());
    }
}

/// A file that changes after the pass began has another stamp then, if it had settled before.
fn settled(found: &[Findings], begun_ns: i64) -> Vec<Record> {
    let files = found.iter().flat_map(|found| &found.files);
    let settled = files.filter(|file| file.stamp.had_settled(begun_ns));
    settled
        .map(|file| Record {
            stamp: file.stamp,
            content: file.content,
        })
        .collect()
}
