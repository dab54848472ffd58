//! Filesystem work outside the async threads, and how it is told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fault::{self, ToolFault};

/// Tells work on another thread that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Work calls this between its pieces, and before anything that cannot be undone.
    pub(crate) fn check(&self) -> Result<(), ToolFault> {
        if self.0.load(Ordering::Acquire) {
            return Err(ToolFault::new(fault::CANCELLED, "the call was stopped"));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn cancelled() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

/// Runs `work` where it may block. Dropping the future cancels it; a panic in it unwinds here.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Cancel) -> Result<T, ToolFault> + Send + 'static,
) -> Result<T, ToolFault> {
    let cancel = Cancel::default();
    let _stop = CancelOnDrop(cancel.clone());
    match tokio::task::spawn_blocking(move || work(&cancel)).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(ToolFault::new(fault::CANCELLED, error.to_string())),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn dropping_the_future_cancels_the_work() {
        let (send, receive) = std::sync::mpsc::channel();
        let work = blocking(move |cancel| {
            while cancel.check().is_ok() {
                std::thread::yield_now();
            }
            send.send(()).expect("the test waits for it");
            Ok(())
        });
        let dropped = tokio::time::timeout(Duration::from_millis(1), work).await;
        assert!(dropped.is_err());
        let stopped = receive.recv_timeout(Duration::from_secs(30));
        assert_eq!(stopped, Ok(()));
    }

    #[tokio::test]
    #[should_panic(expected = "out of cheese")]
    async fn a_panic_in_the_work_unwinds_to_the_caller() {
        let result: Result<(), _> = blocking(|_| panic!("out of cheese")).await;
        assert!(result.is_ok());
    }
}
