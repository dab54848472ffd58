//! Where `bonded models` and `bonded doctor` look for models: the configuration of this directory, and a server of the variables.

use std::path::Path;

use bonded_host::agent::{Keyring, Workplace};
use bonded_host::config::Config;
use bonded_host::config::options::{self, Options, Sources};
use bonded_host::offers::{Market, ProviderOffer, offers};
use bonded_kernel::Target;

use super::plain::configuration;
use super::targets::UrlServer;
use super::working_directory;
use crate::agents;
use crate::args::{AgentArgs, ModelArgs, variable};
use crate::error::CliError;
use crate::masking;

/// What is set up here.
struct MarketSetup {
    config: Config,
    options: Options,
    workplace: Workplace,
    /// The server of `BONDED_BASE_URL`.
    custom: Option<Target>,
}

/// Asks every endpoint that is set up here, or the one that is named. Each key goes to its own endpoint alone.
pub(crate) async fn offered(only: Option<&str>) -> Result<Vec<ProviderOffer>, CliError> {
    let found = market()?;
    let environment = &found.workplace.environment;
    masking::mask_with(environment.secrets());
    let keyring = Keyring::new(environment.clone()).trusting(found.workplace.trust.clone());
    let market = Market {
        config: &found.config,
        options: &found.options,
        environment,
        keyring: &keyring,
        custom: found.custom,
    };
    Ok(offers(&market, only).await?)
}

/// The variable that names a model counts for nothing here: it may be the very one that is wrong.
fn market() -> Result<MarketSetup, CliError> {
    let dir = working_directory(None)?;
    let workplace = agents::looking(&AgentArgs::default(), Path::new(&dir))?;
    let config = configuration(&workplace)?;
    let sources: Sources = config.sources()?;
    let options = options::resolve(&sources)?.options;
    let custom = UrlServer::of(&ModelArgs::default(), variable)
        .map(|server| server.target("models", &options))
        .transpose()?;
    Ok(MarketSetup {
        config,
        options,
        workplace,
        custom,
    })
}
