//! The options of a run, in one table: the command line, agent files, the configuration and the help
//! all read this one.
//!
//! A row says where an option may be written, what its values are, what it is by default, and what
//! somebody else's file may do with it. To add an option is to add a row and to read it in `values`;
//! everything else follows.

pub(crate) mod approvals;
mod error;
mod kind;
mod reasoning;
mod resolve;
mod schema;
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
pub(crate) use schema::{in_any_case, row_schema};

pub(crate) use resolve::{built_in, resolve_all};

/// The row of an option key.
pub fn find(key: &str) -> Option<&'static OptionRow> {
    TABLE.iter().find(|row| row.key == key)
}

/// A value as somebody wrote it, and where: a flag, a file and line, a file and key path.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// As it was written, before it is read by the option's kind.
    pub value: Value,
    /// For messages: a flag, a file and line, or a file and key path.
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
    /// The flags of the agent that was named.
    pub command_line: BTreeMap<String, Given>,
    /// What the agent file says.
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
    /// `--override`, which beats everything.
    Override,
    /// The option's own flag.
    CommandLine,
    /// The agent file.
    FrontMatter,
    /// The agent that calls this one.
    Inherited,
    /// A layer of the configuration.
    Config,
    /// Set once for everything, as `BONDED_MODEL` is.
    Variable,
    /// Nobody says it; the table's default holds.
    BuiltIn,
}

/// Reads the `KEY=VALUE` of an `--override`.
///
/// The key is checked at once, the value when the options are resolved.
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
