//! Which run a person means.
//!
//! People type the beginning of an id. A whole id always means itself, also where it begins another one; a
//! beginning counts only if it is that of one run.

use bonded_kernel::RunId;
use bonded_state::{ListFilter, Store};

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
