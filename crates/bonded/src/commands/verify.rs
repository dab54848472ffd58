//! `bonded verify`: the chain of a log, proved whole; or receipts.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::trust::Stance;
use bonded_kernel::{Run, RunId};
use bonded_state::{ListFilter, Store};
use serde_json::json;

use super::verify_receipt;
use crate::args::VerifyArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};

pub(crate) async fn verify(args: &VerifyArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if verify_receipt::is_meant(args) {
        return verify_receipt::verify(args);
    }
    let store = settings::open_existing_store(store)?;
    let mut runs = vec![];
    for named in &args.named {
        runs.push(settings::find_run(&*store, named).await?);
    }
    if args.all {
        runs = all(&*store).await?;
    }
    let (host, _) = settings::host(store, Stance::Refuse);
    let mut broken = 0;
    for id in &runs {
        // Loading checks every entry against the one before and every blob against its hash; replaying
        // checks that the entries are one run, with one end, at the end.
        match host.load(id).await.map_err(CliError::from) {
            Ok(run) => whole(args, &run),
            Err(error) if matches!(error.code, Code::BrokenLog) && args.all => {
                broken += 1;
                damaged(args, id, &error);
            }
            Err(error) => return Err(error),
        }
    }
    if broken > 0 {
        let message = format!("{broken} of {} logs are damaged", runs.len());
        return Err(CliError::new(Code::BrokenLog, message));
    }
    Ok(ExitCode::SUCCESS)
}

async fn all(store: &dyn Store) -> Result<Vec<RunId>, CliError> {
    let listed = store.list(ListFilter::default()).await?;
    Ok(listed.into_iter().map(|listed| listed.run).collect())
}

fn whole(args: &VerifyArgs, run: &Run) {
    let (id, head) = (run.id(), run.head());
    let end = run
        .termination()
        .map(|termination| termination.kind.as_str());
    if args.json {
        let result = json!({
            "runId": id.as_str(),
            "verified": true,
            "entries": head.seq,
            "head": head.hash,
            "termination": end,
        });
        output::stdout(&result.to_string());
    } else {
        let end = end.map_or_else(|| "not ended".into(), |kind| format!("ended: {kind}"));
        output::stdout(&format!(
            "run {id}: {} entries, chain whole, {end}, head {}",
            head.seq, head.hash
        ));
    }
}

fn damaged(args: &VerifyArgs, id: &RunId, error: &CliError) {
    if args.json {
        let result = json!({ "runId": id.as_str(), "verified": false, "error": error.message() });
        output::stdout(&result.to_string());
    } else {
        output::stdout(&format!("run {id}: DAMAGED: {}", error.message()));
    }
}
