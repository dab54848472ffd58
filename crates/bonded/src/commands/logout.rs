//! `bonded logout`: forgets the login to a server.
//!
//! What is kept here is removed. That there was none is an answer, and no error.

use std::process::ExitCode;

use super::login::find;
use crate::args::LogoutArgs;
use crate::error::CliError;
use crate::output;

pub(crate) async fn logout(args: &LogoutArgs) -> Result<ExitCode, CliError> {
    let found = find(&(&args.place).into(), &args.server, &[])?;
    let server = &args.server;
    output::stderr(&match found.logout().await? {
        true => format!("logged out of {server}"),
        false => format!("there was no login to {server}"),
    });
    Ok(ExitCode::SUCCESS)
}
