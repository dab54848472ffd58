//! `bonded serve`: agents as models of an OpenAI-compatible server, and a workspace of notes and rules.
//!
//! Three servers are composed here from the same parts: agents alone, a workspace alone, or a workspace with agents
//! beside it on one port. Everything that can be wrong is found before the first client is answered: the agents are
//! loaded and tried, the door is made sure of, the store is opened, the port is bound. A stop lets runs under way
//! go on for a while.

pub(super) mod door;

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bonded_host::agent::{self, Agent, AgentTools, UnknownWindow, Workplace};
use bonded_host::{CancellationToken, Host, prices};
use bonded_kernel::Limits;
use tokio::net::TcpListener;

use super::ui::run_pages;
use crate::agents::Verbosity;
use crate::args::{ServeArgs, ServedArgs};
use crate::error::{CliError, Code};
use crate::review::person;
use crate::signals::{Stopping, stop_on_signal};
use crate::workspace::opening;
use crate::{agents, output, settings, stderr_writer, telemetry};
use crate::{log_form, logging};
use bonded_host::keeping::Keeper;
use bonded_serve::agents::{Apart, ClientToolsMode, ServerSettings, TokenKeeper, Tokens};
use bonded_serve::operations::Operations;
use bonded_serve::server::Beside;
use bonded_serve::workspace::open_workspace::OpenWorkspace;
use bonded_serve::workspace::serving::Serving;

/// Where agents are served where nobody says otherwise: on this machine only.
const LISTEN: &str = "127.0.0.1:8130";

/// Runs under way are let go on for a while.
const STOPPING: Stopping = Stopping {
    message: "stopping after the active runs; press Ctrl-C again to stop now",
    exit_code: 1,
};

/// Without a data directory it is agents alone, and then at least one must be named.
pub(crate) async fn serve(args: &ServeArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    log_form::demand(args.log.demanded());
    let operations = Operations {
        metrics: telemetry::measure(),
        tokens: door::metrics_tokens(args.metrics_token_file.as_deref())?,
    };
    let Some(data) = &args.data else {
        let listen_on = args.listen.as_deref().unwrap_or(LISTEN);
        return serve_agents(args, store, listen_on, operations, |_| Ok(None)).await;
    };
    let opened = opening::open(data).await?;
    let listen_on = args
        .listen
        .clone()
        .unwrap_or_else(|| opened.configured.config.server.bind_addr.clone());
    if args.served.agent_files.is_empty() {
        return serve_workspace(args, store, &listen_on, opened, operations).await;
    }
    let runs = opened.dir.runs_file();
    let mut serving = None;
    let store_of_runs = Some(store.unwrap_or(&runs));
    let served = serve_agents(args, store_of_runs, &listen_on, operations, |stop| {
        let workers = opening::workers(&opened, &args.served, store)?;
        let begun = Serving::begin(opened, workers, stop);
        let router = begun.router();
        serving = Some(begun);
        Ok(Some(router))
    });
    let code = Box::pin(served).await?;
    if let Some(serving) = serving {
        serving.ended().await;
    }
    Ok(code)
}

/// Serves a workspace and nothing else.
/// The port is bound before the engine begins: a second server on the same directory and port must fire no rules.
async fn serve_workspace(
    args: &ServeArgs,
    store: Option<&Path>,
    listen_on: &str,
    opened: OpenWorkspace,
    operations: Operations,
) -> Result<ExitCode, CliError> {
    stderr_writer::begin();
    let addresses = addresses(listen_on)?;
    let stop = stop_on_signal(STOPPING);
    let listener = bind(&addresses, listen_on).await?;
    let workers = opening::workers(&opened, &args.served, store)?;
    let address = local_address(&listener, listen_on)?;
    let serving = Serving::begin(opened, workers, stop.clone());
    report_address(address);
    let stop_after = args.stop_after;
    serving
        .serve_alone(listener, operations, stop_after, stop)
        .await;
    Ok(ExitCode::SUCCESS)
}

/// Serves agents, and the workspace that is `beside` them, else the pages of their runs.
/// What is beside them is made last, when nothing else can fail: a workspace that has begun fires rules.
async fn serve_agents(
    args: &ServeArgs,
    store: Option<&Path>,
    listen_on: &str,
    operations: Operations,
    beside: impl FnOnce(CancellationToken) -> Result<Option<Router>, CliError>,
) -> Result<ExitCode, CliError> {
    stderr_writer::begin();
    let prepared = ServedAgents::new(&args.served, store, |dir| {
        let addresses = addresses(listen_on)?;
        let tokens = door::tokens(args, listen_on, &addresses)?;
        let apart = Apart::of(&tokens, dir, args.shared_dir);
        let dirs = door::directories(&tokens, &apart)?;
        Ok(((tokens, apart, addresses), dirs))
    })?;
    let (tokens, apart, addresses) = prepared.door;
    let stop = stop_on_signal(STOPPING);
    let listener = bind(&addresses, listen_on).await?;
    let address = local_address(&listener, listen_on)?;
    let (host, tools) = (prepared.host, prepared.tools);
    let beside = match beside(stop.clone())? {
        Some(router) => Beside::Workspace(router),
        None => {
            let (tokens, apart) = (tokens.clone(), apart.clone());
            let keeper = TokenKeeper::new(tokens, apart, person(), host.store.clone());
            let door = door::of_pages(keeper, address);
            Beside::Pages(Box::new(run_pages(door, store)?))
        }
    };
    report_address(address);
    let settings = ServerSettings {
        tokens,
        apart,
        stop_after: args.stop_after,
        mcp: args.mcp,
        asks_clients: args.mcp_ask_client,
        client_tools: args.client_tools.into(),
        tells_progress: args.stream_progress,
        connection_max: args.mcp_stream_max,
        ..prepared.settings
    };
    let beside = (beside, operations);
    bonded_serve::server::serve(listener, settings, host, tools.clone(), beside, stop).await;
    tools.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// Agents that are ready to be served, by whatever protocol.
/// The door is whatever the caller makes of its arguments; over stdio there is none.
pub(super) struct ServedAgents<D> {
    pub(super) settings: ServerSettings,
    pub(super) host: Arc<Host>,
    pub(super) tools: Arc<AgentTools>,
    /// What lets clients in.
    door: D,
}

impl<D> ServedAgents<D> {
    /// Loads the agents, makes sure of the door, and opens the store last. The door knows the directory that agents work
    /// in, and which directories in it are kept apart.
    /// The configuration of each agent is read at once for every directory that its runs may work in. The seal
    /// comes with the host: from then on no file is trusted any more.
    pub(super) fn new(
        args: &ServedArgs,
        store: Option<&Path>,
        door: impl FnOnce(&Path) -> Result<(D, Vec<PathBuf>), CliError>,
    ) -> Result<Self, CliError> {
        if args.agent_files.is_empty() {
            return Err(CliError::new(
                Code::Usage,
                "there is nothing to serve: --agent FILE.ai is missing",
            )
            .hint("bonded serve --data DIR serves a workspace"));
        }
        let dir = settings::working_directory(args.dir.as_deref())?;
        let workplace = agents::workplace(&args.agent, Path::new(&dir))?;
        let limits = settings::own_limits(&args.limits, 0)?;
        let agents = load(args, &workplace, &limits)?;
        let (door, apart) = door(Path::new(&dir))?;
        let store = settings::open_store_of_runs(args, store)?;
        let shown = agents.iter().map(|agent| Verbosity::of(&agent.options));
        let shown = shown.fold(Verbosity::default(), Verbosity::and);
        let keeper = Keeper::new(store.clone());
        for agent in &agents {
            keeper.check(bonded_host::keeping::kept_by(&agent.options, &dir).as_deref())?;
        }
        let (host, tools) = agents::host_apart(store, workplace, shown, apart.clone());
        for agent in &agents {
            // Read now, and never again: a file that is changed or removed meanwhile breaks no answer.
            for dir in apart.iter().map(PathBuf::as_path).chain([Path::new(&dir)]) {
                tools.config(&agent.config_files(), dir)?;
            }
        }
        let quiet = agents.iter().any(|agent| agent.options.quiet);
        let settings = ServerSettings {
            moment: agents::moment,
            agents,
            tokens: Tokens::default(),
            apart: Apart::default(),
            concurrency: args.concurrency as usize,
            limits,
            stop_after: Duration::ZERO,
            tells: !quiet,
            mcp: false,
            asks_clients: false,
            client_tools: ClientToolsMode::Ignore,
            tells_progress: false,
            queueing: settings::queueing(args, &tools),
            person: person(),
            connection_max: None,
        };
        Ok(Self {
            settings,
            host: Arc::new(host),
            tools,
            door,
        })
    }
}

/// Loads every agent and checks that it could run, so that no client is the first to find out.
/// With a limit of cost, a model without a price is refused here: the limit could not be kept.
fn load(args: &ServedArgs, workplace: &Workplace, limits: &Limits) -> Result<Vec<Agent>, CliError> {
    let mut agents = vec![];
    for file in &args.agent_files {
        let agent = Agent::load(file, workplace, BTreeMap::new())?;
        settings::check_scripts(&agent.options)?;
        settings::assignment_for_check(&agent)?;
        let targets = agent::targets(
            &agent.config,
            &agent.options,
            &workplace.environment,
            UnknownWindow::Assumed,
        )?;
        if limits.cost_max.is_some() && !targets.iter().all(prices::may_be_limited) {
            let hint =
                "no price is listed; put the models' prices into `pricing` of the configuration";
            return Err(settings::no_price(hint));
        }
        for warning in agent.warnings() {
            output::stderr(&format!("warning: {warning}"));
        }
        agents.push(agent);
    }
    Ok(agents)
}

/// A name may have several addresses; all of them are looked at when it is decided whether tokens are needed.
pub(super) fn addresses(listen: &str) -> Result<Vec<SocketAddr>, CliError> {
    let addresses: Vec<SocketAddr> = listen
        .to_socket_addrs()
        .map_err(|error| {
            CliError::new(Code::Usage, format!("--listen {listen:?}: {error}"))
                .hint("an address and a port, such as 127.0.0.1:8130")
        })?
        .collect();
    Ok(addresses)
}

/// The first of the addresses that can be bound.
pub(super) async fn bind(
    addresses: &[SocketAddr],
    listen_on: &str,
) -> Result<TcpListener, CliError> {
    let bound = TcpListener::bind(addresses).await;
    bound.map_err(|error| no_listener(listen_on, &error))
}

/// Says where the server is to be found.
/// Written at whatever level of logging, and with the port that was taken: programs wait for this line.
pub(super) fn report_address(address: SocketAddr) {
    logging::say_always(&format!("listening on http://{address}"));
}

pub(super) fn local_address(
    listener: &TcpListener,
    listen_on: &str,
) -> Result<SocketAddr, CliError> {
    let address = listener.local_addr();
    address.map_err(|error| no_listener(listen_on, &error))
}

fn no_listener(listen_on: &str, error: &std::io::Error) -> CliError {
    CliError::new(
        Code::Listen,
        format!("cannot listen on {listen_on}: {error}"),
    )
    .hint("choose another port: --listen 127.0.0.1:0 takes any that is free")
}
