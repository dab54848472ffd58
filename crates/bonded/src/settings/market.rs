//! Where `bonded models` looks for models: the configuration of this directory, and a server of the variables.

use std::path::Path;

use bonded_host::agent::Workplace;
use bonded_host::config::Config;
use bonded_host::config::options::{self, Options, Sources};
use bonded_kernel::Target;

use super::plain::configuration;
use super::targets::UrlServer;
use super::working_directory;
use crate::agents;
use crate::args::{AgentArgs, ModelArgs, variable};
use crate::error::CliError;

/// What is set up here.
pub(crate) struct MarketSetup {
    pub(crate) config: Config,
    pub(crate) options: Options,
    pub(crate) workplace: Workplace,
    /// The server of `BONDED_BASE_URL`.
    pub(crate) custom: Option<Target>,
}

/// The variable that names a model counts for nothing here: it may be the very one that is wrong.
pub(crate) fn market() -> Result<MarketSetup, CliError> {
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
