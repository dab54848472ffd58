//! What an attempt came to when its run has ended: whether its changes are admitted, and whether their tests pass.
//!
//! Admission comes before the tests, since tests run whatever the item wrote: what is denied is not run. What
//! was admitted is kept durably before the tests begin, and must be untouched after them, so that what is
//! published is what was tested. Time counts over all processes that drove the item, but for time that was lost
//! because somebody else changed the tree.

use std::sync::Arc;

use bonded_host::HostError;
use bonded_kernel::{Entry, Hash, Mask, Millis, Run, RunConfig, TerminationKind};
use bonded_work_rules::{
    Capsule, Change, Denial, EndedRun, NotTested, Tree, WorkItem, WorkStatus, check_so_far,
    may_be_tested, prompt_of, tool_trace, touches_git,
};
use tokio_util::sync::CancellationToken;

use super::copy::{CopyMaking, copy_with_changes};
use super::duplicate;
use super::error::WorkError;
use super::item_tests::{TestEnd, run_tests};
use super::left_copy::LeftCopy;
use crate::plan::{AttemptOutcome, ItemAttempt, Level, Tests};
use crate::tree::TreeCopy;

/// What is looked at when an item's run has ended.
pub(crate) struct Admission<'a> {
    pub(crate) level: &'a Level<'a>,
    pub(crate) item: &'a WorkItem,
    pub(crate) left: LeftCopy<'a>,
    pub(crate) run: &'a Run,
    pub(crate) mask: Arc<Mask>,
    /// When this process took the item up, and when its run had ended.
    pub(crate) started: Millis,
    pub(crate) ended: Millis,
    /// By processes before this one.
    pub(crate) spent_before_ms: u64,
    /// Whether that and this process's time were too much.
    pub(crate) is_out_of_time: bool,
    pub(crate) interrupt: CancellationToken,
}

impl Admission<'_> {
    /// What the attempt came to: whether it is admitted, and where it is, what its tests say.
    ///
    /// The capsule is sealed for every run that ended, admitted or not, since the receipt of a denied item
    /// shows what it did. `stopped` is the limit at which the guard stopped the run in this process.
    pub(crate) async fn decide(
        &self,
        stopped: Option<Denial>,
        config: &RunConfig,
    ) -> Result<AttemptOutcome, WorkError> {
        let logs = self.level.logs(self.run.id()).await?;
        let changed = self.left.changed()?;
        let changes = changed.changes;
        let after = self.after(&changes)?;
        let (own, children) = logs.split_first().ok_or(WorkError::NoLog)?;
        let children: Vec<&[Entry]> = children.iter().map(Vec::as_slice).collect();
        let capsule = Capsule::seal(own, &children, self.level.before(), &after)
            .map_err(|_| WorkError::NoLog)?;
        let mut outcome = AttemptOutcome {
            prompt: prompt_of(own),
            ..AttemptOutcome::failed("")
        };
        let stopped = stopped
            .or_else(|| self.stopped_before(&changes, &logs))
            .or_else(|| touches_git(changed.git));
        let before = match capsule.deltas.is_empty() {
            true => None,
            false => self.admitted_before(&capsule.content_hash)?,
        };
        let mut in_vain_ms = 0;
        let verdict = match self.admitted(stopped, &capsule, before, &after) {
            Ok(()) => {
                self.left.keep(self.level, &changes).await?;
                let tested = self.tested(&capsule, &changes, config).await?;
                outcome.changed_meanwhile = tested.changed_meanwhile;
                in_vain_ms = tested.in_vain_ms;
                tested.verdict
            }
            Err(verdict) => verdict,
        };
        let elapsed_ms = self.elapsed_ms().saturating_sub(in_vain_ms);
        let is_late = elapsed_ms > self.item.constraints.timeout_ms;
        let verdict = match verdict {
            Verdict::Success(tests) if is_late => Verdict::OutOfTime(tests),
            verdict => verdict,
        };
        verdict.write_to(&mut outcome);
        outcome.capsule = Some(Box::new(capsule));
        outcome.execution_time_ms = elapsed_ms;
        Ok(outcome)
    }

    /// The state that the level's becomes with these changes.
    ///
    /// A copy whose changes do not fit the state that it was made of was interfered with: nothing is decided
    /// then.
    fn after(&self, changes: &[Change]) -> Result<Tree, WorkError> {
        let after = self.level.before().with_changes(changes);
        after.map_err(|clashes| WorkError::CopyDiffers {
            path: clashes.into_iter().next().map(|clash| clash.path),
        })
    }

    /// The receipt of an admitted run with this content, on whatever tree.
    ///
    /// Not asked for an order that admits again what was admitted before.
    fn admitted_before(&self, content: &Hash) -> Result<Option<String>, WorkError> {
        let order = self.level.order;
        match order.again {
            true => Ok(None),
            false => Ok(duplicate::find(&order.workshop, &order.root, content)?),
        }
    }

    /// The limit for which another process stopped the run before it died.
    ///
    /// A run that was cancelled and is within all limits was cancelled for something else: its time, or a
    /// person.
    fn stopped_before(&self, changes: &[Change], logs: &[Vec<Entry>]) -> Option<Denial> {
        let kind = self.run.termination().map(|it| it.kind);
        if kind != Some(TerminationKind::Cancelled) {
            return None;
        }
        check_so_far(self.item, changes, tool_ops(logs)).err()
    }

    /// A run that was taken up again has used time before, as its log says, and as was noted while it was driven: no
    /// clock is read across processes.
    ///
    /// The larger of the two counts, so that neither a lost note nor a call without an end in the log gives
    /// time away.
    fn elapsed_ms(&self) -> u64 {
        let now = self.level.now();
        let measured = self.run.elapsed_ms().saturating_add(now - self.ended);
        let noted = self.spent_before_ms.saturating_add(now - self.started);
        measured.max(noted)
    }

    /// The rules decide; here their answer only becomes a verdict.
    fn admitted(
        &self,
        stopped: Option<Denial>,
        capsule: &Capsule,
        admitted_before: Option<String>,
        after: &Tree,
    ) -> Result<(), Verdict> {
        let attempt = EndedRun {
            stopped,
            is_out_of_time: self.is_out_of_time,
            termination: self.run.termination(),
            admitted_before,
        };
        may_be_tested(self.item, attempt, capsule, after).map_err(|why| match why {
            NotTested::Denied(denial) => Verdict::Denied(denial.to_string()),
            NotTested::OutOfTime => Verdict::OutOfTime(None),
            NotTested::Failed(why) => Verdict::Failed(why, None),
        })
    }

    /// The tests run on the state that the receipt will name: what was frozen, with the item's changes. Where the copy
    /// lies over the tree itself and somebody changed that, they run in one that does not, again if they had begun.
    async fn tested(
        &self,
        capsule: &Capsule,
        changes: &[Change],
        config: &RunConfig,
    ) -> Result<TestRound, WorkError> {
        let Some(command) = &self.item.test_command else {
            return Ok(Verdict::Success(None).into());
        };
        let attempt = ItemAttempt {
            run: self.run.id().clone(),
            admitted: Some(changes.to_vec()),
        };
        attempt.write(&self.level.item_dir(self.item))?;
        let limit = self.item.constraints.timeout_ms;
        // What another does to the tree takes nothing of the item's time.
        let left_ms = limit.saturating_sub(self.elapsed_ms());
        let began = self.level.now();
        if let Some(copy) = self.left.standing(self.level) {
            let verdict = self.test_in(copy, command, capsule, config, left_ms);
            let verdict = verdict.await?;
            if self.level.stands(copy) || matches!(verdict, Verdict::OutOfTime(_)) {
                return Ok(verdict.into());
            }
        }
        let apart = self.copy_apart(changes);
        let in_vain_ms = self.level.now() - began;
        let verdict = match apart {
            Ok(Some(apart)) => {
                let verdict = self.test_in(&apart, command, capsule, config, left_ms);
                verdict.await?
            }
            Ok(None) => Verdict::Failed(self.no_place().into(), None),
            Err(WorkError::Tree(error)) => {
                Verdict::Failed(format!("{}: {error}", self.no_place()), None)
            }
            Err(error) => return Err(error),
        };
        Ok(TestRound {
            verdict,
            changed_meanwhile: self.left.is_here(),
            in_vain_ms,
        })
    }

    fn copy_apart(&self, changes: &[Change]) -> Result<Option<TreeCopy>, WorkError> {
        let checkpoints = self.level.order.checkpoints;
        let making = CopyMaking {
            copies: self.level.copies,
            checkpoints,
            frozen: self.level.frozen,
            name: self.item.id.as_str(),
        };
        copy_with_changes(&making, changes, checkpoints)
    }

    /// Why tests cannot run on the state that they should.
    fn no_place(&self) -> &'static str {
        match self.left.is_here() {
            true => NO_PLACE,
            false => NO_COPY,
        }
    }

    /// An interrupt is an error and not an outcome: the tests are run again when the plan is resumed.
    async fn test_in(
        &self,
        copy: &TreeCopy,
        command: &str,
        capsule: &Capsule,
        config: &RunConfig,
        left_ms: u64,
    ) -> Result<Verdict, WorkError> {
        let sandbox = self.level.order.confinement.of_commands(config);
        let sandbox = sandbox.map_err(|source| WorkError::Sandbox { source })?;
        let dir = copy.path();
        let tests = run_tests(self.item, command, &sandbox, dir, left_ms, &self.mask);
        let tested = tokio::select! {
            tested = tests => tested,
            // They begin again when the plan is resumed: what was admitted is kept.
            () = self.interrupt.cancelled() => {
                let run = self.run.id().clone();
                return Err(HostError::Interrupted { run }.into());
            }
        };
        Ok(match tested {
            TestEnd::Passed(tests) => untouched(copy, capsule, tests)?,
            TestEnd::Failed(tests, why) => Verdict::Failed(why, Some(tests)),
            TestEnd::OutOfTime(tests) => Verdict::OutOfTime(Some(tests)),
            TestEnd::NotStarted(why) => Verdict::Failed(why, None),
        })
    }
}

/// Over the run and the agents that it called, with calls that never ended.
fn tool_ops(logs: &[Vec<Entry>]) -> u64 {
    let all: usize = logs.iter().map(|log| tool_trace(log).len()).sum();
    all as u64
}

/// What tests leave behind is not published; so they must not have touched what is.
fn untouched(copy: &TreeCopy, capsule: &Capsule, tests: Box<Tests>) -> Result<Verdict, WorkError> {
    let now = copy.changes()?.changes;
    let kept = |change: &&_| now.contains(change);
    let touched = capsule.deltas.changes().into_iter().find(|it| !kept(it));
    Ok(match touched {
        None => Verdict::Success(Some(tests)),
        Some(change) => {
            let why = format!("Tests changed what was to be published: {}", change.path);
            Verdict::Failed(why, Some(tests))
        }
    })
}

/// Of a copy that stood on the tree.
const NO_PLACE: &str = "Not tested: the tree was changed by another meanwhile, and the state before cannot be made again";

/// Of one that was on another machine.
const NO_COPY: &str =
    "Not tested: what the worker left cannot be made again on the machine that has the tree";

/// What came of the tests, and what else happened until they had ended.
struct TestRound {
    verdict: Verdict,
    changed_meanwhile: bool,
    /// What went by before they ran on what they should: it is not the item's time.
    in_vain_ms: u64,
}

impl From<Verdict> for TestRound {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            changed_meanwhile: false,
            in_vain_ms: 0,
        }
    }
}

/// What an item came to, with the output of its tests.
///
/// Success says that it may be published, not that it is.
enum Verdict {
    Success(Option<Box<Tests>>),
    Denied(String),
    Failed(String, Option<Box<Tests>>),
    OutOfTime(Option<Box<Tests>>),
}

impl Verdict {
    /// The output of tests is kept with every verdict that has one.
    fn write_to(self, outcome: &mut AttemptOutcome) {
        outcome.error = None;
        (outcome.status, outcome.tests) = match self {
            Self::Success(tests) => (WorkStatus::Success, tests),
            Self::Denied(reason) => {
                outcome.denial_reason = Some(reason);
                (WorkStatus::Denied, None)
            }
            Self::Failed(why, tests) => {
                outcome.error = Some(why);
                (WorkStatus::Failure, tests)
            }
            Self::OutOfTime(tests) => {
                outcome.error = Some(match tests {
                    None => "Timed out".into(),
                    Some(_) => "Timed out in the tests".into(),
                });
                (WorkStatus::Timeout, tests)
            }
        };
    }
}
