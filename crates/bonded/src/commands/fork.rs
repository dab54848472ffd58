//! `bonded fork`: a new run that has the first turns of another.
//!
//! The origin stays as it is. The new run has the origin's log up to the turn and its own from there; it is not
//! driven here, so that a person can look at it first. Only the model and the number of turns may differ: whatever
//! else was decided for the origin, its policy and its limits, holds on.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::Host;
use bonded_host::trust::Stance;
use bonded_kernel::{RunConfig, RunId};

use crate::args::ForkArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};
use bonded_host::shapes::text;

/// A run of a plan, or of an agent that such a run has called, is refused.
pub(crate) async fn fork(args: &ForkArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let (store, from) = settings::find_run_to_steer(store, &args.run).await?;
    let id = match &args.id {
        Some(id) => RunId::new(id)?,
        None => Host::draw_id(),
    };
    let (host, _) = settings::host(store, Stance::Refuse);
    let config = host.load(&from).await?.config_begun_with().clone();
    let root = host.root_of(&from).await?;
    if let Some(item) = &host.load(&root).await?.config().item {
        return Err(of_plan(&from, &item.plan));
    }
    let mut config = changed(args, config)?;
    host.settle_prices(&mut config).await?;
    if config.limits.cost_max.is_some() && config.targets.iter().any(|it| it.price.is_none()) {
        let hint =
            "no price is listed for it; fork to a model that `bonded models` shows with a price";
        return Err(settings::no_price(hint));
    }
    host.fork(&from, args.turn, &id, Some(&config)).await?;
    output::stdout(id.as_str());
    output::stderr(&format!(
        "created run {id} from turn {} of {from}; start it: bonded resume {}",
        args.turn,
        text::short_id(&id)
    ));
    Ok(ExitCode::SUCCESS)
}

/// Its copy of the tree is its plan's, and gone with that: nobody could go on with it.
fn of_plan(run: &RunId, plan: &str) -> CliError {
    let message = format!("run {run} belongs to an item of plan {plan} and cannot be forked");
    CliError::new(Code::RunHeld, message).hint(format!(
        "resume the plan: bonded work --resume {plan}; or run the item again: bonded work PLAN --again"
    ))
}

/// The price that a person gave holds for the new model too; a price from the list is looked up anew.
fn changed(args: &ForkArgs, mut config: RunConfig) -> Result<RunConfig, CliError> {
    if let Some(model) = &args.model {
        let base_url = args.base_url.as_deref();
        config.targets = vec![settings::other_target(&config, model, base_url)?];
    }
    if let Some(turns) = args.max_turns {
        config.limits.turns_max = turns;
        // It is said for the goal of that turn.
        if let Some(overall) = &mut config.overall {
            overall.turns_max = None;
        }
    }
    Ok(config)
}
