//! The runs that are driven here.
//!
//! This is memory of one process, not of the store: a run that is under way and not in here is taken up by the runner.
//! It upholds two things: no run is driven twice at once, and no two runs use the same memory, tree or schedule at
//! once. All of it is one lock, held for a look and never while something is awaited.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_kernel::{RuleId, RunId};
use bonded_workspace_rules::{AutomationRun, Exclusive};
use tokio_util::sync::CancellationToken;

/// The runs that are driven here, and what they use alone.
#[derive(Debug, Default)]
pub(super) struct Active(Mutex<BTreeMap<RunId, Drive>>);

/// What is known of a run while it is driven.
#[derive(Debug)]
struct Drive {
    cancel: CancellationToken,
    exclusive: Vec<Exclusive>,
    whose: String,
    rule: RuleId,
}

impl Active {
    /// A panic while the lock was held leaves the map as it was, which is as good as ever.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Drive>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever drives the run. Nothing happens where nobody here does.
    pub(super) fn cancel(&self, run: &RunId) {
        if let Some(drive) = self.lock().get(run) {
            drive.cancel.cancel();
        }
    }

    /// How many there are, for the bound on concurrent runs.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// How many of them are somebody's.
    pub(super) fn count_of(&self, whose: &str) -> usize {
        let active = self.lock();
        active.values().filter(|it| it.whose == whose).count()
    }

    /// How many of them are a rule's.
    pub(super) fn count_of_rule(&self, rule: RuleId) -> usize {
        let active = self.lock();
        active.values().filter(|it| it.rule == rule).count()
    }

    /// What an engine before this one drove is nobody's now.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// `None` where the run is driven already, or another uses what it needs.
    pub(super) fn begin(
        &self,
        run: &AutomationRun,
        exclusive: Vec<Exclusive>,
        whose: &str,
    ) -> Option<CancellationToken> {
        let mut active = self.lock();
        let is_used = |it: &Exclusive| active.values().any(|drive| drive.exclusive.contains(it));
        if active.contains_key(&run.run_id) || exclusive.iter().any(is_used) {
            return None;
        }
        let cancel = CancellationToken::new();
        let drive = Drive {
            cancel: cancel.clone(),
            exclusive,
            whose: whose.to_owned(),
            rule: run.rule_id,
        };
        active.insert(run.run_id.clone(), drive);
        Some(cancel)
    }

    /// Lets go of what the run used; the next one that waits for it can begin.
    pub(super) fn end(&self, run: &RunId) {
        self.lock().remove(run);
    }
}
