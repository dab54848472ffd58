//! One session with a server: a transaction, or single statements.

use std::cell::Cell;
use std::sync::Arc;

use bonded_state::StoreError;
use bonded_state::database::{Committed, ServerSession, SessionUse, SqlFault, SqlValue};
use deadpool_postgres::Object;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use crate::database_server::DatabaseServer;
use crate::fault;
use crate::value::{Bound, read};

/// What is decided is decided by what others have committed when it is asked for. Whoever stops in the middle of it, such as
/// a process that is suspended, keeps others waiting for so long.
const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL idle_in_transaction_session_timeout = 10000";

/// One state of the database, whatever is written meanwhile.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Names the transaction, so that its outcome can be asked for.
const NAME: &str = "SELECT pg_current_xact_id()::text";

/// What came of a transaction. Where it is there, the write beside it is answered only when it is as durable as an answer must
/// be.
const OUTCOME: &str = "SELECT pg_xact_status(($1::text)::xid8), \
     CASE pg_xact_status(($1::text)::xid8) WHEN 'committed' THEN \
     pg_logical_emit_message(true, 'bonded', 'settled')::text END";

/// A connection for as long as it is needed.
pub(crate) struct Session {
    server: Arc<DatabaseServer>,
    /// `None` once it is over.
    connection: Option<Object>,
    session_use: SessionUse,
    /// A transaction that reads begins with its first statement, in the same message.
    is_begun: Cell<bool>,
    /// The connection leads to a server that is away, or takes no writes any more: the next one looks for another.
    is_lost: Cell<bool>,
    /// Names the transaction if it writes.
    name: String,
}

impl Session {
    /// Begins a transaction where one is needed.
    pub(crate) fn begin(
        server: Arc<DatabaseServer>,
        connection: Object,
        session_use: SessionUse,
    ) -> Result<Self, StoreError> {
        let mut session = Self {
            server,
            connection: Some(connection),
            session_use,
            is_begun: Cell::new(false),
            is_lost: Cell::new(false),
            name: String::new(),
        };
        if session_use == SessionUse::Write {
            let rows = session
                .rows(NAME, &[])
                .map_err(|error| session.store_error(&error))?;
            session.name = rows.first().map(|row| row.get(0)).unwrap_or_default();
        }
        Ok(session)
    }

    fn first_text(&self) -> Option<&'static str> {
        match self.session_use {
            SessionUse::Write => Some(BEGIN_WRITE),
            SessionUse::Read => Some(BEGIN_READ),
            SessionUse::LookUp => None,
        }
    }

    /// Prepared once for its connection.
    fn rows(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.with(sql, async |connection, statement| {
            connection.query(&statement, values).await
        })
    }

    /// Has a statement carried out, with the beginning of the transaction before it.
    fn with<T>(
        &self,
        sql: &str,
        work: impl AsyncFnOnce(&Object, Statement) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let connection = self.connection();
        self.server.runtime.block_on(async {
            let statement = connection.prepare_cached(sql).await?;
            let begin = match self.is_begun.replace(true) {
                true => None,
                false => self.first_text(),
            };
            match begin {
                None => work(connection, statement).await,
                Some(begin) => {
                    // In this order on the wire, and answered together.
                    let begun = connection.batch_execute(begin);
                    let (begun, done) = futures_util::join!(begun, work(connection, statement));
                    begun?;
                    done
                }
            }
        })
    }

    fn connection(&self) -> &Object {
        self.connection
            .as_ref()
            .expect("it is there until it is over")
    }

    fn store_error(&self, error: &Error) -> StoreError {
        let found = self.sorted(error);
        if found.may_pass() {
            self.is_lost.set(true);
        }
        found
    }

    fn sorted(&self, error: &Error) -> StoreError {
        match error.code().map(tokio_postgres::error::SqlState::code) {
            // What was undone so that others could continue, and may be done again.
            Some("40001" | "40P01" | "25P03" | "55P03") => {
                let why = error.to_string();
                let problem = bonded_state::ServerProblem::Unreachable { why };
                self.server.address.problem(problem)
            }
            _ => fault::of(&self.server.address, error),
        }
    }

    fn fault(&self, error: &Error) -> SqlFault {
        match error.as_db_error() {
            Some(said) if said.code().code().starts_with("23") => {
                SqlFault::Constraint(said.message().to_owned())
            }
            _ => SqlFault::Store(self.store_error(error)),
        }
    }

    /// Asks another connection what came of the transaction. One that was not finished when its connection was lost is
    /// rolled back by the server in a moment.
    async fn settle(server: &DatabaseServer, name: &str, lost: StoreError) -> Committed {
        let patience = server.patience();
        loop {
            match Self::outcome(server, name).await {
                Ok(Some(true)) => return Committed::Yes,
                Ok(Some(false)) => return Committed::No(lost),
                Ok(None) => {
                    if !patience.bears(&lost).await {
                        return Committed::Unknown(lost);
                    }
                }
                Err(error) => {
                    if !patience.bears(&error).await {
                        return Committed::Unknown(error);
                    }
                }
            }
        }
    }

    /// `None` where the server has not noticed yet that the connection is gone.
    async fn outcome(server: &DatabaseServer, name: &str) -> Result<Option<bool>, StoreError> {
        let connection = server.writing().await?;
        let found = connection.query_one(OUTCOME, &[&name]).await;
        let found = found.map_err(|error| fault::of(&server.address, &error))?;
        Ok(match found.get::<_, Option<&str>>(0) {
            Some("committed") => Some(true),
            Some("aborted") => Some(false),
            _ => None,
        })
    }
}

impl ServerSession for Session {
    fn query(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Vec<SqlValue>>, SqlFault> {
        let values: Vec<Bound<'_>> = values.iter().map(Bound).collect();
        let values: Vec<_> = values.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
        let rows = self
            .rows(sql, &values)
            .map_err(|error| self.fault(&error))?;
        let read = |row: &Row| read(row).map_err(|error| self.fault(&error));
        rows.iter().map(read).collect()
    }

    fn execute(&self, sql: &str, values: &[SqlValue]) -> Result<u64, SqlFault> {
        let values: Vec<Bound<'_>> = values.iter().map(Bound).collect();
        let values: Vec<_> = values.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
        let done = self.with(sql, async |connection, statement| {
            connection.execute(&statement, &values).await
        });
        done.map_err(|error| self.fault(&error))
    }

    fn batch(&self, sql: &str) -> Result<(), SqlFault> {
        let done = self
            .server
            .runtime
            .block_on(self.connection().batch_execute(sql));
        done.map_err(|error| self.fault(&error))
    }

    fn commit(mut self: Box<Self>) -> Committed {
        let Some(connection) = self.connection.take() else {
            return Committed::Yes;
        };
        let committed = self
            .server
            .runtime
            .block_on(connection.batch_execute("COMMIT"));
        let Err(error) = committed else {
            return Committed::Yes;
        };
        drop(Object::take(connection));
        let lost = self.store_error(&error);
        // What the server refuses to commit is not there. All else is not known.
        match lost.may_pass() || error.code().is_none() {
            false => Committed::No(lost),
            true => self
                .server
                .runtime
                .block_on(Self::settle(&self.server, &self.name, lost)),
        }
    }
}

impl Drop for Session {
    /// Nobody waits for what is undone. A connection that cannot undo it is not kept.
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        if self.is_lost.get() {
            return drop(Object::take(connection));
        }
        if self.session_use == SessionUse::LookUp || !self.is_begun.get() {
            return;
        }
        self.server.runtime.spawn(async move {
            if connection.batch_execute("ROLLBACK").await.is_err() {
                drop(Object::take(connection));
            }
        });
    }
}
