//! A transport that plays the replies of a recorded run again.
//!
//! It is what makes a replay cheap and repeatable: the tools are real and only the model is not. What is asked
//! for is not compared with what was asked then; where the run goes another way, the state that it comes to
//! differs, and that is compared.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bonded_kernel::{Failure, FailureClass, Reply, Request};
use bonded_transport::Transport;
use futures_util::future::BoxFuture;

/// Plays recorded replies, each once, in their order. It asks nobody.
#[derive(Debug)]
pub struct Recording {
    replies: Mutex<VecDeque<Reply>>,
}

impl Recording {
    /// `replies` in the order in which they were asked for.
    pub fn new(replies: Vec<Reply>) -> Self {
        Self {
            replies: Mutex::new(replies.into()),
        }
    }
}

/// A recording that is used up fails as a quota does, which ends the run at once instead of trying again.
impl Transport for Recording {
    fn send(&self, _: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = replies.pop_front().ok_or_else(|| {
            let message =
                "the recording has no further reply: the run took another course this time";
            Failure::new(FailureClass::Quota, message)
        });
        Box::pin(std::future::ready(reply))
    }
}
