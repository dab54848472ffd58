//! Who drives a run.

/// Who drives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// No living process.
    Nobody,
    /// This process, through this store.
    This,
    /// Another process, and it lives.
    Other,
    /// No living process: a worker will take it from a queue.
    Queue,
}
