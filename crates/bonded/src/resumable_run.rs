//! The run that a person at a terminal watches, once it is on record: what is resumed after a second Ctrl-C, when nothing
//! can be asked of the store any more.

use std::sync::{Mutex, PoisonError};

use bonded_kernel::RunId;

static RUN: Mutex<Option<RunId>> = Mutex::new(None);

/// Notes a run that is on record.
pub(crate) fn set(run: &RunId) {
    *RUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.clone());
}

pub(crate) fn get() -> Option<RunId> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
