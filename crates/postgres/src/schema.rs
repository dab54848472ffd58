//! The versions of the schema, and which of them this program knows.

use bonded_state::database::SchemaLayout;
use bonded_state::{ServerProblem, StoreError};
use tokio_postgres::Client;

use crate::address::Address;
use crate::asking;
use crate::fault;

pub(crate) fn version(layout: SchemaLayout) -> String {
    format!(
        "SELECT coalesce(max(version), 0) FROM {}.migration",
        layout.schema
    )
}

pub(crate) fn known(layout: SchemaLayout) -> u32 {
    layout.migrations.len() as u32
}

/// Refuses a schema that this program cannot use.
pub(crate) async fn check(address: &Address, client: &Client) -> Result<(), StoreError> {
    let rows = asking::ask(address, client, &version(address.layout), &[]).await;
    let rows = rows.map_err(|error| fault::of(address, &error))?;
    let version = rows.first().map(|row| row.get::<_, i32>(0));
    let found = version.unwrap_or_default().unsigned_abs();
    let known = known(address.layout);
    if found > known {
        return Err(newer(address, found));
    }
    match found < address.layout.usable_from {
        true => Err(address.problem(ServerProblem::OlderFormat { found, known })),
        false => Ok(()),
    }
}

pub(crate) fn newer(address: &Address, found: u32) -> StoreError {
    StoreError::NewerFormat {
        file: address.label().into(),
        found,
        known: known(address.layout),
    }
}
