//! `bonded replay`: every step computed again, offline, and compared with the log.

use std::path::Path;
use std::process::ExitCode;

use bonded_kernel::{Audit, AuditFault, Divergence, RunId, audit};
use serde_json::json;

use super::replay_receipt;
use crate::args::ReplayArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};

pub(crate) async fn replay(args: &ReplayArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if let Some(receipt) = &args.receipt {
        return replay_receipt::replay(args, receipt, store).await;
    }
    let store = settings::open_store_to_read(store)?;
    let id = settings::find_run(&*store, args.run.as_deref().unwrap_or_default()).await?;
    let entries = store.load(&id, 0).await?;
    match audit(&entries) {
        Ok(audit) => {
            equal(args, &id, &audit);
            Ok(ExitCode::SUCCESS)
        }
        Err(AuditFault::Diverged(divergence)) => {
            if args.json {
                output::stdout(&different_json(&id, &divergence));
            }
            Err(different(&id, &divergence))
        }
        Err(fault @ AuditFault::BadLog(_)) => {
            Err(CliError::new(Code::BrokenLog, format!("run {id}: {fault}")))
        }
    }
}

fn equal(args: &ReplayArgs, id: &RunId, audit: &Audit) {
    let Audit { steps, entries, .. } = audit;
    if args.json {
        let result =
            json!({ "runId": id.as_str(), "equal": true, "steps": steps, "entries": entries });
        output::stdout(&result.to_string());
    } else {
        output::stdout(&format!(
            "run {id}: {steps} steps, {entries} entries, all equal"
        ));
    }
}

fn different(id: &RunId, divergence: &Divergence) -> CliError {
    let Divergence {
        step, seq, turn, ..
    } = divergence;
    let message =
        format!("run {id}: step {step} (entry {seq}, turn {turn}) is the first that differs");
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".into());
    CliError::new(Code::ReplayDiffers, message)
        .hint(format!("recorded: {}", side(&divergence.recorded)))
        .hint(format!("computed: {}", side(&divergence.computed)))
}

fn different_json(id: &RunId, divergence: &Divergence) -> String {
    json!({
        "runId": id.as_str(),
        "equal": false,
        "step": divergence.step,
        "seq": divergence.seq,
        "turn": divergence.turn,
        "recorded": divergence.recorded,
        "computed": divergence.computed,
    })
    .to_string()
}
