//! Which runs read something that nobody vouches for. Of a run that has ended that never changes: it is looked up once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bonded_host::Host;
use bonded_kernel::RunId;
use bonded_state::Listed;

/// More runs than a list looks at; what is forgotten is read again.
const KEPT_MAX: usize = 20_000;

/// What is known of ended runs.
#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<BTreeMap<RunId, bool>>);

impl Marks {
    /// Whether a run is marked; a log that cannot be read says nothing.
    pub(super) async fn of(&self, host: &Host, listed: &Listed) -> bool {
        let Ok(ends) = &listed.ends else {
            return false;
        };
        let known = |it: &Mutex<BTreeMap<RunId, bool>>| {
            let known = it.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&listed.run).copied()
        };
        if let Some(marked) = known(&self.0) {
            return marked;
        }
        // Without a policy nothing marks a run but an agent that it calls.
        let config = ends.first.event.started().map(|it| &it.config);
        let has_agents = |agent: &bonded_kernel::AgentConfig| !agent.agents.is_empty();
        let may_be = config
            .is_some_and(|it| it.policy.is_some() || it.agent.as_deref().is_some_and(has_agents));
        let marked = match may_be {
            true => host
                .load(&listed.run)
                .await
                .is_ok_and(|run| run.marked_by().is_some()),
            false => false,
        };
        if ends.last.event.ended().is_some() {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= KEPT_MAX {
                known.clear();
            }
            known.insert(listed.run.clone(), marked);
        }
        marked
    }
}
