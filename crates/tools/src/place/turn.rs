//! Calls of this process that change one file come one after the other.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fault::ToolFault;
use crate::protected::Identity;
use crate::task::Cancel;

/// The directory that holds the file, and the path from there.
type Key = (Identity, PathBuf);

/// How long it may take until a waiting call notices that nobody waits for it any more.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Line {
    is_taken: bool,
    waiting: usize,
    free: Arc<Condvar>,
}

static LINES: LazyLock<Mutex<HashMap<Key, Line>>> = LazyLock::new(Mutex::default);

fn lines() -> MutexGuard<'static, HashMap<Key, Line>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to change a file, given up when it is dropped.
pub(super) struct Turn(Key);

impl Turn {
    pub(super) fn take(key: Key, cancel: &Cancel) -> Result<Self, ToolFault> {
        let mut lines = lines();
        let line = lines.entry(key.clone()).or_default();
        if !line.is_taken {
            line.is_taken = true;
            return Ok(Self(key));
        }
        line.waiting += 1;
        let free = line.free.clone();
        loop {
            let (again, _) = free
                .wait_timeout(lines, LOOK)
                .unwrap_or_else(PoisonError::into_inner);
            lines = again;
            let stopped = cancel.check();
            let line = lines.entry(key.clone()).or_default();
            if stopped.is_ok() && line.is_taken {
                continue;
            }
            line.waiting -= 1;
            if let Err(fault) = stopped {
                // The next in line may have been woken in its stead.
                line.free.notify_one();
                return Err(fault);
            }
            line.is_taken = true;
            return Ok(Self(key));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lines = lines();
        let Some(line) = lines.get_mut(&self.0) else {
            return;
        };
        line.is_taken = false;
        match line.waiting {
            0 => drop(lines.remove(&self.0)),
            _ => line.free.notify_one(),
        }
    }
}
