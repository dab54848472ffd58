//! The process in which copies of trees are mounted.
//!
//! Mounting needs a namespace, and one can be entered only while there is a single thread: so it comes before the
//! runtime. Where that is impossible, copies are made in another way, and the reason is kept for whoever asks.

use bonded_work::tree::{Watcher, enter_namespace};

use crate::args::Command;

/// A process whose file systems are its own: copies of trees are mounted there, and seen by nobody else. It must be
/// made while the process has one thread.
pub(crate) struct Ground {
    pub(crate) entered: Result<(), String>,
    /// Nobody where the process sees the person's others itself.
    pub(crate) watcher: Option<Watcher>,
}

impl Ground {
    /// What a command needs of it, if it makes copies of trees.
    pub(crate) fn enter(command: &Command) -> Option<Self> {
        if let Command::Work(args) = command {
            return Some(match args.dry_run {
                true => Self {
                    entered: Err("nothing runs".to_owned()),
                    watcher: None,
                },
                false => Self::of_a_tree(),
            });
        }
        // A worker's copies are of trees that lie elsewhere: nobody has files of them open.
        let is_worker = matches!(command, Command::Worker(args) if args.items);
        is_worker.then(|| Self {
            entered: enter_namespace(),
            watcher: None,
        })
    }

    /// The watcher is started before the namespace is entered, or it would be inside as well.
    fn of_a_tree() -> Self {
        let watcher = std::env::current_exe().and_then(|program| Watcher::start(&program));
        Self {
            entered: enter_namespace(),
            watcher: watcher.ok(),
        }
    }
}
