//! What a person does with a run: approve, deny, cancel, resume, fork, verify, replay.

use bonded_host::{Host, HostError, PendingReview, Reviewed};
use bonded_kernel::{AuditFault, RunId, Verdict, audit};
use serde::{Deserialize, Serialize};

use super::Console;
use super::access::Access;
use super::refusal::ConsoleRefusal;

/// What a person decided, for exactly the call that was shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "VerdictRequest")
)]
pub(super) struct VerdictBody {
    turn: u32,
    call: u32,
    /// That of the call that was shown.
    digest: String,
    /// For the model, of a denial.
    #[serde(default)]
    reason: String,
    /// Refused: a word for more than one call is kept by the process at a terminal that drives the run.
    always: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CancelRequest"))]
pub(super) struct CancelBody {
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ForkRequest"))]
pub(super) struct ForkBody {
    turn: u32,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Recorded"))]
pub(super) struct RecordedDto {
    recorded: bool,
    /// Whether somebody goes on with the run: a process that was started for it, or a worker.
    resumed: bool,
    /// Why not, where there is something to do.
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Forked"))]
pub(super) struct ForkedDto {
    run_id: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Verified"))]
pub(super) struct VerifiedDto {
    whole: bool,
    entries: u64,
    head: String,
    message: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Replayed"))]
pub(super) struct ReplayedDto {
    equal: bool,
    steps: u64,
    entries: u64,
    difference: Option<DifferenceDto>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Difference"))]
struct DifferenceDto {
    seq: u64,
    turn: u32,
    recorded: Option<String>,
    computed: Option<String>,
}

/// Which verdict a body is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Approve,
    Deny,
}

/// Records the verdict if the call that was looked at still waits, and starts what goes on with the run.
pub(super) async fn judge(
    console: &Console,
    access: &Access,
    run: &RunId,
    answer: Answer,
    body: VerdictBody,
) -> Result<RecordedDto, ConsoleRefusal> {
    if body.always.is_some() {
        let message = "calls are approved one by one here; leave `always` out";
        return Err(ConsoleRefusal::not_supported(message));
    }
    let host = &console.host;
    let loaded = host.load(run).await?;
    let waits = PendingReview::of(&*host.store, &loaded).await?;
    let nothing = || ConsoleRefusal::other_call("this call does not wait any more");
    let waits = waits.ok_or_else(nothing)?;
    let call = &waits.call;
    let is_meant =
        (call.turn, call.call) == (body.turn, body.call) && call.digest.to_string() == body.digest;
    if !is_meant {
        let message = "another call waits now; look at it before you decide";
        return Err(ConsoleRefusal::other_call(message));
    }
    let verdict = match answer {
        Answer::Approve => Verdict::Approved,
        Answer::Deny => Verdict::Denied {
            reason: body.reason.into(),
        },
    };
    match host.review(&waits, verdict, &access.person).await? {
        Reviewed::TooLate => Err(nothing()),
        Reviewed::Recorded => go_on(console, &waits.run).await,
    }
}

/// Goes on with the run at the root.
async fn go_on(console: &Console, run: &RunId) -> Result<RecordedDto, ConsoleRefusal> {
    let root = console.host.root_of(run).await?;
    let plan = plan_of(&console.host, &root).await?;
    let hint = match is_queued(&console.host, &root).await? {
        true => {
            console.resumer.left_to_worker(&root);
            None
        }
        false => console.resumer.resume(&root, plan.as_deref()).err(),
    };
    Ok(RecordedDto {
        recorded: true,
        resumed: hint.is_none(),
        hint,
    })
}

/// Whether a worker goes on with a run; it is woken then.
async fn is_queued(host: &Host, run: &RunId) -> Result<bool, ConsoleRefusal> {
    let Some(queues) = host.store.queues() else {
        return Ok(false);
    };
    let is_queued = queues.is_of_a_queue(run).await.map_err(HostError::from)?;
    if is_queued {
        queues.wake(run).await.map_err(HostError::from)?;
    }
    Ok(is_queued)
}

async fn plan_of(host: &Host, run: &RunId) -> Result<Option<String>, ConsoleRefusal> {
    let run = host.load(run).await?;
    Ok(run.config().item.as_ref().map(|item| item.plan.clone()))
}

/// Starts what goes on with an interrupted run.
pub(super) async fn resume(console: &Console, run: &RunId) -> Result<RecordedDto, ConsoleRefusal> {
    if let Some(end) = console.host.load(run).await?.termination() {
        let message = format!("run {run} has already finished ({})", end.kind.as_str());
        return Err(ConsoleRefusal::conflict(message));
    }
    go_on(console, run).await
}

/// Ends a run, and whatever it called.
pub(super) async fn cancel(
    console: &Console,
    access: &Access,
    run: &RunId,
    body: CancelBody,
) -> Result<RecordedDto, ConsoleRefusal> {
    let reason = match body.reason.trim() {
        "" => format!("cancelled by {}", access.person),
        reason => reason.to_owned(),
    };
    console.host.cancel_waiting(run, &reason).await?;
    Ok(RecordedDto {
        recorded: true,
        resumed: false,
        hint: None,
    })
}

/// A new run that begins with the first turns of another; it is not driven yet.
pub(super) async fn fork(
    console: &Console,
    access: &Access,
    run: &RunId,
    body: ForkBody,
) -> Result<ForkedDto, ConsoleRefusal> {
    let host = &console.host;
    let root = host.root_of(run).await?;
    if let Some(plan) = plan_of(host, &root).await? {
        let message = format!("run {run} belongs to an item of plan {plan} and cannot be forked");
        return Err(ConsoleRefusal::conflict(message));
    }
    let id = access.sight.draw_id();
    host.fork(run, body.turn, &id, None).await?;
    Ok(ForkedDto {
        run_id: id.to_string(),
    })
}

/// Whether no entry was changed: the store checks the chain and every text when it reads.
pub(super) async fn verify(console: &Console, run: &RunId) -> Result<VerifiedDto, ConsoleRefusal> {
    let loaded = console.host.load(run).await;
    Ok(match loaded {
        Ok(run) => VerifiedDto {
            whole: true,
            entries: run.head().seq,
            head: run.head().hash.to_string(),
            message: None,
        },
        Err(error) => VerifiedDto {
            whole: false,
            entries: 0,
            head: String::new(),
            message: Some(bonded_host::with_causes(&error)),
        },
    })
}

/// Every step computed again from what was recorded.
pub(super) async fn replay(console: &Console, run: &RunId) -> Result<ReplayedDto, ConsoleRefusal> {
    let entries = console.host.store.load(run, 0).await?;
    let audited = bonded_host::off_the_runtime(|| audit(&entries));
    match audited {
        Ok(audit) => Ok(ReplayedDto {
            equal: true,
            steps: audit.steps,
            entries: audit.entries,
            difference: None,
        }),
        Err(AuditFault::Diverged(found)) => Ok(ReplayedDto {
            equal: false,
            steps: found.step,
            entries: found.seq,
            difference: Some(DifferenceDto {
                seq: found.seq,
                turn: found.turn,
                recorded: found.recorded,
                computed: found.computed,
            }),
        }),
        Err(fault @ AuditFault::BadLog(_)) => Err(ConsoleRefusal::conflict(fault.to_string())),
    }
}
