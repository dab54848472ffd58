//! From arguments and environment to what the host needs.
//!
//! A run is described by flags, overrides, an agent file, layers of configuration and variables, in an order of
//! strength that the host knows. Here they are brought together, checked as far as that is possible without a
//! model, and made into a goal that lacks only what is asked. Nothing here starts anything; a person may be asked
//! about trust, because files are read.

mod agent;
mod continuing;
mod find;
mod limits;
mod market;
mod plain;
pub(crate) mod prefix;
mod store;
mod targets;

use std::path::Path;

use bonded_host::agent::{Agent, Workplace};
use bonded_host::config::options::Options;
use bonded_host::instructions::Instructions;
use bonded_host::{Goal, Host, prices};
use bonded_kernel::{HeldFile, RunConfig, RunFiles, Target};

pub(crate) use agent::assignment_for_check;
pub(crate) use continuing::{
    asking_policy, goal_given, is_begun_by_hand, last_run_here, other_target, refuse_bound,
    refuse_looser, refuse_looser_than_configured,
};
pub(crate) use find::{find_run, find_run_to_read, find_run_to_steer};
pub(crate) use limits::{no_price, own_limits};
pub(crate) use market::offered;
pub(crate) use plain::{looked_at, models_named};
pub(crate) use store::{
    host, known_dirs, open_existing_store, open_queues, open_store, open_store_of_runs,
    open_store_to_read, queueing, store_address, store_path, waits,
};
pub(crate) use targets::{check_scripts, model_meant, target};

use crate::agents;
use crate::args::{AgentArgs, ChatArgs, LimitArgs, ModelArgs, RunArgs};
use crate::error::{CliError, Code};
use crate::options;
use crate::style::{Look, Stream};

/// All that is needed to make goals and run them.
pub(crate) struct RunSetup {
    /// A goal that lacks what is asked.
    /// Made once: many goals of a file differ in nothing else, and the nonce.
    sample: Goal,
    /// None for a run of the built-in tools.
    agent: Option<Box<Agent>>,
    pub(crate) workplace: Workplace,
    /// As they were resolved, for what concerns the command line itself: how much is shown.
    pub(crate) options: Options,
    /// For the person, before the run begins.
    pub(crate) warnings: Vec<String>,
    /// What the project says of itself, as it is sent.
    pub(crate) instructions: Instructions,
}

impl RunSetup {
    /// Whether what is asked is what the agent takes.
    pub(crate) fn check(&self, input: &str) -> Result<(), CliError> {
        match &self.agent {
            Some(agent) => Ok(agent.check_input(input)?),
            None => Ok(()),
        }
    }

    /// Whether what is asked is a JSON document.
    pub(crate) fn takes_json(&self) -> bool {
        self.agent
            .as_ref()
            .is_some_and(|agent| agent.file.input.is_some())
    }

    /// The goal of what is asked and was checked.
    /// Each run draws its own nonce: with a known one, a text from outside could close the marks that it stands
    /// between.
    pub(crate) fn checked_goal(&self, input: String) -> Goal {
        let mut goal = self.sample.clone();
        let nonce = Host::draw_nonce();
        if let Some(policy) = &mut goal.config.policy {
            policy.nonce = nonce.clone();
        }
        if let Some(agent) = &mut goal.config.agent {
            agent.nonce = nonce;
        }
        goal.text = input.into();
        goal
    }

    /// What the run will be bound to.
    pub(crate) fn config(&self) -> &RunConfig {
        &self.sample.config
    }

    /// Names other models before the run begins.
    pub(crate) fn set_targets(&mut self, targets: Vec<Target>) -> Result<(), CliError> {
        let is_limited = self.sample.config.limits.cost_max.is_some();
        if is_limited && !targets.iter().all(prices::may_be_limited) {
            return Err(no_price(
                "there is a limit of cost; name a model with a price",
            ));
        }
        self.sample.config.targets = targets;
        Ok(())
    }

    /// Changes what holds for every goal that is made from here on.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Goal)) {
        change(&mut self.sample);
    }

    /// Where the runs are kept outside the store.
    pub(crate) fn kept(&self) -> Option<&RunFiles> {
        self.sample.config.kept.as_deref()
    }
}

/// Who is to work, where, and within what.
/// What `run` and `work` have in common. It borrows the arguments of either.
#[derive(Clone, Copy)]
pub(crate) struct SetupRequest<'a> {
    pub(crate) dir: Option<&'a Path>,
    /// What counted of files that were found, where this goes on with something that was begun.
    pub(crate) held: &'a [HeldFile],
    pub(crate) agent_file: Option<&'a Path>,
    pub(crate) system: Option<&'a Path>,
    /// Whether the project's AGENTS.md is read where no agent says so.
    pub(crate) reads_instructions: bool,
    /// Whether all skills are offered to tools without an agent where nothing says which.
    pub(crate) offers_skills: bool,
    pub(crate) agent: &'a AgentArgs,
    pub(crate) model: &'a ModelArgs,
    pub(crate) limits: &'a LimitArgs,
    /// Whether replies are streamed where nothing says otherwise.
    pub(crate) streams: bool,
    /// Whether the run is a conversation, where no agent says what it is.
    pub(crate) converses: bool,
    /// Whether the person is asked before something is changed, where nothing says otherwise.
    pub(crate) asks: bool,
}

impl<'a> From<&'a RunArgs> for SetupRequest<'a> {
    fn from(args: &'a RunArgs) -> Self {
        Self {
            dir: args.dir.as_deref(),
            held: &[],
            agent_file: args.agent_file.as_deref(),
            system: args.system.as_deref(),
            reads_instructions: !args.no_agents_md,
            offers_skills: true,
            agent: &args.agent,
            model: &args.model,
            limits: &args.limits,
            streams: shows_text(args),
            converses: false,
            asks: false,
        }
    }
}

impl<'a> From<&'a ChatArgs> for SetupRequest<'a> {
    fn from(args: &'a ChatArgs) -> Self {
        Self {
            dir: args.dir.as_deref(),
            held: &[],
            agent_file: args.agent_file.as_deref(),
            system: args.system.as_deref(),
            reads_instructions: !args.no_agents_md,
            offers_skills: true,
            agent: &args.agent,
            model: &args.model,
            limits: &args.limits,
            streams: Look::of(Stream::Err).redraws(),
            converses: true,
            asks: !args.no_ask,
        }
    }
}

/// Whether somebody reads what a model says while it says it: a person at a terminal.
fn shows_text(args: &RunArgs) -> bool {
    let is_data = args.json || args.stream_json || args.each.is_some();
    !is_data && Look::of(Stream::Err).redraws()
}

/// Makes out what a command line means: an agent, or goals that the built-in tools work on.
/// What counted before is remembered first, so that nobody is asked twice about the same file.
pub(crate) fn prepare(args: &SetupRequest<'_>) -> Result<RunSetup, CliError> {
    let dir = working_directory(args.dir)?;
    let mut workplace = agents::workplace(args.agent, Path::new(&dir))?;
    if args.streams {
        workplace.variables.extend(options::streamed());
    }
    if args.asks {
        workplace.variables.extend(options::asking());
    }
    workplace.trust.remember(args.held);
    match args.agent_file {
        Some(file) => agent::prepare_agent(args, file, workplace),
        None => plain::prepare_plain(args, dir, workplace),
    }
}

/// The real path goes into the log: a link that leads elsewhere later does not move a run that is resumed.
pub(crate) fn working_directory(argument: Option<&Path>) -> Result<String, CliError> {
    let argument = argument.unwrap_or(Path::new("."));
    let bad = |why: String| {
        let message = format!(
            "the working directory {} cannot be used: {why}",
            argument.display()
        );
        CliError::new(Code::Workdir, message)
    };
    let path = argument
        .canonicalize()
        .map_err(|error| bad(error.to_string()))?;
    if !path.is_dir() {
        return Err(bad("it is not a directory".into()));
    }
    let text = path.into_os_string().into_string();
    text.map_err(|_| bad("its path is not UTF-8".into()))
}
