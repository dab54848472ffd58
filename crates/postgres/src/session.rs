//! One session with a server: a transaction, or single statements.

use std::cell::Cell;
use std::sync::Arc;

use bonded_state::StoreError;
use bonded_state::database::{Committed, ServerSession, SessionUse, SqlFault, SqlValue};
use deadpool_postgres::Object;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row, Statement};

use crate::asking;
use crate::database_server::DatabaseServer;
use crate::fault;
use crate::value::{Bound, InWords, read};

/// What is decided is decided by what others have committed when it is asked for. Whoever stops in the middle of it, such as
/// a process that is suspended, keeps others waiting for so long.
const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
     SET LOCAL idle_in_transaction_session_timeout = 10000";

/// One state of the database, whatever is written meanwhile.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// One statement, which through a pooler is a transaction, too.
const BEGIN_LOOK_UP: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Names the transaction, so that its outcome can be asked for.
const NAME: &str = "SELECT pg_current_xact_id()::text";

/// What came of a transaction. Where it is there, the write beside it is answered only when it is as durable as an answer must
/// be.
const OUTCOME: &str = "SELECT pg_xact_status(($1::text)::xid8), \
     CASE pg_xact_status(($1::text)::xid8) WHEN 'committed' THEN \
     pg_logical_emit_message(true, 'bonded', 'settled')::text END";

/// A statement as it is sent: prepared once for its connection, or without a name and with values in words, whose types the
/// server finds out.
enum StatementForm<'a> {
    Prepared(Statement, &'a [&'a (dyn ToSql + Sync)]),
    InWords(&'a [(&'a (dyn ToSql + Sync), Type)]),
}

/// A connection for as long as it is needed.
pub(crate) struct Session {
    server: Arc<DatabaseServer>,
    /// `None` once it is over.
    connection: Option<Object>,
    session_use: SessionUse,
    /// A pooler changes connections between transactions.
    is_pooled: bool,
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
        let is_pooled = server.address.pooling.is_found();
        let mut session = Self {
            server,
            is_pooled,
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

    /// What begins the transaction, where there is one.
    fn first_text(&self) -> Option<String> {
        let begin = match self.session_use {
            SessionUse::Write => BEGIN_WRITE,
            SessionUse::Read => BEGIN_READ,
            SessionUse::LookUp if self.is_pooled => BEGIN_LOOK_UP,
            SessionUse::LookUp => return None,
        };
        Some(match self.is_pooled {
            true => format!("{begin}; {}", asking::settings(&self.server.address)),
            false => begin.to_owned(),
        })
    }

    fn rows(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Row>, Error> {
        self.with(sql, values, async |connection, form| match form {
            StatementForm::Prepared(statement, values) => {
                connection.query(&statement, values).await
            }
            StatementForm::InWords(values) => connection.query_typed(sql, values).await,
        })
    }

    /// Has a statement carried out, with the beginning of the transaction before it. Through a pooler, one that belongs to no
    /// transaction is one by itself.
    fn with<T>(
        &self,
        sql: &str,
        values: &[SqlValue],
        work: impl AsyncFnOnce(&Object, StatementForm<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let connection = self.connection();
        let bound: Vec<Bound<'_>> = values.iter().map(Bound).collect();
        let bound: Vec<_> = bound.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
        let in_words: Vec<InWords<'_>> = values.iter().map(InWords).collect();
        let in_words = in_words.iter().map(|it| it as &(dyn ToSql + Sync));
        let in_words: Vec<_> = in_words.map(|it| (it, Type::UNKNOWN)).collect();
        let done = self.server.runtime.block_on(async {
            let form = match self.is_pooled {
                true => StatementForm::InWords(&in_words),
                false => StatementForm::Prepared(connection.prepare_cached(sql).await?, &bound),
            };
            let is_alone = self.session_use == SessionUse::LookUp;
            let begin = match !is_alone && self.is_begun.replace(true) {
                true => None,
                false => self.first_text(),
            };
            match begin {
                None => work(connection, form).await,
                Some(begin) if is_alone => {
                    asking::alone(connection, &begin, work(connection, form)).await
                }
                Some(begin) => {
                    // In this order on the wire, and answered together.
                    let begun = connection.batch_execute(&begin);
                    let done = work(connection, form);
                    let (begun, done) = futures_util::future::join(begun, done).await;
                    begun?;
                    done
                }
            }
        });
        done.inspect_err(|error| self.server.address.pooling.learn(error))
    }

    fn connection(&self) -> &Object {
        self.connection
            .as_ref()
            .expect("it is there until it is over")
    }

    fn store_error(&self, error: &Error) -> StoreError {
        let found = fault::of(&self.server.address, error);
        if found.may_pass() {
            self.is_lost.set(true);
        }
        found
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
        let found = asking::ask(&server.address, &connection, OUTCOME, &[&name]).await;
        let found = found.map_err(|error| fault::of(&server.address, &error))?;
        let status = found.first().and_then(|row| row.get::<_, Option<&str>>(0));
        Ok(match status {
            Some("committed") => Some(true),
            Some("aborted") => Some(false),
            _ => None,
        })
    }
}

impl ServerSession for Session {
    fn query(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Vec<SqlValue>>, SqlFault> {
        let rows = self.rows(sql, values).map_err(|error| self.fault(&error))?;
        let read = |row: &Row| read(row).map_err(|error| self.fault(&error));
        rows.iter().map(read).collect()
    }

    fn execute(&self, sql: &str, values: &[SqlValue]) -> Result<u64, SqlFault> {
        let done = self.with(sql, values, async |connection, form| match form {
            StatementForm::Prepared(statement, values) => {
                connection.execute(&statement, values).await
            }
            StatementForm::InWords(values) => connection.execute_typed(sql, values).await,
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
