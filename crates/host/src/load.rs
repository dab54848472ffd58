//! A run from its log, in parts: a long log is never in memory as a whole.
//!
//! Each part is checked as it is replayed: a log that does not follow from itself is refused, wherever
//! the damage is.

use bonded_kernel::{BadLog, Entry, Run, RunId, replay, replay_on};
use bonded_state::Store;

use crate::error::HostError;

/// How many entries are read at a time.
pub(crate) const PART_ENTRIES: usize = 128;

/// Rebuilds a run from its log.
pub async fn load_run(store: &dyn Store, id: &RunId) -> Result<Run, HostError> {
    load_run_seen(store, id, |_| {}).await
}

/// The same, with each part of the log shown on the way.
pub(crate) async fn load_run_seen(
    store: &dyn Store,
    id: &RunId,
    mut see: impl FnMut(&[Entry]) + Send,
) -> Result<Run, HostError> {
    let bad_log = |source: BadLog| HostError::BadLog {
        run: id.clone(),
        source,
    };
    let mut part = store.load_part(id, 0, PART_ENTRIES).await?;
    let mut run = replay(&part).map_err(bad_log)?;
    see(&part);
    while part.len() >= PART_ENTRIES {
        part = store.load_part(id, run.head().seq, PART_ENTRIES).await?;
        replay_on(&mut run, &part).map_err(bad_log)?;
        see(&part);
    }
    Ok(run)
}
