//! What can be wrong with an option, in one shape for all sources.

use bonded_kernel::did_you_mean;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("{place}: {key} must be {expected}, not {value}")]
    BadValue {
        /// Where it was written.
        place: String,
        key: String,
        value: String,
        expected: String,
    },
    #[error("{place}: there is no option {key}{}", did_you_mean(nearest.as_deref()))]
    UnknownKey {
        place: String,
        key: String,
        nearest: Option<String>,
    },
    #[error("{place}: {key} cannot be set here{}", use_instead(instead.as_deref()))]
    NotHere {
        place: String,
        key: String,
        instead: Option<String>,
    },
    #[error("--override {text:?} is not KEY=VALUE")]
    BadOverride { text: String },
}

fn use_instead(flag: Option<&str>) -> String {
    match flag {
        Some(flag) => format!("; use {flag}"),
        None => String::new(),
    }
}
