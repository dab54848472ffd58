//! What disturbs a program while it works, and ends when that has ended.

use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a thread to end when it is dropped, also where what it disturbs panics: the thread would go on for ever, and the
/// test with it.
#[derive(Debug)]
pub struct EndsDisturbance<'a>(pub &'a AtomicBool);

impl Drop for EndsDisturbance<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
