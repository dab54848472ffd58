//! What a run changed: shown, and undone.

use clap::Args;

/// Show what a run changed
///
/// The changes of the tools `write`, `edit` and `append`, as a patch that `git apply` reads. What commands and other tools
/// changed is not recorded; how many ran is said.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded diff 3f2a                                   by a prefix of its id
  bonded diff 3f2a --turn 4                          from turn 4 on
  bonded diff 3f2a > run.patch                       to a file")]
pub(crate) struct DiffArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// Only changes from this turn on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turn: Option<u32>,

    /// Print one object a line instead of a patch
    #[arg(long)]
    pub(crate) json: bool,
}

/// Undo what a run changed
///
/// Files become what they were before the run, with their modes and links, or nothing is changed: a file that you changed
/// since the run is in the way. An undo can be taken back with --redo. Changes of commands are not undone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded undo 3f2a                                   everything
  bonded undo 3f2a --turn 4                          back to the beginning of turn 4
  bonded undo 3f2a --redo                            take the last undo back")]
pub(crate) struct UndoArgs {
    /// The run's id or a unique prefix of it
    pub(crate) run: String,

    /// Undo only changes from this turn on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turn: Option<u32>,

    /// Take the last undo back
    #[arg(long, conflicts_with = "turn")]
    pub(crate) redo: bool,

    /// Undo what can be undone and leave other files as they are
    #[arg(long)]
    pub(crate) partial: bool,

    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print one result object
    #[arg(long)]
    pub(crate) json: bool,
}
