//! `bonded init`: the data directory of a workspace server.
//!
//! It does what a server does when it opens a directory, and stops there. A directory that is ready stays as it is,
//! so that it may be run again.

use std::process::ExitCode;

use crate::args::InitArgs;
use crate::error::CliError;
use crate::output;
use crate::workspace::opening;

pub(crate) async fn init(args: &InitArgs) -> Result<ExitCode, CliError> {
    let opened = opening::open(&args.dir).await?;
    let shown = opened.dir.path().display();
    output::stderr(&format!("ready: bonded serve --data {shown}"));
    Ok(ExitCode::SUCCESS)
}
