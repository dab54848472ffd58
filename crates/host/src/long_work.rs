//! Work that takes a while and waits for nothing.
//!
//! A runtime with a single thread has nobody to hand its tasks to; the work is simply done there.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does something that may take long. Where other tasks share this thread and there are other threads, they go on there.
pub fn off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
