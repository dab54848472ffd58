//! The process in which copies of trees are mounted.

use bonded_work::Watcher;
use bonded_work::tree::enter_namespace;

use crate::args::WorkArgs;

/// A process whose file systems are its own: copies of trees are mounted there, and seen by nobody else. It must be
/// made while the process has one thread.
pub(crate) struct Ground {
    pub(crate) entered: Result<(), String>,
    /// Nobody where the process sees the person's others itself.
    pub(crate) watcher: Option<Watcher>,
}

impl Ground {
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
