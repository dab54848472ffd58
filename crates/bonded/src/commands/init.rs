//! `bonded init`: the data directory of a workspace server.

use std::process::ExitCode;

use crate::args::InitArgs;
use crate::error::CliError;
use crate::output;
use crate::workspace::config_file;
use crate::workspace::data_dir::DataDir;

pub(crate) async fn init(args: &InitArgs) -> Result<ExitCode, CliError> {
    let (dir, made) = DataDir::make(&args.dir)?;
    for line in made {
        output::stderr(&line);
    }
    for warning in config_file::read(&dir.config_file())?
        .warnings
        .into_iter()
        .chain(dir.check_prompt()?)
    {
        output::stderr(&format!("warning: {warning}"));
    }
    let store = dir.open_store()?;
    if let Some(token) = dir.set_up(&store).await? {
        output::stderr(&format!(
            "made {}: it opens everything, keep it",
            token.display()
        ));
    }
    let shown = dir.path().display();
    output::stderr(&format!("ready: bonded serve --data {shown}"));
    Ok(ExitCode::SUCCESS)
}
