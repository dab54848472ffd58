//! From the provider that an action or the configuration chooses to the target that is asked.
//!
//! A key goes out only to a place that everybody knows for the provider, or that whoever runs the server has listed.
//! This is the last check before a target can be asked, whoever chose it.

use std::path::PathBuf;

use bonded_kernel::Target;
use bonded_transport::dialect;
use bonded_workspace_rules::ProviderChoice;

use bonded_host::config::Whose;
use bonded_host::provider::{self, ProviderError, SCRIPT, TargetRequest, resolve_target};

/// The target of a choice. `script_file` finds the file of the provider that plays one; `whose` says who answers for a
/// place of a provider. Of the variables only those that hold keys count: where a provider is, the choice says.
pub(super) fn target_of(
    choice: &ProviderChoice,
    script_file: impl Fn(&str) -> PathBuf,
    whose: impl Fn(&str, &str) -> Whose,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Target, ProviderError> {
    let kind = &choice.provider_kind;
    let url = choice.base_url.as_deref();
    let model = match kind.as_str() {
        // What others have a server for, this one has a file for.
        SCRIPT => format!("script:{}", script_file(url.unwrap_or_default()).display()),
        _ => format!("{kind}/{}", choice.model),
    };
    let asked = TargetRequest {
        model,
        timeout_ms: choice.timeout_ms,
        ..TargetRequest::default()
    };
    let is_key = |name: &str| name.ends_with("_KEY") || name.ends_with("_TOKEN");
    let mut target = resolve_target(&asked, |name| variable(name).filter(|_| is_key(name)))?;
    if let Some(url) = url.filter(|_| kind != SCRIPT) {
        target.endpoint = provider::checked_url(url)?;
        target.dialect = provider::dialect_at(target.dialect, &target.endpoint, None);
    }
    // The keys of a server are those of whoever runs it: in the environment, or in `.env` of the data directory.
    let is_meant = |endpoint: &str| Whose::Persons.goes_to(whose(kind, endpoint));
    if target.key_env.is_some() && !is_meant(&target.endpoint) {
        return Err(ProviderError::Misdirected {
            provider: kind.clone(),
            endpoint: target.endpoint,
        });
    }
    if kind != SCRIPT {
        target.accepts = Some(Box::new(dialect::known(&target)));
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use bonded_kernel::Dialect;

    use super::*;

    #[test]
    fn responses_are_spoken_to_openai_itself_and_to_no_server_that_speaks_like_it() {
        for (url, dialect) in [
            (None, Dialect::Responses),
            (Some("http://127.0.0.1:9/v1"), Dialect::Chat),
        ] {
            let choice = ProviderChoice {
                provider_kind: "openai".into(),
                base_url: url.map(Into::into),
                model: "gpt-5".into(),
                timeout_ms: 1,
                max_tokens: 1,
                temperature: 0.0,
            };
            let target = target_of(&choice, |name| name.into(), |_, _| Whose::Persons, |_| None);
            let target = target.expect("it may be asked");
            assert_eq!(target.dialect, dialect, "{url:?}");
            let accepts = target.accepts.expect("it is known");
            assert_eq!(accepts.temperature_max, None);
        }
    }

    #[test]
    fn a_key_goes_to_no_place_that_a_rule_alone_names() {
        let target = |kind: &str, whose: Whose| {
            let choice = ProviderChoice {
                provider_kind: kind.into(),
                base_url: Some("http://127.0.0.1:9/v1".into()),
                model: "m".into(),
                timeout_ms: 1,
                max_tokens: 1,
                temperature: 0.0,
            };
            target_of(&choice, |name| name.into(), |_, _| whose, |_| None)
        };
        for kind in ["openai", "openrouter", "anthropic", "google"] {
            let refused = target(kind, Whose::Others(0));
            assert!(
                matches!(refused, Err(ProviderError::Misdirected { .. })),
                "{kind}: {refused:?}"
            );
            for whose in [Whose::Persons, Whose::Known] {
                let target = target(kind, whose).expect("it may be asked");
                assert!(target.key_env.is_some(), "{kind}");
            }
        }
        // Who has no key sends none.
        let target = target("lmstudio", Whose::Others(0)).expect("it may be asked");
        assert_eq!(target.key_env, None);
    }
}
