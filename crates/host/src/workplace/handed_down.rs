//! What holds for the agents that another one calls, beside their files: kept in the log of whoever calls, so that it
//! holds as well when another process takes the run up, without flags and from another directory.
//!
//! Four options of the command line stay with the agent that they were said of. All others go down, as
//! inherited ones, which lose against what the called agent's file says itself; overrides go down as
//! overrides.
//!
//! Values are masked before they are kept. A secret that was typed as an option is thereby lost to
//! children; it must come from the configuration or the environment, which are read again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bonded_kernel::{HandedDown, HandedOption, Mask};
use serde_json::Value;

use super::{Workplace, absolute};
use crate::agent_file::IncludePolicy;
use crate::config::options::Given;

/// What the command line says of one agent alone.
const OF_ONE_AGENT: [&str; 4] = ["tools", "agents", "skills", "format"];

impl Workplace {
    /// What is handed down from here.
    ///
    /// Paths are made absolute, because the run may be taken up in another directory.
    pub(crate) fn handed_down(&self) -> HandedDown {
        let mask = self.environment.secrets().mask();
        let path = |path: &Option<PathBuf>| path.as_deref().map(absolute);
        HandedDown {
            config_file: path(&self.config_file),
            home: path(&self.home),
            etc: path(&self.etc),
            binary_dir: path(&self.binary_dir),
            overrides: kept(self.overrides.clone(), &mask),
            options: kept(self.options_for_all(), &mask),
            variables: kept(self.variables.clone(), &mask),
            includes_anywhere: self.includes == IncludePolicy::Anywhere,
        }
    }

    /// What the command line says that is for all agents.
    pub(crate) fn options_for_all(&self) -> BTreeMap<String, Given> {
        let options = self.command_line.clone().into_iter();
        let options = options.filter(|(key, _)| !OF_ONE_AGENT.contains(&key.as_str()));
        options.collect()
    }

    /// The place in which what a run hands down holds, whoever drives it now.
    ///
    /// What is not handed down stays as this process has it: the environment, the working directory,
    /// and what is trusted.
    pub(crate) fn handing_down(&self, handed: &HandedDown) -> Self {
        let path = |path: &Option<String>| path.as_ref().map(PathBuf::from);
        Self {
            config_file: path(&handed.config_file),
            home: path(&handed.home),
            etc: path(&handed.etc),
            binary_dir: path(&handed.binary_dir),
            overrides: given(&handed.overrides),
            command_line: given(&handed.options),
            variables: given(&handed.variables),
            includes: match handed.includes_anywhere {
                true => IncludePolicy::Anywhere,
                false => IncludePolicy::InsideTree,
            },
            ..self.clone()
        }
    }
}

/// The form in which options are kept in a log, without secrets.
fn kept(given: BTreeMap<String, Given>, mask: &Mask) -> BTreeMap<String, HandedOption> {
    let options = given.into_iter().map(|(key, given)| {
        let (value, place) = (hidden(given.value, mask), given.place);
        (key, HandedOption { value, place })
    });
    options.collect()
}

/// No secret enters a log.
///
/// Looks into lists and objects too. The keys of an object are left as they are: they are names of
/// options.
fn hidden(value: Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => mask.owned(text).into(),
        Value::Array(values) => values.into_iter().map(|it| hidden(it, mask)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, hidden(value, mask)))
            .collect(),
        other => other,
    }
}

/// Back from the form of a log. The place stays, so that a message still names the flag that was typed.
fn given(kept: &BTreeMap<String, HandedOption>) -> BTreeMap<String, Given> {
    let options = kept.iter().map(|(key, option)| {
        let (value, place) = (option.value.clone(), option.place.clone());
        (key.clone(), Given { value, place })
    });
    options.collect()
}
