//! The pages' door in a workspace: the session of the workspace, and what a person's role lets them do with the runs of
//! its rules.
//!
//! A run belongs to the workspace of the rule that fired it; a run that no rule fired is nobody's here. Members see that
//! there are runs and how they stand, as `/api/automation/runs` says it. A log holds more than that: what the agent was
//! told and what its tools read, which may be files of the server. So it takes the role that judges what runs propose.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use bonded_host::Host;
use bonded_kernel::{RunId, UserId, WorkspaceId};
use bonded_state::Listed;
use bonded_workspace::plan_of_run;
use bonded_workspace::store::{Page, RunFilter};
use bonded_workspace_rules::Permission;
use futures_util::future::BoxFuture;

use super::access;
use super::site::Site;
use crate::console::access::{Access, Deed, Door, EnterBody, SessionDto, Sight, Sign, root_of};
use crate::console::refusal::ConsoleRefusal;
use crate::json_api::refusal::ApiRefusal;

/// More runs than a list looks at; what is forgotten is looked up again.
const KEPT_MAX: usize = 20_000;
/// Runs that are read at a time while the one of a plan is looked for.
const PAGE_RUNS: u64 = 500;

/// The door of a workspace's server.
pub(super) struct WorkspaceDoor {
    site: Arc<Site>,
    homes: Arc<Homes>,
}

impl WorkspaceDoor {
    pub(super) fn new(site: Arc<Site>) -> Self {
        let homes = Arc::default();
        Self { site, homes }
    }

    async fn admitted(&self, headers: &HeaderMap, changes: bool) -> Result<Access, ApiRefusal> {
        let caller = access::caller(&self.site, headers, changes).await?;
        if changes {
            let site = &self.site;
            site.writes.take(&site.store, caller.user_id).await?;
        }
        Ok(Access {
            person: caller.name,
            sight: Arc::new(MemberSight {
                site: self.site.clone(),
                homes: self.homes.clone(),
                user_id: caller.user_id,
            }),
        })
    }
}

impl Door for WorkspaceDoor {
    fn sign(&self) -> Sign {
        Sign {
            kind: "workspace",
            login: "password",
            has: &["inbox", "notes", "people", "rules", "runs"],
        }
    }

    fn needs_setup(&self) -> BoxFuture<'_, Result<bool, ConsoleRefusal>> {
        Box::pin(async {
            let is_set_up = self.site.store.is_set_up().await;
            Ok(!is_set_up.map_err(ApiRefusal::from)?)
        })
    }

    /// A browser sends the cookie under the name that it was set for, and no other.
    fn check_name(&self, _: &HeaderMap) -> Result<(), ConsoleRefusal> {
        Ok(())
    }

    fn enter(&self, _: &EnterBody) -> Result<SessionDto, ConsoleRefusal> {
        let message = "log in with POST /api/auth/login";
        Err(ConsoleRefusal::unauthorised(message))
    }

    fn admit<'a>(
        &'a self,
        headers: &'a HeaderMap,
        changes: bool,
    ) -> BoxFuture<'a, Result<Access, ConsoleRefusal>> {
        Box::pin(async move { Ok(self.admitted(headers, changes).await?) })
    }
}

/// The workspace of each run that was looked up, or that it has none: that never changes.
#[derive(Default)]
struct Homes(Mutex<BTreeMap<RunId, Option<WorkspaceId>>>);

impl Homes {
    async fn of(&self, site: &Site, root: &RunId) -> Result<Option<WorkspaceId>, ApiRefusal> {
        let known = || {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(root).copied()
        };
        if let Some(home) = known() {
            return Ok(home);
        }
        let run = site.store.run(root.clone()).await?;
        let home = match run {
            Some(run) => Some(run.workspace_id),
            None => of_plan(site, root).await?,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT_MAX {
            known.clear();
        }
        known.insert(root.clone(), home);
        Ok(home)
    }
}

/// Of the run of a plan's item: the plan's name follows from the run of the rule, which was there before it.
async fn of_plan(site: &Site, root: &RunId) -> Result<Option<WorkspaceId>, ApiRefusal> {
    let Some((plan, _)) = root.as_str().split_once('.') else {
        return Ok(None);
    };
    let mut page = Page {
        limit: PAGE_RUNS,
        offset: 0,
    };
    loop {
        let filter = RunFilter {
            workspace: None,
            rule: None,
            status: None,
            page,
        };
        let runs = site.store.runs(filter).await?;
        if let Some(run) = runs.iter().find(|run| plan_of_run(&run.run_id) == plan) {
            return Ok(Some(run.workspace_id));
        }
        if (runs.len() as u64) < PAGE_RUNS {
            return Ok(None);
        }
        page.offset += PAGE_RUNS;
    }
}

/// Somebody with a role in some workspaces.
struct MemberSight {
    site: Arc<Site>,
    homes: Arc<Homes>,
    user_id: UserId,
}

impl MemberSight {
    async fn check(&self, run: &Listed, deed: Deed) -> Result<(), ConsoleRefusal> {
        let missing = || ConsoleRefusal::no_run(run.run.as_str());
        let home = self.homes.of(&self.site, root_of(run)).await?;
        let home = home.ok_or_else(missing)?;
        let may = |permission| access::role(&self.site, self.user_id, home, permission);
        let needed = match deed {
            Deed::List | Deed::Fork => Permission::ReadNotes,
            Deed::Read | Deed::Decide => Permission::ReviewOperations,
            Deed::Steer => Permission::LaunchRules,
        };
        if let Err(refusal) = may(needed).await {
            // Whoever is no member is told as little as of a run that there is not.
            let is_member = may(Permission::ReadNotes).await.is_ok();
            return Err(if is_member { refusal.into() } else { missing() });
        }
        match deed {
            Deed::List | Deed::Read | Deed::Decide | Deed::Steer => Ok(()),
            Deed::Fork => {
                let message = "a run of a rule cannot be forked: launch the rule again";
                Err(ConsoleRefusal::conflict(message))
            }
        }
    }
}

impl Sight for MemberSight {
    fn permits<'a>(
        &'a self,
        run: &'a Listed,
        deed: Deed,
    ) -> BoxFuture<'a, Result<(), ConsoleRefusal>> {
        Box::pin(self.check(run, deed))
    }

    fn draw_id(&self) -> RunId {
        Host::draw_id()
    }

    fn has_work(&self) -> bool {
        false
    }
}
