//! What the sessions of a database share: its address, connections to it, and the runtime that they are used in.

use std::time::Duration;

use bonded_state::StoreError;
use deadpool_postgres::{Object, Pool};
use tokio::runtime::Handle;

use crate::address::Address;
use crate::connection::{self, ServerAccess};
use crate::patience::Patience;

/// How long a server that is away is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server with the schema of a database.
#[derive(Debug)]
pub(crate) struct DatabaseServer {
    pub(crate) address: Address,
    pub(crate) runtime: Handle,
    pub(crate) read: Pool,
    pub(crate) write: Pool,
}

impl DatabaseServer {
    pub(crate) async fn take(&self, pool: &Pool) -> Result<Object, StoreError> {
        connection::take(&self.address, pool, ServerAccess::All).await
    }

    /// A connection of those that write, also where others wait for one.
    pub(crate) async fn writing(&self) -> Result<Object, StoreError> {
        self.take(&self.write).await
    }

    pub(crate) fn patience(&self) -> Patience {
        Patience::of(PATIENCE)
    }
}
