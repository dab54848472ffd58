//! A database on a server, for stores that are written in SQL of their own.
//!
//! Who uses it knows SQL, transactions and values; how the server is reached, with which role, and what may be wrong with
//! it is known behind the trait. Calls block: they are made on threads that may wait.

use crate::StoreError;

/// A value that is bound to a statement, or stands in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// Of any type.
    Null,
    /// Of any whole number; truths are 0 and 1.
    Integer(i64),
    /// A number with a fraction.
    Real(f64),
    /// Without NULs.
    Text(String),
    /// As they are.
    Bytes(Vec<u8>),
}

/// The tables of a store on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaLayout {
    /// A name that needs no quotes. Statements find their tables there.
    pub schema: &'static str,
    /// One script for each version, in which the schema is looked through first. The table `migration` is there already.
    pub migrations: &'static [&'static str],
    /// The oldest version that this program can use. Later ones only added tables, so that programs of two releases use a store
    /// while it is brought up to date; what needs them is refused where it is asked for.
    pub usable_from: u32,
}

/// Why a statement was not carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlFault {
    /// It would have broken a constraint. What was done before it in the transaction is gone up to the last savepoint.
    Constraint(String),
    /// Something is wrong with the statement, the server, or the way to it.
    Store(StoreError),
}

impl From<StoreError> for SqlFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionUse {
    /// A transaction that writes. What is acknowledged is durable.
    Write,
    /// A transaction that reads one state of the database.
    Read,
    /// Single statements, each of which sees the state of its moment.
    LookUp,
}

/// What came of the end of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Committed {
    /// It is durable.
    Yes,
    /// It is known that nothing of it is there.
    No(StoreError),
    /// The way to the server was lost meanwhile, and there was no finding out.
    Unknown(StoreError),
}

/// A server on which the tables of a store are.
pub trait ServerDatabase: Send + Sync + std::fmt::Debug {
    /// Where it is, without what is secret.
    fn label(&self) -> String;

    /// Begins. Waits for a connection where all are in use.
    fn begin(&self, session_use: SessionUse) -> Result<Box<dyn ServerSession>, StoreError>;
}

/// A connection for as long as it is needed. What was not committed is rolled back when it is dropped.
pub trait ServerSession: Send {
    /// All rows of an answer.
    fn query(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<Vec<SqlValue>>, SqlFault>;

    /// How many rows were changed.
    fn execute(&self, sql: &str, values: &[SqlValue]) -> Result<u64, SqlFault>;

    /// Carries out texts without values, such as savepoints.
    fn batch(&self, sql: &str) -> Result<(), SqlFault>;

    /// Ends the transaction.
    fn commit(self: Box<Self>) -> Committed;
}
