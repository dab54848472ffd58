//! Which run another goal is for, and what may be used for that.
//!
//! A run keeps what it began with: its directory, its tools, its sandbox, its policy. A goal brings limits of its own, and may
//! bring another model. Whatever else is typed beside it is refused, because it would not count.

use std::path::Path;

use bonded_host::config::options::{self, Given, Options, Source, Sources};
use bonded_host::{Host, TargetRequest, agent};
use bonded_kernel::{
    GoalGiven, Limits, OverallLimits, Permission, Policy, Rule, Run, RunConfig, RunId,
    SandboxConfig, Target, ToolPattern,
};
use bonded_state::{ListFilter, Listed, Store};

use super::limits::{cost_max, whole_ms};
use super::plain::configuration;
use super::target;
use crate::agents;
use crate::args::{AgentArgs, ChatArgs, LimitArgs, ModelArgs, RunArgs};
use crate::error::{CliError, Code};
use crate::options::ASKED_ABOUT;

/// The options that a goal may bring.
const BROUGHT: [&str; 11] = [
    "models",
    "maxTurns",
    "maxRetries",
    "maxToolCallsPerTurn",
    "toolTimeout",
    "toolResponseMaxBytes",
    "sandbox",
    "quiet",
    "verbose",
    "stream",
    "traceMCP",
];

/// How many of the newest runs are looked at before all are.
const NEWEST: usize = 50;

/// The run of a directory that began last, of those that can have another goal at all.
pub(crate) async fn last_run_here(store: &dyn Store, dir: &str) -> Result<RunId, CliError> {
    for limit in [NEWEST, usize::MAX] {
        let filter = ListFilter {
            prefix: None,
            limit,
        };
        let listed = store.list(filter).await?;
        if let Some(found) = listed.iter().find(|it| is_begun_by_hand(it, dir)) {
            return Ok(found.run.clone());
        }
    }
    let message = format!("no run in {dir} can be continued");
    let hint = "name a run of another directory: bonded run --continue RUN; list them: bonded runs";
    Err(CliError::new(Code::UnknownRun, message).hint(hint))
}

/// A person began it in this directory, and it could begin.
pub(crate) fn is_begun_by_hand(listed: &Listed, dir: &str) -> bool {
    let started = listed.ends.as_ref().ok();
    let started = started.and_then(|ends| ends.first.event.started());
    started.is_some_and(|started| {
        let config = &started.config;
        let is_anothers = config.parent.is_some() || config.item.is_some();
        let is_served = config.served.is_some() || config.looping.is_some();
        config.dir == dir && !is_anothers && !is_served && started.refused.is_none()
    })
}

/// What is typed beside the next goal of a run.
#[derive(Clone, Copy)]
pub(crate) struct GoalRequest<'a> {
    agent: &'a AgentArgs,
    model: &'a ModelArgs,
    limits: &'a LimitArgs,
}

impl<'a> From<&'a RunArgs> for GoalRequest<'a> {
    fn from(args: &'a RunArgs) -> Self {
        Self {
            agent: &args.agent,
            model: &args.model,
            limits: &args.limits,
        }
    }
}

impl<'a> From<&'a ChatArgs> for GoalRequest<'a> {
    fn from(args: &'a ChatArgs) -> Self {
        Self {
            agent: &args.agent,
            model: &args.model,
            limits: &args.limits,
        }
    }
}

/// What a run may do without asking, where it is asked about whatever it changes from here on; nothing where it is
/// already.
pub(crate) fn asking_policy(config: &RunConfig) -> Option<Box<Policy>> {
    let before = config.policy.as_deref();
    let permission = |tool: &str| before.map_or(Permission::Allow, |it| it.permission(tool).0);
    let free = ASKED_ABOUT
        .into_iter()
        .filter(|tool| permission(tool) == Permission::Allow);
    let rules: Vec<Rule> = free
        .map(|tool| Rule {
            tools: ToolPattern::new(tool),
            permission: Permission::Ask,
        })
        .collect();
    if rules.is_empty() {
        return None;
    }
    let asking = Policy {
        rules,
        nonce: before.map_or_else(Host::draw_nonce, |it| it.nonce.clone()),
        ..Policy::default()
    };
    Some(Box::new(match before {
        Some(before) => asking.under(before.clone()),
        None => asking,
    }))
}

/// Refuses what a goal for a run that has begun cannot bring.
pub(crate) fn refuse_bound(args: GoalRequest<'_>) -> Result<(), CliError> {
    let given = &args.agent.options.given;
    let typed = given
        .iter()
        .filter(|(key, _)| !BROUGHT.contains(&key.as_str()));
    let mut bound: Vec<&str> = typed.map(|(_, given)| given.place.as_str()).collect();
    let others = [
        ("--config", args.agent.config.is_some()),
        ("--override", !args.agent.overrides.is_empty()),
        ("--no-trust", args.agent.no_trust),
    ];
    bound.extend(others.iter().filter(|it| it.1).map(|it| it.0));
    if bound.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} cannot be given for a run that has begun: it keeps what it began with",
        bound.join(", ")
    );
    let hint = "a goal may bring limits and --model; for anything else begin a new run: bonded run";
    Err(CliError::new(Code::Usage, message).hint(hint))
}

/// The goal with its limits: what is typed, else what the run began with.
pub(crate) fn goal_given(
    args: GoalRequest<'_>,
    run: &Run,
    input: String,
) -> Result<GoalGiven, CliError> {
    let said = said(args)?;
    let limits = said.limits(args, &run.config_begun_with().limits)?;
    let mut given = GoalGiven::new(input, limits);
    given.overall = said.overall(args, run, &given.limits);
    if let Some(models) = args.agent.options.given.get("models") {
        given.targets = Some(other_targets(args, run.config(), models)?);
    }
    Ok(given)
}

/// The options that were typed, read.
struct Said {
    options: Options,
    keys: Vec<String>,
}

fn said(args: GoalRequest<'_>) -> Result<Said, CliError> {
    let typed = args.agent.options.given.iter();
    let typed = typed.filter(|(key, _)| *key != "models");
    let command_line: std::collections::BTreeMap<String, Given> = typed
        .map(|(key, given)| (key.clone(), given.clone()))
        .collect();
    let keys = command_line.keys().cloned().collect();
    let sources = Sources {
        command_line,
        ..Sources::default()
    };
    let options = options::resolve(&sources)?.options;
    Ok(Said { options, keys })
}

impl Said {
    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|it| it == key)
    }

    fn limits(&self, args: GoalRequest<'_>, began: &Limits) -> Result<Limits, CliError> {
        let typed = args.limits;
        let (options, mut limits) = (&self.options, began.clone());
        if self.has("maxTurns") {
            limits.turns_max = options.turns_max;
        }
        if self.has("maxRetries") {
            limits.attempts_per_turn_max = options.attempts_per_turn_max;
        }
        if self.has("maxToolCallsPerTurn") {
            limits.calls_per_turn_max = options.calls_per_turn_max;
        }
        if self.has("toolTimeout") {
            limits.tool_timeout_ms = options.tool_timeout_ms;
        }
        if self.has("toolResponseMaxBytes") {
            limits.tool_output_bytes_max = options.tool_response_bytes_max;
        }
        if let Some(time) = typed.max_time {
            limits.elapsed_ms_max = (!time.is_zero()).then(|| whole_ms(time));
        }
        limits.tokens_max = typed.max_tokens.or(limits.tokens_max);
        limits.cost_max = cost_max(typed)?.or(limits.cost_max);
        limits.repeats_max = typed.no_progress.unwrap_or(limits.repeats_max);
        Ok(limits)
    }

    /// Who says what may be used for a goal says that the run may use as much more.
    fn overall(&self, args: GoalRequest<'_>, run: &Run, limits: &Limits) -> Option<OverallLimits> {
        let before = run.overall_limits();
        let (turns, spend) = (run.turn(), run.spend());
        let mut overall = before;
        if self.has("maxTurns") {
            let needed = turns.saturating_add(limits.turns_max);
            overall.turns_max = before.turns_max.map(|max| max.max(needed));
        }
        if args.limits.max_time.is_some() {
            let needed = limits
                .elapsed_ms_max
                .map(|max| max.saturating_add(run.elapsed_ms()));
            overall.elapsed_ms_max = match (before.elapsed_ms_max, needed) {
                (Some(max), Some(needed)) => Some(max.max(needed)),
                _ => None,
            };
        }
        if let (Some(max), Some(own)) = (before.tokens_max, args.limits.max_tokens) {
            overall.tokens_max = Some(max.max(own.saturating_add(spend.usage.total())));
        }
        if let (Some(max), Some(own), true) = (
            before.cost_max,
            limits.cost_max,
            args.limits.max_cost.is_some(),
        ) {
            overall.cost_max = Some(max.max(own.plus(spend.cost)));
        }
        (overall != before).then_some(overall)
    }
}

/// The models that a person names in place of those before. What was said of tokens' price holds on; what was listed is of
/// the other model.
fn other_targets(
    args: GoalRequest<'_>,
    config: &RunConfig,
    models: &Given,
) -> Result<Vec<Target>, CliError> {
    let named = models.value.as_str().unwrap_or_default().split(',');
    let named = named.map(str::trim).filter(|name| !name.is_empty());
    let base_url = args.model.base_url.as_deref();
    named
        .map(|model| other_target(config, model, base_url))
        .collect()
}

/// One model in place of those before: see [`other_targets`].
pub(crate) fn other_target(
    config: &RunConfig,
    model: &str,
    base_url: Option<&str>,
) -> Result<Target, CliError> {
    let first = config.targets.first();
    let is_given = |target: &&Target| target.price_listed.is_none();
    let price = first.filter(is_given).and_then(|target| target.price);
    let mut other = target(&TargetRequest {
        model: model.to_owned(),
        base_url: base_url.map(str::to_owned),
        key_env: None,
        stream: first.is_some_and(|target| target.stream),
        timeout_ms: first.map_or(600_000, |target| target.timeout_ms),
        price,
    })?;
    if price.is_none() {
        agent::list_price(&mut other);
        if base_url.is_none() && other.price.is_none() {
            agent::list_price_behind(&mut other, |name| std::env::var(name).ok());
        }
    }
    Ok(other)
}

/// Refuses a run that reaches further than the configuration says by now, unless the person says so again.
pub(crate) fn refuse_looser(args: GoalRequest<'_>, config: &RunConfig) -> Result<(), CliError> {
    refuse_looser_unless(said(args)?.has("sandbox"), config)
}

/// The same where nobody can say so again.
pub(crate) fn refuse_looser_than_configured(config: &RunConfig) -> Result<(), CliError> {
    refuse_looser_unless(false, config)
}

fn refuse_looser_unless(is_said_again: bool, config: &RunConfig) -> Result<(), CliError> {
    let workplace = agents::looking(&AgentArgs::default(), Path::new(&config.dir))?;
    let sources = configuration(&workplace)?.sources()?;
    let resolved = options::resolve(&sources)?;
    let now = &resolved.options.sandbox;
    let has_said = |key: &str| resolved.sources.get(key) == Some(&Source::Config);
    if resolved.options.reads_only && !config.reads_only() {
        let message = "the run can change things, and the configuration says `readOnly` by now";
        let hint = "begin a new run, which reads only: bonded run";
        return Err(CliError::new(Code::CannotContinue, message).hint(hint));
    }
    let then = config.sandbox.as_deref();
    let then = then.cloned().unwrap_or_else(unconfined);
    if has_said("sandbox") && then.level > now.level && !is_said_again {
        let (then, now) = (then.level.as_str(), now.level.as_str());
        let message =
            format!("the run has the sandbox {then}, and the configuration allows {now} by now");
        return Err(CliError::new(Code::CannotContinue, message).hint(format!(
            "say it again if it is meant: --sandbox {then}; or begin a new run: bonded run"
        )));
    }
    Ok(())
}

/// Logs of older formats did not confine commands.
fn unconfined() -> SandboxConfig {
    SandboxConfig {
        level: bonded_kernel::SandboxLevel::Full,
        ..SandboxConfig::default()
    }
}
