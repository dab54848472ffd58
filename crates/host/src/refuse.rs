//! Runs that could not begin: on record all the same.
//!
//! Whoever asked for the run finds it under its id with the reason, and no model was asked.

use bonded_kernel::{self as kernel, Catalog, Head, Millis, Run, RunId, RunStarted};
use bonded_state::Store;

use crate::error::HostError;
use crate::host::{Goal, PROGRAM};

/// Records a run that was not given what it needs. It ends as fatal before its first turn, with the reason.
pub async fn refuse(
    store: &dyn Store,
    now: Millis,
    id: &RunId,
    goal: Goal,
    why: &str,
) -> Result<Run, HostError> {
    let catalog = Catalog::new([]).map_err(|source| HostError::Catalog { source })?;
    let mut started = RunStarted::new(goal.text, goal.system, goal.config, catalog);
    started.images = goal.images;
    started.refused = Some(why.into());
    started.program = Some(PROGRAM.into());
    let (run, step) = kernel::start(id.clone(), now, started);
    store.append(Head::EMPTY, step.entries().clone()).await?;
    Ok(run)
}
