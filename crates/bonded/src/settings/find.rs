//! Which run a person means.
//!
//! People type the beginning of an id. A whole id always means itself, also where it begins another one; a
//! beginning counts only if it is that of one run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::RunId;
use bonded_serve::workspace::known_dirs::KnownDir;
use bonded_state::{ListFilter, Store};

use super::store::{known_dirs, open_existing_store, open_store_to_read};
use crate::error::{CliError, Code};

/// Finds the one run that a person means by a whole id or the beginning of one.
/// Six are looked for: more than one is enough to refuse, and a few are worth showing.
pub(crate) async fn find_run(store: &dyn Store, named: &str) -> Result<RunId, CliError> {
    let exact = RunId::new(named).map_err(|_| unknown_run(named))?;
    if store.head(&exact).await?.is_some() {
        return Ok(exact);
    }
    let filter = ListFilter {
        prefix: Some(named.to_owned()),
        limit: 6,
    };
    let matches = store.list(filter).await?;
    match matches.as_slice() {
        [one] => Ok(one.run.clone()),
        [] => Err(unknown_run(named).hint(near_runs(store, named).await?)),
        several => {
            let ids: Vec<String> = several
                .iter()
                .map(|listed| listed.run.to_string())
                .collect();
            let message = format!("{named:?} is the beginning of several runs' ids");
            Err(CliError::new(Code::AmbiguousRun, message)
                .hint(format!("they are:\n  {}", ids.join("\n  "))))
        }
    }
}

/// Finds a run that is only looked at: in the store, else in the data directories that were noted. A store that is named
/// is looked into alone.
pub(crate) async fn find_run_to_read(
    argument: Option<&Path>,
    named: &str,
) -> Result<(Arc<dyn Store>, RunId), CliError> {
    match find_anywhere(argument, named, open_store_to_read).await? {
        Found::InStore(store, run) => Ok((store, run)),
        Found::InWorkspace(found) => Ok((found.store, found.run)),
    }
}

/// Finds a run that is steered, which is done where it is kept: one of a workspace is that of its server.
pub(crate) async fn find_run_to_steer(
    argument: Option<&Path>,
    named: &str,
) -> Result<(Arc<dyn Store>, RunId), CliError> {
    let found = match find_anywhere(argument, named, open_existing_store).await? {
        Found::InStore(store, run) => return Ok((store, run)),
        Found::InWorkspace(found) => found,
    };
    let (run, dir) = (found.run, found.dir.display());
    let message = format!("run {run} belongs to the workspace in {dir}, whose server drives it");
    Err(CliError::new(Code::UnknownRun, message).hint(format!(
        "start its server, which resumes it: bonded serve --data {dir}; or, while none runs, name the store: \
         --store {}",
        found.file.display()
    )))
}

enum Found {
    InStore(Arc<dyn Store>, RunId),
    InWorkspace(InWorkspace),
}

/// Opens a store to read it, or to steer its runs.
type Opener = fn(Option<&Path>) -> Result<Arc<dyn Store>, CliError>;

async fn find_anywhere(
    argument: Option<&Path>,
    named: &str,
    open: Opener,
) -> Result<Found, CliError> {
    let unknown = match open(argument) {
        Ok(store) => match find_run(&*store, named).await {
            Ok(run) => return Ok(Found::InStore(store, run)),
            Err(error) => error,
        },
        Err(error) => error,
    };
    let is_elsewhere = matches!(unknown.code, Code::UnknownRun | Code::StoreMissing);
    if argument.is_some() || !is_elsewhere {
        return Err(unknown);
    }
    let found = find_in_workspaces(named).await?;
    found.map(Found::InWorkspace).ok_or(unknown)
}

/// A run of a workspace.
struct InWorkspace {
    store: Arc<dyn Store>,
    run: RunId,
    dir: PathBuf,
    file: PathBuf,
}

/// Looks into the data directories that were noted.
async fn find_in_workspaces(named: &str) -> Result<Option<InWorkspace>, CliError> {
    for known in known_dirs() {
        let KnownDir::Open(dir) = known else {
            continue;
        };
        let file = dir.runs_file();
        // One that cannot be opened hides no other.
        let Ok(store) = open_store_to_read(Some(&file)) else {
            continue;
        };
        match find_run(&*store, named).await {
            Ok(run) => {
                let dir = dir.path().to_owned();
                return Ok(Some(InWorkspace {
                    store,
                    run,
                    dir,
                    file,
                }));
            }
            Err(error) if error.code == Code::UnknownRun => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// What cannot be an id at all is an unknown run to the person as well.
fn unknown_run(named: &str) -> CliError {
    CliError::new(
        Code::UnknownRun,
        format!("there is no run {named:?} in this store"),
    )
}

/// The ids that begin most like what was typed, else the newest.
/// Among the newest 200, so that a slip in a large store costs little.
async fn near_runs(store: &dyn Store, named: &str) -> Result<String, CliError> {
    let filter = ListFilter {
        prefix: None,
        limit: 200,
    };
    let listed = store.list(filter).await?;
    if listed.is_empty() {
        return Ok("the store has no runs yet".into());
    }
    let common = |id: &str| {
        id.bytes()
            .zip(named.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let ids = || listed.iter().map(|listed| listed.run.as_str());
    let mut near: Vec<&str> = ids().filter(|id| common(id) > 0).collect();
    near.sort_by_key(|id| std::cmp::Reverse(common(id)));
    let (title, mut shown) = match near.is_empty() {
        true => ("latest runs", ids().collect()),
        false => ("near ones", near),
    };
    shown.truncate(5);
    Ok(format!("{title}:\n  {}", shown.join("\n  ")))
}
