//! What the owner of a database does once, and again after an upgrade: makes the schema or brings it up to date.

use bonded_state::StoreError;
use bonded_state::database::SchemaLayout;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::address::{Address, ROLE};
use crate::connection;
use crate::fault;
use crate::run_layout::RUNS;
use crate::schema::{known, newer, version};

/// "bonded": no two programs bring a schema up to date at the same time.
const LOCK: i64 = i64::from_be_bytes(*b"\0\0bonded");

const TRIES: u32 = 20;

/// What came of making a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initialised {
    /// The version that the schema had; 0 where there was none.
    pub before: u32,
    /// The version that it has.
    pub after: u32,
}

/// Makes the role and the schema of the log of runs, or brings them up to date; lets others act as that role. Who comes
/// second waits for the first and finds everything done.
pub async fn initialise(address: &Address, grant: &[String]) -> Result<Initialised, StoreError> {
    initialise_schema(address, grant, RUNS).await
}

/// The same for another schema.
pub async fn initialise_schema(
    address: &Address,
    grant: &[String],
    layout: SchemaLayout,
) -> Result<Initialised, StoreError> {
    let address = &address.clone().with_layout(layout);
    let mut client = connection::of_owner(address).await?;
    let mut tries = 0;
    let made = loop {
        match make(&mut client, grant, layout).await {
            Err(error) if tries < TRIES && is_of_another_database(&error) => tries += 1,
            made => break made,
        }
    };
    let before = made.map_err(|error| fault::of(address, &error))?;
    match before > known(layout) {
        true => Err(newer(address, before)),
        false => Ok(Initialised {
            before,
            after: known(layout),
        }),
    }
}

/// Roles belong to the server, and the lock to the database: a store may be made in another one at the same moment. What
/// the server says then has no code of its own.
fn is_of_another_database(error: &tokio_postgres::Error) -> bool {
    matches!(error.code().map(SqlState::code), Some("23505" | "XX000"))
}

/// Gives the version that was there. A newer one is left as it is.
async fn make(
    client: &mut Client,
    grant: &[String],
    layout: SchemaLayout,
) -> Result<u32, tokio_postgres::Error> {
    let schema = layout.schema;
    let transaction = client.transaction().await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    let there = transaction
        .query_one(
            &format!("SELECT to_regclass('{schema}.migration') IS NOT NULL"),
            &[],
        )
        .await?;
    let before: i32 = match there.get(0) {
        true => transaction.query_one(&version(layout), &[]).await?.get(0),
        false => {
            transaction.batch_execute(&beginning(schema)).await?;
            0
        }
    };
    let before = before.unsigned_abs();
    for (script, number) in layout.migrations.iter().zip(1_u32..).skip(before as usize) {
        transaction.batch_execute(script).await?;
        let note = format!("INSERT INTO {schema}.migration (version, program) VALUES ($1, $2)");
        let program = concat!("bonded ", env!("CARGO_PKG_VERSION"));
        transaction
            .execute(&note, &[&(number as i32), &program])
            .await?;
    }
    if before <= known(layout) {
        for role in grant {
            let role = role.replace('"', "\"\"");
            let sql = format!("GRANT {ROLE} TO \"{role}\"");
            transaction.batch_execute(&sql).await?;
        }
        transaction.commit().await?;
    }
    Ok(before)
}

/// The role is the server's and not the database's: another store may have made it.
fn beginning(schema: &str) -> String {
    format!(
        "DO $$ BEGIN CREATE ROLE {ROLE} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$; \
         GRANT {ROLE} TO CURRENT_USER; \
         CREATE SCHEMA {schema}; \
         CREATE TABLE {schema}.migration (version int PRIMARY KEY, program text NOT NULL, \
                                        at timestamptz NOT NULL DEFAULT now())"
    )
}
