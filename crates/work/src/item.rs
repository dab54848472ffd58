//! One item: from the level's common state to what came of it in its copy of the tree.

use std::sync::Arc;

use bonded_kernel::{Entry, Mask, Millis, Run, RunConfig, RunId, TerminationKind};
use bonded_work_rules::{
    CallStatus, Capsule, Change, Denial, EndedRun, NotTested, Tree, WorkItem, WorkStatus, bind,
    check_so_far, may_be_tested, missing_inputs, prompt_of, tool_trace, touches_git,
};
use tokio_util::sync::CancellationToken;

use super::attempt::Attempt;
use super::earlier::Earlier;
use super::error::WorkError;
use super::guard::{Guard, GuardedTools};
use super::level::Level;
use super::order::WorkNews;
use super::outcome::{Outcome, Tests};
use super::saved::{self, Saver};
use super::spent::{NOTED_EVERY, Spent};
use super::tests::{Tested, run_tests};
use super::tree::TreeCopy;
use bonded_host::HostError;

/// What came of an item.
pub(super) enum Worked {
    Ended(Box<Outcome>),
    /// A call of its run waits for a person.
    Waits(RunId),
}

/// Works one item off in its own copy, up to the point where it could be published.
pub(super) async fn work_item(
    level: &Level<'_>,
    item: &WorkItem,
    cancel: &CancellationToken,
) -> Result<Worked, WorkError> {
    let item_dir = level.item_dir(item);
    if let Some(outcome) = Outcome::read(&item_dir)? {
        return Ok(Worked::Ended(Box::new(outcome)));
    }
    if level.history.of(&level.order.id, &item.id).is_some() {
        return Err(WorkError::SealedBefore {
            item: item.id.to_string(),
        });
    }
    let outcome = match begin(level, item) {
        Err(outcome) => outcome,
        Ok(()) => match try_often(level, item, cancel).await? {
            Worked::Ended(outcome) => outcome,
            waits @ Worked::Waits(_) => return Ok(waits),
        },
    };
    outcome.write(&item_dir)?;
    saved::forget(&item_dir)?;
    Ok(Worked::Ended(outcome))
}

/// Whether the item can begin at all.
fn begin(level: &Level<'_>, item: &WorkItem) -> Result<(), Box<Outcome>> {
    let why = level.blocked(item);
    let why = why.or_else(|| missing_inputs(item, level.before()));
    match why {
        None => Ok(()),
        Some(why) => Err(Box::new(Outcome::failed(why))),
    }
}

/// Begins the item again, in a new copy, as often as it may be where it fails or takes too long.
async fn try_often(
    level: &Level<'_>,
    item: &WorkItem,
    cancel: &CancellationToken,
) -> Result<Worked, WorkError> {
    let item_dir = level.item_dir(item);
    let mut earlier = Earlier::read(&item_dir)?;
    loop {
        let mut outcome = match Box::pin(execute(level, item, &earlier, cancel)).await? {
            Worked::Ended(outcome) => outcome,
            waits @ Worked::Waits(_) => return Ok(waits),
        };
        let has_failed = matches!(outcome.status, WorkStatus::Failure | WorkStatus::Timeout);
        let is_left = earlier.count() < item.retries && !cancel.is_cancelled();
        // Where no run came about, none would the next time.
        if !has_failed || !is_left || outcome.capsule.is_none() {
            outcome.earlier_attempts = earlier.attempts;
            return Ok(Worked::Ended(outcome));
        }
        earlier.add(&outcome);
        earlier.write(&item_dir)?;
        let why = outcome.error.as_deref().unwrap_or_default();
        (level.order.watch)(WorkNews::ItemAgain(item, earlier.count(), why));
    }
}

async fn execute(
    level: &Level<'_>,
    item: &WorkItem,
    earlier: &Earlier,
    cancel: &CancellationToken,
) -> Result<Worked, WorkError> {
    let started = level.now();
    let (copy, id) = level.place_for(item, earlier).await?;
    let copy = Arc::new(copy);
    let mut assigned = match level.assign(item, copy.path()) {
        Ok(assigned) => assigned,
        Err(why) => return Ok(failed(why)),
    };
    if let Err(why) = bind(&mut assigned.goal.config, item) {
        return Ok(failed(why));
    }
    if let Some(told) = earlier.told() {
        let text = format!("{}{told}", assigned.goal.text.as_str());
        assigned.goal.text = text.into();
    }
    assigned.goal.config.item = Some(level.place_in_plan(item));
    let stop = cancel.child_token();
    let saver = Saver::new(level.item_dir(item));
    let guard = Arc::new(Guard::new(
        item.clone(),
        ended_ops(&level.logs(&id).await?),
        stop.clone(),
        copy.clone(),
        saver,
    ));
    assigned.host.tools = Arc::new(GuardedTools {
        tools: assigned.host.tools.clone(),
        guard: guard.clone(),
    });
    let config = assigned.goal.config.clone();
    let spent = Spent::read(&level.item_dir(item), &id)?;
    let timing = Timing {
        limit_ms: item.constraints.timeout_ms,
        started,
        spent: &spent,
        stop: stop.clone(),
    };
    let run = assigned.host.run_as(id.clone(), assigned.goal, stop);
    let (driven, is_out_of_time) = Box::pin(timing.of(level, run)).await;
    assigned.tools.stop().await;
    let run = match driven {
        Ok(run) if run.termination().is_none() => return Ok(Worked::Waits(id)),
        Ok(run) => run,
        Err(error @ (HostError::Store(_) | HostError::Interrupted { .. })) => {
            return Err(error.into());
        }
        Err(error) => return Ok(failed(error.to_string())),
    };
    let judging = Judging {
        level,
        item,
        copy: &copy,
        run: &run,
        mask: assigned.host.secrets.mask_of(run.config()),
        started,
        ended: level.now(),
        spent_before_ms: spent.before_ms,
        is_out_of_time,
        interrupt: assigned.host.interrupt.clone(),
    };
    let outcome = judging.judge(guard.denial(), &config).await?;
    Ok(Worked::Ended(Box::new(outcome)))
}

fn failed(why: impl Into<String>) -> Worked {
    Worked::Ended(Box::new(Outcome::failed(why)))
}

/// What the run did before this process took it up counts; a call that is made again counts then.
fn ended_ops(logs: &[Vec<Entry>]) -> u64 {
    let calls = logs.iter().flat_map(|log| tool_trace(log));
    let ended = calls.filter(|call| call.status != CallStatus::Pending);
    ended.count() as u64
}

fn tool_ops(logs: &[Vec<Entry>]) -> u64 {
    let all: usize = logs.iter().map(|log| tool_trace(log).len()).sum();
    all as u64
}

/// What is looked at when an item's run has ended.
struct Judging<'a> {
    level: &'a Level<'a>,
    item: &'a WorkItem,
    copy: &'a TreeCopy,
    run: &'a Run,
    mask: Arc<Mask>,
    /// When this process took the item up, and when its run had ended.
    started: Millis,
    ended: Millis,
    /// By processes before this one.
    spent_before_ms: u64,
    /// Whether that and this process's time were too much.
    is_out_of_time: bool,
    interrupt: CancellationToken,
}

/// Drives a run no longer than the item may take, with what processes before this one took.
struct Timing<'a> {
    limit_ms: u64,
    started: Millis,
    spent: &'a Spent,
    stop: CancellationToken,
}

impl Timing<'_> {
    /// What came of it, and whether it was stopped for its time.
    async fn of<T>(&self, level: &Level<'_>, run: impl Future<Output = T>) -> (T, bool) {
        let mut run = std::pin::pin!(run);
        let mut is_out = false;
        loop {
            match tokio::time::timeout(NOTED_EVERY, &mut run).await {
                Ok(ended) => return (ended, is_out),
                Err(_) => {
                    let own_ms = level.now() - self.started;
                    self.spent.note(own_ms);
                    // Within one process the run itself keeps its time.
                    let before_ms = self.spent.before_ms;
                    if before_ms > 0 && before_ms.saturating_add(own_ms) > self.limit_ms {
                        is_out = true;
                        self.stop.cancel();
                    }
                }
            }
        }
    }
}

impl Judging<'_> {
    async fn judge(
        &self,
        stopped: Option<Denial>,
        config: &RunConfig,
    ) -> Result<Outcome, WorkError> {
        let logs = self.level.logs(self.run.id()).await?;
        let changed = self.copy.changes()?;
        let changes = changed.changes;
        let after = self.level.after(&changes)?;
        let (own, children) = logs.split_first().ok_or(WorkError::NoLog)?;
        let children: Vec<&[Entry]> = children.iter().map(Vec::as_slice).collect();
        let capsule = Capsule::seal(own, &children, self.level.before(), &after)
            .map_err(|_| WorkError::NoLog)?;
        let mut outcome = Outcome {
            prompt: prompt_of(own),
            ..Outcome::failed("")
        };
        let stopped = stopped
            .or_else(|| self.stopped_before(&changes, &logs))
            .or_else(|| touches_git(changed.git));
        let before = match capsule.deltas.is_empty() {
            true => None,
            false => self.level.admitted_before(&capsule.content_hash)?,
        };
        let mut in_vain_ms = 0;
        let verdict = match self.admitted(stopped, &capsule, before, &after) {
            Ok(()) => {
                self.level.keep(self.copy, &changes)?;
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

    /// The limit for which another process stopped the run before it died.
    fn stopped_before(&self, changes: &[Change], logs: &[Vec<Entry>]) -> Option<Denial> {
        let kind = self.run.termination().map(|it| it.kind);
        if kind != Some(TerminationKind::Cancelled) {
            return None;
        }
        check_so_far(self.item, changes, tool_ops(logs)).err()
    }

    /// A run that was taken up again has used time before, as its log says, and as was noted while it was driven: no
    /// clock is read across processes.
    fn elapsed_ms(&self) -> u64 {
        let now = self.level.now();
        let measured = self.run.elapsed_ms().saturating_add(now - self.ended);
        let noted = self.spent_before_ms.saturating_add(now - self.started);
        measured.max(noted)
    }

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
    ) -> Result<InTests, WorkError> {
        let Some(command) = &self.item.test_command else {
            return Ok(Verdict::Success(None).into());
        };
        let attempt = Attempt {
            run: self.run.id().clone(),
            admitted: Some(changes.to_vec()),
        };
        attempt.write(&self.level.item_dir(self.item))?;
        let limit = self.item.constraints.timeout_ms;
        // What another does to the tree takes nothing of the item's time.
        let left_ms = limit.saturating_sub(self.elapsed_ms());
        let began = self.level.now();
        if self.level.stands(self.copy) {
            let verdict = self.test_in(self.copy, command, capsule, config, left_ms);
            let verdict = verdict.await?;
            if self.level.stands(self.copy) || matches!(verdict, Verdict::OutOfTime(_)) {
                return Ok(verdict.into());
            }
        }
        let apart = self.level.copy_with(self.item, changes);
        let in_vain_ms = self.level.now() - began;
        let verdict = match apart {
            Ok(Some(apart)) => {
                let verdict = self.test_in(&apart, command, capsule, config, left_ms);
                verdict.await?
            }
            Ok(None) => Verdict::Failed(NO_PLACE.into(), None),
            Err(WorkError::Tree(error)) => Verdict::Failed(format!("{NO_PLACE}: {error}"), None),
            Err(error) => return Err(error),
        };
        Ok(InTests {
            verdict,
            changed_meanwhile: true,
            in_vain_ms,
        })
    }

    async fn test_in(
        &self,
        copy: &TreeCopy,
        command: &str,
        capsule: &Capsule,
        config: &RunConfig,
        left_ms: u64,
    ) -> Result<Verdict, WorkError> {
        let sandbox = self.level.sandbox(config)?;
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
            Tested::Passed(tests) => untouched(copy, capsule, tests)?,
            Tested::Failed(tests, why) => Verdict::Failed(why, Some(tests)),
            Tested::OutOfTime(tests) => Verdict::OutOfTime(Some(tests)),
            Tested::NotStarted(why) => Verdict::Failed(why, None),
        })
    }
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

/// Why tests cannot run on the state that they should.
const NO_PLACE: &str = "Not tested: the tree was changed by another meanwhile, and the state before cannot be made again";

/// What came of the tests.
struct InTests {
    verdict: Verdict,
    changed_meanwhile: bool,
    /// What went by before they ran on what they should: it is not the item's time.
    in_vain_ms: u64,
}

impl From<Verdict> for InTests {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            changed_meanwhile: false,
            in_vain_ms: 0,
        }
    }
}

/// What an item came to, with the output of its tests.
enum Verdict {
    Success(Option<Box<Tests>>),
    Denied(String),
    Failed(String, Option<Box<Tests>>),
    OutOfTime(Option<Box<Tests>>),
}

impl Verdict {
    fn write_to(self, outcome: &mut Outcome) {
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
