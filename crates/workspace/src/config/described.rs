//! The configuration as its owner is shown it: every key with its value and where that comes from. Secrets are named, and
//! never shown.

use std::path::Path;

use bonded_host::config::Environment;
use bonded_host::provider::KNOWN_PROVIDERS;
use serde_json::Value;

use super::{WorkspaceConfig, read_text};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// Nothing says otherwise.
    Default,
    /// `config.json` has it.
    File,
    /// A variable has it.
    Environment,
}

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedSetting {
    /// With dots between its parts, or the name of a variable.
    pub key: String,
    /// Null for a secret.
    pub value: Value,
    /// Where the value comes from.
    pub source: SettingSource,
    /// The file or the variable.
    pub from: Option<String>,
    /// Whether the value is never shown.
    pub is_secret: bool,
    /// Whether there is a value.
    pub is_set: bool,
}

impl WorkspaceConfig {
    /// All keys in order, then the variables that hold keys of providers.
    pub fn described(&self, file: &Path, variables: &Environment) -> Vec<DescribedSetting> {
        let text = read_text(file).ok().flatten();
        let written: Value = text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let all = serde_json::to_value(self).unwrap_or_default();
        let mut settings = vec![];
        for (section, keys) in all.as_object().into_iter().flatten() {
            for (key, value) in keys.as_object().into_iter().flatten() {
                let is_written = written.get(section).and_then(|it| it.get(key)).is_some();
                let shown = file.display().to_string();
                settings.push(DescribedSetting {
                    key: format!("{section}.{key}"),
                    value: value.clone(),
                    source: match is_written {
                        true => SettingSource::File,
                        false => SettingSource::Default,
                    },
                    from: is_written.then_some(shown),
                    is_secret: false,
                    is_set: true,
                });
            }
        }
        settings.extend(secrets(variables));
        settings
    }
}

/// The variables in which providers' own clients look for keys.
fn secrets(variables: &Environment) -> Vec<DescribedSetting> {
    let mut names: Vec<&str> = KNOWN_PROVIDERS
        .iter()
        .flat_map(|known| {
            let more = known.keys.iter().map(|key| key.name);
            known.key_env.into_iter().chain(more)
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let secret = |name: &str| DescribedSetting {
        key: name.to_owned(),
        value: Value::Null,
        source: SettingSource::Environment,
        from: Some(name.to_owned()),
        is_secret: true,
        is_set: variables.get(name).is_some_and(|value| !value.is_empty()),
    };
    names.into_iter().map(secret).collect()
}
