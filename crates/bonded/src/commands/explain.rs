//! `bonded explain`: the page of an error code.
//!
//! The pages are built in. An unknown code is answered with the one that was probably meant; without a code, all are
//! listed.

use std::process::ExitCode;

use bonded_kernel::{nearest, short};

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
                let meant = nearest(asked, names());
                let meant = meant.map(|it| format!(". Did you mean {it}?"));
                let message = format!(
                    "there is no error code {}{}",
                    short(asked),
                    meant.unwrap_or_default()
                );
                return Err(CliError::new(Code::Usage, message).hint("list them: bonded explain"));
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
