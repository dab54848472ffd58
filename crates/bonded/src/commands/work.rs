//! `bonded work`: a plan of work items.
//!
//! A plan is begun, or gone on with: by `--resume`, or because its id is known already. Whoever goes on does so
//! with the words of the beginning, from the directory of the beginning, so that a resumed plan cannot quietly
//! become another one. Trust alone is of the moment.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::document::DOCUMENT_BYTES_MAX;
use bonded_host::{Clock as _, SystemClock};
use bonded_work::{PlanId, PlanRecord, Workshop, plans_beginning};
use bonded_work_rules::Constraints;

use crate::args::{Cli, Command, WorkArgs};
use crate::error::{CliError, Code};
use crate::settings::{self, prefix};
use crate::work::{Ground, Site};

/// The plan's text goes into the record: its file may change or be stdin.
pub(crate) async fn work(
    args: &WorkArgs,
    store: Option<&Path>,
    ground: Option<&Ground>,
) -> Result<ExitCode, CliError> {
    let store_file = settings::store_path(store)?;
    let workshop = Workshop::beside(&std::path::absolute(&store_file).unwrap_or(store_file));
    let root = PathBuf::from(settings::working_directory(args.repo.as_deref())?);
    let site = Site {
        store,
        ground,
        workshop,
        json: args.json,
    };
    if let Some(named) = &args.resume {
        let record = interrupted(&site.workshop, named, &root)?;
        let args = arguments_of(&record, args)?;
        return site.work(&args, record).await;
    }
    let id = args.plan_id.as_deref().map(plan_id).transpose()?;
    if let Some(record) = begun(&site.workshop, id.as_ref())? {
        let args = arguments_of(&record, args)?;
        return site.work(&args, record).await;
    }
    let record = PlanRecord {
        id: id.unwrap_or_else(PlanId::draw),
        dir: std::env::current_dir().unwrap_or_else(|_| root.clone()),
        arguments: std::env::args_os()
            .skip(1)
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        plan: read_plan(args.plan.as_deref().unwrap_or(Path::new("-")))?,
        started_at: SystemClock::new().now(),
        defaults: Constraints::preset(&args.limits_of).unwrap_or_default(),
        missing: vec![],
        held: vec![],
        root,
    };
    site.work(args, record).await
}

/// The text of a plan, bounded.
/// One byte more than the most is read, to tell a plan that is too large from one that just fits.
fn read_plan(file: &Path) -> Result<String, CliError> {
    let unreadable = |why: String| {
        let message = format!("the plan {} cannot be read: {why}", file.display());
        CliError::new(Code::BadPlan, message)
    };
    let mut bytes = vec![];
    let limit = DOCUMENT_BYTES_MAX as u64 + 1;
    let read = match file == Path::new("-") {
        true => std::io::stdin().take(limit).read_to_end(&mut bytes),
        false => {
            std::fs::File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes))
        }
    };
    read.map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(unreadable(format!(
            "it is larger than {DOCUMENT_BYTES_MAX} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        unreadable(format!("it is not UTF-8 (at byte {})", good + 1))
    })
}

fn unknown(message: String) -> CliError {
    CliError::new(Code::UnknownPlan, message)
}

fn plan_id(argument: &str) -> Result<PlanId, CliError> {
    PlanId::new(argument).map_err(|error| unknown(error.to_string()))
}

/// The plan that has this id, if it has begun.
/// Without an id no plan is meant, and a new one begins.
fn begun(workshop: &Workshop, id: Option<&PlanId>) -> Result<Option<PlanRecord>, CliError> {
    let Some(id) = id else {
        return Ok(None);
    };
    let found = PlanRecord::read(workshop, id);
    found.map_err(|error| unknown(format!("the plan cannot be read: {error}")))
}

/// The plan that is meant by `--resume`.
/// Without a name the last open plan on this tree is meant.
fn interrupted(workshop: &Workshop, named: &str, root: &Path) -> Result<PlanRecord, CliError> {
    let found = match named {
        "" => PlanRecord::last_open(workshop, root)
            .map_err(|error| unknown(format!("the plan cannot be read: {error}")))?,
        named => begun(workshop, Some(&meant(workshop, named)?))?,
    };
    match found {
        Some(record) => Ok(record),
        None if named.is_empty() => {
            let message = format!("no plan on {} was interrupted", root.display());
            Err(unknown(message)
                .hint("name the tree with --repo, or start a plan: bonded work PLAN"))
        }
        None => Err(unknown(format!("there is no plan {named} in this store"))),
    }
}

/// A plan by its id, or by the beginning of it.
fn meant(workshop: &Workshop, named: &str) -> Result<PlanId, CliError> {
    if !prefix::is_beginning(named) {
        return plan_id(named);
    }
    let found = plans_beginning(workshop, &named.to_lowercase());
    let found = found.map_err(|error| unknown(format!("the plans cannot be read: {error}")))?;
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] if PlanId::new(named).is_ok() => plan_id(named),
        [] => Err(unknown(format!("there is no plan {named} in this store"))),
        several => {
            let shown: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(prefix::ambiguous(named, "plans'", &shown))
        }
    }
}

/// What the plan was started with. Names of files are meant from where it was started. A word of trust was for that
/// once: what counted then is in the record, and what has changed since needs another word.
/// The directory of the process is changed, and stays so: everything after this is meant from there.
fn arguments_of(record: &PlanRecord, resumed_with: &WorkArgs) -> Result<WorkArgs, CliError> {
    let gone = |why: String| {
        let message = format!("plan {} cannot be resumed: {why}", record.id);
        CliError::new(Code::UnknownPlan, message)
    };
    std::env::set_current_dir(&record.dir)
        .map_err(|error| gone(format!("{}: {error}", record.dir.display())))?;
    let words = std::iter::once("bonded").chain(record.arguments.iter().map(String::as_str));
    let Ok(Command::Work(mut args)) = Cli::read(words).map(|cli| cli.command) else {
        return Err(gone("its arguments are no longer supported".into()));
    };
    args.agent.trust = resumed_with.agent.trust;
    args.agent.no_trust |= resumed_with.agent.no_trust;
    Ok(*args)
}
