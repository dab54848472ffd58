//! `bonded store`: the store itself. It is made on a server by a person who may; a file is made by the first run anyway.

use std::path::Path;
use std::process::ExitCode;

use bonded_postgres::initialise;

use crate::args::{StoreArgs, StoreCommand, StoreInitArgs};
use crate::error::{CliError, Code};
use crate::{output, settings};

pub(crate) async fn store(args: &StoreArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    match &args.command {
        StoreCommand::Init(args) => init(args, store).await,
    }
}

async fn init(args: &StoreInitArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let Some(address) = settings::store_address(store)? else {
        if let Some(user) = args.grant.first() {
            let message = format!("--grant {user}: a store in a file has no users");
            let hint = "name a server: --store postgres://OWNER@HOST/DATABASE";
            return Err(CliError::new(Code::Usage, message).hint(hint));
        }
        drop(settings::open_store(store)?);
        let path = settings::store_path(store)?;
        output::stderr(&format!("ready: {}", path.display()));
        return Ok(ExitCode::SUCCESS);
    };
    let made = Box::pin(initialise(&address, &args.grant)).await?;
    let what = match (made.before, made.after) {
        (0, after) => format!("created, format {after}"),
        (before, after) if before == after => format!("up to date, format {after}"),
        (before, after) => format!("brought from format {before} to {after}"),
    };
    output::stderr(&format!("ready: {}: {what}", address.label()));
    Ok(ExitCode::SUCCESS)
}
