//! Who of several processes fires the rules: one at a time, for as long as it says that it lives.
//!
//! A file is served by one engine, as it always was. On a server the engine has a lease by the server's clock, which
//! whoever holds it makes longer in time; when it is over, another may have it.

use std::time::Duration;

use rusqlite::params;

use super::dialect::Dialect;
use super::error::WorkspaceError;
use super::workspace_store::WorkspaceStore;

/// How long an engine that is not heard of keeps others from its work.
pub const ENGINE_LEASE: Duration = Duration::from_secs(10);

impl WorkspaceStore {
    /// Takes the lease of the engine, or makes it longer; `false` where another process has it.
    pub async fn lead(&self, holder: String) -> Result<bool, WorkspaceError> {
        self.change(move |transaction| {
            let connection = transaction.connection;
            if connection.dialect() == Dialect::Sqlite {
                return Ok(true);
            }
            let sql = "INSERT INTO lease (name, holder, until) \
                 VALUES ('engine', ?1, clock_timestamp() + ?2 * interval '1 millisecond') \
                 ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until \
                 WHERE lease.holder = excluded.holder OR lease.until <= clock_timestamp()";
            let length = ENGINE_LEASE.as_millis() as i64;
            Ok(connection.execute(sql, params![holder, length as f64])? > 0)
        })
        .await
    }

    /// Gives the lease back, so that nobody has to wait for its end.
    pub async fn resign(&self, holder: String) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            let connection = transaction.connection;
            if connection.dialect() == Dialect::Postgres {
                let sql = "DELETE FROM lease WHERE name = 'engine' AND holder = ?1";
                connection.execute(sql, [&holder])?;
            }
            Ok(())
        })
        .await
    }

    /// Whether other machines may have an engine for the same store.
    pub fn is_shared(&self) -> bool {
        self.readers.are_elsewhere()
    }
}
