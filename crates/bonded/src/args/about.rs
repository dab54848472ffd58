//! The program itself: what it finds here, what it can, what its errors mean.
//!
//! None of these needs a store or a model: they are what a person starts on a machine where nothing is set up yet.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Check your setup: models, store, sandbox, git
///
/// The first line says what to do next. Every endpoint that is set up is asked for its models, with its own key.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded doctor
  bonded doctor --data data                          also a workspace and its provider")]
pub(crate) struct DoctorArgs {
    /// Also check the workspace in this data directory and its provider
    #[arg(long, env = "BONDED_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Watch an agent fix a bug and survive kill -9 (no key, no network)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded demo
  bonded demo --fast --keep                          no pauses; keep the files it made")]
pub(crate) struct DemoArgs {
    /// Keep the scratch directory
    #[arg(long)]
    pub(crate) keep: bool,

    /// No pauses
    #[arg(long)]
    pub(crate) fast: bool,
}

/// Explain an error code
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded explain no-model
  bonded explain                                     list all codes")]
pub(crate) struct ExplainArgs {
    /// The code, as in error[CODE] [default: list all]
    pub(crate) code: Option<String>,
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded completions bash > bonded.bash")]
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
