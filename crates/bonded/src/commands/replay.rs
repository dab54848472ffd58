//! `bonded replay`: every step computed again, offline, and compared with the log.
//!
//! A replay asks no model and calls no tool: it gives the recorded replies and outputs to the same rules and holds
//! what they decide against the log. It needs the store to read only. A difference means that the log was not
//! written by these rules: by another version, by a fault or by somebody.

use std::path::Path;
use std::process::ExitCode;

use bonded_kernel::{Audit, AuditFault, Divergence, RunId, audit};
use serde::Serialize;

use super::replay_receipt;
use crate::args::ReplayArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};

/// With a receipt it is a work item that is replayed, which is another matter.
pub(crate) async fn replay(args: &ReplayArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if let Some(receipt) = &args.receipt {
        return replay_receipt::replay(args, receipt, store).await;
    }
    let named = args.run.as_deref().unwrap_or_default();
    let (store, id) = settings::find_run_to_read(store, named).await?;
    let entries = store.load(&id, 0).await?;
    match audit(&entries) {
        Ok(audit) => {
            equal(args, &id, &audit);
            Ok(ExitCode::SUCCESS)
        }
        Err(AuditFault::Diverged(divergence)) => {
            if args.json {
                output::object(&DifferentAnswer::of(&id, &divergence));
            }
            Err(different(&id, &divergence))
        }
        Err(fault @ AuditFault::BadLog(_)) => {
            Err(CliError::new(Code::BrokenLog, format!("run {id}: {fault}")))
        }
    }
}

/// The figures show that something was computed at all.
fn equal(args: &ReplayArgs, id: &RunId, audit: &Audit) {
    let Audit { steps, entries, .. } = audit;
    if args.json {
        output::object(&EqualAnswer {
            run_id: id,
            equal: true,
            steps: *steps,
            entries: *entries,
        });
    } else {
        output::stdout(&format!(
            "run {id}: replay matches: {steps} steps, {entries} entries"
        ));
    }
}

/// The first difference only: everything after it follows from another state.
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

/// For programs, as the one that follows.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EqualAnswer<'a> {
    run_id: &'a RunId,
    equal: bool,
    steps: u64,
    entries: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DifferentAnswer<'a> {
    run_id: &'a RunId,
    equal: bool,
    step: u64,
    seq: u64,
    turn: u32,
    recorded: Option<&'a str>,
    computed: Option<&'a str>,
}

impl<'a> DifferentAnswer<'a> {
    fn of(run_id: &'a RunId, divergence: &'a Divergence) -> Self {
        Self {
            run_id,
            equal: false,
            step: divergence.step,
            seq: divergence.seq,
            turn: divergence.turn,
            recorded: divergence.recorded.as_deref(),
            computed: divergence.computed.as_deref(),
        }
    }
}
