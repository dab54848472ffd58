//! What is done otherwise where a pooler gives each transaction another connection to the server.
//!
//! Nothing that lies in a connection can be relied on there: no prepared statement, no setting, no role, no notification. So
//! every statement is sent with the types of its values and without a name, in a transaction of its own whose settings end
//! with it. They are sent together and answered together: a statement still takes one way there and back.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use crate::address::{Address, ROLE};
use crate::parameter::SqlValues;

/// What a connection of our own has from its beginning, for one transaction. Another client of the pooler may have left
/// anything behind in the connection, a table of its own that hides one of ours, too.
pub(crate) fn settings(address: &Address) -> String {
    let schema = address.layout.schema;
    format!(
        "SET LOCAL ROLE {ROLE}; SET LOCAL search_path TO {schema}, pg_temp; \
         SET LOCAL synchronous_commit TO DEFAULT; SET LOCAL statement_timeout TO DEFAULT; \
         SET LOCAL lock_timeout TO DEFAULT; SET LOCAL client_min_messages TO warning"
    )
}

/// What begins a transaction for one statement.
fn begin(address: &Address, more: &str) -> String {
    let settings = settings(address);
    format!("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {settings}{more}")
}

/// Asks one statement, in a transaction of its own where there is a pooler.
pub(crate) async fn ask(
    address: &Address,
    client: &Client,
    sql: &str,
    values: SqlValues<'_>,
) -> Result<Vec<Row>, Error> {
    match address.pooling.is_found() {
        true => ask_alone(address, client, sql, values, "").await,
        false => ask_typed(client, sql, values).await,
    }
}

/// Asks a statement without preparing it.
pub(crate) async fn ask_typed(
    client: &Client,
    sql: &str,
    values: SqlValues<'_>,
) -> Result<Vec<Row>, Error> {
    let typed = values.iter().map(|it| (it.as_sql(), it.sql_type()));
    let typed: Vec<(&(dyn ToSql + Sync), Type)> = typed.collect();
    client.query_typed(sql, &typed).await
}

/// Asks a statement in a transaction of its own, with further settings, each after a semicolon.
pub(crate) async fn ask_alone(
    address: &Address,
    client: &Client,
    sql: &str,
    values: SqlValues<'_>,
    more: &str,
) -> Result<Vec<Row>, Error> {
    alone(
        client,
        &begin(address, more),
        ask_typed(client, sql, values),
    )
    .await
}

/// Has a statement carried out between the beginning and the end of a transaction. All three are on their way before the
/// first is answered, so that who stops waiting leaves no transaction open.
pub(crate) async fn alone<T>(
    client: &Client,
    begin: &str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let begun = client.batch_execute(begin);
    let ended = client.batch_execute("COMMIT");
    // In this order on the wire.
    let (begun, done, ended) = futures_util::future::join3(begun, work, ended).await;
    begun?;
    let done = done?;
    ended?;
    Ok(done)
}
