//! Where things are kept, and what is opened there.
//!
//! Three ways to open: to begin runs, which makes the file; to go on with them, which needs it; to look, which does
//! not even need to write it. A command takes the weakest that does. A store is a file, or lies on a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_host::agent::AgentTools;
use bonded_host::trust::Stance;
use bonded_host::{Host, Queueing};
use bonded_kernel::{Hash, RunId};
use bonded_postgres::{Address, PostgresStore, is_address};
use bonded_serve::workspace::known_dirs::{KnownDir, KnownDirs};
use bonded_state::{SqliteStore, Store};
use etcetera::BaseStrategy as _;

use crate::agents::{self, Verbosity};
use crate::args::{ServedArgs, variable};
use crate::error::{CliError, Code};
use crate::{dirs, masking};

/// The address of a server, where one was named in place of a file.
pub(crate) fn store_address(argument: Option<&Path>) -> Result<Option<Address>, CliError> {
    let Some(text) = argument.and_then(Path::to_str).filter(|it| is_address(it)) else {
        return Ok(None);
    };
    let password = variable("PGPASSWORD");
    let address = Address::read(text, password.as_deref())?;
    if let Some(password) = address.password() {
        masking::hide(password, "the store's password");
    }
    Ok(Some(address))
}

/// The store's file: what was said, else the platform's data directory. For a store on a server it is the path that what
/// this machine keeps beside it is named after.
pub(crate) fn store_path(argument: Option<&Path>) -> Result<PathBuf, CliError> {
    let address = store_address(argument)?;
    if let (Some(path), None) = (argument, &address) {
        return Ok(path.to_owned());
    }
    let base = etcetera::choose_base_strategy().map_err(|_| {
        CliError::new(
            Code::StoreMissing,
            "the home directory is not known, so there is no default store",
        )
        .hint("name a file: --store FILE or BONDED_STORE")
    })?;
    let dir = base.data_dir().join("bonded");
    Ok(match address {
        Some(address) => {
            let name = Hash::of(address.label().as_bytes()).to_string();
            dir.join("servers").join(name.get(..16).unwrap_or(&name))
        }
        None => dir.join("store.db"),
    })
}

/// Opens the store, making it where it is missing. One on a server is made by `bonded store init` alone.
pub(crate) fn open_store(argument: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(argument)?;
    Ok(match store_address(argument)? {
        Some(address) => Arc::new(PostgresStore::open(address, path)?),
        None => Arc::new(SqliteStore::open(&path)?),
    })
}

/// Opens a store that must be there already: a command that only looks makes no file.
pub(crate) fn open_existing_store(argument: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(argument)?;
    Ok(match store_address(argument)? {
        Some(address) => Arc::new(PostgresStore::open(address, path)?),
        None => Arc::new(SqliteStore::open_existing(&path)?),
    })
}

/// Opens a store that is only looked at: one that cannot be written will do.
pub(crate) fn open_store_to_read(argument: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(argument)?;
    Ok(match store_address(argument)? {
        Some(address) => Arc::new(PostgresStore::open_to_read(address, path)?),
        None => Arc::new(SqliteStore::open_to_read(&path)?),
    })
}

/// Opens a store that has queues, which only one on a server has.
pub(crate) fn open_queues(argument: Option<&Path>) -> Result<Arc<PostgresStore>, CliError> {
    let path = store_path(argument)?;
    match store_address(argument)? {
        Some(address) => Ok(Arc::new(PostgresStore::open(address, path)?)),
        None => {
            let message = format!("{} is a file, and a file has no queues", path.display());
            Err(CliError::new(Code::Usage, message).hint(
                "name a store on a server: --store postgres://USER@HOST/DATABASE, or BONDED_STORE",
            ))
        }
    }
}

/// Opens the store of whoever serves runs. Where these are to be queued it must have queues.
pub(crate) fn open_store_of_runs(
    args: &ServedArgs,
    argument: Option<&Path>,
) -> Result<Arc<dyn Store>, CliError> {
    match args.queue {
        Some(_) => Ok(open_queues(argument)?),
        None => open_store(argument),
    }
}

/// Where the runs of whoever serves them wait for a worker.
pub(crate) fn queueing(args: &ServedArgs, tools: &Arc<AgentTools>) -> Option<Queueing> {
    args.queue.as_ref().map(|queue| Queueing {
        queue: queue.clone(),
        needs: args.needs.clone(),
        tools: tools.clone(),
    })
}

/// What each of these runs waits for in its queue.
pub(crate) async fn waits(
    argument: Option<&Path>,
    runs: Vec<RunId>,
) -> Result<BTreeMap<RunId, String>, CliError> {
    let Some(address) = store_address(argument)? else {
        return Ok(BTreeMap::new());
    };
    let store = PostgresStore::open_to_read(address, store_path(argument)?)?;
    let waits = store.waits(runs).await?;
    let in_words = waits
        .into_iter()
        .map(|(run, waits)| (run, waits.to_string()));
    Ok(in_words.collect())
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
