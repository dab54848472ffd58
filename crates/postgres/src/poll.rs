//! Waiting for a run to continue: own appends wake at once, other processes tell of theirs, and one look at the server now
//! and then finds what was not told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::RunId;
use bonded_state::StoreError;
use tokio::time::{Instant, sleep};

use crate::run_news::FOLLOWING_AGAIN;
use crate::server::Server;

/// How often to see what is waited for.
const TICK: Duration = Duration::from_millis(100);

const HEADS: &str =
    "SELECT id, head FROM bonded.run JOIN bonded.drive USING (run) WHERE id = ANY($1)";

/// A run that this process follows and does not drive.
struct Following {
    since: Instant,
    /// When its driver was last told so.
    told: Instant,
}

impl Following {
    /// Whether its driver may not have heard yet that it is followed.
    fn is_new(&self) -> bool {
        self.since.elapsed() < FOLLOWING_AGAIN
    }
}

impl Server {
    /// Resolves when the head of a run is beyond `seq`.
    pub(crate) async fn changed(&self, run: &RunId, seq: u64) -> Result<(), StoreError> {
        loop {
            let mut watcher = self.watchers.watch(run);
            let head = self.head(run).await?;
            if let Some(head) = head {
                self.watchers.publish(run, head.seq);
            }
            if watcher.beyond(seq).await.is_some() {
                return Ok(());
            }
        }
    }

    /// Looks for what others wrote, for as long as there is a store.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut following = BTreeMap::new();
        let mut looked = Instant::now();
        loop {
            tokio::select! {
                () = sleep(TICK) => {}
                () = self.news.moved.notified() => {}
            }
            let moved = self.news.take_moved();
            let watched = self.watchers.watched();
            self.follow(&watched, &mut following);
            let is_new = following.values().any(Following::is_new);
            let is_due = looked.elapsed() >= if is_new { TICK } else { self.news.pace() };
            let runs: Vec<RunId> = match is_due {
                true => watched,
                false => watched
                    .into_iter()
                    .filter(|it| moved.contains(it))
                    .collect(),
            };
            if is_due {
                looked = Instant::now();
            }
            if runs.is_empty() {
                continue;
            }
            match self.heads(&runs).await {
                Ok(heads) => {
                    for (run, seq) in heads {
                        let is_newer = self.watchers.publish(&run, seq);
                        let is_new = following.get(&run).is_some_and(Following::is_new);
                        if is_newer && !is_new && !moved.contains(&run) {
                            self.news.miss();
                        }
                    }
                }
                // Who waits looks for themselves, and is told what is wrong.
                Err(_) => self.watchers.dismiss(),
            }
        }
    }

    /// Tells the drivers of runs that they are followed, again and again. What this process drives it appends to itself, and
    /// others tell of what they append there.
    fn follow(&self, watched: &[RunId], following: &mut BTreeMap<RunId, Following>) {
        let now = Instant::now();
        // They come sorted.
        following.retain(|run, _| watched.binary_search(run).is_ok());
        let mut untold = vec![];
        for run in watched.iter().filter(|run| self.held.get(run).is_none()) {
            match following.get_mut(run) {
                Some(known) if now - known.told < FOLLOWING_AGAIN => continue,
                Some(known) => known.told = now,
                None => {
                    let (since, told) = (now, now);
                    following.insert(run.clone(), Following { since, told });
                }
            }
            untold.push(run.clone());
        }
        if !untold.is_empty() {
            self.news.tell_following(untold);
        }
    }

    async fn heads(&self, runs: &[RunId]) -> Result<Vec<(RunId, u64)>, StoreError> {
        let ids: Vec<&str> = runs.iter().map(RunId::as_str).collect();
        let rows = self.rows(self.connection().await?, HEADS, &[&ids]).await?;
        let heads = rows.iter().filter_map(|row| {
            let run = RunId::new(row.get(0)).ok()?;
            Some((run, row.get::<_, i32>(1).unsigned_abs().into()))
        });
        Ok(heads.collect())
    }
}
