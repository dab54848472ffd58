//! One pass over a tree: what lies where, and what is in it. Several threads share the directories among them.

mod listing;
mod overlay;
mod pending;
mod queue;
mod verify;

use std::ffi::{CStr, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, available_parallelism};

use bonded_work_rules::{Child, Node, Tree};
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use super::content::{Read, Reader};
use super::error::TreeError;
use super::looks::{Eye, Looking, Looks};
use super::objects::Objects;
use super::stamp::{Stamp, now_ns, see_open};
use super::stat_cache::{Record, StatCache};
use listing::Unread;
use pending::Pending;
use queue::Queue;

/// More threads than this wait for each other.
const THREADS_MAX: usize = 8;

/// What a pass goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All but what is named `.git`.
    WithoutGit,
    Everything,
}

/// Why a pass came to nothing.
#[derive(Debug)]
pub(super) enum PassFault {
    /// The tree changed under it. Another pass may go better.
    Changed(PathBuf),
    Refused(TreeError),
}

/// What a pass found.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) tree: Result<Tree, PassFault>,
    /// The files that had to be read and had settled; also of a pass that came to nothing.
    pub(super) fresh: Vec<Record>,
    pub(super) files_read: usize,
    /// What is named `.git` and was left out.
    pub(super) git: Vec<Box<[u8]>>,
    /// Nothing where nobody asked for them.
    pub(super) looks: Looks,
}

#[derive(Debug)]
pub(super) struct Pass<'a> {
    root: OwnedFd,
    path: &'a Path,
    device: u64,
    extent: Extent,
    /// Where contents are kept; where there is none, they are hashed only.
    objects: Option<&'a Objects>,
    /// What the directory lies over, if it is the upper one of an overlay.
    over: Option<&'a Tree>,
    /// With which looks are taken, if they are.
    eye: Option<&'a Eye>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        path: &'a Path,
        extent: Extent,
        objects: Option<&'a Objects>,
    ) -> Result<Self, TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR => TreeError::NoDirectory {
                path: path.to_owned(),
            },
            _ => TreeError::unreadable(path)(errno),
        })?;
        let seen = see_open(&root).map_err(TreeError::unreadable(path))?;
        Ok(Self {
            root,
            path,
            device: seen.device,
            extent,
            objects,
            over: None,
            eye: None,
        })
    }

    /// Takes the looks of the tree too.
    pub(super) fn with_eye(self, eye: &'a Eye) -> Self {
        Self {
            eye: Some(eye),
            ..self
        }
    }

    /// Goes over the upper directory of an overlay: what the tree below it has and this does not hide is there too.
    pub(super) fn over(self, below: &'a Tree) -> Self {
        Self {
            over: Some(below),
            ..self
        }
    }

    pub(super) fn device(&self) -> u64 {
        self.device
    }

    /// Goes over the tree once. What the cache knows is not read.
    pub(super) fn run(&self, cache: &StatCache) -> Passed {
        let begun_ns = now_ns();
        let tree = Mutex::new(None);
        let queue = Queue::new(Pending::root(self.over.map(Tree::root)));
        let threads = self.threads();
        let worker = || {
            let mut worker = Worker::new(self, cache, &queue, &tree, begun_ns);
            worker.run();
            worker.found
        };
        let found: Vec<Found> = std::thread::scope(|scope| {
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
        Passed {
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

    /// A directory of the tree, whatever others do to the tree meanwhile.
    fn open_directory(&self, path: &[u8]) -> Result<OwnedFd, PassFault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let from_root = if path.is_empty() { b"." } else { path };
        openat2(&self.root, from_root, flags, Mode::empty(), resolve)
            .map_err(|errno| self.fault(path, errno))
    }

    fn full(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }

    fn changed(&self, path: &[u8]) -> PassFault {
        PassFault::Changed(self.full(path))
    }

    fn fault(&self, path: &[u8], errno: Errno) -> PassFault {
        let path = self.full(path);
        PassFault::Refused(match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::AGAIN | Errno::STALE => {
                return PassFault::Changed(path);
            }
            Errno::XDEV => TreeError::Mount { path },
            Errno::NAMETOOLONG => TreeError::TooLong { path },
            _ => TreeError::unreadable(path)(errno),
        })
    }
}

/// A file that changes after the pass began has another stamp then, if it had settled before.
fn settled(found: &[Found], begun_ns: i64) -> Vec<Record> {
    let files = found.iter().flat_map(|found| &found.files);
    let settled = files.filter(|file| file.stamp.had_settled(begun_ns));
    settled
        .map(|file| Record {
            stamp: file.stamp,
            content: file.content,
        })
        .collect()
}

/// What one thread found and will be looked at again.
#[derive(Debug, Default)]
pub(super) struct Found {
    directories: Vec<(Arc<Pending>, Stamp)>,
    files: Vec<FileRead>,
    git: Vec<Box<[u8]>>,
    looks: Looks,
}

#[derive(Debug)]
struct FileRead {
    dir: Arc<Pending>,
    name: Box<CStr>,
    stamp: Stamp,
    content: bonded_kernel::Hash,
}

/// What is to be done next.
#[derive(Debug)]
enum Job {
    List(Arc<Pending>),
    Read(Batch),
}

/// Files of one directory that are to be read.
#[derive(Debug)]
struct Batch {
    dir: Arc<Pending>,
    open: Arc<OwnedFd>,
    files: Vec<Unread>,
}

struct Worker<'a> {
    pass: &'a Pass<'a>,
    cache: &'a StatCache,
    /// Where in the cache the last file was found.
    near: usize,
    queue: &'a Queue,
    tree: &'a Mutex<Option<Tree>>,
    reader: Reader<'a>,
    buffer: Vec<u8>,
    looking: Option<Looking<'a>>,
    found: Found,
}

impl<'a> Worker<'a> {
    fn new(
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
            reader: Reader::new(pass.objects),
            buffer: Vec::with_capacity(listing::BUFFER_BYTES),
            found: Found::default(),
        }
    }

    fn run(&mut self) {
        while let Some(job) = self.queue.next() {
            let done = match job {
                Job::List(dir) => self.list(&dir),
                Job::Read(batch) => self.read(&batch),
            };
            self.queue.done(done.err());
        }
    }

    fn read(&mut self, batch: &Batch) -> Result<(), PassFault> {
        let mut children = Vec::with_capacity(batch.files.len());
        for file in &batch.files {
            children.push(self.read_file(batch, file)?);
        }
        batch.dir.add(children);
        pending::part_done(&batch.dir, self.tree);
        Ok(())
    }

    fn read_file(&mut self, batch: &Batch, file: &Unread) -> Result<(Box<[u8]>, Child), PassFault> {
        let path = || batch.dir.child(file.name.to_bytes());
        let read = self.reader.read(&batch.open, &file.name, file.stamp.bytes);
        let content = match read {
            Read::Content(content) => content,
            Read::Changed => return Err(self.pass.changed(&path())),
            Read::Unreadable(source) => {
                let path = self.pass.full(&path());
                return Err(PassFault::Refused(TreeError::Unreadable { path, source }));
            }
            Read::NotKept(error) => return Err(PassFault::Refused(error)),
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
