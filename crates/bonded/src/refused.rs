//! Runs that were refused before their first step are on record all the same, with the reason.
//!
//! A person who finds no run would look for it in vain. The record says what was asked, in which directory, and why
//! nothing came of it; secrets are masked in it before it is written, because it stays. A chosen id is not used up
//! by a refusal: the record has another name made from it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bonded_host::{Goal, Host, refuse};
use bonded_kernel::{Millis, Run, RunConfig, RunId};
use bonded_state::{ListFilter, Store};

use crate::error::{CliError, Code};
use crate::masking;
use bonded_host::shapes::text;

/// The id of a run, and whether it is anybody's choice.
#[derive(Clone, Copy)]
pub(crate) enum Name<'a> {
    /// Nobody else knows it.
    Drawn(&'a RunId),
    /// Somebody chose it and will come again with it: it stays free for a run that can begin.
    Chosen(&'a RunId),
}

impl Name<'_> {
    /// Either way.
    pub(crate) fn id(&self) -> &RunId {
        let (Self::Drawn(id) | Self::Chosen(id)) = self;
        id
    }
}

/// The goal of a run whose settings could not even be made out.
/// It has no model and no system text: nobody knows them.
pub(crate) fn bare_goal(input: String, dir: Option<&Path>) -> Goal {
    let dir = dir.unwrap_or(Path::new("."));
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    Goal {
        text: input.into(),
        system: "".into(),
        config: RunConfig::new(dir.to_string_lossy(), vec![]),
        images: vec![],
    }
}

/// Whether an error in the settings refuses a run. A mistake in what was typed is no run: it leaves nothing
/// behind, not even a store.
pub(crate) fn is_of_a_run(error: &CliError) -> bool {
    matches!(
        error.code,
        Code::AgentFile
            | Code::Config
            | Code::Untrusted
            | Code::Schema
            | Code::ToolServer
            | Code::UnknownTool
            | Code::UnknownSkill
    )
}

/// Records why a run could not begin, and gives the error on with the way to the record. A run that has
/// begun has a log already.
pub(crate) async fn keep(
    store: &dyn Store,
    name: Name<'_>,
    goal: Goal,
    error: CliError,
) -> (CliError, Option<Run>) {
    if !matches!(store.head(name.id()).await, Ok(None)) {
        return (error, None);
    }
    let why = format!("refused: {}: {}", error.code.name(), error.message());
    let why = masking::masked(&why);
    let goal = Goal {
        text: masking::masked(&goal.text).into_owned().into(),
        system: masking::masked(&goal.system).into_owned().into(),
        config: goal.config,
        images: goal.images,
    };
    let Some(id) = free(store, name).await else {
        return (error, None);
    };
    // What is said already is worse than that it could not be recorded.
    match refuse(store, now(), &id, goal, &why).await {
        Ok(run) => {
            let shown = text::short_id(&id);
            let error = error.hint(format!("on record as run {shown}: bonded show {shown}"));
            (error, Some(run))
        }
        Err(_) => (error, None),
    }
}

/// The id of the record.
/// Refusals of one id are counted, so that each has its own record. Two at the same moment may draw the same
/// number: the second is then not recorded.
async fn free(store: &dyn Store, name: Name<'_>) -> Option<RunId> {
    let chosen = match name {
        Name::Drawn(id) => return Some(id.clone()),
        Name::Chosen(id) => id,
    };
    let prefix = format!("{chosen}-refused-");
    let filter = ListFilter {
        prefix: Some(prefix.clone()),
        limit: usize::MAX,
    };
    let earlier = store.list(filter).await.ok()?;
    let id = RunId::new(&format!("{prefix}{}", earlier.len() + 1));
    // An id that has no room for more is named by nothing else.
    Some(id.unwrap_or_else(|_| Host::draw_id()))
}

/// A clock before 1970 is taken for its beginning.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Millis(since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }))
}
