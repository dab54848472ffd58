//! Who works on the items of a plan: the agents and models that the command line names.
//!
//! Each agent is prepared once, on the tree itself; what it is assigned works on a copy. A work item always has a
//! sandbox, because only what happens within the copy can be undone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bonded_kernel::{HeldFile, SandboxLevel};
use bonded_state::Store;
use bonded_work::{Assigner, Assignment, PlanRecord, goal_text};
use bonded_work_rules::{AgentId, WorkItem};

use crate::agents::{self, Verbosity};
use crate::args::WorkArgs;
use crate::error::{CliError, Code};
use crate::settings::{self, RunSetup, SetupRequest};

/// One agent for all items, or one for each `agent_id` that the plan speaks of.
pub(crate) struct CommandLineStaff {
    store: Arc<dyn Store>,
    /// For whatever has nobody of its own.
    of_all: Option<RunSetup>,
    of_one: BTreeMap<AgentId, RunSetup>,
}

impl CommandLineStaff {
    /// Every agent and model is looked at before anything runs.
    /// Every id of the plan must have somebody: one that has nobody would be found after hours of work.
    pub(crate) fn new(
        args: &WorkArgs,
        record: &PlanRecord,
        store: Arc<dyn Store>,
        asked: impl Iterator<Item = AgentId>,
    ) -> Result<Self, CliError> {
        let mut of_all = None;
        let mut of_one = BTreeMap::new();
        for argument in &args.agent_files {
            match argument.split_once('=') {
                Some((id, file)) => {
                    let id = AgentId::new(id).map_err(|error| usage(&error.to_string()))?;
                    if of_one
                        .insert(id, prepare(args, record, Some(file))?)
                        .is_some()
                    {
                        return Err(usage(&format!("{id} is given two agents")));
                    }
                }
                None if of_all.is_some() => {
                    return Err(usage("two agents are given for all items"));
                }
                None => of_all = Some(prepare(args, record, Some(argument))?),
            }
        }
        if args.agent_files.is_empty() {
            of_all = Some(prepare(args, record, None)?);
        }
        let staff = Self {
            store,
            of_all,
            of_one,
        };
        for id in asked {
            staff.who(id).ok_or_else(|| {
                usage(&format!("there is no agent for {id}")).hint(format!(
                    "choose one: --agent {id}=FILE.ai, or --agent FILE.ai for all"
                ))
            })?;
        }
        Ok(staff)
    }

    /// Whoever is named for the id goes before whoever is named for all.
    fn who(&self, id: AgentId) -> Option<&RunSetup> {
        self.of_one.get(&id).or(self.of_all.as_ref())
    }

    /// One agent that wants no words is enough: they share the screen.
    pub(crate) fn is_quiet(&self) -> bool {
        let mut all = self.of_all.iter().chain(self.of_one.values());
        all.any(|prepared| prepared.options.quiet)
    }

    /// What counts of files that were found, for when the plan is resumed. What a person named is named again then.
    pub(crate) fn held(&self) -> Vec<HeldFile> {
        let all = self.of_all.iter().chain(self.of_one.values());
        let held = all.flat_map(|prepared| prepared.workplace.trust.held());
        let found: BTreeSet<HeldFile> = held.filter(|file| !file.named).collect();
        found.into_iter().collect()
    }

    pub(crate) fn warnings(&self) -> impl Iterator<Item = &String> {
        let all = self.of_all.iter().chain(self.of_one.values());
        all.flat_map(|prepared| &prepared.warnings)
    }
}

impl Assigner for CommandLineStaff {
    /// The goal is made on the spot, with its own nonce and the copy as its directory. The host is its own too, so
    /// that tools of two items never meet.
    fn assign(&self, item: &WorkItem, dir: &Path) -> Result<Assignment, String> {
        let prepared = self
            .who(item.agent_id)
            .ok_or_else(|| format!("there is no agent for {}", item.agent_id))?;
        let text = goal_text(item);
        prepared
            .check(&text)
            .map_err(|error| error.message().to_owned())?;
        let mut goal = prepared.checked_goal(text);
        goal.config.dir = dir.to_string_lossy().into_owned();
        let mut workplace = prepared.workplace.clone();
        workplace.dir = dir.to_owned();
        let shown = Verbosity::of(&prepared.options);
        let (host, tools) = agents::host(self.store.clone(), workplace, shown);
        Ok(Assignment { host, goal, tools })
    }
}

/// The root is the tree and not a copy: files are trusted where they lie, before anybody works.
fn prepare(
    args: &WorkArgs,
    record: &PlanRecord,
    agent: Option<&str>,
) -> Result<RunSetup, CliError> {
    let prepared = settings::prepare(&SetupRequest {
        dir: Some(&record.root),
        held: &record.held,
        agent_file: agent.map(Path::new),
        system: args.system.as_deref(),
        // A plan says what its items are told.
        reads_instructions: false,
        offers_skills: false,
        agent: &args.agent,
        model: &args.model,
        limits: &args.limits,
        streams: false,
        converses: false,
        asks: false,
    })?;
    if prepared.options.sandbox.level == SandboxLevel::Full {
        return Err(
            usage("bonded work needs a sandbox; it cannot run with --sandbox full")
                .hint("leave the level at workspace-write"),
        );
    }
    Ok(prepared)
}

fn usage(message: &str) -> CliError {
    CliError::new(Code::Usage, message)
}
