//! What the server goes by.

use bonded_workspace::config::{DescribedSetting, SettingSource};
use serde::Serialize;
use serde_json::Value;

/// A setting as it was when the server began.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Setting"))]
pub(crate) struct SettingAnswer {
    key: String,
    /// Null for a secret, whatever it is.
    value: Value,
    source: SourceWord,
    /// The file or the variable; null for a default.
    from: Option<String>,
    is_secret: bool,
    is_set: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(crate) enum SourceWord {
    Default,
    File,
    Environment,
}

impl From<&DescribedSetting> for SettingAnswer {
    fn from(setting: &DescribedSetting) -> Self {
        Self {
            key: setting.key.clone(),
            value: setting.value.clone(),
            source: match setting.source {
                SettingSource::Default => SourceWord::Default,
                SettingSource::File => SourceWord::File,
                SettingSource::Environment => SourceWord::Environment,
            },
            from: setting.from.clone(),
            is_secret: setting.is_secret,
            is_set: setting.is_set,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SettingList {
    pub(crate) settings: Vec<SettingAnswer>,
}
