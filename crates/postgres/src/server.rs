//! The server as everything in this crate sees it: its address, connections to it, the lease, and the runs that are held.

use std::sync::{Arc, OnceLock};

use bonded_kernel::{GoalId, RunId};
use bonded_state::{StoreError, Watchers};
use deadpool_postgres::Object;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use crate::address::Address;
use crate::asking;
use crate::connection::{self, Pools, ServerAccess};
use crate::doubt::Doubts;
use crate::fault;
use crate::gathering::AppendGathering;
use crate::keys::{HeldRuns, RunNumber};
use crate::lease::Lease;
use crate::offer::{Taking, WorkerOffer};
use crate::parameter::SqlValues;
use crate::patience::Patience;
use crate::run_news::RunNews;
use crate::strays::Strays;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: Address,
    pub(crate) access: ServerAccess,
    pub(crate) pools: Arc<Pools>,
    pub(crate) lease: Lease,
    pub(crate) held: HeldRuns,
    pub(crate) doubts: Doubts,
    pub(crate) watchers: Arc<Watchers>,
    pub(crate) news: RunNews,
    /// What this process takes from queues; set before it takes anything.
    pub(crate) offer: OnceLock<WorkerOffer>,
    pub(crate) taking: Taking,
    pub(crate) strays: Strays,
    pub(crate) gathering: Arc<AppendGathering>,
}

impl Server {
    pub(crate) fn new(address: Address, access: ServerAccess) -> Result<Self, StoreError> {
        Ok(Self {
            pools: Pools::new(&address)?,
            lease: Lease::new(address.lease),
            address,
            access,
            held: HeldRuns::default(),
            doubts: Doubts::default(),
            watchers: Arc::default(),
            news: RunNews::default(),
            offer: OnceLock::new(),
            taking: Taking::default(),
            strays: Strays::default(),
            gathering: Arc::default(),
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
        let rows = self.ask(&connection, sql, values, "").await;
        rows.map_err(|error| self.fault_on(connection, &error))
    }

    /// What went wrong on a connection, which is kept where it can be used again.
    pub(crate) fn fault_on(&self, connection: Object, error: &Error) -> StoreError {
        let fault = self.fault(error);
        // A server that became a standby keeps its sessions: the next connection looks for the primary.
        if fault.may_pass() {
            drop(Object::take(connection));
        }
        fault
    }

    /// Asks a statement, where there is a pooler with further settings, each after a semicolon.
    pub(crate) async fn ask(
        &self,
        connection: &Object,
        sql: &'static str,
        values: SqlValues<'_>,
        more: &str,
    ) -> Result<Vec<Row>, Error> {
        let pooling = &self.address.pooling;
        let rows = match pooling.is_found() {
            true => asking::ask_alone(&self.address, connection, sql, values, more).await,
            false => match connection.prepare_cached(sql).await {
                Ok(statement) => {
                    let values = values.iter().map(|it| it.as_sql());
                    let values: Vec<&(dyn ToSql + Sync)> = values.collect();
                    connection.query(&statement, &values).await
                }
                Err(error) => Err(error),
            },
        };
        rows.inspect_err(|error| pooling.learn(error))
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
