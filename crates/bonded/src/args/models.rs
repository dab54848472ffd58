//! `bonded models`.

use clap::Args;

/// List the models that you can use, with windows and prices
///
/// Asks every endpoint that is set up for its list: those whose key is set, local servers, and the providers of the
/// configuration. Prices are dollars a million tokens; PRICE FROM says whose word they are.
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
