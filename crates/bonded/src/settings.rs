//! From arguments and environment to what the host needs.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_host::agent::{
    Agent, AgentError, AgentTools, Assignment, UnknownWindow, Workplace, targets,
};
use bonded_host::config::options::{self, Given, Options, Source, Sources};
use bonded_host::config::{Config, Places};
use bonded_host::{Goal, Host, KNOWN_PROVIDERS, SCRIPT, TargetRequest, policy, resolve_target};
use bonded_kernel::{
    DEFAULT_SYSTEM, Kept, Limits, Money, OUTPUT_KEPT_BYTES_MAX, OwnTools, Price, ReportFormat,
    RunConfig, RunId, SandboxConfig, Target, Text,
};
use bonded_state::{ListFilter, SqliteStore, Store};
use bonded_transport::Script;
use etcetera::BaseStrategy as _;

use crate::agents::{self, Shown};
use crate::args::{AgentArgs, LimitArgs, ModelArgs, RunArgs};
use crate::error::{CliError, Code, with_causes};

/// The store's file: what was said, else the platform's data directory.
pub(crate) fn store_path(said: Option<&Path>) -> Result<PathBuf, CliError> {
    if let Some(path) = said {
        return Ok(path.to_owned());
    }
    let base = etcetera::choose_base_strategy().map_err(|_| {
        CliError::new(
            Code::StoreMissing,
            "the home directory is not known, so there is no default store",
        )
        .hint("name a file: --store FILE or BONDED_STORE")
    })?;
    Ok(base.data_dir().join("bonded").join("store.db"))
}

/// Where logins to tool servers are kept, whichever store is used.
pub(crate) fn token_dir() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.data_dir().join("bonded").join("tokens"))
}

/// Opens the store, making it where it is missing.
pub(crate) fn open_store(said: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(said)?;
    Ok(Arc::new(SqliteStore::open(&path)?))
}

/// Opens a store that must be there already: a command that only looks makes no file.
pub(crate) fn open_existing_store(said: Option<&Path>) -> Result<Arc<dyn Store>, CliError> {
    let path = store_path(said)?;
    Ok(Arc::new(SqliteStore::open_existing(&path)?))
}

/// A host for commands that drive what is in the store already.
pub(crate) fn host(store: Arc<dyn Store>) -> (Host, Arc<AgentTools>) {
    agents::host(
        store,
        Workplace::bare(agents::environment()),
        Shown::default(),
    )
}

/// Finds the one run that a person means by a whole id or the beginning of one.
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

fn unknown_run(named: &str) -> CliError {
    CliError::new(
        Code::UnknownRun,
        format!("there is no run {named:?} in this store"),
    )
}

/// The ids that look most like what was typed, else the newest.
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
    let mut ids: Vec<&str> = listed.iter().map(|listed| listed.run.as_str()).collect();
    ids.sort_by_key(|id| std::cmp::Reverse(common(id)));
    ids.truncate(5);
    Ok(format!("near ones:\n  {}", ids.join("\n  ")))
}

/// All that is needed to make goals and run them.
pub(crate) struct Prepared {
    /// A goal that lacks what is asked.
    sample: Goal,
    agent: Option<Box<Agent>>,
    pub(crate) workplace: Workplace,
    pub(crate) options: Options,
    pub(crate) warnings: Vec<String>,
}

impl Prepared {
    /// Whether what is asked is what the agent takes.
    pub(crate) fn check(&self, input: &str) -> Result<(), CliError> {
        match &self.agent {
            Some(agent) => Ok(agent.check_input(input)?),
            None => Ok(()),
        }
    }

    /// The goal of what is asked and was checked.
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

    /// Where the runs are kept outside the store.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.sample.config.kept.as_deref()
    }
}

/// Where options say that runs are kept outside the store.
pub(crate) fn kept(options: &Options) -> Option<Box<Kept>> {
    let absolute = |path: &String| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        path.to_string_lossy().into_owned()
    };
    let kept = Kept {
        ledger: options.billing_file.as_ref().map(absolute),
        snapshots: options.sessions_dir.as_ref().map(absolute),
    };
    (kept != Kept::default()).then(|| Box::new(kept))
}

/// Who is to work, where, and within what.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) dir: Option<&'a Path>,
    pub(crate) agent_file: Option<&'a Path>,
    pub(crate) system: Option<&'a Path>,
    pub(crate) agent: &'a AgentArgs,
    pub(crate) model: &'a ModelArgs,
    pub(crate) limits: &'a LimitArgs,
}

impl<'a> From<&'a RunArgs> for Wanted<'a> {
    fn from(args: &'a RunArgs) -> Self {
        Self {
            dir: args.dir.as_deref(),
            agent_file: args.agent_file.as_deref(),
            system: args.system.as_deref(),
            agent: &args.agent,
            model: &args.model,
            limits: &args.limits,
        }
    }
}

/// Makes out what a command line means: an agent, or goals that the built-in tools work on.
pub(crate) fn prepare(args: &Wanted<'_>) -> Result<Prepared, CliError> {
    let dir = working_directory(args.dir)?;
    let workplace = agents::workplace(args.agent, Path::new(&dir))?;
    match args.agent_file {
        Some(file) => prepare_agent(args, file, workplace),
        None => prepare_plain(args, dir, workplace),
    }
}

fn prepare_agent(
    args: &Wanted<'_>,
    file: &Path,
    workplace: Workplace,
) -> Result<Prepared, CliError> {
    let agent = Agent::load(file, &workplace, BTreeMap::new())?;
    check_scripts(&agent.options)?;
    let mut sample = agent.unchecked_goal(Assignment {
        input: String::new(),
        format: usual_format(),
        nonce: Host::draw_nonce(),
        now: agents::moment(),
        limits: own_limits(args.limits, 0)?,
        parent: None,
    })?;
    sample.config.kept = kept(&agent.options);
    let targets = &sample.config.targets;
    let unpriced = targets.iter().any(|target| target.price.is_none());
    if sample.config.limits.cost_max.is_some() && unpriced {
        return Err(no_price(
            "put the models' prices into `pricing` of the configuration",
        ));
    }
    Ok(Prepared {
        sample,
        warnings: agent.warnings().iter().map(ToString::to_string).collect(),
        options: agent.options.clone(),
        agent: Some(Box::new(agent)),
        workplace,
    })
}

/// Makes a goal of an agent as if it were to be run, to see whether it could.
pub(crate) fn assignment_for_check(agent: &Agent) -> Result<(), CliError> {
    let needs_json = agent.file.input.is_some();
    match agent.goal(Assignment {
        input: "check".into(),
        format: ReportFormat::Pipe,
        nonce: Host::draw_nonce(),
        now: agents::moment(),
        limits: Limits::default(),
        parent: None,
    }) {
        Err(AgentError::InputNotJson { .. }) if needs_json => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// What a report is written for when nobody says it: a person at a terminal, or a program.
fn usual_format() -> ReportFormat {
    if std::io::stdout().is_terminal() {
        ReportFormat::Tty
    } else {
        ReportFormat::Pipe
    }
}

/// What holds for commands where only the configuration that is found from here says it.
pub(crate) fn usual_sandbox() -> Result<SandboxConfig, CliError> {
    let dir = working_directory(None)?;
    let workplace = agents::workplace(&AgentArgs::default(), Path::new(&dir))?;
    let resolved = options::resolve(&Sources {
        config: configuration(&workplace)?.defaults()?,
        ..Sources::default()
    })?;
    Ok(resolved.options.sandbox)
}

/// The configuration for a run that is no agent's.
fn configuration(workplace: &Workplace) -> Result<Config, CliError> {
    let places = Places {
        explicit: workplace.config_file.clone(),
        cwd: workplace.dir.clone(),
        agent_dir: None,
        binary_dir: workplace.binary_dir.clone(),
        home: workplace.home.clone(),
        etc: workplace.etc.clone(),
    };
    Ok(Config::load(&places, workplace.environment.clone())?)
}

fn prepare_plain(
    args: &Wanted<'_>,
    dir: String,
    workplace: Workplace,
) -> Result<Prepared, CliError> {
    refuse_options_of_agents(&workplace)?;
    let config = configuration(&workplace)?;
    let mut said = workplace.command_line.clone();
    let named = (args.model.base_url.is_some())
        .then(|| said.remove("models"))
        .flatten();
    let resolved = options::resolve(&Sources {
        overrides: workplace.overrides.clone(),
        command_line: said,
        config: config.defaults()?,
        ..Sources::default()
    })?;
    let mut options = resolved.options;
    as_plain(&mut options, &resolved.sources);
    let targets = match named {
        Some(named) => custom_targets(args.model, &options, &named)?,
        None if options.models.is_empty() => return Err(no_model()),
        None => targets(
            &config,
            &options,
            &workplace.environment,
            UnknownWindow::Open,
        )?,
    };
    check_scripts(&options)?;
    let config = plain_config(args, dir, &options, targets)?;
    let system = system_text(args.system)?;
    Ok(Prepared {
        sample: Goal {
            text: "".into(),
            system,
            config,
        },
        agent: None,
        workplace,
        options,
        warnings: vec![],
    })
}

/// What only an agent has is refused where there is none, not passed over.
fn refuse_options_of_agents(workplace: &Workplace) -> Result<(), CliError> {
    for key in ["tools", "agents", "format", "toolingTransport"] {
        if let Some(given) = workplace.command_line.get(key) {
            let message = format!(
                "{} says something about an agent, and there is none",
                given.place
            );
            return Err(CliError::new(Code::Usage, message).hint("name one: --agent FILE.ai"));
        }
    }
    Ok(())
}

/// A run without an agent has more room, and leaves to the provider what nobody speaks of.
fn as_plain(options: &mut Options, sources: &BTreeMap<&'static str, Source>) {
    let unsaid = |key: &str| sources.get(key) == Some(&Source::BuiltIn);
    if unsaid("maxTurns") {
        options.turns_max = 50;
    }
    if unsaid("maxRetries") {
        options.attempts_per_turn_max = 10;
    }
    if unsaid("maxOutputTokens") {
        options.output_tokens_max = 8_192;
    }
    if unsaid("toolResponseMaxBytes") {
        options.tool_response_bytes_max = 32_768;
    }
    if unsaid("temperature") {
        options.temperature = None;
    }
}

fn plain_config(
    args: &Wanted<'_>,
    dir: String,
    options: &Options,
    mut targets: Vec<Target>,
) -> Result<RunConfig, CliError> {
    if let Some(price) = args.model.price.as_deref().map(parse_price).transpose()? {
        targets
            .iter_mut()
            .for_each(|target| target.price = Some(price));
    }
    if let Some(key_env) = &args.model.key_env {
        targets
            .iter_mut()
            .for_each(|target| target.key_env = Some(key_env.clone()));
    }
    let limits = Limits {
        turns_max: options.turns_max,
        calls_per_turn_max: options.calls_per_turn_max,
        attempts_per_turn_max: options.attempts_per_turn_max,
        tool_timeout_ms: options.tool_timeout_ms,
        tool_output_bytes_max: options.tool_response_bytes_max,
        ..own_limits(args.limits, 3)?
    };
    if limits.cost_max.is_some() && targets.iter().any(|target| target.price.is_none()) {
        let hint = "say it in dollars a million tokens: --price INPUT,OUTPUT[,CACHED]";
        return Err(no_price(hint));
    }
    Ok(RunConfig {
        limits,
        output_tokens_max: options.output_tokens_max,
        keeps_originals: options.trace_tools,
        kept: kept(options),
        policy: policy(options, &[], &Host::draw_nonce()),
        own_tools: OwnTools {
            output_kept_bytes_max: options.tool_output_paging.then_some(OUTPUT_KEPT_BYTES_MAX),
            ..OwnTools::default()
        },
        sandbox: Some(Box::new(options.sandbox.clone())),
        ..RunConfig::new(dir, targets)
    })
}

pub(crate) fn no_price(hint: &str) -> CliError {
    CliError::new(Code::NoPrice, "--max-cost needs to know what tokens cost").hint(hint)
}

fn system_text(file: Option<&Path>) -> Result<Text, CliError> {
    let Some(path) = file else {
        return Ok(DEFAULT_SYSTEM.into());
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read the system text {}: {error}", path.display());
        CliError::new(Code::BadGoal, message)
    })?;
    Ok(text.into())
}

/// Models of a server that only its base URL names.
fn custom_targets(
    args: &ModelArgs,
    options: &Options,
    named: &Given,
) -> Result<Vec<Target>, CliError> {
    let names = named.value.as_str().unwrap_or_default();
    let names = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let targets: Result<Vec<Target>, CliError> = names
        .map(|name| {
            let mut target = target(&TargetRequest {
                model: name.to_owned(),
                base_url: args.base_url.clone(),
                key_env: args.key_env.clone(),
                stream: options.stream,
                timeout_ms: options.llm_timeout_ms,
                price: None,
            })?;
            target.sampling.temperature = options.temperature;
            Ok(target)
        })
        .collect();
    let targets = targets?;
    if targets.is_empty() {
        return Err(no_model());
    }
    Ok(targets)
}

/// A script is read whole before anything runs.
pub(crate) fn check_scripts(options: &Options) -> Result<(), CliError> {
    for model in options
        .models
        .iter()
        .filter(|model| model.provider == SCRIPT)
    {
        check_script(Path::new(&model.model))?;
    }
    Ok(())
}

fn check_script(path: &Path) -> Result<(), CliError> {
    match Script::load(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(CliError::new(Code::BadScript, with_causes(&error))),
    }
}

/// Resolves a target and checks what can be checked before anything runs.
pub(crate) fn target(asked: &TargetRequest) -> Result<Target, CliError> {
    let target = resolve_target(asked, |name| std::env::var(name).ok())?;
    if target.provider == SCRIPT {
        check_script(Path::new(&target.endpoint))?;
    }
    Ok(target)
}

fn no_model() -> CliError {
    let known: Vec<&str> = KNOWN_PROVIDERS.iter().map(|known| known.name).collect();
    let keys: Vec<String> = KNOWN_PROVIDERS
        .iter()
        .filter_map(|known| {
            let name = known.key_env?;
            let state = if std::env::var_os(name).is_some() {
                "set"
            } else {
                "not set"
            };
            Some(format!("{name} ({state})"))
        })
        .collect();
    CliError::new(Code::NoModel, "no model is configured")
        .hint(format!(
            "looked for: --model, BONDED_MODEL; keys: {}",
            keys.join(", ")
        ))
        .hint(format!(
            "name one: --model PROVIDER/MODEL, PROVIDER being {}",
            known.join(", ")
        ))
        .hint("or any OpenAI-compatible server: --base-url http://127.0.0.1:8080/v1 --model NAME")
        .hint("or no model at all: --model script:replies.jsonl, or `bonded demo`")
}

pub(crate) fn working_directory(said: Option<&Path>) -> Result<String, CliError> {
    let said = said.unwrap_or(Path::new("."));
    let bad = |why: String| {
        let message = format!(
            "the working directory {} cannot be used: {why}",
            said.display()
        );
        CliError::new(Code::Workdir, message)
    };
    let path = said
        .canonicalize()
        .map_err(|error| bad(error.to_string()))?;
    if !path.is_dir() {
        return Err(bad("it is not a directory".into()));
    }
    let text = path.into_os_string().into_string();
    text.map_err(|_| bad("its path is not UTF-8".into()))
}

/// The limits that no option speaks of.
pub(crate) fn own_limits(args: &LimitArgs, repeats_max: u32) -> Result<Limits, CliError> {
    let cost_max = args.max_cost.as_deref().map(|text| {
        text.parse::<Money>()
            .map_err(|error| CliError::new(Code::Usage, format!("--max-cost: {error}")))
    });
    Ok(Limits {
        elapsed_ms_max: (args.max_time > 0).then(|| args.max_time.saturating_mul(1000)),
        tokens_max: args.max_tokens,
        cost_max: cost_max.transpose()?,
        repeats_max: args.no_progress.unwrap_or(repeats_max),
        ..Limits::default()
    })
}

/// Reads dollars a million tokens into picodollars a token.
fn parse_price(text: &str) -> Result<Price, CliError> {
    let bad = |why: String| {
        CliError::new(Code::Usage, format!("--price {text:?}: {why}"))
            .hint("dollars a million tokens, such as 0.25,2 or 0.25,2,0.025")
    };
    let parts = text
        .split(',')
        .map(|part| {
            let dollars: Money = part
                .trim()
                .parse()
                .map_err(|error| bad(format!("{error}")))?;
            Ok(dollars.0 / 1_000_000)
        })
        .collect::<Result<Vec<u64>, CliError>>()?;
    match parts.as_slice() {
        [input, output] => Ok(Price {
            input: *input,
            output: *output,
            cached: *input,
            written: None,
        }),
        [input, output, cached] => Ok(Price {
            input: *input,
            output: *output,
            cached: *cached,
            written: None,
        }),
        _ => Err(bad("two or three numbers are needed".into())),
    }
}
