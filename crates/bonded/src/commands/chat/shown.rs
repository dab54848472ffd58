//! What a conversation says besides what its run shows: where it is, what holds, how a message ended, how to continue.

use bonded_host::shapes::text::{brief, counted, duration, grouped, short_id, size};
use bonded_host::{Host, RunResult};
use bonded_kernel::{Limits, OverallLimits, Permission, Policy, Run, RunConfig, RunId, Target};

use crate::commands::attend::Attended;
use crate::commands::run;
use crate::error::{CliError, Code};
use crate::options::ASKED_ABOUT;
use crate::output;
use crate::render::ending::Ending;
use crate::render::layout::{self, dollars};
use crate::render::narration::paint_of;
use crate::render::progress::{ProgressForm, Shown};
use crate::render::terminal::home_short;
use crate::settings::RunSetup;
use crate::style::{Look, Paint, Stream, Styled, Symbol};

/// Of the goal that a run was given last.
const GOAL_CHARS: usize = 60;

fn look() -> (Look, usize) {
    (Look::of(Stream::Err), Stream::Err.size().0)
}

fn print(row: Styled) {
    let (look, columns) = look();
    output::styled(&row.cut(columns.saturating_sub(1), &look), &look);
}

fn print_fields(first: Styled, fields: &[String]) {
    let (look, columns) = look();
    let fields: Vec<(Paint, String)> = fields.iter().map(|it| (Paint::Dim, it.clone())).collect();
    for row in layout::fields(first, &fields, columns, &look) {
        output::styled(&row, &look);
    }
}

fn marked(symbol: Symbol, text: &str) {
    let mark = Styled::new().with(paint_of(symbol), look().0.symbol(symbol));
    print(mark.text(" ").text(text));
}

/// Before the first message of a new run.
pub(super) fn greeting(setup: &RunSetup, asks: &[&str]) {
    let config = setup.config();
    heading(&[home_short(&config.dir), models(&config.targets)]);
    let files = setup.instructions.files.iter().map(|it| {
        let name = it.file.file_name().unwrap_or_default().to_string_lossy();
        let bytes = size(it.bytes);
        match it.is_trusted {
            true => format!("{name} {bytes}"),
            false => format!("{name} {bytes}, not trusted"),
        }
    });
    let mut rest = limits(&config.limits);
    rest.extend(files);
    held(asks, &rest);
}

/// Before the next message of a run.
pub(super) fn continued(run: &Run, asks: &[&str]) {
    let config = run.config();
    let id = short_id(run.id()).to_owned();
    heading(&[id, home_short(&config.dir), models(&config.targets)]);
    held(asks, &limits(run.limits_of_goal()));
    let goal = brief(run.goal_at_hand(), GOAL_CHARS);
    if run.termination().is_some() {
        return print(Styled::new().dim(&format!("continues after \"{goal}\"")));
    }
    let turn = run.turn();
    let how = match run.waiting_call().is_some() {
        true => "waits for your approval",
        false => "was interrupted",
    };
    marked(Symbol::Warning, &format!("\"{goal}\" {how} in turn {turn}"));
    notice("  /resume continues it, a message replaces it");
}

fn heading(fields: &[String]) {
    let first = Styled::new().with(Paint::Bold, "bonded chat");
    print_fields(first, fields);
}

fn held(asks: &[&str], rest: &[String]) {
    let first = match asks {
        [] => "does not ask before changes".to_owned(),
        tools => format!("asks before {}", tools.join(", ")),
    };
    print_fields(Styled::new().dim(&first), rest);
}

/// The tools that change something and that the person is asked about.
pub(super) fn asked_about(policy: Option<&Policy>) -> Vec<&'static str> {
    let asks = |tool: &&str| policy.is_some_and(|it| it.permission(tool).0 == Permission::Ask);
    ASKED_ABOUT.into_iter().filter(asks).collect()
}

pub(super) fn models(targets: &[Target]) -> String {
    let names = targets
        .iter()
        .map(|it| format!("{}/{}", it.provider, it.model));
    names.collect::<Vec<_>>().join(", ")
}

/// What one message may use.
pub(super) fn limits(limits: &Limits) -> Vec<String> {
    let overall = OverallLimits {
        turns_max: Some(limits.turns_max),
        elapsed_ms_max: limits.elapsed_ms_max,
        tokens_max: limits.tokens_max,
        cost_max: limits.cost_max,
    };
    overall_limits(&overall)
}

pub(super) fn overall_limits(limits: &OverallLimits) -> Vec<String> {
    let turns = limits
        .turns_max
        .map(|it| format!("{} turns", grouped(it.into())));
    let time = limits.elapsed_ms_max.map(duration);
    let tokens = limits
        .tokens_max
        .map(|it| format!("{} tokens", grouped(it)));
    let cost = limits.cost_max.map(dollars);
    [turns, time, tokens, cost].into_iter().flatten().collect()
}

/// What the conversation has used.
pub(super) fn used(run: &Run) -> Vec<String> {
    let (usage, money) = run.spend().used();
    let cached = match usage.cached {
        0 => String::new(),
        cached => format!(" ({} cached)", grouped(cached)),
    };
    let mut used = vec![
        counted(run.goals() as usize, "message"),
        counted(run.turn() as usize, "turn"),
        duration(run.elapsed_ms()),
        format!("{} tokens in{cached}", grouped(usage.input)),
        format!("{} out", grouped(usage.output)),
    ];
    let held = run.spend().held.usage.total();
    if held > 0 {
        used.push(format!("up to {} more", grouped(held)));
    }
    let has_price = run.config().targets.iter().any(|it| it.price.is_some());
    if has_price || money.0 > 0 {
        used.push(dollars(money));
    }
    used
}

/// Figures with a name before them.
pub(super) fn named(name: &str, fields: &[String]) {
    let (look, _) = look();
    let text = match fields {
        [] => "no limit".to_owned(),
        fields => fields.join(&look.separator()),
    };
    print(Styled::new().dim(&format!("{name:<14}")).text(&text));
}

/// A message that was not typed at the prompt, as if it had been.
pub(super) fn typed(text: &str) {
    let (look, columns) = look();
    if look.redraws() {
        let rows = layout::asked_rows(text, columns);
        rows.iter().for_each(|row| output::styled(row, &look));
    }
}

pub(super) fn notice(text: &str) {
    print(Styled::new().dim(text));
}

pub(super) fn error(error: &CliError) {
    output::stderr(&error.render());
}

/// How a message ended. The prompt follows, whatever it was.
pub(super) async fn turn(
    host: &Host,
    id: &RunId,
    driven: Result<Attended, CliError>,
) -> Result<(), CliError> {
    match driven {
        Ok(Attended::Left(left)) => ended(host, &left.0, &left.1).await,
        Ok(Attended::Stopped(_)) => {
            notice("  /resume asks again, a message replaces what it was doing");
            Ok(())
        }
        Err(error) if error.code == Code::Interrupted => {
            let turn = host.load(id).await?.turn();
            let next = "/resume continues, a message says what to do instead";
            marked(Symbol::Stopped, &format!("stopped in turn {turn}: {next}"));
            Ok(())
        }
        Err(error) => Err(error),
    }
}

async fn ended(host: &Host, run: &Run, shown: &Shown) -> Result<(), CliError> {
    let result = RunResult::of(run);
    let Some(result) = result.filter(|_| shown.manner == ProgressForm::Terminal) else {
        run::conclude(&*host.store, run, false, shown).await?;
        return Ok(());
    };
    let text = match result.is_success() {
        true => Some(run::answer(run, &result)),
        false => result.last_text.clone(),
    };
    if let Some(text) = text {
        run::print_once(&text, shown);
    }
    let entries = host.store.load(run.id(), 0).await?;
    let (look, columns) = look();
    let ending = Ending::of(run, &result, &entries);
    let rows = ending.last_rows(columns, &look);
    rows.iter().for_each(|row| output::styled(row, &look));
    Ok(())
}

/// The commands that continue it.
pub(super) fn farewell(id: &RunId) {
    let id = short_id(id);
    notice(&format!("  Continue: bonded chat --continue {id}"));
    notice(&format!("  or: bonded run --continue {id} \"GOAL\""));
}

/// The configuration that a run has, or would have.
pub(super) fn config<'a>(
    run: Option<&'a Run>,
    setup: Option<&'a RunSetup>,
) -> Option<&'a RunConfig> {
    run.map(Run::config).or(setup.map(RunSetup::config))
}
