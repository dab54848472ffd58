//! `bonded explain`: the page of an error code.
//!
//! The pages are built in. An unknown code is answered with all that there are, since what was typed came from a
//! message of this program or another version of it.

use std::process::ExitCode;

use crate::args::ExplainArgs;
use crate::error::{CliError, Code};
use crate::output;

pub(crate) fn explain(args: &ExplainArgs) -> Result<ExitCode, CliError> {
    let names = || -> Vec<&str> { pages().map(|(name, _)| name).collect() };
    match &args.code {
        None => output::stdout(&names().join("\n")),
        Some(asked) => match pages().find(|(name, _)| name == asked) {
            Some((_, page)) => output::stdout(page.trim_end()),
            None => {
                return Err(CliError::new(
                    Code::Usage,
                    format!("there is no error code {asked:?}"),
                )
                .hint(format!("there are: {}", names().join(", "))));
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Every code with its page: those of the command line, then those of the workspace.
fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = Code::ALL.iter().map(|code| (code.name(), code.page()));
    let workspace = bonded_workspace_rules::Code::ALL.iter();
    own.chain(workspace.map(|code| (code.as_str(), code.page())))
}
