//! From arguments and environment to what the host needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_host::{
    Goal, Host, KNOWN_PROVIDERS, SCRIPT, SystemClock, TargetRequest, WorkdirTools, resolve_target,
};
use bonded_kernel::{DEFAULT_SYSTEM, Limits, Money, Price, RunConfig, RunId, Target, Text};
use bonded_state::{ListFilter, SqliteStore, Store};
use bonded_transport::{Providers, Script};
use etcetera::BaseStrategy as _;

use crate::args::{LimitArgs, ModelArgs};
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

pub(crate) fn host(store: Arc<dyn Store>) -> Host {
    Host {
        store,
        transport: Arc::new(Providers::new(|name: &str| std::env::var(name).ok())),
        tools: Arc::new(WorkdirTools::default()),
        clock: Arc::new(SystemClock::new()),
    }
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

/// The settings of a run, from its arguments.
pub(crate) fn run_config(
    dir: Option<&Path>,
    model: &ModelArgs,
    limits: &LimitArgs,
) -> Result<RunConfig, CliError> {
    let price = model.price.as_deref().map(parse_price).transpose()?;
    let targets = targets(model, price)?;
    let limits = limits_of(limits)?;
    if limits.cost_max.is_some() && price.is_none() {
        return Err(
            CliError::new(Code::NoPrice, "--max-cost needs to know what tokens cost")
                .hint("say it in dollars a million tokens: --price INPUT,OUTPUT[,CACHED]"),
        );
    }
    Ok(RunConfig {
        dir: working_directory(dir)?,
        targets,
        limits,
        output_tokens_max: model.max_output_tokens,
        temperature: model.temperature,
    })
}

pub(crate) fn goal(
    text: String,
    system: Option<&Path>,
    config: RunConfig,
) -> Result<Goal, CliError> {
    let system: Text = match system {
        None => DEFAULT_SYSTEM.into(),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| {
                let message = format!("cannot read the system text {}: {error}", path.display());
                CliError::new(Code::BadGoal, message)
            })?
            .into(),
    };
    Ok(Goal {
        text: text.into(),
        system,
        config,
    })
}

fn targets(model: &ModelArgs, price: Option<Price>) -> Result<Vec<Target>, CliError> {
    if model.models.is_empty() {
        return Err(no_model());
    }
    let resolve = |name: &String| {
        target(&TargetRequest {
            model: name.clone(),
            base_url: model.base_url.clone(),
            key_env: model.key_env.clone(),
            stream: model.stream,
            timeout_ms: model.request_timeout.saturating_mul(1000),
            price,
        })
    };
    model.models.iter().map(resolve).collect()
}

/// Resolves a target and checks what can be checked before anything runs.
pub(crate) fn target(asked: &TargetRequest) -> Result<Target, CliError> {
    let target = resolve_target(asked, |name| std::env::var(name).ok())?;
    if target.provider == SCRIPT {
        Script::load(Path::new(&target.endpoint))
            .map_err(|error| CliError::new(Code::BadScript, with_causes(&error)))?;
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

fn working_directory(said: Option<&Path>) -> Result<String, CliError> {
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

fn limits_of(args: &LimitArgs) -> Result<Limits, CliError> {
    let cost_max = args.max_cost.as_deref().map(|text| {
        text.parse::<Money>()
            .map_err(|error| CliError::new(Code::Usage, format!("--max-cost: {error}")))
    });
    Ok(Limits {
        turns_max: args.max_turns,
        calls_per_turn_max: args.max_calls,
        attempts_per_turn_max: args.max_attempts,
        elapsed_ms_max: (args.max_time > 0).then(|| args.max_time.saturating_mul(1000)),
        tokens_max: args.max_tokens,
        cost_max: cost_max.transpose()?,
        repeats_max: args.no_progress,
        tool_timeout_ms: args.tool_timeout.saturating_mul(1000),
        tool_output_bytes_max: args.tool_output,
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
        }),
        [input, output, cached] => Ok(Price {
            input: *input,
            output: *output,
            cached: *cached,
        }),
        _ => Err(bad("two or three numbers are needed".into())),
    }
}
