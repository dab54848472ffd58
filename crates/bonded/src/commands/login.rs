//! `bonded login`: a person logs in to a server, once; runs use what comes of it.

use std::process::ExitCode;

use bonded_host::agent::LoginPlace;
use bonded_host::config::Config;
use serde_json::json;

use super::config::place;
use crate::args::{ConfigPlaceArgs, LoginArgs};
use crate::error::{CliError, Code};
use crate::{dirs, output};

pub(crate) async fn login(args: &LoginArgs) -> Result<ExitCode, CliError> {
    let scopes: Vec<String> = args
        .scope
        .iter()
        .filter(|it| !it.is_empty())
        .cloned()
        .collect();
    let found = find(&args.place, &args.server, &scopes)?;
    let is_json = args.place.json;
    let visit = move |url: &str| {
        if is_json {
            return output::stdout(&json!({ "url": url }).to_string());
        }
        output::stderr("open this address in a browser and log in:");
        output::stdout(url);
    };
    let done = found.login(visit).await?;
    if is_json {
        let object = json!({ "server": args.server, "issuer": done.issuer, "scope": done.scope,
            "renewed": done.is_renewed, "file": done.file });
        output::stdout(&object.to_string());
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
