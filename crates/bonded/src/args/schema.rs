//! Schemas for editors.

use clap::{Args, ValueEnum};

/// Print a JSON Schema for editors
///
/// The schemas are made from the tables that bonded itself reads these files with. An editor that is given one completes
/// keys, shows what they mean and marks mistakes while you type. Without a name the schemas are listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded schema                                   list the schemas
  bonded schema config > config.schema.json       \"$schema\" in .ai-agent.json names it
  bonded schema plan > plan.schema.json           # yaml-language-server: $schema=./plan.schema.json")]
pub(crate) struct SchemaArgs {
    /// Which schema to print
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<SchemaName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    /// .ai-agent.json: providers, tool servers, defaults of runs
    Config,
    /// The front matter of agent files (.ai)
    Agent,
    /// Plans of `bonded work`, in YAML or JSON
    Plan,
    /// Rules of `bonded rule add`
    Rule,
}
