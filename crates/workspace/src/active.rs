//! The runs that are driven here.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bonded_kernel::{RuleId, RunId};
use bonded_workspace_rules::{AutomationRun, Exclusive};
use tokio_util::sync::CancellationToken;

/// The runs that are driven here, and what they use alone.
#[derive(Debug, Default)]
pub(super) struct Active(Mutex<BTreeMap<RunId, Drive>>);

#[derive(Debug)]
struct Drive {
    cancel: CancellationToken,
    exclusive: Vec<Exclusive>,
    whose: String,
    rule: RuleId,
}

impl Active {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Drive>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cancel(&self, run: &RunId) {
        if let Some(drive) = self.lock().get(run) {
            drive.cancel.cancel();
        }
    }

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

    pub(super) fn end(&self, run: &RunId) {
        self.lock().remove(run);
    }
}
