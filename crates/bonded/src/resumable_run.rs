//! The run that a person at a terminal watches, once it is on record: what is resumed after a second Ctrl-C, when nothing
//! can be asked of the store any more.

use std::sync::{Mutex, PoisonError};

use bonded_host::shapes::text::short_id;
use bonded_kernel::RunId;

/// What a person does with a run that was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    #[default]
    Resume,
    /// It is a conversation.
    Chat,
}

static RUN: Mutex<(Option<RunId>, Next)> = Mutex::new((None, Next::Resume));

/// Notes a run that is on record.
pub(crate) fn set(run: &RunId) {
    RUN.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(run.clone());
}

/// Every run that is noted is continued in this way.
pub(crate) fn continued_by(next: Next) {
    RUN.lock().unwrap_or_else(PoisonError::into_inner).1 = next;
}

/// The line that names the command, where a run is noted.
pub(crate) fn next_command() -> Option<String> {
    let (run, next) = &*RUN.lock().unwrap_or_else(PoisonError::into_inner);
    let id = short_id(run.as_ref()?);
    Some(match next {
        Next::Resume => format!("Resume: bonded resume {id}"),
        Next::Chat => format!("Continue: bonded chat --continue {id}"),
    })
}
