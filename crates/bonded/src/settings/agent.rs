//! Goals of an agent.
//!
//! The agent file says nearly everything; the command line adds limits, overrides and where it works. What a run of
//! it would refuse is refused here, before a store is opened.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;

use bonded_host::Host;
use bonded_host::agent::{Agent, AgentError, Assignment, Workplace};
use bonded_host::instructions::Instructions;
use bonded_kernel::{Limits, ReportFormat};

use super::limits::{listed_prices, no_price, overall, own_limits};
use super::plain::types_turns;
use super::targets::{check_scripts, warnings_before};
use super::{RunSetup, SetupRequest};
use crate::agents;
use crate::error::CliError;
use bonded_host::{keeping, prices};

/// The sample is made without input, so that it is unchecked: each input is checked when it is there.
pub(super) fn prepare_agent(
    args: &SetupRequest<'_>,
    file: &Path,
    workplace: Workplace,
) -> Result<RunSetup, CliError> {
    let agent = Agent::load(file, &workplace, BTreeMap::new())?;
    check_scripts(&agent.options)?;
    let mut sample = agent.unchecked_goal(Assignment {
        input: String::new(),
        format: default_format(),
        nonce: Host::draw_nonce(),
        now: agents::moment(),
        limits: own_limits(args.limits, 0)?,
        parent: None,
    })?;
    let types_turns = types_turns(args.agent);
    sample.config.overall = Some(overall(args.limits, types_turns, &sample.config.limits));
    sample.config.kept = keeping::kept_by(&agent.options, &sample.config.dir);
    let targets = &sample.config.targets;
    let is_limited = sample.config.limits.cost_max.is_some();
    if is_limited && !targets.iter().all(prices::may_be_limited) {
        return Err(no_price(
            "no price is listed; put the models' prices into `pricing` of the configuration",
        ));
    }
    let mut warnings = agent.warnings();
    warnings.extend(sample.config.targets.iter().flat_map(warnings_before));
    warnings.extend(listed_prices(&sample.config));
    Ok(RunSetup {
        sample,
        warnings,
        options: agent.options.clone(),
        agent: Some(Box::new(agent)),
        workplace,
        // An agent asks for them in its file.
        instructions: Instructions::default(),
    })
}

/// Makes a goal of an agent as if it were to be run, to see whether it could.
/// An agent that takes JSON refuses the word that stands in for its input, and is good all the same.
pub(crate) fn assignment_for_check(agent: &Agent) -> Result<(), CliError> {
    let needs_json = agent.file.input.is_some();
    match agent.goal(Assignment {
        input: "check".into(),
        format: ReportFormat::Pipe,
        nonce: Host::draw_nonce(),
        now: agents::moment(),
        limits: Limits::default(),
        parent: None,
    }) {
        Err(AgentError::InputNotJson { .. }) if needs_json => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// What a report is written for when nobody says it: a person at a terminal, or a program.
fn default_format() -> ReportFormat {
    if std::io::stdout().is_terminal() {
        ReportFormat::Tty
    } else {
        ReportFormat::Pipe
    }
}
