//! What statements are sent to: a connection to the file, or a session with a server.
//!
//! Everything in the store is written once, in the SQL that both understand. The few texts that differ are chosen where
//! they stand, by [`Connection::dialect`]. Values are those of SQLite: numbers, texts, bytes.

use bonded_state::database::{ServerSession, SqlValue};
use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, ToSqlOutput, Value, ValueRef};

use super::dialect::{self, Dialect};
use super::error::StoreFault;

/// Where a statement goes.
#[derive(Clone, Copy)]
pub(super) enum Connection<'a> {
    File(&'a rusqlite::Connection),
    Server(&'a dyn ServerSession),
}

impl std::fmt::Debug for Connection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.dialect())
    }
}

impl Connection<'_> {
    /// Which of two texts to send where they differ.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::File(_) => Dialect::Sqlite,
            Self::Server(_) => Dialect::Postgres,
        }
    }

    /// Changes rows, and says how many.
    pub(super) fn execute(
        self,
        sql: &str,
        parameters: impl Parameters,
    ) -> Result<usize, StoreFault> {
        match self {
            Self::File(connection) => Ok(connection
                .prepare_cached(sql)?
                .execute(parameters.bound())?),
            Self::Server(session) => {
                let values = server_values(&parameters)?;
                let changed = session.execute(&dialect::for_server(sql), &values)?;
                Ok(usize::try_from(changed).unwrap_or(usize::MAX))
            }
        }
    }

    /// Makes one row in a table whose rows are numbered in this column, and says its number.
    pub(super) fn insert(
        self,
        column: &str,
        sql: &str,
        parameters: impl Parameters,
    ) -> Result<i64, StoreFault> {
        match self {
            Self::File(connection) => {
                connection
                    .prepare_cached(sql)?
                    .execute(parameters.bound())?;
                Ok(connection.last_insert_rowid())
            }
            Self::Server(_) => {
                let sql = format!("{sql} RETURNING {column}");
                let mut key = None;
                self.each(&sql, parameters, |row| {
                    key = Some(row.get(0)?);
                    Ok(())
                })?;
                key.ok_or_else(|| StoreFault::Damaged("a new row has no number".into()))
            }
        }
    }

    /// Lets the file be kept in memory up to so much; a server has memory of its own.
    pub(super) fn keep_more(self, kib: i64) -> Result<(), StoreFault> {
        if let Self::File(connection) = self {
            connection.pragma_update(None, "cache_size", -kib)?;
        }
        Ok(())
    }

    /// Reads every row of a query.
    pub(super) fn each(
        self,
        sql: &str,
        parameters: impl Parameters,
        mut read: impl FnMut(&Row<'_>) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        self.each_until(sql, parameters, |row| read(row).map(|()| true))
    }

    /// Reads rows until the reader has had enough; those that come after may not be looked for at all.
    pub(super) fn each_until(
        self,
        sql: &str,
        parameters: impl Parameters,
        mut read: impl FnMut(&Row<'_>) -> Result<bool, StoreFault>,
    ) -> Result<(), StoreFault> {
        match self {
            Self::File(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                let mut rows = statement.query(parameters.bound())?;
                let mut outcome = Ok(());
                while let Some(row) = rows.next()? {
                    match read(&Row::File(row)) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(fault) => {
                            outcome = Err(fault);
                            break;
                        }
                    }
                }
                drop(rows);
                #[cfg(test)]
                super::rows::steps::book(&statement);
                outcome
            }
            Self::Server(session) => {
                let values = server_values(&parameters)?;
                for mut row in session.query(&dialect::for_server(sql), &values)? {
                    dialect::from_server(&mut row);
                    if !read(&Row::Server(&row))? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }
}

/// A row of an answer.
#[derive(Clone, Copy)]
pub(super) enum Row<'a> {
    File(&'a rusqlite::Row<'a>),
    Server(&'a [SqlValue]),
}

impl Row<'_> {
    /// The value of a column; of another kind than is asked for it is damage.
    pub(super) fn get<T: FromSql>(&self, column: usize) -> Result<T, StoreFault> {
        Ok(T::column_result(self.get_ref(column)?)?)
    }

    /// The same without a copy of it.
    pub(super) fn get_ref(&self, column: usize) -> Result<ValueRef<'_>, StoreFault> {
        match self {
            Self::File(row) => Ok(row.get_ref(column)?),
            Self::Server(row) => {
                let missing = || StoreFault::Damaged(format!("column {column} is missing"));
                Ok(match row.get(column).ok_or_else(missing)? {
                    SqlValue::Null => ValueRef::Null,
                    SqlValue::Integer(number) => ValueRef::Integer(*number),
                    SqlValue::Real(number) => ValueRef::Real(*number),
                    SqlValue::Text(text) => ValueRef::Text(text.as_bytes()),
                    SqlValue::Bytes(bytes) => ValueRef::Blob(bytes),
                })
            }
        }
    }
}

/// What is bound to a statement.
pub(super) trait Parameters {
    /// In their order.
    fn values(&self) -> Vec<&dyn ToSql>;

    /// As SQLite takes them.
    fn bound(self) -> impl rusqlite::Params;
}

impl Parameters for &[&dyn ToSql] {
    fn values(&self) -> Vec<&dyn ToSql> {
        self.to_vec()
    }

    fn bound(self) -> impl rusqlite::Params {
        self
    }
}

impl<T: ToSql, const N: usize> Parameters for [T; N] {
    fn values(&self) -> Vec<&dyn ToSql> {
        self.iter().map(|value| value as &dyn ToSql).collect()
    }

    fn bound(self) -> impl rusqlite::Params {
        rusqlite::params_from_iter(self)
    }
}

impl Parameters for Vec<Box<dyn ToSql>> {
    fn values(&self) -> Vec<&dyn ToSql> {
        self.iter().map(|value| &**value).collect()
    }

    fn bound(self) -> impl rusqlite::Params {
        rusqlite::params_from_iter(self)
    }
}

/// The values as a session takes them.
fn server_values(parameters: &impl Parameters) -> Result<Vec<SqlValue>, StoreFault> {
    let values = parameters.values();
    values.into_iter().map(server_value).collect()
}

fn server_value(value: &dyn ToSql) -> Result<SqlValue, StoreFault> {
    let unknown = || StoreFault::Damaged("a value that no column can hold".into());
    let text = |text: &str| SqlValue::Text(dialect::to_server(text).into_owned());
    Ok(match value.to_sql()? {
        ToSqlOutput::Borrowed(ValueRef::Null) | ToSqlOutput::Owned(Value::Null) => SqlValue::Null,
        ToSqlOutput::Borrowed(ValueRef::Integer(number))
        | ToSqlOutput::Owned(Value::Integer(number)) => SqlValue::Integer(number),
        ToSqlOutput::Borrowed(ValueRef::Real(number)) | ToSqlOutput::Owned(Value::Real(number)) => {
            SqlValue::Real(number)
        }
        ToSqlOutput::Borrowed(ValueRef::Text(bytes)) => {
            text(std::str::from_utf8(bytes).map_err(|_| unknown())?)
        }
        ToSqlOutput::Owned(Value::Text(owned)) => text(&owned),
        ToSqlOutput::Borrowed(ValueRef::Blob(bytes)) => SqlValue::Bytes(bytes.to_vec()),
        ToSqlOutput::Owned(Value::Blob(bytes)) => SqlValue::Bytes(bytes),
        _ => return Err(unknown()),
    })
}

/// Kept beside `Row`, whose columns it says something about.
impl From<FromSqlError> for StoreFault {
    /// A column of another type than this program writes is damage.
    fn from(error: FromSqlError) -> Self {
        Self::Damaged(error.to_string())
    }
}
