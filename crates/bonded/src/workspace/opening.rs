//! What a workspace needs of this process to be opened and served: its variables, its log, its host, its program.

use std::path::{Path, PathBuf};

use bonded_host::agent::Workplace;
use bonded_serve::workspace::configured::Configured;
use bonded_serve::workspace::data_dir::DataDir;
use bonded_serve::workspace::known_dirs::KnownDirs;
use bonded_serve::workspace::open_workspace::OpenWorkspace;
use bonded_serve::workspace::serving::RuleWorkers;
use bonded_workspace::WorkProcess;

use crate::agents::{self, Verbosity};
use crate::args::ServedArgs;
use crate::error::{CliError, Code};
use crate::workspace::place;
use crate::{dirs, log_form, masking, settings};

/// Opens a directory, whatever is missing in it is made, and says what it made.
/// Things are said as its configuration says, from the first word on.
pub(crate) async fn open(path: &Path) -> Result<OpenWorkspace, CliError> {
    let place = place::of(path)?;
    let (dir, made) = DataDir::make(&place.dir, place.server()?)?;
    let configured = Configured::read(&dir, agents::variables())?;
    log_form::configure(&configured.config.logging);
    for line in made {
        tracing::info!("{line}");
    }
    let opened = OpenWorkspace::open(dir, configured).await?;
    agents::hide_data(opened.dir.path());
    note(opened.dir.path());
    Ok(opened)
}

/// Lets `bonded runs` find the directory. Without it the directory can still be named, so that no failure counts.
fn note(dir: &Path) {
    let Some(file) = dirs::workspaces_file() else {
        return;
    };
    if let Err(error) = KnownDirs::at(file).note(dir) {
        tracing::debug!("{} is not noted: {error}", dir.display());
    }
}

/// Who works for its rules: a host in the data directory, and this program for plans.
pub(crate) fn workers(
    opened: &OpenWorkspace,
    args: &ServedArgs,
    store: Option<&Path>,
) -> Result<RuleWorkers, CliError> {
    let named = store.map_or_else(|| opened.dir.runs_file(), Path::to_owned);
    let workplace = workplace(opened, args)?;
    let store = settings::open_store_of_runs(args, Some(&named))?;
    let (host, tools) = agents::host(store, workplace.clone(), Verbosity::default());
    let surroundings = opened.configured.surroundings.clone();
    let data_dir = surroundings.data_dir().to_string_lossy().into_owned();
    Ok(RuleWorkers {
        host,
        queueing: settings::queueing(args, &tools),
        tools,
        workplace,
        limits: settings::own_limits(&args.limits, 0)?,
        moment: agents::moment,
        work: Some(WorkProcess {
            program: own_program()?,
            variables: vec![(agents::DATA_VARIABLE.to_owned(), data_dir)],
            surroundings,
            store: named,
        }),
    })
}

/// The place of the runs of rules: the data directory, with the variables of its `.env`.
fn workplace(opened: &OpenWorkspace, args: &ServedArgs) -> Result<Workplace, CliError> {
    let dir = std::path::absolute(opened.dir.path()).map_err(|error| {
        CliError::new(
            Code::DataDir,
            format!("{}: {error}", opened.dir.path().display()),
        )
    })?;
    let environment = opened.configured.variables.clone();
    // Before anything else can be told: the first to speak of secrets decides what is masked.
    masking::mask_with(environment.secrets());
    Ok(Workplace {
        environment,
        ..agents::workplace(&args.agent, &dir)?
    })
}

/// This program, for plans that are worked off in a process of their own.
/// Without it no plan could be worked off, so that the server does not start.
fn own_program() -> Result<PathBuf, CliError> {
    std::env::current_exe().map_err(|error| {
        CliError::new(
            Code::Internal,
            format!("this program cannot be found: {error}"),
        )
    })
}
