//! The ledger: a file with one account a line. What a run has in it already is not written again.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use bonded_host::accounting::{Booked, accounts};
use bonded_kernel::RunId;
use bonded_state::Store;
use serde_json::Value;

use crate::error::{CliError, Code};
use crate::render::result::account_value;

/// Brings the ledger up to date with a run and the agents that it called.
pub(crate) async fn write(store: &dyn Store, run: &RunId, file: &Path) -> Result<(), CliError> {
    let booked = accounts(store, run).await?;
    append(&booked, file).map_err(|error| {
        let message = format!("cannot write the ledger {}: {error}", file.display());
        CliError::new(Code::Config, message).hint("name another file: --billing-file FILE")
    })
}

fn append(booked: &[Booked], file: &Path) -> std::io::Result<()> {
    if let Some(dir) = file.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir)?;
    }
    let known = match File::open(file) {
        Ok(file) => known_lines(file)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeSet::new(),
        Err(error) => return Err(error),
    };
    let mut lines = String::new();
    for value in booked.iter().map(account_value) {
        if !key(&value).is_some_and(|key| known.contains(&key)) {
            lines.push_str(&value.to_string());
            lines.push('\n');
        }
    }
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// Which accounts of which runs are there.
fn known_lines(file: File) -> std::io::Result<BTreeSet<(String, u64, String)>> {
    let mut known = BTreeSet::new();
    for line in BufReader::new(file).lines() {
        let value: Value = serde_json::from_str(&line?).unwrap_or_default();
        known.extend(key(&value));
    }
    Ok(known)
}

fn key(value: &Value) -> Option<(String, u64, String)> {
    let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let command = text("command").or_else(|| text("model"))?;
    Some((text("txnId")?, value.get("seq")?.as_u64()?, command))
}
