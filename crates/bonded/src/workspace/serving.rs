//! The workspace at work: what its requests share, and the engine that fires its rules and drives their runs.
//!
//! The engine takes what rules are due from the store and hands it to one of three: loops of the workspace's agent,
//! runs of agent files, and plans, which are worked off by a process of their own because mounts need one. All of
//! them share one store of runs with the agents that are served beside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_host::agent::{AgentTools, Workplace};
use bonded_host::{CancellationToken, Host};
use bonded_workspace::keeper::Keeper;
use bonded_workspace::records::LoopTools;
use bonded_workspace::{Actions, AgentRuns, Engine, EngineSettings, WallClock, WorkProcess};
use tokio::task::JoinHandle;

use super::config_file::{self, Configured};
use super::open_workspace::OpenWorkspace;
use crate::agents::{self, Verbosity};
use crate::args::ServedArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};
use bonded_serve::workspace::Site;

/// To be ended by `ended` after the stop; dropped, it leaves the engine to itself.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) site: Arc<Site>,
    tools: Arc<AgentTools>,
    /// Ends by itself after the stop.
    engine: JoinHandle<()>,
}

impl Serving {
    /// Begins to fire rules; from now on requests can be answered.
    pub(crate) fn begin(
        opened: OpenWorkspace,
        args: &ServedArgs,
        store: Option<&Path>,
        stop: CancellationToken,
    ) -> Result<Self, CliError> {
        let store_file = store.map_or_else(|| opened.dir.runs_file(), Path::to_owned);
        let (actions, tools) = actions(&opened, args, store_file)?;
        let engine = Engine::new(EngineSettings {
            store: opened.store.clone(),
            clock: Arc::new(WallClock),
            surroundings: opened.configured.surroundings.clone(),
            concurrent_runs: opened.configured.config.automation.concurrent_runs as usize,
            tell: Arc::new(|message| tracing::warn!("rules: {message}")),
            actions,
        });
        let stopped = stop.clone();
        Ok(Self {
            engine: tokio::spawn(async move { engine.run(stopped).await }),
            site: opened.site(stop),
            tools,
        })
    }

    /// Waits, after the stop, for the engine and for the sockets.
    /// The engine goes first: it uses the tools, which are stopped last.
    pub(crate) async fn ended(self) {
        // An engine that panicked has told so, and is as much at its end.
        let _ended = self.engine.await;
        self.site.sockets_closed().await;
        self.tools.stop().await;
    }
}

/// Who does what rules say: one host for loops of the agent and runs of agent files, and processes for plans.
/// The tools of loops stand before those of agents: they have the notes.
fn actions(
    opened: &OpenWorkspace,
    args: &ServedArgs,
    store_file: PathBuf,
) -> Result<(Actions, Arc<AgentTools>), CliError> {
    let workplace = workplace(opened, args)?;
    let store = settings::open_store(Some(&store_file))?;
    let (host, tools) = agents::host(store, workplace.clone(), Verbosity::default());
    let host = Arc::new(Host {
        tools: Arc::new(LoopTools {
            store: opened.store.clone(),
            clock: Arc::new(WallClock),
            log: host.store.clone(),
            others: tools.clone(),
        }),
        ..host
    });
    let Configured {
        config,
        surroundings,
        ..
    } = &opened.configured;
    let surroundings = surroundings.clone();
    let keeper = Keeper::new(host.clone(), surroundings.clone()).falling_back_to(
        config.loop_defaults().provider,
        config.automation.fallback_models.clone(),
    );
    let data_dir = surroundings.data_dir().to_string_lossy().into_owned();
    let actions = Actions {
        loops: Some(Arc::new(keeper)),
        runs: Some(Arc::new(AgentRuns {
            host,
            limits: settings::own_limits(&args.limits, 0)?,
            surroundings: surroundings.clone(),
            moment: agents::moment,
            workplace,
        })),
        work: Some(Arc::new(WorkProcess {
            program: own_program()?,
            variables: vec![(agents::DATA_VARIABLE.to_owned(), data_dir)],
            surroundings,
            store_file,
        })),
    };
    Ok((actions, tools))
}

/// The place of the runs of rules: the data directory, with the variables of its `.env`.
fn workplace(opened: &OpenWorkspace, args: &ServedArgs) -> Result<Workplace, CliError> {
    let dir = std::path::absolute(opened.dir.path()).map_err(|error| {
        CliError::new(
            Code::DataDir,
            format!("{}: {error}", opened.dir.path().display()),
        )
    })?;
    let environment = config_file::variables(&dir)?;
    // Before anything else can be told: the first to speak of secrets decides what is masked.
    output::mask_with(environment.secrets());
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
