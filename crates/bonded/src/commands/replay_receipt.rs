//! `bonded replay --receipt`: a work item worked off again.
//!
//! The item is worked off again in a copy of the state that its receipt names, and what comes of it is compared by
//! hash. From the recording nothing is asked of a model; with `--live` the model is asked again, and a difference
//! then is no proof of anything. The tree itself is never touched.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::trust::Stance;
use bonded_kernel::Hash;
use bonded_work::{ReplayComparison, ReplayError, ReplaySource, Workshop, replay_item};
use bonded_work_rules::{ItemId, Receipt, TreePath};
use serde::Serialize;

use super::verify_receipt::read_receipt;
use crate::args::ReplayArgs;
use crate::error::{CliError, Code};
use crate::{output, settings, signals};

/// More paths than this are counted, not named.
const PATHS_SHOWN_MAX: usize = 10;

/// The receipt is checked first: one that is not whole is not worth a run.
pub(crate) async fn replay(
    args: &ReplayArgs,
    file: &Path,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let receipt = read_receipt(file)?;
    let store_file = settings::store_path(store)?;
    let workshop = Workshop::beside(&std::path::absolute(&store_file).unwrap_or(store_file));
    let (host, tools) = settings::host(settings::open_existing_store(store)?, Stance::Refuse);
    let asked = match args.live {
        true => ReplaySource::Model,
        false => ReplaySource::Recording,
    };
    let cancel = signals::interrupt_on_signal();
    let replayed = Box::pin(replay_item(host, &workshop, &receipt, asked, cancel)).await;
    tools.stop().await;
    let replayed = replayed?;
    tell(args, &receipt, &replayed);
    match replayed.is_equal() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(different(&receipt, &replayed)),
    }
}

/// For programs.
#[derive(Serialize)]
struct ReplayedAnswer<'a> {
    work_item_id: &'a ItemId,
    equal: bool,
    expected_hash: Hash,
    output_hash: Hash,
    differs: &'a [TreePath],
    termination: &'static str,
}

fn tell(args: &ReplayArgs, receipt: &Receipt, replayed: &ReplayComparison) {
    let item = &receipt.outcome.work_item.id;
    if args.json {
        output::object(&ReplayedAnswer {
            work_item_id: item,
            equal: replayed.is_equal(),
            expected_hash: replayed.expected,
            output_hash: replayed.found,
            differs: &replayed.differs,
            termination: replayed.ended,
        });
    } else if replayed.is_equal() {
        let found = replayed.found;
        output::stdout(&format!("item {item}: the replay matches: {found}"));
    }
}

fn different(receipt: &Receipt, replayed: &ReplayComparison) -> CliError {
    let item = &receipt.outcome.work_item.id;
    let message = format!(
        "item {item}: the replay ended in another state ({})",
        replayed.ended
    );
    let paths = replayed.differs.iter().take(PATHS_SHOWN_MAX);
    let paths: Vec<String> = paths.map(ToString::to_string).collect();
    CliError::new(Code::ReplayDiffers, message)
        .hint(format!("expected: {}", replayed.expected))
        .hint(format!("found:    {}", replayed.found))
        .hint(format!(
            "{} paths differ: {}",
            replayed.differs.len(),
            paths.join(", ")
        ))
}

impl From<ReplayError> for CliError {
    fn from(error: ReplayError) -> Self {
        let code = match error {
            ReplayError::Work(error) => return error.into(),
            ReplayError::NeverRan | ReplayError::OtherState => Code::BadReceipt,
            ReplayError::UnknownPlan { .. } => Code::UnknownPlan,
            ReplayError::NoLog { .. } => Code::UnknownRun,
        };
        Self::new(code, error.to_string())
    }
}
