//! `bonded run --each`: many goals in one process.
//!
//! Ids follow from the file, so that the same file given again goes on where it was left: a goal whose run has
//! ended gives its result again, one that was interrupted is resumed. Each goal gives exactly one line of JSON on
//! stdout, in the order in which they end; goals that the agent does not take come first, and stop no other. The
//! whole file is read and checked before the first run begins.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::{CancellationToken, HostError, Many, PendingReview, RunResult, many};
use bonded_kernel::{Run, RunId};
use bonded_state::Store;
use futures_util::StreamExt as _;

use crate::agents::Verbosity;
use crate::args::RunArgs;
use crate::error::{CliError, Code};
use crate::refused::{self, Name};
use bonded_host::shapes::{json, waiting};

use crate::settings::RunSetup;
use crate::{agents, goal, goal_images, output, settings, signals};
use bonded_host::keeping::{Following, Keeper};

/// The exit code is success only if every goal succeeded. What is left after an interruption is an error of its
/// own, so that a script knows that giving the file again is enough.
pub(crate) async fn each(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let file = args.each.as_deref().unwrap_or(Path::new(""));
    let goals = goal::read_lines(file)?;
    let prepared = settings::prepare(&args.into())?;
    let store = settings::open_store(store)?;
    let shown = Verbosity::of(&prepared.options);
    let (host, tools) = agents::host(store.clone(), prepared.workplace.clone(), shown);
    let interrupt = signals::interrupt_on_signal();
    let batch = GoalBatch::new(&prepared, &store, goals)?;
    let mut succeeded = 0;
    let fitting = batch.report_unfit().await;
    // Once interrupted, no goal that has not begun is begun.
    let begun = fitting
        .into_iter()
        .take_while(|_| !interrupt.is_cancelled());
    let begun = begun.map(|id| batch.begin(id));
    let mut results = pin!(many(
        Arc::new(host),
        begun,
        args.jobs,
        CancellationToken::new()
    ));
    let mut ended = 0;
    while let Some((id, result)) = results.next().await {
        ended += usize::from(!matches!(result, Err(HostError::Interrupted { .. })));
        succeeded += usize::from(batch.end(&id, result).await);
    }
    tools.stop().await;
    let total = batch.goals.len();
    if !prepared.options.quiet {
        output::stderr(&format!(
            "{succeeded} of {total} goals succeeded, {ended} runs ended"
        ));
    }
    if interrupt.is_cancelled() && ended < total {
        let message = "not all goals are done";
        let hint = "Resume: give the same file again";
        return Err(CliError::new(Code::Interrupted, message).hint(hint));
    }
    if succeeded == total {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::from(Code::RunFailed.exit_code()))
    }
}

/// The goals of a file, and the runs of them that are kept.
/// It borrows the setup: all goals share one agent, one model and one set of limits.
struct GoalBatch<'a> {
    prepared: &'a RunSetup,
    store: &'a dyn Store,
    keeper: Keeper,
    /// What each run is asked.
    goals: BTreeMap<RunId, String>,
    /// As the file has them.
    order: Vec<RunId>,
    /// Those that are kept outside the store, from their beginning to their end. Everything here happens on one
    /// thread, and no borrow lasts over an await.
    followed: RefCell<BTreeMap<RunId, Following>>,
}

impl<'a> GoalBatch<'a> {
    /// Makes sure that the ledger and the snapshots can be written before anything is begun.
    fn new(
        prepared: &'a RunSetup,
        store: &'a Arc<dyn Store>,
        goals: Vec<(RunId, String)>,
    ) -> Result<Self, CliError> {
        let keeper = Keeper::new(store.clone());
        keeper.check(prepared.kept())?;
        Ok(Self {
            prepared,
            store: &**store,
            keeper,
            order: goals.iter().map(|(id, _)| id.clone()).collect(),
            goals: goals.into_iter().collect(),
            followed: RefCell::default(),
        })
    }

    /// Reports the goals that the agent does not take; gives the others.
    /// A run whose log was cut since it was kept is refused as well: to go on with it would hide that.
    async fn report_unfit(&self) -> Vec<RunId> {
        let mut fitting = vec![];
        for id in &self.order {
            let kept = self.prepared.kept();
            let cut = self.keeper.refuse_cut(id, kept).await;
            let checked = cut.map_err(CliError::from);
            let checked = checked.and_then(|()| goal_images::none_named(self.text(id)));
            match checked.and_then(|()| self.prepared.check(self.text(id))) {
                Ok(()) => fitting.push(id.clone()),
                Err(error) => self.refuse(id, error).await,
            }
        }
        fitting
    }

    fn text(&self, id: &RunId) -> &str {
        self.goals.get(id).map_or("", String::as_str)
    }

    /// Called when there is a place for the run, not before: until then nothing of it is open.
    fn begin(&self, id: RunId) -> Many {
        // What it is kept in was opened when the batch was made.
        if let Ok(following) = self.keeper.follow(&id, self.prepared.kept()) {
            self.followed.borrow_mut().insert(id.clone(), following);
        }
        let goal = self.prepared.checked_goal(self.text(&id).to_owned());
        Many { id, goal }
    }

    /// Prints one line; says whether the run succeeded.
    /// What is kept outside is written to its end before the line is printed: who reads the line may read those
    /// files.
    async fn end(&self, id: &RunId, result: Result<Run, HostError>) -> bool {
        let following = self.followed.borrow_mut().remove(id);
        if let Some(following) = following {
            following.settle().await;
        }
        let line = match result {
            Ok(run) => self.line(&run).await,
            Err(error) => Err(error.into()),
        };
        match line {
            Ok((line, succeeded)) => {
                output::stdout(&line);
                succeeded
            }
            Err(error) => {
                self.refuse(id, error).await;
                false
            }
        }
    }

    /// The line of a run that ended, or that waits for a person; and whether it succeeded.
    async fn line(&self, run: &Run) -> Result<(String, bool), CliError> {
        if let Some(result) = RunResult::of(run) {
            return Ok((json::result(&result), result.is_success()));
        }
        match PendingReview::of(self.store, run).await? {
            Some(waits) => Ok((waiting::result_value(run, &waits).to_string(), false)),
            None => Err(CliError::new(Code::Internal, "the run did not end")),
        }
    }

    /// The line of a goal that has no result.
    async fn refuse(&self, id: &RunId, error: CliError) {
        let goal = self.prepared.checked_goal(self.text(id).to_owned());
        let (error, _) = refused::keep(self.store, Name::Chosen(id), goal, error).await;
        let line = json::no_result(id.as_str(), error.code.name(), error.message());
        output::stdout(&line);
    }
}
