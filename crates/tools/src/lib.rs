//! The tools that an agent may call: the [`Tool`] trait, the [`Registry`] that runs a checked call under
//! its queue, timeout and byte cap, the built-in tools for files and commands, the tools of MCP servers
//! ([`mcp`]), and tools that are requests over HTTP ([`rest`]).
//!
//! It does not see the log, the store or a model, does not decide whether a call may run, and no tool
//! calls another. A call reaches a tool only as an `Invocation`, which the kernel alone can make, after
//! it was decoded, checked against the tool's schema and logged.
//!
//! The file tools never leave the working directory: every path is resolved by the operating system
//! beneath an open directory, so that no link, `..` or race leads out. Commands and stdio servers run in
//! a [`sandbox`].

#![warn(missing_docs)]

mod append;
pub mod beneath;
mod bounds;
mod capture;
mod causes;
mod edit;
mod fault;
mod file_tool;
mod guard;
mod heard;
mod list;
mod mark;
pub mod mcp;
mod place;
mod preview;
mod process;
pub mod protected;
mod queue;
mod read;
pub mod recording;
mod registry;
pub mod rest;
mod run;
pub mod sandbox;
pub mod sandbox_trial;
mod search;
pub mod shell;
mod task;
mod tool;
mod tool_name;
mod walk;
mod workdir;
mod write;

use std::sync::Arc;

pub use fault::ToolFault;
pub use heard::OnOutput;
pub use place::{is_unfinished, keep_attributes, remove_unfinished};
pub use preview::{Before, Preview, preview};
pub use queue::{
    DEFAULT_QUEUE, OnWaited, Queue, QueueError, QueueMeasure, QueuePlace, Queues, Waited,
    default_places,
};
pub use registry::{CallGuard, Registry, output_from_elsewhere};
pub use sandbox::Sandbox;
pub use tool::{Tool, ToolValue};
pub use workdir::Workdir;

/// Why the tools cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// No tool on files can work without it, and a run does not begin.
    #[error("cannot open the working directory {path:?}; it must exist and be readable")]
    OpenDirectory {
        /// As it was given.
        path: std::path::PathBuf,

        /// The answer of the system.
        source: std::io::Error,
    },
}

/// Makes a tool for a working directory. Only a tool that starts commands needs the sandbox.
type Make = fn(&Arc<Workdir>, &Arc<Sandbox>) -> Arc<dyn Tool>;

/// The one table of what is built in: each tool's name, and what makes it.
const TABLE: [(&str, Make); 7] = [
    ("append", |dir, _| Arc::new(append::tool(dir.clone()))),
    ("edit", |dir, _| Arc::new(edit::tool(dir.clone()))),
    ("list", |dir, _| Arc::new(list::tool(dir.clone()))),
    ("read", |dir, _| Arc::new(read::ReadTool::new(dir.clone()))),
    ("run", |dir, sandbox| {
        Arc::new(run::Run::new(dir.clone(), sandbox.clone()))
    }),
    ("search", |dir, _| Arc::new(search::tool(dir.clone()))),
    ("write", |dir, _| Arc::new(write::tool(dir.clone()))),
];

/// The names of the tools that are built in. A policy trusts them, and `--tools` may name them.
pub const BUILTIN: [&str; TABLE.len()] = {
    let mut names = [""; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        names[at] = TABLE[at].0;
        at += 1;
    }
    names
};

/// The built-in tools in the order of [`BUILTIN`], all confined to `workdir`. The commands of `run` run in the sandbox.
pub fn builtin(workdir: Workdir, sandbox: &Arc<Sandbox>) -> Vec<Arc<dyn Tool>> {
    let workdir = Arc::new(workdir.under(sandbox.policy()));
    let tools = TABLE.iter();
    tools.map(|(_, make)| make(&workdir, sandbox)).collect()
}
