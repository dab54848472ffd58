//! What can be wrong with an option, in one shape for all sources.

use bonded_kernel::{Mistake, did_you_mean};

use crate::provider::ProviderError;

/// What a person wrote, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// A value that its kind cannot read, or that lies outside of its bounds.
    #[error("{} {mistake}", subject(place, key, mistake))]
    BadValue {
        /// Where it was written.
        place: String,
        key: String,
        mistake: Box<Mistake>,
    },
    /// A model that is named without its provider.
    #[error("{}{error}", of_a_file(place))]
    BareModel {
        place: String,
        error: Box<ProviderError>,
    },
    /// No row of the table has this key; `nearest` is the one that was probably meant.
    #[error("{place}: there is no option {key}{}", did_you_mean(nearest.as_deref()))]
    UnknownKey {
        place: String,
        key: String,
        nearest: Option<String>,
    },
    /// The option exists and is not set from there; `instead` is the flag to use.
    #[error("{place}: {key} cannot be set here{}", use_instead(instead.as_deref()))]
    NotHere {
        place: String,
        key: String,
        instead: Option<String>,
    },
    /// There is no `=` in it.
    #[error("--override {text:?} is not KEY=VALUE")]
    BadOverride { text: String },
}

/// Who typed a flag knows what it is about; the key is for what stands in a file.
fn subject(place: &str, key: &str, mistake: &Mistake) -> String {
    let is_flag = place.starts_with("--");
    match mistake {
        Mistake::BadMeasure(_) if is_flag => place.to_owned(),
        Mistake::BadMeasure(_)
        | Mistake::Missing { .. }
        | Mistake::UnknownField { .. }
        | Mistake::WrongType { .. }
        | Mistake::UnknownWord { .. }
        | Mistake::OutOfRange { .. }
        | Mistake::NumberOutOfRange { .. }
        | Mistake::Empty
        | Mistake::TooLong { .. }
        | Mistake::TooMany { .. }
        | Mistake::Control
        | Mistake::Nul => format!("{place}: {key}"),
    }
}

/// A message about what was typed need not say where.
fn of_a_file(place: &str) -> String {
    match place.starts_with("--") {
        true => String::new(),
        false => format!("{place}: "),
    }
}

fn use_instead(flag: Option<&str>) -> String {
    match flag {
        Some(flag) => format!("; use {flag}"),
        None => String::new(),
    }
}
