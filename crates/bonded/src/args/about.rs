//! The program itself: what it finds here, what it can, what its errors mean.
//!
//! None of these needs a store or a model: they are what a person starts on a machine where nothing is set up yet.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Check what is here: store, models, sandbox, git
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also check the workspace in this data directory, and whether its agent's provider can be asked
    #[arg(long, env = "BONDED_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Watch an agent fix a bug, die in the middle and go on; needs no key and no network
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the scratch directory
    #[arg(long)]
    pub(crate) keep: bool,

    /// Make no pauses for the reader
    #[arg(long)]
    pub(crate) fast: bool,
}

/// Explain an error code
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The code, as in error[CODE]; without one, all are listed
    pub(crate) code: Option<String>,
}

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}
