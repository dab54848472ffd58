//! Goals without an agent: the built-in tools work on them.
//!
//! Such a run takes its model and options from flags, configuration and variables like an agent, but has built-in
//! tools only and no servers. By default it has more room than an agent.

use std::collections::BTreeMap;
use std::path::Path;

use bonded_host::agent::{BUILTIN, BUILTIN_WORD, UnknownWindow, Workplace, targets};
use bonded_host::config::options::{self, Given, Options, Source, Sources};
use bonded_host::config::{Config, LayerShown};
use bonded_host::instructions::Instructions;
use bonded_host::skills::{SkillChoice, Skills};
use bonded_host::{Goal, Host, SCRIPT, policy, take_key_from};
use bonded_host::{prices, regular};
use bonded_kernel::{
    CONVERSATION_SYSTEM, DEFAULT_SYSTEM, Limits, OUTPUT_KEPT_BYTES_MAX, OfferedSkill, OwnTools,
    RunConfig, SandboxConfig, Target, Text,
};

use super::limits::{listed_prices, no_price, overall, own_limits, parse_price};
use super::targets::{
    UrlServer, check_scripts, custom_targets, names_provider, no_model, warnings_before,
};
use super::{RunSetup, SetupRequest, working_directory};
use crate::agents;
use crate::args::{AgentArgs, ModelArgs, variable};
use crate::error::{CliError, Code};
use bonded_host::keeping;

/// A server that only a base URL names is looked for first: its models have any name, and must not be resolved as
/// if their provider were in the name.
pub(super) fn prepare_plain(
    args: &SetupRequest<'_>,
    dir: String,
    workplace: Workplace,
) -> Result<RunSetup, CliError> {
    refuse_options_of_agents(&workplace)?;
    let config = configuration(&workplace)?;
    let mut sources = Sources {
        overrides: workplace.overrides.clone(),
        command_line: workplace.command_line.clone(),
        variables: workplace.variables.clone(),
        ..config.sources()?
    };
    let of_server = UrlServer::of(args.model, variable)
        .and_then(|server| Some((models_of(&server, &config, &mut sources)?, server)));
    let resolved = options::resolve(&sources)?;
    let mut options = resolved.options;
    as_plain(&mut options, &resolved.sources);
    let targets = match of_server {
        Some((named, server)) => custom_targets(&server, &options, &named)?,
        None if options.models.is_empty() => return Err(no_model()),
        None => targets(
            &config,
            &options,
            &workplace.environment,
            UnknownWindow::Open,
        )?,
    };
    check_scripts(&options)?;
    let builtin = chosen_tools(&options, &resolved.sources)?;
    // Without tools there are no outputs to read on in, and nothing that a skill would be followed with.
    let has_tools = builtin.as_ref().is_none_or(|it| !it.is_empty());
    if resolved.sources.get("skills") == Some(&Source::BuiltIn) && args.offers_skills && has_tools {
        options.skills = SkillChoice::All;
    }
    let skills = Skills::find(&workplace, &options.skills)?;
    let mut config = plain_config(args, dir, &options, targets, skills.offered.clone())?;
    config.held = workplace.trust.held();
    config.conversation = args.converses;
    config.builtin = builtin;
    config.own_tools = OwnTools {
        output_kept_bytes_max: (options.tool_output_paging && has_tools)
            .then_some(OUTPUT_KEPT_BYTES_MAX),
        ..OwnTools::default()
    };
    config.output_is_default = resolved.sources.get("maxOutputTokens") == Some(&Source::BuiltIn);
    let instructions = match args.reads_instructions {
        true => Instructions::find(&workplace),
        false => Instructions::default(),
    };
    let system = skills.after(instructions.after(&system_text(args)?));
    let before = config.targets.iter().flat_map(warnings_before);
    let warnings = before.chain(listed_prices(&config));
    let warnings = warnings.chain(instructions.warnings.clone());
    let warnings = warnings.chain(skills.warnings).collect();
    Ok(RunSetup {
        sample: Goal {
            text: "".into(),
            system,
            config,
            images: vec![],
        },
        agent: None,
        workplace,
        options,
        warnings,
        instructions,
    })
}

/// Takes out of the sources what a server that only its base URL names is to be asked for: it has models of any name.
/// One that is set once for everything takes no model away from the provider that somebody names for it.
fn models_of(server: &UrlServer, config: &Config, sources: &mut Sources) -> Option<Given> {
    let key = "models";
    let given = sources.overrides.get(key);
    let given = given.or_else(|| sources.command_line.get(key)).cloned();
    let is_elsewhere = |models: &Given| !server.is_argument && names_provider(models, config);
    if given.as_ref().is_some_and(is_elsewhere) {
        return None;
    }
    sources.overrides.remove(key);
    sources.command_line.remove(key);
    given.or(sources.variables.remove(key))
}

/// What only an agent has is refused where there is none, not passed over.
fn refuse_options_of_agents(workplace: &Workplace) -> Result<(), CliError> {
    for key in ["agents", "format", "toolingTransport"] {
        if let Some(given) = workplace.command_line.get(key) {
            let message = format!("{} needs an agent", given.place);
            return Err(CliError::new(Code::Usage, message).hint("add --agent FILE.ai"));
        }
    }
    Ok(())
}

/// The built-in tools that a person chose for a run without an agent; `None` is all of them. Who names none has none.
fn chosen_tools(
    options: &Options,
    sources: &BTreeMap<&'static str, Source>,
) -> Result<Option<Vec<String>>, CliError> {
    let names = &options.tools;
    if let Some(unknown) = names.iter().find(|name| !is_builtin(name)) {
        let message = format!(
            "there is no built-in tool {unknown:?}, and a run without an agent has no others"
        );
        let hint = format!(
            "they are {}; servers are an agent's: --agent FILE.ai",
            BUILTIN.join(", ")
        );
        return Err(CliError::new(Code::UnknownTool, message).hint(hint));
    }
    let is_default = sources.get("tools") == Some(&Source::BuiltIn);
    let is_all = is_default || names.iter().any(|name| name == BUILTIN_WORD);
    Ok((!is_all).then(|| names.clone()))
}

fn is_builtin(name: &str) -> bool {
    name == BUILTIN_WORD || BUILTIN.contains(&name)
}

/// A run without an agent has more room, and leaves to the provider what nobody speaks of.
/// Only what nobody has set; a file or flag that names the same number as the built-in default counts as set.
fn as_plain(options: &mut Options, sources: &BTreeMap<&'static str, Source>) {
    let is_default = |key: &str| sources.get(key) == Some(&Source::BuiltIn);
    if is_default("maxTurns") {
        options.turns_max = 50;
    }
    if is_default("maxRetries") {
        options.attempts_per_turn_max = 10;
    }
    if is_default("maxOutputTokens") {
        options.output_tokens_max = 8_192;
    }
    if is_default("toolResponseMaxBytes") {
        options.tool_response_bytes_max = 32_768;
    }
}

/// The flags of price and key hold for all targets.
fn plain_config(
    args: &SetupRequest<'_>,
    dir: String,
    options: &Options,
    mut targets: Vec<Target>,
    skills: Vec<OfferedSkill>,
) -> Result<RunConfig, CliError> {
    if let Some(price) = args.model.price.as_deref().map(parse_price).transpose()? {
        for target in &mut targets {
            target.price = Some(price);
            target.price_listed = None;
        }
    }
    if let Some(key_env) = &args.model.key_env {
        targets
            .iter_mut()
            .for_each(|target| take_key_from(target, key_env));
    }
    let limits = Limits {
        turns_max: options.turns_max,
        calls_per_turn_max: options.calls_per_turn_max,
        attempts_per_turn_max: options.attempts_per_turn_max,
        tool_timeout_ms: options.tool_timeout_ms,
        tool_output_bytes_max: options.tool_response_bytes_max,
        ..own_limits(args.limits, 3)?
    };
    if limits.cost_max.is_some() && !targets.iter().all(prices::may_be_limited) {
        let hint =
            "no price is listed; say it in dollars a million tokens: --price INPUT,OUTPUT[,CACHED]";
        return Err(no_price(hint));
    }
    let types_turns = types_turns(args.agent);
    let mut config = RunConfig {
        overall: Some(overall(args.limits, types_turns, &limits)),
        limits,
        output_tokens_max: options.output_tokens_max,
        keeps_originals: options.trace_tools,
        context_summary: options.context_summary,
        kept: keeping::kept_by(options, &dir),
        policy: policy(options, &[], &skills, &Host::draw_nonce()),
        skills,
        sandbox: Some(Box::new(options.sandbox.clone())),
        ..RunConfig::new(dir, targets)
    };
    config.confine_to_policy();
    Ok(config)
}

/// Whether somebody typed how many turns there may be.
pub(super) fn types_turns(args: &AgentArgs) -> bool {
    let is_turns = |text: &String| text.trim_start().starts_with("maxTurns");
    args.options.given.contains_key("maxTurns") || args.overrides.iter().any(is_turns)
}

/// More than any model reads.
const SYSTEM_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// It replaces the default text; it is not put before it.
fn system_text(args: &SetupRequest<'_>) -> Result<Text, CliError> {
    let Some(path) = args.system else {
        return Ok(match args.converses {
            true => CONVERSATION_SYSTEM.into(),
            false => DEFAULT_SYSTEM.into(),
        });
    };
    let text = std::fs::File::open(path).and_then(|file| regular::text_of(file, SYSTEM_BYTES_MAX));
    let text = text.map_err(|error| {
        let message = format!("cannot read the system text {}: {error}", path.display());
        CliError::new(Code::BadGoal, message)
    })?;
    Ok(text.into())
}

/// The configuration for a run that is no agent's.
pub(super) fn configuration(workplace: &Workplace) -> Result<Config, CliError> {
    let environment = workplace.environment.clone();
    let places = workplace.places(None);
    Ok(Config::load(&places, environment, &workplace.trust)?)
}

/// The models that are named here, by a variable or by the configuration, each as a run without an agent would ask it, and
/// where they are asked from.
/// One that cannot be resolved is an error among the others, and hides none of them.
pub(crate) fn models_named() -> Result<(Vec<Result<Target, CliError>>, Workplace), CliError> {
    let dir = working_directory(None)?;
    let workplace = agents::looking(&AgentArgs::default(), Path::new(&dir))?;
    let config = configuration(&workplace)?;
    let mut sources = Sources {
        overrides: workplace.overrides.clone(),
        variables: workplace.variables.clone(),
        ..config.sources()?
    };
    let of_server = UrlServer::of(&ModelArgs::default(), variable)
        .and_then(|server| Some((models_of(&server, &config, &mut sources)?, server)));
    let options = options::resolve(&sources)?.options;
    let mut found = match of_server {
        Some((named, server)) => match custom_targets(&server, &options, &named) {
            Ok(targets) => targets.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        },
        None => vec![],
    };
    let mut named = options.models.clone();
    named.extend(config.named_models());
    named.retain(|model| model.provider != SCRIPT);
    for (at, model) in named.iter().enumerate() {
        if named[..at].contains(model) {
            continue;
        }
        let one = Options {
            models: vec![model.clone()],
            ..options.clone()
        };
        let environment = &workplace.environment;
        found.push(
            match targets(&config, &one, environment, UnknownWindow::Open) {
                Ok(targets) => Ok(targets),
                Err(error) => Err(CliError::from(error)),
            }
            .and_then(|mut targets| targets.pop().ok_or_else(no_model)),
        );
    }
    Ok((found, workplace))
}

/// The layers that are found from here, and what holds for commands where only they say it. Nothing is asked.
pub(crate) fn looked_at() -> Result<(Vec<LayerShown>, SandboxConfig), CliError> {
    let dir = working_directory(None)?;
    let workplace = agents::looking(&AgentArgs::default(), Path::new(&dir))?;
    let config = configuration(&workplace)?;
    let resolved = options::resolve(&config.sources()?)?;
    Ok((config.layers(), resolved.options.sandbox))
}
