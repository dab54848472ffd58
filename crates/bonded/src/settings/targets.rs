//! Which models are asked.
//!
//! A model is named with its provider, by a script's file, or by any name at a server whose address is given. What
//! can be wrong with a name is reported before anything runs, together with what a key in the environment would do
//! that a person may not expect.

use std::path::Path;

use bonded_host::agent::{unconfigured, unsent};
use bonded_host::config::Config;
use bonded_host::config::options::{Given, Options};
use bonded_host::offers::known_models;
use bonded_host::with_causes;
use bonded_host::{KNOWN_PROVIDERS, SCRIPT, TargetRequest, resolve_target, shadowed_key};
use bonded_kernel::{AttemptFailed, Entry, Event, FailureClass, RunConfig, Target, nearest};
use bonded_transport::Script;

use crate::args::{ModelArgs, variable};
use crate::error::{CliError, Code};

/// Resolves a target and checks what can be checked before anything runs.
pub(crate) fn target(asked: &TargetRequest) -> Result<Target, CliError> {
    let target = resolve_target(asked, |name| std::env::var(name).ok())?;
    if target.provider == SCRIPT {
        check_script(Path::new(&target.endpoint))?;
    }
    Ok(target)
}

/// What a person is told of a target before it is asked.
pub(super) fn warnings_before(target: &Target) -> Vec<String> {
    unsent(target)
        .into_iter()
        .chain(shadowed_key(target, variable))
        .collect()
}

/// What to write in place of a model that its provider did not know.
pub(crate) fn model_meant(config: &RunConfig, entries: &[Entry]) -> Option<String> {
    let mut target = None;
    for entry in entries {
        if let Event::AttemptStarted { target: asked, .. } = &entry.event {
            target = config.targets.get(*asked as usize);
        }
        let is_unknown = |failed: &AttemptFailed| failed.class == FailureClass::Model;
        if let (Event::AttemptFailed(failed), Some(target)) = (&entry.event, target)
            && is_unknown(failed)
        {
            let provider = target.family();
            let known = known_models(provider);
            let names = known
                .iter()
                .filter_map(|it| Some(it.name.split_once('/')?.1));
            let meant = nearest(&target.model, names)?;
            return Some(format!(
                "Did you mean {}/{meant}? List them: bonded models {}",
                target.provider, target.provider
            ));
        }
    }
    None
}

/// A server that only its base URL names, with models of any name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UrlServer {
    /// As the flag or the variable has it.
    base_url: String,
    /// The variable that has the key, where one is named.
    key_env: Option<String>,
    /// Whether a flag names it; a variable is set once for everything.
    pub(super) is_argument: bool,
}

impl UrlServer {
    /// What the flags name, else the variables. The key of a variable is not for another server than that of the other.
    /// A key must never reach a server that it was not set for, merely because a flag names another one.
    pub(super) fn of(args: &ModelArgs, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let variable_url = variable("BONDED_BASE_URL");
        let base_url = args.base_url.clone().or_else(|| variable_url.clone())?;
        let is_its = variable_url.is_none_or(|variable_url| variable_url == base_url);
        let variable_key = variable("BONDED_KEY_ENV").filter(|_| is_its);
        Some(Self {
            base_url,
            key_env: args.key_env.clone().or(variable_key),
            is_argument: args.base_url.is_some(),
        })
    }
}

impl UrlServer {
    /// A model of it, by any name.
    pub(super) fn target(&self, model: &str, options: &Options) -> Result<Target, CliError> {
        target(&TargetRequest {
            model: model.to_owned(),
            base_url: Some(self.base_url.clone()),
            key_env: self.key_env.clone(),
            stream: options.stream,
            timeout_ms: options.llm_timeout_ms,
            price: None,
        })
    }
}

/// Whether one of the models is named with its provider.
/// A provider that is configured wrongly is known too: its mistake is to be shown, and not hidden by another
/// server.
pub(super) fn names_provider(models: &Given, config: &Config) -> bool {
    let names = models.value.as_str().unwrap_or_default().split(',');
    let is_known = |provider: &str| {
        let known = KNOWN_PROVIDERS.iter().any(|known| known.name == provider);
        known || !matches!(config.provider(provider), Ok(None))
    };
    names.map(str::trim).any(|name| {
        let provider = name.split_once('/').map(|(provider, _)| provider);
        name.starts_with("script:") || provider.is_some_and(is_known)
    })
}

/// Models of such a server.
pub(super) fn custom_targets(
    server: &UrlServer,
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
            let target = server.target(name, options)?;
            Ok(unconfigured(target, options))
        })
        .collect();
    let targets = targets?;
    if targets.is_empty() {
        return Err(no_model());
    }
    Ok(targets)
}

/// Says what was looked for and which keys are set, never what they are.
pub(super) fn no_model() -> CliError {
    let known: Vec<&str> = KNOWN_PROVIDERS.iter().map(|known| known.name).collect();
    let keys: Vec<String> = KNOWN_PROVIDERS
        .iter()
        .filter_map(|known| {
            let name = known.key(variable)?.name;
            let state = if variable(name).is_some() {
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

/// Here it only has to be good; nothing of it is kept.
fn check_script(path: &Path) -> Result<(), CliError> {
    match Script::load(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(CliError::new(Code::BadScript, with_causes(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_variables_is_the_weakest_and_its_key_goes_to_no_other() {
        let flags = |base_url: Option<&str>, key_env: Option<&str>| ModelArgs {
            base_url: base_url.map(str::to_owned),
            key_env: key_env.map(str::to_owned),
            price: None,
        };
        let server = |base_url: &str, key_env: Option<&str>, is_argument| {
            Some(UrlServer {
                base_url: base_url.into(),
                key_env: key_env.map(str::to_owned),
                is_argument,
            })
        };
        let variables = |name: &str| {
            let set = match name {
                "BONDED_BASE_URL" => "http://usual/v1",
                _ => "USUAL_KEY",
            };
            Some(set.to_owned())
        };
        let only_key = |name: &str| variables(name).filter(|_| name == "BONDED_KEY_ENV");
        let none = |_: &str| None;
        assert_eq!(UrlServer::of(&flags(None, None), none), None);
        assert_eq!(UrlServer::of(&flags(None, Some("KEY")), none), None);
        assert_eq!(
            UrlServer::of(&flags(None, None), variables),
            server("http://usual/v1", Some("USUAL_KEY"), false)
        );
        assert_eq!(
            UrlServer::of(&flags(Some("http://other/v1"), None), variables),
            server("http://other/v1", None, true)
        );
        assert_eq!(
            UrlServer::of(&flags(Some("http://other/v1"), Some("KEY")), variables),
            server("http://other/v1", Some("KEY"), true)
        );
        assert_eq!(
            UrlServer::of(&flags(Some("http://other/v1"), None), only_key),
            server("http://other/v1", Some("USUAL_KEY"), true)
        );
    }
}
