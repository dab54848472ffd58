//! What a person says of a call that waits.

use clap::Args;

use super::ShowProgress;

/// Let a call be executed that waits for a person, and go on with its run
///
/// Shows the tool, its arguments and why a person is asked, records the approval, and drives the run on.
/// The approval holds for this one call.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
}

/// Refuse a call that waits for a person, and go on with its run
///
/// The model is told that the call was denied, and why; the run goes on.
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// What the model is told
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerdictArgs {
    /// The run's id or a unique prefix of it; that of the agent which called it will do too
    pub(crate) run: String,

    /// Only if this call waits, as `bonded show` numbers it
    #[arg(long, value_name = "N")]
    pub(crate) call: Option<u32>,

    /// Record it and drive nothing; `bonded resume RUN` goes on
    #[arg(long)]
    pub(crate) no_resume: bool,

    #[command(flatten)]
    pub(crate) show: ShowProgress,

    /// Print one result object instead of the answer
    #[arg(long, conflicts_with = "no_resume")]
    pub(crate) json: bool,
}
