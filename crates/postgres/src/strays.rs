//! Runs that this process holds by the rows of the server, and does not know of: the answer to a claim was lost, or what was
//! sent to release one did not arrive. This module says when to look for them, and which of them are given back; see
//! [`giving_back`](crate::giving_back).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bonded_kernel::RunId;

use crate::keys::RunNumber;
use crate::lease;

/// How often the rows are looked at where nothing was lost, and for how long they are looked at often.
const LOOK: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Strays(Mutex<StrayLooks>);

#[derive(Debug, Default)]
struct StrayLooks {
    /// When an answer was lost last.
    doubted: Option<Duration>,
    looked: Option<Duration>,
    /// The claims that nobody here knew of at the last look. An answer may have been on its way.
    unknown: BTreeMap<RunId, i64>,
}

/// A run that this process holds by its row.
#[derive(Debug)]
pub(crate) struct HeldRow {
    pub(crate) run: RunId,
    pub(crate) key: RunNumber,
    pub(crate) epoch: i64,
}

impl Strays {
    fn looks(&self) -> MutexGuard<'_, StrayLooks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn doubt(&self) {
        self.looks().doubted = Some(lease::now());
    }

    /// Whether to look; the time until the next look begins now.
    pub(crate) fn is_due(&self) -> bool {
        let (mut looks, now) = (self.looks(), lease::now());
        let is_recent = |then: Option<Duration>| then.is_some_and(|it| now < it + LOOK);
        let looked = *looks.looked.get_or_insert(now);
        let is_due =
            is_recent(looks.doubted) || !looks.unknown.is_empty() || !is_recent(Some(looked));
        if is_due {
            looks.looked = Some(now);
        }
        is_due
    }

    /// Which of those that nobody knows were unknown at the last look too.
    pub(crate) fn twice_unknown(&self, rows: Vec<HeldRow>) -> Vec<HeldRow> {
        let unknown = rows.iter().map(|row| (row.run.clone(), row.epoch));
        let before = std::mem::replace(&mut self.looks().unknown, unknown.collect());
        let mut rows = rows;
        rows.retain(|row| before.get(&row.run) == Some(&row.epoch));
        rows
    }
}
