//! `bonded run --each`: many goals in one process.

use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::{Host, HostError, Many, RunResult, many};
use bonded_kernel::{Run, RunId};
use futures_util::StreamExt as _;

use crate::args::RunArgs;
use crate::error::{CliError, Code};
use crate::render::json;
use crate::{agents, goal, output, settings, signals};

pub(crate) async fn each(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let file = args.each.as_deref().unwrap_or(Path::new(""));
    let goals = goal::read_lines(file)?;
    let first = goals.first().map(|(_, text)| text.clone());
    let sample = settings::prepare(args, first.unwrap_or_default())?;
    let quiet = sample.options.quiet;
    let shown = agents::Shown {
        models: sample.options.trace_llm,
        progress: sample.options.trace_mcp,
    };
    let (host, tools) = agents::host(settings::open_store(store)?, sample.workplace, shown);
    let (host, sample) = (Arc::new(host), sample.goal);
    let cancel = signals::cancel_on_signal();
    let total = goals.len();
    let goals = goals.into_iter().map(move |(id, text)| {
        let mut goal = sample.clone();
        goal.text = text.into();
        if let Some(agent) = &mut goal.config.agent {
            agent.nonce = Host::draw_nonce();
        }
        Many { id, goal }
    });
    // Once cancelled, no goal that has not begun is begun.
    let stopped = cancel.clone();
    let goals = goals.take_while(move |_| !stopped.is_cancelled());
    let mut results = pin!(many(host, goals, args.jobs, cancel));
    let (mut ended, mut succeeded) = (0, 0);
    while let Some((id, result)) = results.next().await {
        ended += 1;
        succeeded += usize::from(report(&id, result));
    }
    tools.stop().await;
    if !quiet {
        output::stderr(&format!(
            "{succeeded} of {total} goals succeeded, {ended} runs ended"
        ));
    }
    if succeeded == total {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::from(Code::RunFailed.exit_code()))
    }
}

/// Prints one line; says whether the run succeeded.
fn report(id: &RunId, result: Result<Run, HostError>) -> bool {
    match result.map(|run| RunResult::of(&run)) {
        Ok(Some(result)) => {
            output::stdout(&json::result(&result));
            result.is_success()
        }
        Ok(None) => false,
        Err(error) => {
            let error = CliError::from(error);
            output::stdout(&json::no_result(
                id.as_str(),
                error.code.name(),
                error.message(),
            ));
            false
        }
    }
}
