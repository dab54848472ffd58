//! When the list of runs has changed: one look for all pages, and none while nobody has a page open.
//!
//! A store has no word for "some run went on", and runs are driven by other processes. So the newest runs are looked at
//! a few times a second, and only if the files of the store have changed since the last look.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use bonded_kernel::Hash;
use bonded_state::{ListFilter, Store};
use tokio::sync::watch;

/// Between two looks at the files.
const PAUSE: Duration = Duration::from_millis(250);
/// After a change: the pages ask for the list again then, so that changes are told together.
const CHANGED_PAUSE: Duration = Duration::from_millis(500);
/// A look is made at least so often: a process that dies changes no file, but its runs are interrupted then.
const LOOK_AFTER: u32 = 8;
/// So many of the newest are compared.
const COMPARED: usize = 200;

/// Counts the changes of the list.
pub(super) struct ListWatch {
    store: Arc<dyn Store>,
    /// The channel of the task that looks, as long as a page listens.
    changes: Mutex<Weak<watch::Sender<u64>>>,
}

/// What one page holds: the task that looks ends with the last of them.
pub(super) struct ListChanges {
    changes: watch::Receiver<u64>,
    _sender: Arc<watch::Sender<u64>>,
}

impl ListChanges {
    /// The list's version once it is another one. It may be given up at any time.
    pub(super) async fn next(&mut self) -> u64 {
        // The task that looks lives as long as we do.
        if self.changes.changed().await.is_err() {
            return std::future::pending().await;
        }
        *self.changes.borrow_and_update()
    }
}

impl ListWatch {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            changes: Mutex::default(),
        }
    }

    /// From now on.
    pub(super) fn changes(&self) -> ListChanges {
        let mut held = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = held.upgrade().unwrap_or_else(|| {
            let sender = Arc::new(watch::Sender::new(0));
            *held = Arc::downgrade(&sender);
            tokio::spawn(look(self.store.clone(), held.clone()));
            sender
        });
        ListChanges {
            changes: sender.subscribe(),
            _sender: sender,
        }
    }
}

/// Looks until no page is left.
async fn look(store: Arc<dyn Store>, changes: Weak<watch::Sender<u64>>) {
    let (mut seen, mut stamps, mut pauses) = (None, vec![], 0);
    let mut pause = PAUSE;
    loop {
        tokio::time::sleep(std::mem::replace(&mut pause, PAUSE)).await;
        let Some(changes) = changes.upgrade() else {
            return;
        };
        let now = stamps_of(&*store);
        pauses += 1;
        if now == stamps && pauses < LOOK_AFTER {
            continue;
        }
        (stamps, pauses) = (now, 0);
        // A store that cannot be read now is looked at again.
        let Ok(print) = print(&*store).await else {
            continue;
        };
        // The first look counts as a change: whatever happened before it, the pages have not been told of.
        if seen.replace(print) != Some(print) {
            changes.send_modify(|version| *version += 1);
            pause = CHANGED_PAUSE;
        }
    }
}

/// Length and time of each file of the store.
fn stamps_of(store: &dyn Store) -> Vec<Option<(u64, SystemTime)>> {
    let files = store.files();
    let stamp = |file: &std::path::PathBuf| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    files.iter().map(stamp).collect()
}

/// Of which runs there are, how far they are and whether somebody drives them.
async fn print(store: &dyn Store) -> Result<Hash, bonded_state::StoreError> {
    let filter = ListFilter {
        prefix: None,
        limit: COMPARED,
    };
    let mut bytes = vec![];
    for listed in store.list(filter).await? {
        bytes.extend_from_slice(listed.run.as_str().as_bytes());
        let last = listed.ends.as_ref().map_or(0, |ends| ends.last.seq);
        bytes.extend_from_slice(&last.to_le_bytes());
        bytes.push(listed.held as u8);
    }
    Ok(Hash::of(&bytes))
}
