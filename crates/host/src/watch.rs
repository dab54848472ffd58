//! What becomes durable of the runs that this process drives, for those who measure them.
//!
//! It is told after the store has acknowledged a step, so that what is measured is what the log says. A run comes out the
//! same whether it is watched or not, and costs nothing more where it is not.

use std::time::Duration;

use bonded_kernel::Entry;

/// Watches the runs that are driven.
pub trait Watch: Send + Sync {
    /// A run is about to be driven. It counts as driven from its first durable step on, until this is dropped.
    fn begin(&self) -> Box<dyn WatchedRun>;
}

/// One run while it is driven. The driver waits for whatever is done here, so that nothing here may wait.
pub trait WatchedRun: Send + Sync {
    /// What the log held before the run was taken up: all of it, in parts.
    fn past(&mut self, entries: &[Entry]);

    /// A step is durable, and the store took so long.
    fn durable(&mut self, entries: &[Entry], took: Duration);

    /// The log holds these too: another process wrote them, or a step is durable although the store reported an error.
    fn heard(&mut self, entries: &[Entry]);

    /// The store refused a step, or did not answer.
    fn not_durable(&mut self);

    /// This process can no longer count on holding the run.
    fn lost(&mut self);
}
