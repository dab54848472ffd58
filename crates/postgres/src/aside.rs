//! Runs that are set aside: another store continues them.

use bonded_kernel::RunId;
use bonded_state::{RunAside, StoreError};

use crate::keys::ASIDE;

/// The error of whoever wants to drive or to continue a run that is set aside.
pub(crate) fn elsewhere(run: &RunId, state: i16, why: Option<&str>) -> Option<StoreError> {
    let aside = (state >= ASIDE).then(|| why.and_then(RunAside::from_mark));
    aside.map(|aside| StoreError::Elsewhere {
        run: run.clone(),
        aside: aside.unwrap_or_else(|| RunAside::CopyOf("another store".into())),
    })
}
