//! A lock on a file that calls of all processes of this program take before they change it.
//!
//! It keeps them from working in vain; what holds does not depend on it. So somebody who locks a file and never lets go
//! costs a while, and nothing else.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::fault::ToolFault;
use crate::task::Cancel;

/// After that the call goes on without the lock.
const PATIENCE: Duration = Duration::from_secs(3);
/// The first pause between two tries; each is twice as long as the one before.
const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(2);

/// Waits for the lock, which ends when the file is closed.
pub(super) fn take(file: &File, cancel: &Cancel) -> Result<(), ToolFault> {
    let began = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if began.elapsed() < PATIENCE => {}
            Err(Errno::INTR) => continue,
            // Had, or not to be had on this file system, or kept by somebody for too long.
            _ => return Ok(()),
        }
        cancel.check()?;
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
