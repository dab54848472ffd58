//! `bonded models`.

use clap::Args;

/// List usable models with windows and prices
///
/// Asks every configured endpoint for its list: those whose key is set, local servers, and the providers of the
/// configuration. Prices are dollars per million tokens; PRICE FROM names their source.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded models                                      all endpoints that are set up
  bonded models openai                               one of them
  bonded models --json | jq -r '.models[].model'")]
pub(crate) struct ModelsArgs {
    /// Ask this provider only
    pub(crate) provider: Option<String>,

    /// Print one object
    #[arg(long)]
    pub(crate) json: bool,
}
