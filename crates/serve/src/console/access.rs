//! Who asks, and what they may do with which run. Each server has a door of its own; behind it all are asked the same.

use std::sync::Arc;

use axum::http::HeaderMap;
use bonded_host::Host;
use bonded_kernel::RunId;
use bonded_state::Listed;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::refusal::ConsoleRefusal;

/// The way in of a server.
pub(crate) trait Door: Send + Sync {
    /// What strangers are told: what to come in with, and what there is.
    fn sign(&self) -> Sign;

    /// Whether no person can sign in yet, so that the first one has to be given a name and a password.
    fn needs_setup(&self) -> BoxFuture<'_, Result<bool, ConsoleRefusal>>;

    /// Whether a request under this name is answered at all.
    fn check_name(&self, headers: &HeaderMap) -> Result<(), ConsoleRefusal>;

    /// Begins a session, where sessions begin here.
    fn enter(&self, given: &EnterBody) -> Result<SessionDto, ConsoleRefusal>;

    /// Finds out who asks. Whoever `changes` something may have to show more.
    fn admit<'a>(
        &'a self,
        headers: &'a HeaderMap,
        changes: bool,
    ) -> BoxFuture<'a, Result<Access, ConsoleRefusal>>;
}

/// Knows what each token of a server opens.
pub(crate) trait TokenAccess: Send + Sync {
    /// Whether the one token is that of the person who runs the server.
    fn is_own(&self) -> bool;

    /// What the holder of this token may do.
    fn access(&self, token: &str) -> Result<Access, ConsoleRefusal>;
}

/// What stands at a door.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sign {
    /// What is behind it: `store`, `agents` or `workspace`.
    pub(crate) kind: &'static str,
    /// What opens it: `link`, `token` or `password`.
    pub(crate) login: &'static str,
    /// The parts of the app that have something to show.
    pub(crate) has: &'static [&'static str],
}

/// What a person comes in with: one of the two.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "NewSession"))]
pub(crate) struct EnterBody {
    /// The secret of a link.
    pub(crate) link: Option<String>,
    /// The server's token.
    pub(crate) token: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Session"))]
pub(crate) struct SessionDto {
    /// Sent with every request as `Authorization: Bearer`; ends with the server's process.
    pub(crate) token: String,
    /// The name that verdicts are recorded under.
    pub(crate) user: String,
}

/// Somebody who was let in.
#[derive(Clone)]
pub(crate) struct Access {
    /// The name that verdicts are recorded under.
    pub(crate) person: String,
    pub(crate) sight: Arc<dyn Sight>,
}

/// What a person does with a run, each more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Sees that it is there and how it stands.
    List,
    /// Reads its log.
    Read,
    /// Approves and denies its calls.
    Decide,
    /// Cancels and resumes it.
    Steer,
    /// Begins another one with its first turns.
    Fork,
}

/// What a person may do with which run.
pub(crate) trait Sight: Send + Sync {
    /// A run that may not even be listed is said to be missing, as one that there is not.
    fn permits<'a>(
        &'a self,
        run: &'a Listed,
        deed: Deed,
    ) -> BoxFuture<'a, Result<(), ConsoleRefusal>>;

    /// The id of a run that they begin.
    fn draw_id(&self) -> RunId;

    /// Whether they see the plans of work items too.
    fn has_work(&self) -> bool;
}

/// All that is in the store: for the person whose store it is.
#[derive(Debug)]
pub(crate) struct WholeStore;

impl Sight for WholeStore {
    fn permits<'a>(&'a self, _: &'a Listed, _: Deed) -> BoxFuture<'a, Result<(), ConsoleRefusal>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn draw_id(&self) -> RunId {
        Host::draw_id()
    }

    fn has_work(&self) -> bool {
        true
    }
}

/// The run that a run was called for in the end: who may see that one may see all below it.
pub(crate) fn root_of(listed: &Listed) -> &RunId {
    let started = listed.ends.as_ref().ok();
    let started = started.and_then(|ends| ends.first.event.started());
    let parent = started.and_then(|it| it.config.parent.as_ref());
    parent.map_or(&listed.run, |parent| &parent.origin)
}

/// Those of some runs that a person sees.
pub(super) async fn seen(
    access: &Access,
    listed: Vec<Listed>,
) -> Result<Vec<Listed>, ConsoleRefusal> {
    let mut seen = Vec::with_capacity(listed.len());
    for run in listed {
        match access.sight.permits(&run, Deed::List).await {
            Ok(()) => seen.push(run),
            Err(refusal) if refusal.is_fault() => return Err(refusal),
            Err(_) => {}
        }
    }
    Ok(seen)
}

/// What of a run the app may offer to a person.
pub(super) async fn offers(access: &Access, run: &Listed) -> Vec<&'static str> {
    let mut offered = vec![];
    for (name, deed) in [
        ("approve", Deed::Decide),
        ("cancel", Deed::Steer),
        ("fork", Deed::Fork),
        ("resume", Deed::Steer),
    ] {
        if access.sight.permits(run, deed).await.is_ok() {
            offered.push(name);
        }
    }
    offered
}
