//! The options of a run, in one table: the command line, agent files, the configuration and the help
//! all read this one.

pub(crate) mod approvals;
mod error;
mod kind;
mod reasoning;
mod resolve;
mod table;
mod values;

use std::collections::BTreeMap;

use serde_json::Value;

pub use error::OptionError;
pub use kind::{OptionKind, UNSET_WORDS};
pub use reasoning::{Reasoning, ReasoningLevel, ReasoningTokens, ReasoningValue};
pub use resolve::{Resolved, resolve};
pub use table::{OptionRow, TABLE};
pub use values::{Caching, ModelRef, Options, ToolEncoding};

pub(crate) use kind::{Parsed, parse};
pub(crate) use resolve::{built_in, resolve_all};

/// The row of an option key.
pub fn find(key: &str) -> Option<&'static OptionRow> {
    TABLE.iter().find(|row| row.key == key)
}

/// A value as somebody wrote it, and where: a flag, a file and line, a file and key path.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    pub value: Value,
    pub place: String,
}

impl Given {
    /// A value from the command line, as it was typed. A flag that takes no value is `true`.
    pub fn typed(row: &OptionRow, text: &str) -> Self {
        Self {
            value: text.into(),
            place: row.flag.unwrap_or(row.key).to_owned(),
        }
    }
}

/// Everything that was said about the options, by option key. In the order of the fields, the first that
/// says something about a key wins.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// From `--override`, for all agents of a run.
    pub overrides: BTreeMap<String, Given>,
    pub command_line: BTreeMap<String, Given>,
    pub front_matter: BTreeMap<String, Given>,
    /// What a parent agent hands to its children.
    pub inherited: BTreeMap<String, Given>,
    /// What the configuration says, from [`crate::config::Config::sources`], as the three that follow.
    pub config: BTreeMap<String, Given>,
    /// What the person's own files say: nobody else's file allows more.
    pub own: BTreeMap<String, Given>,
    /// Approvals of files that nobody trusts: they hold beside all others, and so can only be stricter.
    pub rules: Vec<Given>,
    /// What holds where nobody else says anything: variables that are set once for everything.
    pub variables: BTreeMap<String, Given>,
}

/// Which source won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Override,
    CommandLine,
    FrontMatter,
    Inherited,
    Config,
    /// Set once for everything, as `BONDED_MODEL` is.
    Variable,
    BuiltIn,
}

/// Reads the `KEY=VALUE` of an `--override`.
pub fn parse_override(text: &str) -> Result<(String, Given), OptionError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(OptionError::BadOverride { text: text.into() });
    };
    let key = key.trim();
    resolve::check_override(key)?;
    let given = Given {
        value: value.trim().into(),
        place: format!("--override {key}"),
    };
    Ok((key.to_owned(), given))
}
