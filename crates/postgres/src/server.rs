//! The server as everything in this crate sees it: its address, connections to it, the lease, and the runs that are held.

use std::sync::{Arc, OnceLock};

use bonded_kernel::{GoalId, RunId};
use bonded_state::{StoreError, Watchers};
use deadpool_postgres::Object;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use crate::address::Address;
use crate::connection::{self, Pools, ServerAccess};
use crate::fault;
use crate::keys::{HeldRuns, RunNumber};
use crate::lease::Lease;
use crate::offer::{Taking, WorkerOffer};
use crate::patience::Patience;

/// The values of a statement.
pub(crate) type SqlValues<'a> = &'a [&'a (dyn ToSql + Sync)];

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: Address,
    pub(crate) access: ServerAccess,
    pub(crate) pools: Arc<Pools>,
    pub(crate) lease: Lease,
    pub(crate) held: HeldRuns,
    pub(crate) watchers: Arc<Watchers>,
    /// What this process takes from queues; set before it takes anything.
    pub(crate) offer: OnceLock<WorkerOffer>,
    pub(crate) taking: Taking,
}

impl Server {
    pub(crate) fn new(address: Address, access: ServerAccess) -> Result<Self, StoreError> {
        Ok(Self {
            pools: Pools::new(&address)?,
            lease: Lease::new(address.lease),
            address,
            access,
            held: HeldRuns::default(),
            watchers: Arc::default(),
            offer: OnceLock::new(),
            taking: Taking::default(),
        })
    }

    /// A server that is away is waited for as long as a lease lasts: then this process holds nothing any more.
    pub(crate) fn patience(&self) -> Patience {
        Patience::of(self.address.lease)
    }

    pub(crate) async fn connection(&self) -> Result<Object, StoreError> {
        connection::take(&self.address, &self.pools.work, self.access).await
    }

    pub(crate) fn fault(&self, error: &Error) -> StoreError {
        fault::of(&self.address, error)
    }

    /// Asks a statement that was prepared once for its connection.
    pub(crate) async fn rows(
        &self,
        connection: Object,
        sql: &'static str,
        values: SqlValues<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let prepared = connection.prepare_cached(sql).await;
        let rows = match prepared {
            Ok(statement) => connection.query(&statement, values).await,
            Err(error) => Err(error),
        };
        rows.map_err(|error| {
            let fault = self.fault(&error);
            // A server that became a standby keeps its sessions: the next connection looks for the primary.
            if fault.may_pass() {
                drop(Object::take(connection));
            }
            fault
        })
    }

    /// Asks what may be asked twice.
    pub(crate) async fn read(
        &self,
        sql: &'static str,
        values: SqlValues<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let once = || async { self.rows(self.connection().await?, sql, values).await };
        self.patience().with(once).await
    }

    /// The number and the goal of a run.
    pub(crate) async fn find(
        &self,
        run: &RunId,
    ) -> Result<Option<(RunNumber, GoalId)>, StoreError> {
        const FIND: &str = "SELECT run, goal FROM bonded.run WHERE id = $1";
        let rows = self.read(FIND, &[&run.as_str()]).await?;
        let row = rows.first();
        Ok(row.map(|row| (row.get(0), GoalId::from_stored(row.get(1)))))
    }

    pub(crate) async fn get(&self, run: &RunId) -> Result<(RunNumber, GoalId), StoreError> {
        let found = self.find(run).await?;
        found.ok_or_else(|| StoreError::UnknownRun { run: run.clone() })
    }
}
