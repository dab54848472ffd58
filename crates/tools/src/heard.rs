//! Signs of life of a call: what it started has put something out.
//!
//! The listener is known where a call is made, and output is read where its processes are, in the same task. It is for
//! people who watch: nothing that a call does depends on it.

use std::sync::Arc;

/// Called each time that something is put out, which may be often: it must neither wait nor fail.
pub type OnOutput = Arc<dyn Fn() + Send + Sync>;

tokio::task_local! {
    static LISTENER: OnOutput;
}

/// Tells the listener what is put out while this is under way.
pub(crate) async fn by<T>(listener: OnOutput, call: impl Future<Output = T>) -> T {
    LISTENER.scope(listener, call).await
}

/// Something was put out.
pub(crate) fn tell() {
    let _nobody_listens = LISTENER.try_with(|listener| listener());
}
