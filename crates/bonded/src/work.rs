//! Working a plan off: what the command line says, made into an order.
//!
//! The order matters. The plan is checked whole, the staff is made, the tree is locked, and only then is the record
//! written and anything begun: whatever is refused before leaves the tree as it was and no plan behind. The record
//! has the plan's text, the words of the command line and what was trusted: a resume needs them beside the logs.

mod ground;
mod plan;
mod plan_file;
mod staff;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::{CancellationToken, SystemClock};
use bonded_state::Store;
use bonded_work::tree::{
    Checkpoints, Isolations, LockError, Processes, TreeLock, Writers, check_repository,
};
use bonded_work::{ItemQueue, PlanId, PlanRecord, WorkEnd, WorkError, WorkOrder, Workshop};
use bonded_work_rules::{RunResult, WorkPlan, WorkStatus};
use serde_json::Value;
use tokio::time::Instant;

use crate::args::WorkArgs;
use crate::error::{CliError, Code};
use crate::render::work as render;
use crate::review::person;
use crate::{agents, dirs, output, settings, signals};
use bonded_host::shapes::text;
pub(crate) use ground::Ground;
use plan::{LOOK_AFTER, check};
pub(crate) use plan_file::{FORM, PlanFile, plan_in};
use staff::CommandLineStaff;

/// Where a plan is worked off.
pub(crate) struct Site<'a> {
    /// As the command line names it; `None` is the person's own.
    pub(crate) store: Option<&'a Path>,
    /// Where copies are mounted.
    pub(crate) ground: Option<&'a Ground>,
    /// The directory beside the store in which copies, receipts and records of plans lie.
    pub(crate) workshop: Workshop,
    pub(crate) json: bool,
}

impl Site<'_> {
    /// Checks everything, then works the plan off.
    pub(crate) async fn work(
        &self,
        args: &WorkArgs,
        mut record: PlanRecord,
    ) -> Result<ExitCode, CliError> {
        let checked = check(args, &self.workshop, &record).await?;
        if args.dry_run {
            output::stdout(&render::levels(&checked.plan));
            return Ok(ExitCode::SUCCESS);
        }
        check_repository(&record.root)?;
        record.missing = checked.missing.iter().map(ToString::to_string).collect();
        let store: Arc<dyn Store> = match args.queue {
            Some(_) => settings::open_queues(self.store)?,
            None => settings::open_store(self.store)?,
        };
        let asked = checked.plan.items().iter().map(|item| item.agent_id);
        let staff = CommandLineStaff::new(args, &record, store.clone(), asked)?;
        record.held = staff.held();
        let _lock = lock(&record.root, &self.locks_dir(), checked.tree_wait_ms).await?;
        let checkpoints = Checkpoints::open(self.workshop.dir())?;
        let copies = self.workshop.copies_dir();
        let isolations = Isolations::here(&self.entered(), &record.root, &copies);
        let watch = |news: bonded_work::WorkNews<'_>| {
            if let Some(line) = render::news(&news).filter(|_| !staff.is_quiet()) {
                output::stderr(&line);
            }
        };
        let order = WorkOrder {
            id: record.id.clone(),
            root: record.root.clone(),
            plan: checked.plan,
            workshop: self.workshop.clone(),
            checkpoints: &checkpoints,
            confinement: agents::confinement(&*store),
            store: store.clone(),
            clock: Arc::new(SystemClock::new()),
            assigner: &staff,
            isolation: isolations.best(),
            writers: self.writers(),
            program: std::env::current_exe().unwrap_or_else(|_| "bonded".into()),
            store_file: match settings::store_address(self.store)? {
                Some(address) => address.label().into(),
                None => settings::store_path(self.store)?,
            },
            queue: item_queue(args),
            jobs: args.jobs.into(),
            commit: args.commit,
            again: args.again,
            missing: checked.missing,
            interrupt: signals::interrupt(),
            watch: &watch,
        };
        self.announce(&order, &staff);
        record.write(&self.workshop).map_err(WorkError::from)?;
        signals::interrupt_on_signal();
        let end = bonded_work::work(&order, &CancellationToken::new()).await?;
        let ended = self.conclude(&record, &order.plan, end)?;
        if ended.is_done && args.queue.is_some() {
            self.remove_objects(&*store).await;
        }
        if ended.is_done && !staff.is_quiet() {
            self.tell_receipts(&record);
        }
        Ok(ended.code)
    }

    /// The same whichever store is used: two plans with two stores must not meet on one tree.
    fn locks_dir(&self) -> PathBuf {
        let own = dirs::locks_dir().filter(|dir| std::fs::create_dir_all(dir).is_ok());
        own.unwrap_or_else(|| self.workshop.dir().join("locks"))
    }

    /// In a namespace of its own a process may not see who has a file open: the watcher stands outside of it.
    fn writers(&self) -> &dyn Writers {
        let watcher = self.ground.and_then(|ground| ground.watcher.as_ref());
        watcher.map_or(&Processes, |watcher| watcher)
    }

    /// Why there are no mounts, where there are none: copies are then made in another way.
    fn entered(&self) -> Result<(), String> {
        let nowhere = || Err("the process has no mounts of its own".to_owned());
        self.ground
            .map_or_else(nowhere, |ground| ground.entered.clone())
    }

    /// Before the first item, so that a person who sees the wrong tree can stop it.
    fn announce(&self, order: &WorkOrder<'_>, staff: &CommandLineStaff) {
        if staff.is_quiet() {
            return;
        }
        for warning in staff.warnings() {
            output::stderr(&format!("warning: {warning}"));
        }
        output::stderr(&format!(
            "plan {}: {} in {} on {} ({})",
            order.id,
            text::counted(order.plan.items().len(), "item"),
            text::counted(order.plan.levels().len(), "level"),
            order.root.display(),
            order.isolation,
        ));
    }

    /// A plan that waits for a person has not ended: its record stays open, and the resume finds it.
    fn conclude(
        &self,
        record: &PlanRecord,
        plan: &WorkPlan,
        end: WorkEnd,
    ) -> Result<Ended, CliError> {
        let results = match end {
            WorkEnd::Done(results) => results,
            WorkEnd::Waits(runs) => {
                for run in runs {
                    output::stderr(&format!(
                        "run {run} needs approval: `bonded approve {run}` or `bonded deny {run}`, then \
                         `bonded work --resume {}`",
                        record.id
                    ));
                }
                let code = ExitCode::from(Code::AwaitingReview.exit_code());
                let is_done = false;
                return Ok(Ended { code, is_done });
            }
        };
        record.end(&self.workshop).map_err(WorkError::from)?;
        output::stdout(&match self.json {
            true => as_json(plan, &results).to_string(),
            false => render::results(&results),
        });
        let succeeded = |it: &RunResult| it.status == WorkStatus::Success;
        let code = match results.iter().all(succeeded) {
            true => ExitCode::SUCCESS,
            false => ExitCode::from(Code::RunFailed.exit_code()),
        };
        let is_done = true;
        Ok(Ended { code, is_done })
    }

    /// What workers were sent for plans that have ended: for this one, and for those whose process died just before this.
    async fn remove_objects(&self, store: &dyn Store) {
        let Some(objects) = store.objects() else {
            return;
        };
        for held in objects.held_plans().await.unwrap_or_default() {
            let id = PlanId::new(&held.plan);
            let record = id.map(|id| PlanRecord::read(&self.workshop, &id));
            let has_ended =
                matches!(record, Ok(Ok(Some(record))) if record.has_ended(&self.workshop));
            if has_ended {
                // What cannot be removed now is removed after the next plan.
                let _removed = objects.remove(&held.plan).await;
            }
        }
    }

    /// After the results: they are what a person looks for first.
    fn tell_receipts(&self, record: &PlanRecord) {
        let dir = self.workshop.plan_dir(&record.id);
        output::stderr(&format!("receipts are in {}", dir.display()));
    }
}

/// Where the runs of its items wait for workers.
fn item_queue(args: &WorkArgs) -> Option<ItemQueue> {
    args.queue.as_ref().map(|name| ItemQueue {
        name: name.clone(),
        needs: args.needs.clone(),
        submitter: args.submitter.clone().unwrap_or_else(person),
    })
}

/// What a plan came to.
struct Ended {
    code: ExitCode,
    /// Whether nothing of it waits for a person.
    is_done: bool,
}

/// Who waits for another plan also waits until that lets go of the tree.
/// Asked for again and again, so that the wait has an end.
async fn lock(root: &Path, dir: &Path, wait_ms: u64) -> Result<TreeLock, LockError> {
    let deadline = Instant::now() + Duration::from_millis(wait_ms);
    loop {
        match TreeLock::acquire(root, dir) {
            Err(LockError::Busy { .. } | LockError::BusyAbove { .. })
                if Instant::now() < deadline =>
            {
                tokio::time::sleep(LOOK_AFTER).await;
            }
            ended => return ended,
        }
    }
}

/// In the shape of the plan: one object for one item, else an array.
fn as_json(plan: &WorkPlan, results: &[RunResult]) -> Value {
    let value = |result| serde_json::to_value(result).unwrap_or_default();
    match results {
        [one] if plan.is_single() => value(one),
        several => several.iter().map(value).collect(),
    }
}
