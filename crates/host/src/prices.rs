//! What a run's targets cost, where a limit of money needs to know it and no list does: asked of their endpoints once,
//! before the run begins, and kept in its log.
//!
//! A server on this machine that is known to run models itself costs nothing. Any other target without a price refuses
//! the run: a limit that cannot be kept is not ignored.

use bonded_kernel::{Millis, Price, RunConfig, Target};
use bonded_transport::{Transport, is_local, tells_window};
use futures_util::future::join_all;

use crate::agent_error::AgentError;
use crate::error::HostError;
use crate::host::Host;

/// The servers that run a model where they are, as everybody knows them.
const RUN_MODELS: [&str; 4] = ["ollama", "lmstudio", "llamacpp", "vllm"];

/// Whether its tokens cost nothing: it runs on this machine, and passes nothing on.
pub fn is_free(target: &Target) -> bool {
    RUN_MODELS.contains(&target.family()) && is_local(&target.endpoint)
}

/// Whether an endpoint's word would count: nobody else has said what its tokens cost.
pub fn may_be_asked(target: &Target) -> bool {
    target.price.is_none() && !is_free(target) && tells_window(target)
}

/// Whether a limit of money can be kept with what is known before anything is asked, or with what an endpoint may say.
pub fn may_be_limited(target: &Target) -> bool {
    target.price.is_some() || is_free(target) || may_be_asked(target)
}

/// What the endpoints say, by target. Without a limit of money nothing is asked.
pub(crate) async fn ask(transport: &dyn Transport, config: &RunConfig) -> Vec<Option<Price>> {
    let is_limited = config.limits.cost_max.is_some();
    let asked = config.targets.iter().map(|target| async move {
        match is_limited && may_be_asked(target) {
            true => transport.price(target).await,
            false => None,
        }
    });
    join_all(asked).await
}

/// Takes the endpoints' word for their prices; one that was asked and lists none refuses the run.
pub(crate) fn take(
    config: &mut RunConfig,
    prices: Vec<Option<Price>>,
    now: Millis,
) -> Result<(), HostError> {
    if config.limits.cost_max.is_none() {
        return Ok(());
    }
    for (target, price) in config.targets.iter_mut().zip(prices) {
        if target.price.is_none() && is_free(target) {
            target.price = Some(NOTHING);
        } else if let Some(price) = price {
            target.price = Some(price);
            target.price_listed = Some(format!("{} by {}", day(now), target.provider));
        } else if may_be_asked(target) {
            let (provider, model) = (target.provider.clone(), target.model.clone());
            let error = AgentError::NoPrice { provider, model };
            return Err(HostError::Agent(Box::new(error)));
        }
    }
    Ok(())
}

const NOTHING: Price = Price {
    input: 0,
    output: 0,
    cached: 0,
    written: None,
    above: None,
};

fn day(at: Millis) -> String {
    let at = i64::try_from(at.0).ok();
    let at = at.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.unwrap_or_default().strftime("%Y-%m-%d").to_string()
}

impl Host {
    /// Gives the targets of a limited run the prices that only their endpoints know.
    pub async fn settle_prices(&self, config: &mut RunConfig) -> Result<(), HostError> {
        let prices = ask(&*self.transport, config).await;
        take(config, prices, self.clock.now())
    }
}
