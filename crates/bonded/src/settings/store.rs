//! Where things are kept, and what is opened there.
//!
//! Three ways to open: to begin runs, which makes the file; to go on with them, which needs it; to look, which does
//! not even need to write it. A command takes the weakest that does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_host::Host;
use bonded_host::agent::AgentTools;
use bonded_host::trust::Stance;
use bonded_serve::workspace::known_dirs::{KnownDir, KnownDirs};
use bonded_state::{SqliteStore, Store};
use etcetera::BaseStrategy as _;

use crate::agents::{self, Verbosity};
use crate::dirs;
use crate::error::{CliError, Code};

/// The store's file: what was said, else the platform's data directory.
pub(crate) fn store_path(argument: Option<&Path>) -> Result<PathBuf, CliError> {
    if let Some(path) = argument {
        return Ok(path.to_owned());
    }
    let base = etcetera::choose_base_strategy().map_err(|_| {
        CliError::new(
            Code::StoreMissing,
            "the home directory is not known, so there is no default store",
        )
        .hint("name a file: --store FILE or BONDED_STORE")
    })?;
    Ok(base.data_dir().join("bonded").join("store.db"))
}

/// Opens the store, making it where it is missing.
pub(crate) fn open_store(argument: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(argument)?;
    Ok(Arc::new(SqliteStore::open(&path)?))
}

/// Opens a store that must be there already: a command that only looks makes no file.
pub(crate) fn open_existing_store(argument: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(argument)?;
    Ok(Arc::new(SqliteStore::open_existing(&path)?))
}

/// Opens a store that is only looked at: one that cannot be written will do.
pub(crate) fn open_store_to_read(argument: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(argument)?;
    Ok(Arc::new(SqliteStore::open_to_read(&path)?))
}

/// The data directories that were noted when they were made or served.
pub(crate) fn known_dirs() -> Vec<KnownDir> {
    let file = dirs::workspaces_file();
    file.map_or_else(Vec::new, |file| KnownDirs::at(file).dirs())
}

/// A host for commands that drive what is in the store already.
/// Nothing is sealed yet: what a run uses is read when its tools are opened, and the stance says what of it counts.
pub(crate) fn host(store: Arc<dyn Store>, stance: Stance) -> (Host, Arc<AgentTools>) {
    agents::unsealed_host(
        store,
        agents::bare_workplace(stance),
        Verbosity::default(),
        vec![],
    )
}
