//! The process in which copies of trees are mounted.
//!
//! Mounting needs a namespace, and one can be entered only while there is a single thread: so it comes before the
//! runtime. Where that is impossible, copies are made in another way, and the reason is kept for whoever asks.

use bonded_work::tree::{Watcher, enter_namespace};

use crate::args::WorkArgs;

/// A process whose file systems are its own: copies of trees are mounted there, and seen by nobody else. It must be
/// made while the process has one thread.
pub(crate) struct Ground {
    pub(crate) entered: Result<(), String>,
    /// Nobody where the process sees the person's others itself.
    pub(crate) watcher: Option<Watcher>,
}

impl Ground {
    /// The watcher is started before the namespace is entered, or it would be inside as well.
    pub(crate) fn enter(args: &WorkArgs) -> Self {
        if args.dry_run {
            let entered = Err("nothing runs".to_owned());
            let watcher = None;
            return Self { entered, watcher };
        }
        let watcher = std::env::current_exe().and_then(|program| Watcher::start(&program));
        Self {
            entered: enter_namespace(),
            watcher: watcher.ok(),
        }
    }
}
