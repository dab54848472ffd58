//! `bonded run`: one goal.
//!
//! The order is: read the goal, make out the settings, open the store, check the goal, drive. What is refused once
//! it is known to be a run is on record; a mistake in what was typed is not, and makes no store. stdout has the
//! answer alone, or one object with `--json`; progress and reasons are on stderr.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::accounting::accounts;
use bonded_host::instructions::Instructions;
use bonded_host::{
    CancellationToken, Goal, Host, HostError, PendingReview, RunResult, waits_for_client,
};
use bonded_kernel::{Image, ReportFormat, Run, RunId};
use bonded_state::Store;
use bonded_work::publish::notice_at;

use crate::agents::Verbosity;
use crate::args::RunArgs;
use crate::commands::attend::{self, Attended};
use crate::commands::planned::Planning;
use crate::error::{CliError, Code};
use crate::refused::Name;
use crate::render::ending::Ending;
use crate::render::lines;
use crate::render::progress::{ProgressForm, RunWatcher, Shown, Sink};
use crate::render::trace::Trace;
use crate::review::Attendant;
use crate::style::{Look, Stream};
use bonded_host::shapes::{result, text, waiting};

use crate::settings::{RunSetup, SetupRequest};
use crate::stdin::{self, Piped};
use crate::{agents, goal, goal_images, output, refused, settings, signals};
use bonded_host::keeping::Keeper;

/// Said of a text on stdout that the model gave for no answer.
const NOT_FINAL: &str = "stdout has the model's last message, not a final answer";

/// A tree that was left half published is warned of, and no reason to refuse: the run may be there to look into it.
pub(crate) async fn run(args: &RunArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let chosen = args.id.as_deref().map(RunId::new).transpose()?;
    let planning = Planning::of(args, store).await?;
    let GivenGoal {
        input,
        asked,
        piped,
    } = planning.goal(args)?;
    let dir = planning.dir(args);
    let drawn = Host::draw_id();
    let name = chosen.as_ref().map_or(Name::Drawn(&drawn), Name::Chosen);
    let request = SetupRequest {
        dir: dir.as_deref(),
        ..args.into()
    };
    let mut prepared = match settings::prepare(&request) {
        Err(error) if refused::is_of_a_run(&error) => {
            let Ok(store) = settings::open_store(store) else {
                return Err(error);
            };
            let goal = refused::bare_goal(input, dir.as_deref());
            return Err(refuse(&*store, name, goal, error, args.json).await);
        }
        prepared => prepared?,
    };
    planning.bind(args, &mut prepared);
    let images = goal_images::of(&args.images, &asked, &prepared)?;
    warn_of_half_a_tree(&prepared);
    let is_wanted = !(args.json || args.stream_json || args.prompting.no_prompt);
    let mut attendant = Attendant::here(is_wanted, store);
    let store = settings::open_store(store)?;
    let goal = Goal {
        images,
        ..prepared.checked_goal(input.clone())
    };
    let checked = refuse_material_of_json(&prepared, piped.as_ref());
    if let Err(error) = checked.and_then(|()| prepared.check(&input)) {
        return Err(refuse(&*store, name, goal, error, args.json).await);
    }
    let brought = Brought {
        images: &goal.images.clone(),
        piped: piped.as_ref(),
        instructions: &prepared.instructions.clone(),
        skills: goal.config.skills.len(),
    };
    for warning in piped.iter().flat_map(|piped| &piped.warnings) {
        output::stderr(&format!("warning: {warning}"));
    }
    let attended = attendant.as_mut();
    match drive(
        args,
        &store,
        prepared,
        goal.clone(),
        name,
        &brought,
        attended,
    )
    .await
    {
        Ok(Attended::Left(left)) => {
            let concluded = planning.conclude(args, &store, *left, attendant.as_mut());
            Box::pin(concluded).await
        }
        Ok(Attended::Stopped(code)) => Ok(code),
        Err(error) => Err(refuse(&*store, name, goal, error, args.json).await),
    }
}

/// A tree that was left half published may be the reason for the run.
pub(super) fn warn_of_half_a_tree(prepared: &RunSetup) {
    if let Some(notice) = notice_at(Path::new(&prepared.workplace.dir)) {
        output::stderr(&format!(
            "warning: {} says that this tree is half published; `bonded work --resume` finishes that",
            notice.display()
        ));
    }
}

/// What is asked.
pub(super) struct GivenGoal {
    /// With what was piped in for it.
    pub(super) input: String,
    /// Without that.
    pub(super) asked: String,
    pub(super) piped: Option<Piped>,
}

/// What is asked, and what was piped in for it. Without a goal, what is piped in is the goal.
pub(super) fn goal_and_material(args: &RunArgs) -> Result<GivenGoal, CliError> {
    let (asked, piped) = match args.goal.as_deref() {
        None => (goal::read_stdin()?, None),
        Some("-") => (goal::read("-")?, None),
        Some(argument) => (goal::read(argument)?, stdin::piped()?),
    };
    Ok(GivenGoal {
        input: piped
            .as_ref()
            .map_or_else(|| asked.clone(), |piped| piped.beside(&asked)),
        asked,
        piped,
    })
}

/// An agent that takes JSON takes nothing beside it.
fn refuse_material_of_json(prepared: &RunSetup, piped: Option<&Piped>) -> Result<(), CliError> {
    match piped {
        Some(_) if prepared.takes_json() => {
            let message = "this agent accepts only JSON, and something was piped in";
            let hint = "give the JSON on stdin alone, or close stdin: < /dev/null";
            Err(CliError::new(Code::BadGoal, message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// What is sent with the goal that the person did not type.
struct Brought<'a> {
    images: &'a [Image],
    piped: Option<&'a Piped>,
    instructions: &'a Instructions,
    skills: usize,
}

impl Brought<'_> {
    /// The rest of the first line: what the model is told beside the goal.
    fn line(&self) -> String {
        let piped = self
            .piped
            .map(|it| format!("stdin {}", text::size(it.bytes)));
        let files = self.instructions.files.iter().map(|it| {
            let name = it.file.file_name().unwrap_or_default().to_string_lossy();
            let size = text::size(it.bytes);
            match it.is_trusted {
                true => format!("{name} {size}"),
                false => format!("{name} {size}, not trusted"),
            }
        });
        let images = self.images.iter().map(text::image);
        let skills = (self.skills > 0).then(|| text::counted(self.skills, "skill"));
        let all = piped.into_iter().chain(images).chain(files).chain(skills);
        all.map(|one| format!(" · {one}")).collect()
    }
}

/// Puts a run that could not begin on record; with `--json` its result is that of a run that failed.
async fn refuse(
    store: &dyn Store,
    name: Name<'_>,
    goal: Goal,
    error: CliError,
    as_json: bool,
) -> CliError {
    let (error, run) = refused::keep(store, name, goal, error).await;
    if let Some(run) = run.filter(|_| as_json)
        && let Some(ended) = RunResult::of(&run)
    {
        output::stdout(&result::whole(&run, &ended, run.last_at(), &[]));
    }
    error
}

/// Drives the run of a goal to its end, shows it and keeps it.
/// With a chosen id the run may have begun before: it is gone on with, and only what is new is shown. The tools are
/// stopped and what is kept outside is written whether the run succeeded or not.
async fn drive(
    args: &RunArgs,
    store: &Arc<dyn Store>,
    prepared: RunSetup,
    goal: Goal,
    name: Name<'_>,
    brought: &Brought<'_>,
    attendant: Option<&mut Attendant>,
) -> Result<Attended, CliError> {
    let id = name.id().clone();
    let keeper = Keeper::new(store.clone());
    keeper.refuse_cut(&id, prepared.kept()).await?;
    let following = keeper.follow(&id, prepared.kept())?;
    let RunSetup {
        options,
        warnings,
        workplace,
        ..
    } = prepared;
    let (mut host, tools) = agents::host(store.clone(), workplace, Verbosity::of(&options));
    signals::interrupt_on_signal();
    let cancel = CancellationToken::new();
    let after = match name {
        Name::Chosen(id) => store.head(id).await?.map_or(0, |head| head.seq),
        Name::Drawn(_) => 0,
    };
    if !options.quiet {
        for warning in &warnings {
            output::stderr(&format!("warning: {warning}"));
        }
        name_run(&id, &brought.line());
    }
    let watch = |after| {
        let sink = match args.stream_json {
            true => Sink::json(args.live),
            false => Sink::for_stderr(options.quiet, &id),
        };
        RunWatcher::new(store.clone(), id.clone(), after, sink)
            .tracing(Trace::new(options.verbose, options.trace_mcp))
    };
    let watcher = watch(after);
    host.live = watcher.live_sink();
    let (own, token) = (id.clone(), cancel.clone());
    let driven = match name {
        Name::Chosen(_) => watched(watcher, Box::pin(host.run_as(own, goal, token))).await,
        Name::Drawn(_) => watched(watcher, Box::pin(host.run(own, goal, token))).await,
    };
    let driven = match driven {
        Ok(run) => {
            Box::pin(attend::see_through(
                attendant, &mut host, run, watch, &cancel,
            ))
            .await
        }
        Err(error) => Err(error),
    };
    tools.stop().await;
    following.settle().await;
    driven
}

/// Names a run before it begins, and what is sent with its goal. At a terminal its heading names it.
pub(crate) fn name_run(id: &RunId, brought: &str) {
    if !Look::of(Stream::Err).redraws() {
        output::stderr(&format!("run {id}{brought}"));
    } else if !brought.is_empty() {
        output::stderr(&format!("reads{}", brought.replacen(" ·", "", 1)));
    }
}

/// Drives a run and shows its log meanwhile.
/// The watcher is only a reader of the store. After the end it catches up once, since the last entries may have
/// come while it was not polled.
pub(crate) async fn watched(
    mut watcher: RunWatcher,
    driving: impl Future<Output = Result<Run, HostError>>,
) -> Result<(Run, Shown), CliError> {
    if watcher.is_quiet() {
        return Ok((driving.await?, watcher.end()));
    }
    let mut driving = std::pin::pin!(driving);
    let run = tokio::select! {
        biased;
        run = &mut driving => run,
        // Whatever the watcher meets, the run goes on.
        _ = watcher.follow() => driving.await,
    }?;
    watcher.catch_up().await?;
    Ok((run, watcher.end()))
}

/// Prints the answer or the result, and on stderr how the run ended.
/// A run that has not ended waits for a person. What a model said last in a failed run is printed, and marked as no
/// answer. On one terminal neither is printed where it stands already.
pub(crate) async fn conclude(
    store: &dyn Store,
    run: &Run,
    as_json: bool,
    shown: &Shown,
) -> Result<ExitCode, CliError> {
    let Some(result) = RunResult::of(run) else {
        return paused(store, run, as_json).await;
    };
    let has_text = !as_json && shown.manner != ProgressForm::Json;
    if as_json {
        let booked = accounts(store, run.id()).await?;
        output::stdout(&result::whole(run, &result, run.last_at(), &booked));
    } else if result.is_success() && has_text {
        print_once(&answer(run, &result), shown);
    }
    if let Some(text) = result.last_text.as_ref().filter(|_| has_text) {
        print_once(text, shown);
        if shown.manner != ProgressForm::Terminal {
            output::stderr(NOT_FINAL);
        }
    }
    let is_silent = matches!(shown.manner, ProgressForm::Quiet | ProgressForm::Json);
    if result.is_success() && is_silent {
        // Nothing is said of how it ended: its log need not be read again.
        return Ok(ExitCode::SUCCESS);
    }
    let entries = store.load(run.id(), 0).await?;
    tell_end(&Ending::of(run, &result, &entries), run, &result, shown);
    if !result.is_success() {
        let meant = settings::model_meant(run.config(), &entries);
        meant.iter().for_each(|meant| output::stderr(meant));
    }
    Ok(match result.is_success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Code::RunFailed.exit_code()),
    })
}

/// Prints a text on stdout, unless that is the terminal on which it stands already.
pub(super) fn print_once(text: &str, shown: &Shown) {
    let stands = |prose: &String| prose.trim() == text.trim();
    let stands = shown.prose.as_ref().is_some_and(stands);
    if !(stands && output::is_one_terminal()) {
        output::prose(text);
    }
}

/// Says how a run ended. A run that nobody watches is told only if it failed.
fn tell_end(ending: &Ending<'_>, run: &Run, result: &RunResult, shown: &Shown) {
    match shown.manner {
        ProgressForm::Terminal => {
            let (look, (columns, _)) = (Look::of(Stream::Err), Stream::Err.size());
            let rows = ending.rows(columns, &look);
            rows.iter().for_each(|row| output::styled(row, &look));
        }
        ProgressForm::Lines => {
            let (figures, cause) = ending.words();
            let place = match Look::of(Stream::Err).plain {
                true => String::new(),
                false => format!("{} ", lines::clock(run.last_at())),
            };
            output::stderr(&format!("{place}{figures}"));
            cause.iter().for_each(|cause| output::stderr(cause));
        }
        ProgressForm::Quiet | ProgressForm::Json if !result.is_success() => {
            output::stderr(&ending.failure_words());
        }
        ProgressForm::Quiet | ProgressForm::Json => {}
    }
}

/// Says what a run waits for.
async fn paused(store: &dyn Store, run: &Run, as_json: bool) -> Result<ExitCode, CliError> {
    if waits_for_client(run) {
        output::stderr(&waiting::at_client(run));
        return Ok(ExitCode::from(Code::AwaitingReview.exit_code()));
    }
    let Some(waits) = PendingReview::of(store, run).await? else {
        return Ok(ExitCode::from(Code::Internal.exit_code()));
    };
    if as_json {
        output::stdout(&waiting::result_value(run, &waits).to_string());
    }
    output::stderr(&waiting::paused(run, &waits));
    Ok(ExitCode::from(Code::AwaitingReview.exit_code()))
}

/// The report as a person or a program wants it, else the reason that the model gave.
/// JSON is printed with line breaks: whoever wants one line takes `--json`.
pub(super) fn answer(run: &Run, result: &RunResult) -> String {
    let answer = result.answer(run);
    match run.report().map(|report| report.format) {
        // Models write escapes out, as they cannot write the character.
        Some(ReportFormat::Tty) => answer
            .replace("\\x1b[", "\x1b[")
            .replace("\\u001b[", "\x1b["),
        Some(
            ReportFormat::Markdown
            | ReportFormat::MarkdownMermaid
            | ReportFormat::SlackBlockKit
            | ReportFormat::Pipe
            | ReportFormat::Json
            | ReportFormat::SubAgent,
        )
        | None => answer,
    }
}
