//! Which models are asked.

use std::path::Path;

use bonded_host::config::options::{Given, Options};
use bonded_host::{KNOWN_PROVIDERS, SCRIPT, TargetRequest, resolve_target};
use bonded_kernel::Target;
use bonded_transport::Script;

use crate::args::ModelArgs;
use crate::error::{CliError, Code, with_causes};

/// Resolves a target and checks what can be checked before anything runs.
pub(crate) fn target(asked: &TargetRequest) -> Result<Target, CliError> {
    let target = resolve_target(asked, |name| std::env::var(name).ok())?;
    if target.provider == SCRIPT {
        check_script(Path::new(&target.endpoint))?;
    }
    Ok(target)
}

/// Models of a server that only its base URL names.
pub(super) fn custom_targets(
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

pub(super) fn no_model() -> CliError {
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
