//! The workspace at work: what its requests share, and the engine that fires its rules and drives their runs.
//!
//! The engine takes what rules are due from the store and hands it to who does it: loops of the workspace's agent, runs
//! of agent files, and plans, which are worked off by a process of their own because mounts need one, share one store of
//! runs with the agents that are served beside. What needs no model is done at once.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use bonded_host::agent::{AgentTools, Moment, Workplace};
use bonded_host::{CancellationToken, Host, Queueing};
use bonded_kernel::{Limits, RunId};
use bonded_workspace::keeper::Keeper;
use bonded_workspace::records::LoopTools;
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace::{
    Actions, AgentRuns, Engine, EngineSettings, PlainActions, WEBHOOK_TIMEOUT, WallClock, Webhooks,
    WorkProcess,
};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::figures_door::OwnerDoor;
use super::open_workspace::OpenWorkspace;
use super::pages_door::WorkspaceDoor;
use super::routes;
use super::site::Site;
use crate::console::{self, Console, Resumer, pages};
use crate::listening::serve_router;
use crate::operations::{self, Figures, Operations};

/// Who works for the rules of a workspace, as the process that serves it has them.
#[derive(Debug)]
pub struct RuleWorkers {
    /// Drives loops and runs, and has the log of both.
    pub host: Host,
    /// Those of the host, to be stopped at the end.
    pub tools: Arc<AgentTools>,
    /// What agents of rules find around them.
    pub workplace: Workplace,
    /// The limits that no agent speaks of.
    pub limits: Limits,
    /// What prompts may ask of the machine and the clock.
    pub moment: fn() -> Moment,
    /// None where no plans are worked off.
    pub work: Option<WorkProcess>,
    /// Where runs of agents wait for a worker; without it they are driven here.
    pub queueing: Option<Queueing>,
}

/// To be ended by `ended` after the stop; dropped, it leaves the engine to itself.
#[derive(Debug)]
pub struct Serving {
    site: Arc<Site>,
    /// The pages of the runs of rules.
    console: Arc<Console>,
    tools: Arc<AgentTools>,
    /// Ends by itself after the stop.
    engine: JoinHandle<()>,
}

impl Serving {
    /// Begins to fire rules; from now on requests can be answered.
    pub fn begin(opened: OpenWorkspace, workers: RuleWorkers, stop: CancellationToken) -> Self {
        let tools = workers.tools.clone();
        let log = workers.host.store.clone();
        let (host, actions) = actions(&opened, workers);
        let engine = Engine::new(EngineSettings {
            store: opened.store.clone(),
            clock: Arc::new(WallClock),
            surroundings: opened.configured.surroundings.clone(),
            concurrent_runs: opened.configured.config.automation.concurrent_runs as usize,
            tell: Arc::new(|message| tracing::warn!("rules: {message}")),
            actions,
        });
        let resumer = Arc::new(EngineResumes(engine.clone()));
        let stopped = stop.clone();
        let site = opened.site(log, stop.clone());
        let ended = site.engine_ended.clone().drop_guard();
        let engine = tokio::spawn(async move {
            // A panic drops it too.
            let _ended = ended;
            engine.run(stopped).await;
        });
        let door = Box::new(WorkspaceDoor::new(site.clone()));
        Self {
            engine,
            console: Console::new(host, door, resumer, None, stop),
            site,
            tools,
        }
    }

    /// Everything below `/api`, what the pages ask among it, and the socket. Paths that are nobody's are left to whoever
    /// else is served.
    pub fn router(&self) -> Router {
        let pages = console::routes::router(self.console.clone());
        routes::router(self.site.clone(), pages)
    }

    /// Serves it, and nothing else, until `stop` is cancelled and everything has come to its end.
    pub async fn serve_alone(
        self,
        listener: TcpListener,
        operations: Operations,
        stop_after: Duration,
        stop: CancellationToken,
    ) {
        let figures = operations::router(Figures {
            metrics: operations.metrics,
            door: Box::new(OwnerDoor {
                own: operations.tokens,
                site: self.site.clone(),
            }),
            readiness: self.site.runs.clone(),
            queues: None,
        });
        let router = self.router().merge(figures).fallback(page);
        serve_router(listener, router, stop_after, stop).await;
        self.ended().await;
    }

    /// Waits, after the stop, for the engine and for the sockets.
    /// The engine goes first: it uses the tools, which are stopped last.
    pub async fn ended(self) {
        // An engine that panicked has told so, and is as much at its end.
        let _ended = self.engine.await;
        self.site.sockets_closed().await;
        self.tools.stop().await;
    }
}

/// A page of the app, or a refusal that says where to find what there is.
async fn page(method: Method, headers: HeaderMap, uri: Uri) -> Response {
    match pages::page(&method, &headers, &uri) {
        Some(page) => page,
        None => routes::unknown_path(headers, uri).await,
    }
}

/// The engine drives the runs of rules: it is told to look at those that waited for a person.
struct EngineResumes(Engine);

impl Resumer for EngineResumes {
    fn resume(&self, _: &RunId, _: Option<&str>) -> Result<(), String> {
        self.0.judged();
        Ok(())
    }

    fn left_to_worker(&self, _: &RunId) {
        self.0.judged();
    }
}

/// A host that drives loops of a workspace's agent too: their tools stand before those of agents, and have the notes.
pub fn with_notes(host: Host, notes: Arc<WorkspaceStore>, others: Arc<AgentTools>) -> Host {
    Host {
        tools: Arc::new(LoopTools {
            store: notes,
            clock: Arc::new(WallClock),
            log: host.store.clone(),
            others,
        }),
        ..host
    }
}

/// Who does what rules say: one host for loops of the agent and runs of agent files, and processes for plans.
fn actions(opened: &OpenWorkspace, workers: RuleWorkers) -> (Arc<Host>, Actions) {
    let host = with_notes(workers.host, opened.store.clone(), workers.tools);
    let host = Arc::new(host);
    let config = &opened.configured.config;
    let surroundings = opened.configured.surroundings.clone();
    let keeper = Keeper::new(host.clone(), surroundings.clone()).falling_back_to(
        config.loop_defaults().provider,
        config.automation.fallback_models.clone(),
    );
    let keeper = keeper.queued_as(workers.queueing.clone());
    let actions = Actions {
        loops: Some(Arc::new(keeper)),
        runs: Some(Arc::new(AgentRuns {
            host: host.clone(),
            limits: workers.limits,
            moment: workers.moment,
            workplace: workers.workplace,
            queueing: workers.queueing,
            surroundings,
        })),
        work: workers.work.map(|work| Arc::new(work) as _),
        plain: Some(Arc::new(PlainActions {
            store: opened.store.clone(),
            clock: Arc::new(WallClock),
        })),
        webhooks: Some(Arc::new(Webhooks {
            store: opened.store.clone(),
            surroundings: opened.configured.surroundings.clone(),
            clock: Arc::new(WallClock),
            timeout: WEBHOOK_TIMEOUT,
        })),
    };
    (host, actions)
}
