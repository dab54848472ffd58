//! A transport that says again what was said before.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bonded_kernel::{Failure, FailureClass, Reply, Request};
use bonded_transport::{BoxFuture, Transport};

/// Plays recorded replies, each once, in their order. It asks nobody.
#[derive(Debug)]
pub struct Recorded {
    replies: Mutex<VecDeque<Reply>>,
}

impl Recorded {
    pub fn new(replies: Vec<Reply>) -> Self {
        Self {
            replies: Mutex::new(replies.into()),
        }
    }
}

impl Transport for Recorded {
    fn send(&self, _: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = replies.pop_front().ok_or_else(|| {
            let message =
                "the recording has no further reply: the run went another way than it did then";
            Failure::new(FailureClass::Quota, message)
        });
        Box::pin(std::future::ready(reply))
    }
}
