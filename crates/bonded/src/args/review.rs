//! What a person says of a call that waits.
//!
//! A verdict is for one call and not for a run. At a terminal the person sees the call and is asked; elsewhere its
//! digest must be given, which only somebody has who was shown that very call.

use clap::Args;

use super::ShowProgress;

/// Approve a pending tool call and resume its run
///
/// Shows the call exactly as it would run, why approval is needed and the call's digest, then asks at a terminal.
/// Elsewhere nothing is approved without --digest. The approval holds once, for exactly what was shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded approve 3f2a
  bonded approve 3f2a --digest 8b1d02c4 --no-resume")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
}

/// Deny a pending tool call and resume its run
///
/// The model is told that the call was denied, and why.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded deny 3f2a --reason \"not that file\"")]
pub(crate) struct DenyArgs {
    /// The reason, as the model is told it
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerdictArgs {
    /// The run's id or a unique prefix of it; the calling agent's run works too
    pub(crate) run: String,

    /// Only if this call is pending, as `bonded show` numbers it
    #[arg(long, value_name = "N")]
    pub(crate) call: Option<u32>,

    /// Only if the pending call has this digest (its first 8 digits or more)
    #[arg(long, value_name = "HEX", value_parser = digest)]
    pub(crate) digest: Option<String>,

    /// Show long arguments in full
    #[arg(long)]
    pub(crate) full: bool,

    /// Record the decision without resuming the run
    #[arg(long)]
    pub(crate) no_resume: bool,

    #[command(flatten)]
    pub(crate) show: ShowProgress,

    /// Print one result object instead of the answer
    #[arg(long, conflicts_with = "no_resume")]
    pub(crate) json: bool,
}

/// Checked here, so that a slip is a mistake in the arguments, and not a call that differs.
fn digest(text: &str) -> Result<String, String> {
    let is_hex = text.bytes().all(|b| b.is_ascii_hexdigit());
    match is_hex && (8..=64).contains(&text.len()) {
        true => Ok(text.to_ascii_lowercase()),
        false => {
            Err("a digest has 8 to 64 hexadecimal digits, as `bonded approve` shows them".into())
        }
    }
}
