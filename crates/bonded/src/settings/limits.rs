//! The most that a run may take, and what tokens cost.
//!
//! Money is counted in whole picodollars, so that sums are exact. A limit of cost without a price could not be
//! kept, and is refused instead of ignored.

use std::time::Duration;

use bonded_host::agent::listed;
use bonded_host::prices;
use bonded_kernel::{Limits, Money, OverallLimits, Price, RunConfig};

use crate::args::LimitArgs;
use crate::error::{CliError, Code};

/// What a goal may take where nobody says otherwise.
const TIME: Duration = Duration::from_secs(3_600);

/// The limits that no option speaks of.
/// No time is no limit. How many repeats end a run depends on what runs: the caller says it.
pub(crate) fn own_limits(args: &LimitArgs, repeats_max: u32) -> Result<Limits, CliError> {
    let time = args.max_time.unwrap_or(TIME);
    Ok(Limits {
        elapsed_ms_max: (!time.is_zero()).then(|| whole_ms(time)),
        tokens_max: args.max_tokens,
        cost_max: cost_max(args)?,
        repeats_max: args.no_progress.unwrap_or(repeats_max),
        ..Limits::default()
    })
}

/// The limit of cost, where one is typed.
pub(super) fn cost_max(args: &LimitArgs) -> Result<Option<Money>, CliError> {
    let typed = args.max_cost.as_deref().map(|text| {
        text.parse::<Money>()
            .map_err(|error| CliError::new(Code::Usage, format!("--max-cost: {error}")))
    });
    typed.transpose()
}

/// What is typed holds over all goals of a run; what nobody speaks of holds for each of them alone.
pub(super) fn overall(args: &LimitArgs, types_turns: bool, limits: &Limits) -> OverallLimits {
    OverallLimits {
        turns_max: types_turns.then_some(limits.turns_max),
        elapsed_ms_max: args.max_time.and(limits.elapsed_ms_max),
        tokens_max: limits.tokens_max,
        cost_max: limits.cost_max,
    }
}

/// Saturating: no clock counts that far.
pub(super) fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What the limit of cost rests on, where that is nobody's word: a list, or that a server on this machine costs nothing.
pub(super) fn listed_prices(config: &RunConfig) -> impl Iterator<Item = String> {
    let targets = config.targets.iter();
    let is_limited = config.limits.cost_max.is_some();
    targets.filter(move |_| is_limited).filter_map(|target| {
        let is_free = target.price.is_none() && prices::is_free(target);
        match is_free {
            true => Some(format!(
                "{}/{} runs on this machine and costs nothing: --max-cost does not limit it",
                target.provider, target.model
            )),
            false => listed(target),
        }
    })
}

/// The hint differs by whether a flag or the configuration can say it.
pub(crate) fn no_price(hint: &str) -> CliError {
    CliError::new(Code::NoPrice, "--max-cost needs to know what tokens cost").hint(hint)
}

/// Reads dollars a million tokens into picodollars a token.
/// Cached tokens cost as much as others where nobody says less: a limit must not be passed by an assumption.
pub(super) fn parse_price(text: &str) -> Result<Price, CliError> {
    let bad = |why: String| {
        CliError::new(Code::Usage, format!("--price {text:?}: {why}"))
            .hint("dollars a million tokens, such as 0.25,2 or 0.25,2,0.025")
    };
    let parts = text
        .split(',')
        .map(|part| {
            let dollars: Money = part
                .trim()
                .parse()
                .map_err(|error| bad(format!("{error}")))?;
            Ok(dollars.0 / 1_000_000)
        })
        .collect::<Result<Vec<u64>, CliError>>()?;
    match parts.as_slice() {
        [input, output] => Ok(Price {
            input: *input,
            output: *output,
            cached: *input,
            written: None,
            above: None,
        }),
        [input, output, cached] => Ok(Price {
            input: *input,
            output: *output,
            cached: *cached,
            written: None,
            above: None,
        }),
        _ => Err(bad("two or three numbers are needed".into())),
    }
}
