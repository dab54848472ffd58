//! Where a workspace is: a directory, and a server if its notes, rules and runs are kept on one.
//!
//! `--data` names either. With an address, the directory is one of this machine's own, named after the server. With a
//! directory, its `.env` or the environment may name a server in `DATABASE_URL`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_postgres::{PostgresDatabase, is_address};
use bonded_serve::workspace::data_dir::{DataDir, StoreServer};
use bonded_workspace::config::environment;
use bonded_workspace::store::SERVER_SCHEMA;

use crate::args::variable;
use crate::error::{CliError, Code};
use crate::settings;

/// Many programs know it; here it counts for a workspace alone.
const DATABASE_URL: &str = "DATABASE_URL";

/// A directory, and the address of a server.
#[derive(Debug)]
pub(crate) struct WorkspacePlace {
    pub(crate) dir: PathBuf,
    address: Option<PathBuf>,
}

/// A directory that must be there already, with its stores wherever they are.
pub(crate) fn open(data: &Path) -> Result<DataDir, CliError> {
    let place = of(data)?;
    Ok(DataDir::open(&place.dir, place.server()?)?)
}

/// Reads what `--data` means. Nothing is made or opened.
pub(crate) fn of(data: &Path) -> Result<WorkspacePlace, CliError> {
    if settings::store_address(Some(data))?.is_some() {
        let dir = settings::store_path(Some(data))?.with_extension("data");
        let address = Some(data.to_owned());
        return Ok(WorkspacePlace { dir, address });
    }
    let own = environment(data, []).map_err(|error| {
        let message = error.to_string();
        CliError::new(Code::DataDir, message)
    })?;
    let own = own.get(DATABASE_URL).filter(|url| is_address(url));
    let given = variable(DATABASE_URL).filter(|url| is_address(url));
    let address = match (own, given) {
        (Some(own), _) => Some(own.to_owned()),
        // It may be meant for another program: a workspace that is there stays where it is.
        (None, Some(_)) if data.join("workspace.db").is_file() => {
            tracing::warn!(
                "warning: {DATABASE_URL} is set, but {} has its workspace in a file, which is used; to use the server, \
                 write {DATABASE_URL} into {}",
                data.display(),
                data.join(".env").display()
            );
            None
        }
        (None, given) => given,
    };
    Ok(WorkspacePlace {
        dir: data.to_owned(),
        address: address.map(Into::into),
    })
}

impl WorkspacePlace {
    /// Opens the server, if there is one. Its tables were made by `bonded store init`.
    pub(crate) fn server(&self) -> Result<Option<StoreServer>, CliError> {
        let Some(runs) = &self.address else {
            return Ok(None);
        };
        let Some(address) = settings::store_address(Some(runs))? else {
            return Ok(None);
        };
        let database = Arc::new(PostgresDatabase::open(address, &SERVER_SCHEMA)?);
        let runs = runs.clone();
        Ok(Some(StoreServer { database, runs }))
    }
}
