//! `bonded run --plan`, `--from-plan` and `--work-plan`: a run that changes nothing and answers with a plan, and what becomes of
//! the plan.
//!
//! The plan of a run is its answer. To carry it out is a goal of another run; to write it as a plan file takes an answer that
//! `bonded work` can read, so the run is asked again, as with `--continue`, where that finds mistakes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::planning::{ProposedPlan, plan_only};
use bonded_host::{RunResult, load_run};
use bonded_kernel::{GoalGiven, Run};
use bonded_state::Store;

use crate::args::RunArgs;
use crate::commands::attend::Attended;
use crate::commands::pursue;
use crate::commands::run::{self, GivenGoal};
use crate::error::{CliError, Code};
use crate::output;
use crate::render::progress::Shown;
use crate::review::Attendant;
use crate::settings::{self, RunSetup};
use crate::work::{FORM, PlanFile, plan_in};
use bonded_host::shapes::text::short_id;

/// How often the mistakes of a plan file are given back.
const CORRECTIONS_MAX: u32 = 3;

/// What a run has to do with plans: most have nothing.
pub(super) struct Planning {
    /// What is to be carried out.
    proposed: Option<ProposedPlan>,
    /// Where the answer is to be written.
    file: Option<PlanFile>,
}

impl Planning {
    /// Looks at what is to be carried out, and where the answer is to be written.
    pub(super) async fn of(args: &RunArgs, store: Option<&Path>) -> Result<Self, CliError> {
        let file = args.work_plan.as_deref();
        let file = file.map(|file| PlanFile::new(file, store)).transpose()?;
        let proposed = match &args.from_plan {
            Some(named) => Some(proposed(named, store).await?),
            None => None,
        };
        Ok(Self { proposed, file })
    }

    /// What is asked. Who has a plan carried out need not say more: then nothing is read.
    pub(super) fn goal(&self, args: &RunArgs) -> Result<GivenGoal, CliError> {
        let Some(plan) = &self.proposed else {
            return run::goal_and_material(args);
        };
        let given = match &args.goal {
            Some(_) => run::goal_and_material(args)?,
            None => GivenGoal {
                input: String::new(),
                asked: String::new(),
                piped: None,
            },
        };
        Ok(GivenGoal {
            input: plan.carry_out(Some(&given.input)),
            ..given
        })
    }

    /// Where the run works: where the plan is for, unless somebody says otherwise.
    pub(super) fn dir(&self, args: &RunArgs) -> Option<PathBuf> {
        let of_plan = || self.proposed.as_ref().map(|plan| PathBuf::from(&plan.dir));
        args.dir.clone().or_else(of_plan)
    }

    /// Makes settings those of a run that plans, or of one that carries a plan out.
    pub(super) fn bind(&self, args: &RunArgs, prepared: &mut RunSetup) {
        let form = self.file.as_ref().map(|_| FORM);
        prepared.change(|goal| {
            if args.plan {
                plan_only(goal, form);
            }
            if let Some(plan) = &self.proposed {
                plan.mark(goal);
            }
        });
    }

    /// Prints what came of the run. A plan file is written before, once the answer is one; a run that has not answered is told of
    /// like any other.
    pub(super) async fn conclude(
        &self,
        args: &RunArgs,
        store: &Arc<dyn Store>,
        left: (Run, Shown),
        mut attendant: Option<&mut Attendant>,
    ) -> Result<ExitCode, CliError> {
        let (mut run, mut shown) = left;
        let mut corrections = 0;
        let mut wrote = None;
        if let Some(file) = &self.file {
            while let Some(mistakes) = write(file, &run)? {
                if corrections == CORRECTIONS_MAX {
                    return Err(no_plan(&run, &mistakes));
                }
                corrections += 1;
                tell(args, &mistakes);
                let asked = ask_again(args, store, &run, &mistakes, attendant.as_deref_mut());
                match asked.await? {
                    Attended::Left(left) => (run, shown) = *left,
                    Attended::Stopped(code) => return Ok(code),
                }
            }
            wrote = has_answered(&run).then(|| file.path().display());
        }
        let code = run::conclude(&**store, &run, args.json, &shown).await?;
        if let Some(path) = wrote {
            output::stderr(&format!(
                "wrote {path}; look at its levels: bonded work {path} --dry-run"
            ));
        }
        Ok(code)
    }
}

/// The plan of the run that a person means.
async fn proposed(named: &str, store: Option<&Path>) -> Result<ProposedPlan, CliError> {
    let (store, id) = settings::find_run_to_read(store, named).await?;
    let run = load_run(&*store, &id).await?;
    ProposedPlan::of(&run).map_err(|why| {
        let message = format!("run {} has no plan to carry out: {why}", short_id(&id));
        CliError::new(Code::NoPlan, message).hint("make a plan first: bonded run --plan GOAL")
    })
}

fn has_answered(run: &Run) -> bool {
    RunResult::of(run).is_some_and(|result| result.is_success())
}

/// Writes the plan that a run has answered with, or gives what is wrong with it. Without an answer there is nothing to write.
fn write(file: &PlanFile, run: &Run) -> Result<Option<Vec<String>>, CliError> {
    let Some(result) = RunResult::of(run).filter(RunResult::is_success) else {
        return Ok(None);
    };
    let answered = result.answer(run);
    let plan = plan_in(&answered);
    let mistakes = file.mistakes(plan, Path::new(&run.config().dir))?;
    if !mistakes.is_empty() {
        return Ok(Some(mistakes));
    }
    file.write(plan)?;
    Ok(None)
}

fn tell(args: &RunArgs, mistakes: &[String]) {
    if !args.agent.options.given.contains_key("quiet") {
        output::stderr(&format!(
            "the answer is not a plan file yet: {}",
            mistakes.join("; ")
        ));
    }
}

/// The mistakes are the next goal of the run.
async fn ask_again(
    args: &RunArgs,
    store: &Arc<dyn Store>,
    run: &Run,
    mistakes: &[String],
    attendant: Option<&mut Attendant>,
) -> Result<Attended, CliError> {
    let goal = format!(
        "Your answer is not a plan file that `bonded work` can read:\n- {}\nAnswer with the whole plan file, corrected, and with \
         nothing else.",
        mistakes.join("\n- ")
    );
    let given = GoalGiven::new(goal, run.config_begun_with().limits.clone());
    let (mut host, tools) = settings::host(store.clone(), pursue::stance(args));
    let driven = pursue::drive(args, &mut host, run, given, attendant).await;
    tools.stop().await;
    driven
}

fn no_plan(run: &Run, mistakes: &[String]) -> CliError {
    let id = short_id(run.id());
    let message = format!(
        "run {id} answered with no plan that `bonded work` can read; nothing was written\n  {}",
        mistakes.join("\n  ")
    );
    CliError::new(Code::NoPlan, message).hint(format!("read what it wrote: bonded show {id}"))
}
