//! `bonded explain`: the page of an error code.

use std::process::ExitCode;

use crate::args::ExplainArgs;
use crate::error::{CliError, Code};
use crate::output;

pub(crate) fn explain(args: &ExplainArgs) -> Result<ExitCode, CliError> {
    let names = || Code::ALL.iter().map(|code| code.name()).collect::<Vec<_>>();
    match &args.code {
        None => output::stdout(&names().join("\n")),
        Some(asked) => match Code::ALL.iter().find(|code| code.name() == asked.as_str()) {
            Some(code) => output::stdout(code.page().trim_end()),
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
