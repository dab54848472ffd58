//! Which models can be asked here: every endpoint that is set up, what it offers, and what that costs.
//!
//! An endpoint is set up if its key is set, if it needs none, or if the configuration has it. All are asked for their list
//! at the same time; one that cannot be asked is told with the reason and holds up no other. What the configuration says
//! of a window or a price counts more than the built-in list, and that more than what the endpoint says of itself.

use bonded_kernel::{Failure, Price, Target};
use bonded_transport::models::{ModelRow, listed_on};
use bonded_transport::{OfferedModel, offered};
use futures_util::future::join_all;

use crate::agent::{AgentError, Keyring, UnknownWindow, targets, unconfigured};
use crate::config::options::{ModelRef, Options};
use crate::config::{Config, Environment};
use crate::provider::{KNOWN_PROVIDERS, ProviderError, by_name, no_provider};

/// Where models are looked for, and with which settings.
#[derive(Debug)]
pub struct Market<'a> {
    /// Its providers count beside those that everybody knows.
    pub config: &'a Config,
    pub options: &'a Options,
    pub environment: &'a Environment,
    /// The one that finds keys; it gives none to another address than its own.
    pub keyring: &'a Keyring,
    /// A server that only a base URL names.
    pub custom: Option<Target>,
}

/// What came of looking at one provider.
#[derive(Clone, Debug)]
pub struct ProviderOffer {
    pub provider: String,
    pub models: Result<Vec<Model>, NotOffered>,
}

/// A model that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// As it is given to `--model`.
    pub name: String,
    /// In tokens; absent where nobody says it.
    pub window: Option<u64>,
    pub price: Option<Price>,
    pub price_from: Option<PriceSource>,
}

/// Whose word a price is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceSource {
    /// The list that is part of the program, as of this day.
    BuiltIn(&'static str),
    /// The person's own.
    Configured,
    /// The endpoint says it in its list.
    Endpoint,
    /// It runs on this machine and costs nothing.
    Local,
}

/// Why an endpoint offers nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOffered {
    /// The variable is not set.
    NoKey { variable: String },
    /// Nothing answers there in time.
    NoAnswer,
    /// It answers, and has no list.
    NoList,
    /// It answers with something else than a list.
    Refused { why: String },
    /// What the configuration says of it cannot be used.
    Unusable { why: String },
}

/// All endpoints, or the one that is named.
pub async fn offers(
    market: &Market<'_>,
    only: Option<&str>,
) -> Result<Vec<ProviderOffer>, ProviderError> {
    let mut names: Vec<&str> = KNOWN_PROVIDERS.iter().map(|known| known.name).collect();
    let configured = market.config.provider_names();
    names.extend(configured.into_iter().filter(|it| by_name(it).is_none()));
    if let Some(only) = only {
        names.retain(|name| *name == only);
    }
    let custom = market.custom.as_ref();
    let custom = custom.filter(|target| only.is_none_or(|only| only == target.provider));
    if names.is_empty() && custom.is_none() {
        return Err(no_provider(&format!("{}/", only.unwrap_or_default())));
    }
    let named = names.into_iter().map(|name| market.of_provider(name));
    let (mut offers, custom) = futures_util::future::join(join_all(named), async {
        Some(market.of_server(custom?).await)
    })
    .await;
    offers.extend(custom);
    Ok(offers)
}

/// The models of a provider in the built-in list, for one that cannot be asked.
pub fn known_models(provider: &str) -> Vec<Model> {
    let rows = ModelRow::rows().filter(|row| row.service == provider);
    rows.map(|row| Model {
        name: format!("{}/{}", row.service, row.model),
        window: row.window,
        price: row.price,
        price_from: row.price.map(|_| PriceSource::BuiltIn(listed_on())),
    })
    .collect()
}

impl Market<'_> {
    async fn of_provider(&self, provider: &str) -> ProviderOffer {
        // What is asked for is the list: the model does not matter.
        let models = match self.target(provider, "models") {
            Ok(target) => self.listed(&target).await.map(|listed| {
                let model = |it: &OfferedModel| self.model(provider, it);
                listed.iter().map(model).collect()
            }),
            Err(AgentError::NoKey { variable, .. }) => Err(NotOffered::NoKey { variable }),
            Err(error) => Err(NotOffered::Unusable {
                why: error.to_string(),
            }),
        };
        ProviderOffer {
            provider: provider.to_owned(),
            models,
        }
    }

    /// The models of such a server have no provider in their names.
    async fn of_server(&self, server: &Target) -> ProviderOffer {
        let models = self.listed(server).await.map(|listed| {
            let model = |it: &OfferedModel| {
                let named = Target::new(&server.provider, server.endpoint.clone(), &it.id);
                let target = unconfigured(named, self.options);
                model(it.id.clone(), &target, it)
            };
            listed.iter().map(model).collect()
        });
        ProviderOffer {
            provider: server.provider.clone(),
            models,
        }
    }

    async fn listed(&self, target: &Target) -> Result<Vec<OfferedModel>, NotOffered> {
        match offered(target, self.keyring.credentials(target)).await {
            Ok(Some(models)) => Ok(models),
            Ok(None) => Err(NotOffered::NoList),
            Err(Failure { status: None, .. }) => Err(NotOffered::NoAnswer),
            Err(failure) => Err(NotOffered::Refused {
                why: failure.message,
            }),
        }
    }

    fn target(&self, provider: &str, model: &str) -> Result<Target, AgentError> {
        let named = ModelRef {
            provider: provider.to_owned(),
            model: model.to_owned(),
        };
        let options = Options {
            models: vec![named],
            ..self.options.clone()
        };
        let found = targets(self.config, &options, self.environment, UnknownWindow::Open)?;
        found.into_iter().next().ok_or(AgentError::NoModel)
    }

    /// What is wrong with one model alone is told when it is asked for.
    fn model(&self, provider: &str, it: &OfferedModel) -> Model {
        let name = format!("{provider}/{}", it.id);
        match self.target(provider, &it.id) {
            Ok(target) => model(name, &target, it),
            Err(_) => Model {
                name,
                window: it.window,
                price: it.price,
                price_from: it.price.map(|_| PriceSource::Endpoint),
            },
        }
    }
}

/// A server that was started with a window knows it better than any list.
fn model(name: String, target: &Target, it: &OfferedModel) -> Model {
    let is_local = bonded_transport::is_local(&target.endpoint);
    let price_from = match (target.price, &target.price_listed) {
        (Some(_), Some(_)) => Some(PriceSource::BuiltIn(listed_on())),
        (Some(_), None) => Some(PriceSource::Configured),
        (None, _) if it.price.is_some() => Some(PriceSource::Endpoint),
        (None, _) => is_local.then_some(PriceSource::Local),
    };
    let known = target.window.map(|window| window.tokens);
    Model {
        name,
        window: known.or(it.window),
        price: target.price.or(it.price),
        price_from,
    }
}
