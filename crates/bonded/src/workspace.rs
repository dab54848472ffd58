//! The workspace on the command line: its directory, its configuration, and what is composed to be served.

pub(crate) mod config_file;
mod meaning;
pub(crate) mod notebook;
pub(crate) mod open_workspace;
pub(crate) mod serving;

use bonded_host::with_causes;
use bonded_workspace::store::WorkspaceError;

use crate::error::{CliError, Code};

/// A store that failed, as a person on a terminal meets it.
pub(crate) fn store_error(error: WorkspaceError) -> CliError {
    match error {
        WorkspaceError::Store(error) => error.into(),
        WorkspaceError::Refused(refused) => {
            let message = format!("{}: {}", refused.code(), with_causes(&refused));
            CliError::new(Code::Refused, message)
        }
    }
}
