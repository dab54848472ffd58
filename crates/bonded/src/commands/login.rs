//! `bonded login`: a person logs in to a server, once; runs use what comes of it.
//!
//! The tokens go into the person's own data directory, which is hidden from the commands of runs, and are found
//! there by whichever store and project has the same server. The address to visit is on stdout alone, for whoever
//! passes it on.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::agent::LoginPlace;
use bonded_host::config::Config;
use serde::Serialize;

use super::config::place;
use crate::args::{ConfigPlaceArgs, LoginArgs};
use crate::error::{CliError, Code};
use crate::{dirs, output};

/// Waits for the person in the browser. Empty scopes are passed over, as a script with an unset variable gives
/// them.
/// The address to open, for programs.
#[derive(Serialize)]
struct VisitAnswer<'a> {
    url: &'a str,
}

/// What came of the login, for programs.
#[derive(Serialize)]
struct LoginAnswer<'a> {
    server: &'a str,
    issuer: &'a str,
    scope: &'a str,
    renewed: bool,
    file: &'a Path,
}

pub(crate) async fn login(args: &LoginArgs) -> Result<ExitCode, CliError> {
    let scopes: Vec<String> = args
        .scope
        .iter()
        .filter(|it| !it.is_empty())
        .cloned()
        .collect();
    let found = find(&(&args.place).into(), &args.server, &scopes)?;
    let is_json = args.place.json;
    let visit = move |url: &str| {
        if is_json {
            return output::object(&VisitAnswer { url });
        }
        output::stderr("open this address in a browser and log in:");
        output::stdout(url);
    };
    let done = found.login(visit).await?;
    if is_json {
        output::object(&LoginAnswer {
            server: &args.server,
            issuer: &done.issuer,
            scope: &done.scope,
            renewed: done.is_renewed,
            file: &done.file,
        });
        return Ok(ExitCode::SUCCESS);
    }
    let what_for = match done.scope.as_str() {
        "" => String::new(),
        scope => format!(" for {scope}"),
    };
    let end = match done.is_renewed {
        true => "it is renewed as long as the issuer allows",
        false => "it cannot be renewed: log in again when it has expired",
    };
    let (server, issuer) = (&args.server, &done.issuer);
    output::stderr(&format!(
        "logged in to {server}{what_for} at {issuer}; {end}"
    ));
    Ok(ExitCode::SUCCESS)
}

/// The server that a command line means.
/// The configuration is read as a run would, with the trust that it needs: a login to a server that only an
/// untrusted file names would send a person there.
pub(super) fn find(
    args: &ConfigPlaceArgs,
    server: &str,
    scopes: &[String],
) -> Result<LoginPlace, CliError> {
    let (workplace, places) = place(args)?;
    let environment = workplace.environment.clone();
    let config = Config::load(&places, environment, &workplace.trust)?;
    let token_dir = dirs::token_dir().ok_or_else(|| {
        let message = "the home directory is not known, so there is no place for logins";
        CliError::new(Code::Config, message).hint("set HOME")
    })?;
    let environment = &workplace.environment;
    Ok(LoginPlace::find(
        &config,
        environment,
        server,
        &token_dir,
        scopes,
    )?)
}
