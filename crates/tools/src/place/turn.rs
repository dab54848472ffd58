//! Calls of this process that change one file come one after the other.
//!
//! Locks on files do not do for that: a file that is replaced takes its lock with it, and a file that does not
//! exist has none. A turn is for a place, and is had before the file is opened.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fault::ToolFault;
use crate::protected::Identity;
use crate::task::Cancel;

/// The directory that holds the file, and the path from there.
type TurnKey = (Identity, PathBuf);

/// How long it may take until a waiting call notices that nobody waits for it any more.
const LOOK: Duration = Duration::from_millis(50);

/// There is one for each place that is in use, and it goes with the last who wants it.
#[derive(Default)]
struct WaitingLine {
    is_taken: bool,
    waiting: usize,
    free: Arc<Condvar>,
}

static LINES: LazyLock<Mutex<HashMap<TurnKey, WaitingLine>>> = LazyLock::new(Mutex::default);

fn lines() -> MutexGuard<'static, HashMap<TurnKey, WaitingLine>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to change a file, given up when it is dropped.
pub(super) struct FileTurn(TurnKey);

impl FileTurn {
    /// It blocks the thread. Nobody is promised the next turn: whoever is woken or comes first has it.
    pub(super) fn take(key: TurnKey, cancel: &Cancel) -> Result<Self, ToolFault> {
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

impl Drop for FileTurn {
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
