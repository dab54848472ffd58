//! Files to begin with.

use clap::{Args, ValueEnum};

/// Write an agent, a plan, a rule or a tool to begin with
///
/// The file is small, works as it is, and names its schema, which is written beside it so that editors need no network.
/// Nothing is overwritten. A tool is a program (an MCP server) and its entry in .ai-agent.json; where that file exists
/// already, the entry is printed for you to add.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded new agent review        writes review.ai
  bonded new plan tidy           writes tidy.yaml, for bonded work
  bonded new rule inbox          writes inbox.json, for bonded rule add
  bonded new tool words          writes words.py and .ai-agent.json")]
pub(crate) struct NewArgs {
    /// What to write
    pub(crate) kind: NewKind,

    /// Its name, which is that of the file without its ending
    pub(crate) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewKind {
    /// An agent file: NAME.ai
    Agent,
    /// A plan of work items: NAME.yaml
    Plan,
    /// A rule of a workspace: NAME.json
    Rule,
    /// A tool server: NAME.py, and its entry in .ai-agent.json
    Tool,
}
