//! The tools of agents: servers and requests of the configuration, built-in tools, and other agents.
//!
//! One `AgentTools` serves all runs of a process. Servers are pooled by what defines them, so that two
//! runs with the same files, directory and sandbox may share one server, and two with different
//! sandboxes never do.
//!
//! A name in `tools` is looked for among servers, then requests and documents, then built-in tools. One
//! that means nothing is left out with a warning; one whose settings are wrong is an error.
//!
//! What is read is read once: a configuration that an agent rewrites while it works means nothing to
//! the process, and trust is sealed as soon as the first tools are open.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bonded_changes::Records;
use bonded_kernel::{
    AgentConfig, Catalog, Encoding, Invocation, OUTPUT_KEPT_BYTES_MAX, OwnTools, RunConfig,
    SandboxConfig, ToolSpec,
};
use bonded_tools::mcp::{
    HealthProbe, HttpEndpoint, McpNews, McpServer, McpServers, McpTransport, StdioCommand,
};
use bonded_tools::{
    QueueMeasure, Queues, Registry, Sandbox, Tool, ToolFault, ToolValue, Waited, builtin,
};
use bonded_transport::dialect::unfit;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::login::Tokens;
use super::{Agent, AgentError, Workplace, child_spec, rest};
use crate::builtin::{BUILTIN, BUILTIN_WORD};
use crate::config::options::Options;
use crate::config::{
    Config, Environment, HealthProbe as Probe, McpEndpoint, McpTransport as Reached, Secret,
};
use crate::confinement::{Confinement, OwnWishes};
use crate::error::HostError;
use crate::host::Toolset;
use crate::provider::SCRIPT;
use crate::skills::SkillTool;
use crate::trust::Trust;
use crate::workdir_tools::{ChangeRecording, WorkdirTools, open_workdir};

/// Stands for the tool that calls several others in one call.
const BATCH_WORD: &str = "batch";
/// Servers that may be starting at the same time. Each start may be a process of its own.
const STARTS_MAX: usize = 8;

/// The names in an agent's `tools`, each checked. One that means nothing is told when the tools are opened.
pub(super) fn named(agent: &Agent) -> Result<Vec<String>, AgentError> {
    let names = &agent.options.tools;
    for name in names {
        is_known(&agent.config, name)?;
    }
    Ok(names.clone())
}

/// Whether a name in `tools` means something. A mistake in the settings of what it means is an error.
pub(super) fn is_known(config: &Config, name: &str) -> Result<bool, AgentError> {
    let own = [BATCH_WORD, BUILTIN_WORD];
    if own.contains(&name) {
        return Ok(true);
    }
    if let Some(server) = config.mcp_server(name)? {
        return settings(server, None).map(|_| true);
    }
    // Of a request's settings nothing more can be known before it is called.
    let is_request = rest::meant(config, name)?.is_some();
    Ok(is_request || BUILTIN.contains(&name))
}

/// What a person is told of a name that means nothing.
pub(super) fn unknown(config: &Config, name: &str) -> String {
    let (servers, builtin) = (join(&known(config)), join(&BUILTIN));
    format!(
        "there is no tool or server {name:?}, so it is left out; the configuration has {servers}, and the built-in \
         tools are {builtin}"
    )
}

/// Whether an agent has anything to work with. Progress is told beside work only.
pub(super) fn works(options: &Options) -> bool {
    options.tools.iter().any(|name| name != BATCH_WORD) || !options.agents.is_empty()
}

/// Which of the kernel's own tools an agent offers.
pub(super) fn own(options: &Options) -> OwnTools {
    // Without tools there are no outputs to read on in.
    let pages = options.tool_output_paging && works(options);
    OwnTools {
        batch: options.tools.iter().any(|name| name == BATCH_WORD),
        progress: options.progress_reports && works(options),
        output_kept_bytes_max: pages.then_some(OUTPUT_KEPT_BYTES_MAX),
        // Follows from the tools, when they are known.
        search: false,
    }
}

/// The names of the configuration that `tools` may hold.
fn known(config: &Config) -> Vec<String> {
    let servers = config.mcp_server_names().into_iter().map(str::to_owned);
    servers.chain(rest::names(config)).collect()
}

/// For a message: the names, or that there are none.
fn join(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}

/// Told what a person should know, or wants to. No event of `tracing`: what is shown is an option of the surface.
type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// A server on its way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerStart<'a> {
    /// It is waited for, by its name in the configuration.
    Begun(&'a str),
    /// It is not waited for any more.
    Over(&'a str),
}

/// Told whom a run waits for before it begins.
type OnStart = Arc<dyn Fn(ServerStart<'_>) + Send + Sync>;

/// Opens the tools of runs, also of those that are no agents'. The servers are shared by all runs.
pub struct AgentTools {
    environment: Environment,
    pub(super) workplace: Option<Workplace>,
    plain: WorkdirTools,
    recording: Option<ChangeRecording>,
    confinement: Confinement,
    /// By what defines them: the configuration files, the directory, and what is demanded for them.
    servers: Mutex<BTreeMap<PoolKey, Arc<McpServers>>>,
    /// What configuration files said when they were first read, by the files and the directory they were read for.
    configs: Mutex<BTreeMap<ReadKey, Arc<Config>>>,
    /// By the configuration files that define them.
    shared: Mutex<BTreeMap<Vec<String>, Arc<rest::SharedRest>>>,
    /// One set for the whole process, whichever files name them.
    queues: Arc<Queues>,
    tokens: Tokens,
    warn: Option<Say>,
    /// What was said of tools that do not fit or are not there: runs have them in common.
    shown: Mutex<BTreeSet<String>>,
    trace: Option<Say>,
    starts: Option<OnStart>,
}

/// Files, and the directory they are read for: a variable may stand for that directory.
type ReadKey = (Vec<String>, PathBuf);
/// Files, directory, sandbox and whether nothing may be changed: what would make a started server another one.
type PoolKey = (Vec<String>, String, Option<Box<SandboxConfig>>, bool);

impl std::fmt::Debug for AgentTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AgentTools")
    }
}

impl AgentTools {
    /// `workplace` is where agents that other agents call are loaded.
    pub fn new(environment: Environment, workplace: Option<Workplace>) -> Self {
        Self {
            tokens: Tokens::new(None, &environment),
            environment,
            workplace,
            plain: WorkdirTools::default(),
            recording: None,
            confinement: Confinement::default(),
            servers: Mutex::default(),
            configs: Mutex::default(),
            shared: Mutex::default(),
            queues: Arc::default(),
            warn: None,
            shown: Mutex::default(),
            trace: None,
            starts: None,
        }
    }

    /// Starts commands and servers inside sandboxes that are built so.
    #[must_use]
    pub fn confined(mut self, confinement: Confinement) -> Self {
        self.plain = WorkdirTools::new(confinement.clone());
        if let Some(recording) = &self.recording {
            self.plain.record_in(recording.clone());
        }
        self.confinement = confinement;
        self
    }

    /// Records what file tools change, so that it can be shown and undone.
    #[must_use]
    pub fn recording(mut self, records: Records) -> Self {
        let secrets = self.environment.secrets().clone();
        let recording = ChangeRecording { records, secrets };
        self.plain.record_in(recording.clone());
        self.recording = Some(recording);
        self
    }

    /// Uses the logins that are kept in a directory.
    #[must_use]
    pub fn logged_in(mut self, token_dir: PathBuf) -> Self {
        self.tokens = Tokens::new(Some(token_dir), &self.environment);
        self
    }

    /// Tells a person what is odd about servers: tools that cannot be offered, servers that did not start
    /// and need not.
    #[must_use]
    pub fn warning(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.warn = Some(Arc::new(warn));
        self
    }

    /// Tells whoever wants to know it what servers say about their progress.
    #[must_use]
    pub fn tracing(mut self, trace: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.trace = Some(Arc::new(trace));
        self
    }

    /// Tells who watches which servers are being started.
    #[must_use]
    pub fn starting(mut self, tell: impl Fn(ServerStart<'_>) + Send + Sync + 'static) -> Self {
        self.starts = Some(Arc::new(tell));
        self
    }

    /// Tells a person of calls that waited in a queue.
    #[must_use]
    pub fn waiting(mut self, tell: impl Fn(&Waited<'_>) + Send + Sync + 'static) -> Self {
        self.queues = Arc::new(Queues::telling(Arc::new(tell)));
        self
    }

    /// What the queues have seen so far, by name.
    pub fn queue_measures(&self) -> Vec<(String, QueueMeasure)> {
        self.queues.measures()
    }

    /// Ends every server, and waits until they have ended.
    pub async fn stop(&self) {
        let servers = {
            let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *servers)
        };
        for pool in servers.values() {
            pool.stop().await;
        }
    }

    /// What configuration files say, for runs in a directory. A process reads them once: what becomes of them later means
    /// nothing to it.
    pub fn config(&self, files: &[String], dir: &Path) -> Result<Arc<Config>, AgentError> {
        let mut read = self.configs.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (files.to_vec(), dir.to_owned());
        if let Some(config) = read.get(&key) {
            return Ok(config.clone());
        }
        let paths = files.iter().map(PathBuf::from);
        let (cwd, trust) = (dir.to_owned(), self.trust());
        let config = Config::load_files(paths, cwd, self.environment.clone(), &trust)?;
        let config = Arc::new(config);
        read.insert(key, config.clone());
        Ok(config)
    }

    /// Servers are started together at the end, after every name has been checked, so that a mistake in
    /// the last name leaves no server running for nothing.
    async fn open_for(&self, run: &RunConfig, agent: &AgentConfig) -> Result<Registry, AgentError> {
        let config = self.config(&agent.config_files, Path::new(&run.dir))?;
        let mut wanted = vec![];
        let mut tools: Vec<Arc<dyn Tool>> = vec![];
        for name in agent.tools.iter().filter(|name| *name != BATCH_WORD) {
            match config.mcp_server(name)? {
                Some(server) => {
                    let own = OwnWishes {
                        name: Some(name.to_string()),
                        level: server.sandbox,
                        network: server.sandbox_network,
                    };
                    let sandbox = self.confinement.of_server(run, &own)?;
                    let oauth = self.tokens.oauth(&agent.config_files, &server);
                    let mut server = settings(server, Some(sandbox))?;
                    match &mut server.transport {
                        McpTransport::Http(endpoint) | McpTransport::Sse(endpoint) => {
                            endpoint.oauth = oauth.map(Arc::new);
                        }
                        McpTransport::Stdio(command) => {
                            let dir = Path::new(&run.dir);
                            let own = command.cwd.as_ref().map(|own| dir.join(own));
                            command.cwd = Some(own.unwrap_or_else(|| dir.to_owned()));
                        }
                        McpTransport::Websocket(_) => {}
                    }
                    wanted.push(server);
                }
                None => match rest::meant(&config, name)? {
                    Some(meant) => {
                        let shared = self.shared(&config, &agent.config_files)?;
                        let made = shared.tools(&meant).map_err(AgentError::Rest)?;
                        tools.extend(made.tools);
                        self.warn_of(&made.warnings);
                    }
                    None => {
                        let built_in = self.built_in(run, name)?;
                        if built_in.is_empty() {
                            self.warn_once(format!("{}: {}", agent.name, unknown(&config, name)));
                        }
                        tools.extend(built_in);
                    }
                },
            }
        }
        if !wanted.is_empty() {
            let pool = self.pool(&config, run, &agent.config_files)?;
            let started = pool.start(&wanted).await?;
            tools.extend(started.tools);
            self.warn_of(&started.warnings);
        }
        for child in &agent.agents {
            tools.push(Arc::new(Offered(self.child_spec(Path::new(&child.file))?)));
        }
        tools.extend(SkillTool::of(run));
        let registry = Registry::of_run(tools, run).map_err(AgentError::Catalog)?;
        self.warn_of(&self.unfit(registry.catalog(), run, agent));
        Ok(registry)
    }

    /// The tools that a service of the run cannot be told of, each once in the life of the process. A service that is
    /// told of tools in the text takes all of them, and so does a script.
    fn unfit(&self, catalog: &Catalog, run: &RunConfig, agent: &AgentConfig) -> Vec<String> {
        if agent.encoding == Encoding::Xml {
            return vec![];
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let mut warnings = vec![];
        let services = run.targets.iter().filter(|it| it.provider != SCRIPT);
        for target in services {
            for tool in unfit(catalog, target.dialect) {
                let warning = format!("{}: {tool}", target.provider);
                if shown.insert(warning.clone()) {
                    warnings.push(warning);
                }
            }
        }
        warnings
    }

    /// What counts of files that are found.
    fn trust(&self) -> Arc<Trust> {
        let workplace = self.workplace.as_ref();
        workplace.map(|it| it.trust.clone()).unwrap_or_default()
    }

    fn child_spec(&self, file: &Path) -> Result<ToolSpec, AgentError> {
        let fallback = Workplace::bare(self.environment.clone());
        let workplace = self.workplace.as_ref().unwrap_or(&fallback);
        child_spec(file, workplace)
    }

    /// What is the same for all runs of the process is told once.
    fn warn_once(&self, warning: String) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.insert(warning.clone()) {
            self.warn_of(&[warning]);
        }
    }

    /// Nobody may be listening; a warning is lost then and nothing else.
    fn warn_of(&self, warnings: &[String]) {
        if let Some(warn) = &self.warn {
            warnings.iter().for_each(|warning| warn(warning));
        }
    }

    /// The one of the name, or all of them for the word that stands for all; none where the name is no
    /// built-in tool.
    fn built_in(&self, run: &RunConfig, name: &str) -> Result<Vec<Arc<dyn Tool>>, AgentError> {
        let workdir = open_workdir(run, self.recording.as_ref())?;
        let all = builtin(workdir, &self.confinement.of_commands(run)?).into_iter();
        let is_meant = |tool: &Arc<dyn Tool>| name == BUILTIN_WORD || tool.spec().name == name;
        Ok(all.filter(is_meant).collect())
    }

    /// Made once by set of files, under the lock, so that two runs that begin together do not define
    /// the queues twice.
    fn shared(
        &self,
        config: &Config,
        files: &[String],
    ) -> Result<Arc<rest::SharedRest>, AgentError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.get(files) {
            return Ok(known.clone());
        }
        let made = Arc::new(rest::SharedRest::new(config, &self.queues)?);
        shared.insert(files.to_vec(), made.clone());
        Ok(made)
    }

    /// Servers are started lazily by whoever asks the pool first; here only the pool is made.
    fn pool(
        &self,
        config: &Config,
        run: &RunConfig,
        files: &[String],
    ) -> Result<Arc<McpServers>, AgentError> {
        let key = (
            files.to_vec(),
            run.dir.clone(),
            run.sandbox.clone(),
            run.reads_only(),
        );
        let mut pools = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&key) {
            return Ok(pool.clone());
        }
        let queues = Arc::clone(&self.shared(config, files)?.queues);
        let pool = McpServers::new(queues, STARTS_MAX);
        let pool = Arc::new(pool.telling(self.listener()));
        pools.insert(key, pool.clone());
        Ok(pool)
    }

    /// Without anybody to tell, news of servers are dropped.
    fn listener(&self) -> bonded_tools::mcp::OnNews {
        let (warn, trace, starts) = (self.warn.clone(), self.trace.clone(), self.starts.clone());
        Arc::new(move |news| match news {
            McpNews::Warning(warning) => warn.iter().for_each(|warn| warn(warning)),
            McpNews::Progress { server, text } => {
                trace
                    .iter()
                    .for_each(|trace| trace(&format!("{server}: {text}")));
            }
            McpNews::Starting { server } => {
                starts
                    .iter()
                    .for_each(|tell| tell(ServerStart::Begun(server)));
            }
            McpNews::Started { server } => {
                starts
                    .iter()
                    .for_each(|tell| tell(ServerStart::Over(server)));
            }
        })
    }
}

impl Toolset for AgentTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        self.trust().remember(&config.held);
        self.confinement.note_kept(config);
        let Some(agent) = &config.agent else {
            return self.plain.open(config);
        };
        Box::pin(async move {
            let opened = self.open_for(config, agent).await;
            // From here on the agent works, and what it writes is nobody's word.
            self.trust().seal();
            match opened {
                Ok(registry) => Ok(Arc::new(registry)),
                Err(error) => Err(HostError::Agent(Box::new(error))),
            }
        })
    }
}

/// What the client of the tools is told of a server.
///
/// Nothing said of `toolsAllowed` means all, and nothing said of `required` means that a run must not
/// start without the server.
pub(super) fn settings(
    server: crate::config::McpServer,
    sandbox: Option<Arc<Sandbox>>,
) -> Result<McpServer, AgentError> {
    let name = server.name;
    if !server.enabled {
        return Err(AgentError::DisabledServer { name });
    }
    Ok(McpServer {
        tools_allowed: match server.tools_allowed.is_empty() {
            true => vec!["*".into()],
            false => server.tools_allowed,
        },
        tools_denied: server.tools_denied,
        request_timeout_ms: server.request_timeout_ms,
        required: server.required.unwrap_or(true),
        queue: Some(server.queue),
        shared: server.shared,
        health_probe: match server.health_probe {
            Some(Probe::ListTools) => HealthProbe::ListTools,
            Some(Probe::Ping) | None => HealthProbe::Ping,
        },
        ..McpServer::new(&name, transport(server.transport, sandbox))
    })
}

fn transport(reached: Reached, sandbox: Option<Arc<Sandbox>>) -> McpTransport {
    match reached {
        Reached::Stdio {
            program,
            args,
            env,
            cwd,
        } => McpTransport::Stdio(StdioCommand {
            command: program,
            args,
            env: exposed(env),
            cwd: cwd.map(PathBuf::from),
            sandbox,
        }),
        Reached::Http(endpoint) => McpTransport::Http(reached_at(endpoint)),
        Reached::Sse(endpoint) => McpTransport::Sse(reached_at(endpoint)),
        Reached::Websocket(endpoint) => McpTransport::Websocket(reached_at(endpoint)),
    }
}

/// The login is added later by whoever opens the tools: only then the token directory is known.
fn reached_at(endpoint: McpEndpoint) -> HttpEndpoint {
    HttpEndpoint {
        url: endpoint.url,
        headers: exposed(endpoint.headers),
        oauth: None,
    }
}

/// From here on the values are in the hands of the client, which must not print them.
fn exposed(secrets: BTreeMap<String, Secret>) -> BTreeMap<String, String> {
    let secrets = secrets.into_iter();
    secrets
        .map(|(name, value)| (name, value.expose().to_owned()))
        .collect()
}

/// An agent in the catalogue. The driver runs it as a run of its own and never calls it as a tool.
struct Offered(ToolSpec);

impl Tool for Offered {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _arguments: Value,
        _call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        let fault = ToolFault::new("agent", "this agent cannot be called from here");
        Box::pin(std::future::ready(Err(fault)))
    }
}
